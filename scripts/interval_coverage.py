"""How often intervals hold the true value: the tables of docs/uncertainty.md.

    python scripts/interval_coverage.py [--repetitions N] [--seed S] [--cells FILE] [--write]

Draws test sets from populations whose value is known, family by family, and counts. The intervals come from
the functions that scores use, on metrics that scores use. `--cells` keeps what has been counted of a family,
so that a run that was stopped goes on. `--write` puts the tables into the page, with fewer sizes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scoring.metrics import Metric, build_metrics
from scoring.metrics.answers import LengthDeviation
from scoring.metrics.base import Floats, MeanMetric, WeightedMetric
from scoring.metrics.calibration import LogLoss
from scoring.metrics.citation_text import Length, LengthRatio
from scoring.metrics.classification import (
    MIN_UNITS_PER_CLASS,
    ClassAverage,
    Kappa,
    Matthews,
)
from scoring.metrics.clsumm import Overlap
from scoring.metrics.discourse import compute_kl_divergence, compute_label_shares
from scoring.metrics.leaderboards import LeaderboardCorrelation, TopicCorrelation
from scoring.metrics.numbers import (
    AbsoluteError,
    Concordance,
    Determination,
    Pearson,
    SquaredError,
)
from scoring.metrics.ranking import Perplexity, Ranking
from scoring.metrics.sacrebleu import Bleu
from scoring.metrics.weighted import (
    Auprc,
    Auroc,
    AveragePrecision,
    Kendall,
    RankCorrelation,
)
from scoring.stats.confusion import ConfusionMatrices
from scoring.stats.jackknife import (
    MIN_INFLUENTIAL_UNITS,
    compute_difference_bounds,
    compute_jackknife_error,
    compute_one_ended_bounds,
    compute_score_bounds,
    intervals,
)
from scoring.stats.significance import (
    PairedRuns,
    compute_difference_interval,
    compute_value_differences,
)
from tasks.types import CORRECTED, task_types
from tasks.types.declared.measures import MEASURES_BY_FORM
from tasks.types.references import import_referenced_object

PAGE = ROOT / "docs" / "uncertainty.md"
BEGIN, END = (
    "<!-- the tables of scripts/interval_coverage.py -->",
    "<!-- end of the tables -->",
)
SIZES = (3, 5, 10, 30, 100, 200, 1000)
SIZES_ON_PAGE, PERCENTILE_SIZES = (3, 5, 10, 30, 100, 1000), (10,)
#: From so many carriers on a cell is to hold so often; it fails more than three standard errors below.
FEWEST, AIM, ERRORS = 5, 93.0, 3
#: Cells that are known not to hold, at most. Cells count where so large a share of test sets has an interval.
MAX_NOT_HELD, SHARE_GIVEN = 8, 0.1
#: Units of which the true value is made, and so many test sets are looked at at a time.
POPULATION, BLOCK = 1_000_000, 100
FEW_OF_A_MODE = "three in five test sets of ten have no unit, or one, of the rarer mode, which nothing in them tells"  # noqa: E501
FEW_OF_A_CLASS = (
    "the error of the class of which a few instances are there makes that of the mean"
)
OF_TAILS = "few test sets have the largest errors, which decide the value"
RESAMPLES = 500
#: Instances of which those of a size are positives.
INSTANCES = 200
#: Sets of systems whose mean is the expected value.
SETS_OF_SYSTEMS = 4_000
#: Topics of leaderboards.
TOPICS = 8
#: Topics whose pairs judges label.
SIZES_OF_JUDGES = (5, 10, 30, 100, 200)

Shape = tuple[int, ...]
Draw = Callable[[np.random.Generator, Shape], Floats]


@dataclass(frozen=True)
class Family:
    """Test sets of one kind: a metric and how the rows of its units come about. Of two runs side by side the
    rows of the second follow those of the first.
    """

    name: str
    metric: Metric
    draw: Draw
    is_difference: bool = False
    #: Why it is known not to hold at some sizes; empty where it holds at all.
    not_held: str = ""
    sizes: tuple[int, ...] = SIZES
    #: The population's value where it is known; else it is drawn.
    true: float = np.nan
    #: False where the bootstrap beside it would take too long.
    has_percentiles: bool = True
    #: True where the metric stands for the mean of any numbers.
    is_mean: bool = False

    @property
    def shape(self) -> str:
        return MeanMetric.shape if self.is_mean else self.metric.shape

    def rows(self, rng: np.random.Generator, shape: Shape) -> Floats:
        return self.draw(rng, shape)

    def value(self, sums: Floats) -> Floats:
        if not self.is_difference:
            return np.asarray(self.metric.aggregate(sums))
        half = sums.shape[-1] // 2
        return compute_value_differences(
            self.metric, sums[..., :half], sums[..., half:]
        )

    def truth(self, rng: np.random.Generator, size: int = 0) -> float:
        if np.isfinite(self.true):
            return self.true
        blocks = (self.rows(rng, (POPULATION // 10,)).sum(axis=0) for _ in range(10))
        return float(self.value(np.sum(list(blocks), axis=0)))

    def runs(self, rows: Floats) -> list[Floats]:
        return np.split(rows, 2 if self.is_difference else 1, axis=-1)

    def weights(self, rows: Floats) -> Floats:
        """What each unit adds to the denominators."""
        by_run = (
            self.metric.denominators(run.reshape(-1, run.shape[-1])).reshape(
                run.shape[:-1]
            )
            for run in self.runs(rows)
        )
        return np.asarray(sum(by_run))

    def bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        """Of (repetitions, units, m) rows the ends of the default interval; NaN where there is none."""
        runs, weights = self.runs(rows), self.weights(rows)
        carries, values = weights > 0, self.value(rows.sum(axis=-2))
        left_out = self.value(rows.sum(axis=-2)[:, None] - rows)
        enough = np.array(
            [self.metric.has_enough_units(own) for run in runs for own in run]
        )
        enough = enough.reshape(len(runs), -1).all(axis=0) & (
            carries.sum(axis=-1) >= MIN_INFLUENTIAL_UNITS
        )
        is_known = (
            enough
            & np.isfinite(values)
            & (np.isfinite(left_out) | ~carries).all(axis=-1)
        )
        rows, weights, carries = rows[is_known], weights[is_known], carries[is_known]
        scale = (
            (lambda own: own) if self.is_difference else self.metric.on_interval_scale
        )
        first, last = (float(scale(np.asarray(end))) for end in self.metric.value_range)
        # Units that carry nothing are left out of the error, as where there were none.
        left_out = np.ma.array(scale(left_out[is_known]), mask=~carries)
        count = carries.sum(axis=-1)
        errors = np.sqrt(left_out.var(axis=-1).filled(0) * (count - 1))
        kish = weights.sum(axis=-1) ** 2 / (weights**2).sum(axis=-1)
        if self.is_difference:
            same = (runs[0] == runs[1]).all(axis=-1)[is_known]
            shares = (same & carries).sum(axis=-1) / count
            ends = compute_difference_bounds(
                values[is_known], errors, kish, (first, last), same=shares
            )
        else:
            if np.isinf(first) != np.isinf(last):
                # Every unit of these families carries.
                start, end = compute_one_ended_bounds(
                    scale(values[is_known]), left_out.data, kish, (first, last)
                )
            else:
                start, end = compute_score_bounds(
                    scale(values[is_known]), errors, kish, (first, last)
                )
            ends = (
                self.metric.from_interval_scale(start),
                self.metric.from_interval_scale(end),
            )
        low, high = np.full((2, len(is_known)), np.nan)
        low[is_known], high[is_known] = ends
        return low, high

    def percentiles(
        self, rng: np.random.Generator, rows: Floats
    ) -> tuple[Floats, Floats]:
        """Of the same rows the ends of the percentile bootstrap, each with draws of its own."""
        units = rows.shape[-2]
        weights = rng.multinomial(
            units, np.full(units, 1 / units), size=(len(rows), RESAMPLES)
        )
        values = self.value(weights.astype(float) @ rows)
        values = np.where(
            np.isfinite(values).all(axis=-1, keepdims=True), values, np.nan
        )
        low, high = np.quantile(values, [0.025, 0.975], axis=-1)
        return low, high


class Weighted(Family):
    """Test sets of weighted rows, (repetitions, n, 1 + k) with the unit first; what is counted by the size
    are the carriers. The true value may depend on their share.
    """

    has_percentiles: bool = False

    def truth(self, rng: np.random.Generator, size: int = 0) -> float:
        if np.isfinite(self.true):
            return self.true
        blocks = [self.rows(rng, (40, size))[..., 1:] for _ in range(50)]
        rows = np.concatenate(blocks).reshape(-1, blocks[0].shape[-1])
        return float(self._weighted.value(rows, np.ones(len(rows))))

    @property
    def _weighted(self) -> WeightedMetric:
        assert isinstance(self.metric, WeightedMetric)
        return self.metric

    def weights(self, rows: Floats) -> Floats:
        metric = self._weighted
        sets = rows if not self.is_difference else rows[:, 0]
        smallest = [metric.sum_carriers_by_unit(own) for own in sets]
        return np.stack([own[:, (own > 0).sum(axis=0).argmin()] for own in smallest])

    def bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        metric = self._weighted
        if self.is_difference:
            found = [
                compute_difference_interval(PairedRuns(metric, *both)) for both in rows
            ]
        else:
            found = intervals([(metric, own) for own in rows])
        ends = np.array([own or (np.nan, np.nan) for own in found])
        return ends[:, 0], ends[:, 1]


class Ranked(Weighted):
    """Leaderboards of truth and judge; the true value is the expected one over sets of so many systems."""

    def truth(self, rng: np.random.Generator, size: int = 0) -> float:
        rows = self.rows(rng, (SETS_OF_SYSTEMS, size))
        return float(np.mean([self._weighted.total(own) for own in rows]))


@dataclass(frozen=True)
class Agreed(Family):
    """Test sets of items rated by several people, as counts of each label; the coefficients are vectorized,
    the error and the interval those of `scoring.stats.jackknife`.
    """

    level: str = "nominal"
    has_percentiles: bool = False

    @property
    def shape(self) -> str:
        return "agreement"

    def weights(self, rows: Floats) -> Floats:
        return np.ones(rows.shape[:-1])

    def value(self, sums: Floats) -> Floats:
        return AGREEMENTS[self.level](sums)

    def bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        counts, size = rows[..., :LABELS_OF_ITEMS], rows.shape[-2]
        total = rows.sum(axis=-2)
        values, left_out = self.value(total), self.value(total[:, None] - rows)
        agreed = ((counts > 1).sum(axis=-2) >= MIN_UNITS_PER_CLASS).astype(int)
        used = counts.any(axis=-2)
        enough = np.ones(len(rows), dtype=bool)
        if self.level == "nominal":
            enough = (agreed >= used).all(axis=-1)
        elif self.level == "ordinal":
            # An item where two agree on another level than the most frequent one.
            most = counts.sum(axis=-2).argmax(axis=-1)[:, None, None]
            others = np.arange(LABELS_OF_ITEMS) != most
            enough = ((counts > 1) & others).any(axis=-1).sum(axis=-1)
            enough = enough >= MIN_UNITS_PER_CLASS
        is_known = enough & np.isfinite(values) & np.isfinite(left_out).all(axis=-1)
        low, high = np.full((2, len(rows)), np.nan)
        errors = compute_jackknife_error(left_out[is_known])
        ends = compute_score_bounds(values[is_known], errors, float(size), (-1.0, 1.0))
        low[is_known], high[is_known] = ends
        return low, high


@dataclass(frozen=True)
class Confused(Family):
    """Test sets of topics with labels by two judges, or by people and a judge: of each topic the cells of the
    confusion matrix. The intervals are those of `scoring.stats.confusion`.
    """

    has_percentiles: bool = False

    @property
    def shape(self) -> str:
        return "agreement"

    def weights(self, rows: Floats) -> Floats:
        return np.ones(rows.shape[:-1])

    def value(self, sums: Floats) -> Floats:
        cells = [(first, second) for first in self._labels for second in self._labels]
        stats = self._kappa.instance_stats(*zip(*cells, strict=True))
        return np.asarray(self._kappa.aggregate(sums @ stats))

    @property
    def _kappa(self) -> Kappa:
        assert isinstance(self.metric, Kappa)
        return self.metric

    @property
    def _labels(self) -> list[str]:
        return [str(label) for label in self._kappa.labels or ()]

    def bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        size = len(self._labels)
        matrices = rows.astype(int).reshape(*rows.shape[:-1], size, size)
        found = [
            ConfusionMatrices(
                labels=self._labels, by_topic=dict(enumerate(own))
            ).kappa_interval
            for own in matrices
        ]
        ends = np.array(
            [own if isinstance(own, tuple) else (np.nan, np.nan) for own in found]
        )
        return ends[:, 0], ends[:, 1]


@dataclass(frozen=True)
class Cell:
    """Of test sets of one size: the share of intervals that hold, their mean width, how many there are."""

    held: float
    width: float
    given: float
    repetitions: int
    #: How many units carry the number, on average of the test sets that have an interval.
    carriers: float = np.inf

    @property
    def error(self) -> float:
        """Twice the standard error of the share, were it 95 %, in points."""
        return float(
            200 * np.sqrt(0.95 * 0.05 / max(1.0, self.repetitions * self.given))
        )

    @property
    def is_counted(self) -> bool:
        return self.given >= SHARE_GIVEN and self.carriers >= FEWEST

    @property
    def is_held(self) -> bool:
        """Whether it is no more than three standard errors below the aim."""
        count = max(1.0, self.repetitions * self.given)
        share = AIM / 100
        return bool(
            self.held >= AIM - ERRORS * 100 * np.sqrt(share * (1 - share) / count)
        )

    def text(self, *, has_width: bool) -> str:
        if self.given < 0.01:
            return "none"
        width = f" ({self.width:.3g})" if has_width else ""
        given = f" [{100 * self.given:.0f}]" if self.given < 0.995 else ""
        return f"{self.held:.1f}{width}{given}"


def cell(truth: float, low: Floats, high: Floats, carriers: float = np.inf) -> Cell:
    known = np.isfinite(low) & np.isfinite(high)
    holds = (low[known] <= truth + 1e-12) & (truth - 1e-12 <= high[known])
    return Cell(
        held=float(100 * holds.mean()) if len(holds) else np.nan,
        width=float((high - low)[known].mean()) if len(holds) else np.nan,
        given=float(known.mean()),
        repetitions=len(low),
        carriers=carriers,
    )


def simulated(
    family: Family, repetitions: int, seed: int, *, is_percentile: bool = False
) -> Iterator[Cell]:
    """A cell for each size."""
    rng = np.random.default_rng(seed)
    if isinstance(family, Weighted):
        # One test set after the other.
        repetitions = max(200, repetitions // 4)
    sizes = PERCENTILE_SIZES if is_percentile else family.sizes
    drawn_truth = None if isinstance(family, Weighted) else family.truth(rng)
    for size in sizes:
        truth = family.truth(rng, size) if drawn_truth is None else drawn_truth
        ends, carriers = [], []
        for start in range(0, repetitions, BLOCK):
            rows = family.rows(rng, (min(BLOCK, repetitions - start), size))
            ends.append(
                family.percentiles(rng, rows) if is_percentile else family.bounds(rows)
            )
            carriers.append((family.weights(rows) > 0).sum(axis=-1))
        low, high = (np.concatenate(own) for own in zip(*ends, strict=True))
        count = np.concatenate(carriers)[np.isfinite(low)]
        yield cell(truth, low, high, float(count.mean()) if len(count) else 0.0)


# How units come about. A topic has 8 to 24 citances, a paper 1 to 4 contexts; some are easier than others.


def topic_counts(
    rng: np.random.Generator, size: Floats, ease: Floats, noise: Floats
) -> Floats:
    found = rng.binomial(size.astype(int), ease)
    return np.stack(
        [found, rng.binomial(size.astype(int), noise), size - found], axis=-1
    ).astype(float)


def topics(rng: np.random.Generator, shape: Shape) -> Floats:
    return topic_counts(
        rng,
        rng.integers(8, 25, shape).astype(float),
        rng.beta(4, 6, shape),
        rng.beta(4, 4, shape),
    )


def two_on_topics(rng: np.random.Generator, shape: Shape) -> Floats:
    """The second run finds about .05 less of the same topics."""
    size, ease, noise = (
        rng.integers(8, 25, shape).astype(float),
        rng.beta(4, 6, shape),
        rng.beta(4, 4, shape),
    )
    better = np.clip(ease + rng.normal(0.05, 0.08, shape), 0.01, 0.99)
    return np.concatenate(
        [topic_counts(rng, size, chance, noise) for chance in (better, ease)], axis=-1
    )


def averaged(metric: Metric, draw: Draw, runs: int = 1) -> Draw:
    """Each unit's own precision and recall, or mean, as in an average over units."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        sums = draw(rng, shape)
        parts = np.split(sums, runs, axis=-1)
        turned = [metric.unit_stats(_with_its_file(own, metric)) for own in parts]
        return np.concatenate([own.reshape(*shape, -1) for own in turned], axis=-1)

    return rows


def _with_its_file(sums: Floats, metric: Metric) -> Floats:
    """(n, k) rows; topics' averages are over gold files, of which each topic has one here."""
    rows = sums.reshape(-1, sums.shape[-1])
    return (
        np.column_stack([rows, np.ones(len(rows))])
        if metric.statistic.endswith("_by_file")
        else rows
    )


def ranked(measured: NDArray[Any], count: NDArray[Any]) -> Floats:
    """Rows of a ranking metric of which the first column, recall, is measured."""
    rows = np.zeros((*count.shape, 6))
    rows[..., 0], rows[..., -1] = measured, count
    return rows


def papers(a: float, b: float) -> Draw:
    """Shares of contexts whose citation is found."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        size = rng.integers(1, 5, shape)
        return ranked(rng.binomial(size, rng.beta(a, b, shape)), size)

    return rows


def two_on_papers(rng: np.random.Generator, shape: Shape) -> Floats:
    size, ease = rng.integers(1, 5, shape), rng.beta(1, 8, shape)
    runs = [
        ranked(rng.binomial(size, np.clip(ease + more, 0, 1)), size)
        for more in (0, 0.05)
    ]
    return np.concatenate(runs, axis=-1)


def reciprocal_ranks(largest: int) -> Draw:
    """Each context's 1/rank up to rank 10; contexts of one paper share their difficulty."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        size = rng.integers(1, largest + 1, shape)
        chance = rng.beta(1.5, 6, shape) if largest > 1 else np.full(shape, 0.15)
        total = np.zeros(shape)
        for place in range(largest):
            rank = rng.geometric(chance)
            total += np.where((rank <= 10) & (place < size), 1 / rank, 0.0)
        return ranked(total, size)

    return rows


def gains(rng: np.random.Generator, shape: Shape) -> Floats:
    size = rng.integers(1, 5, shape)
    total = np.clip(
        rng.normal(rng.beta(2, 4, shape) * size, 0.15 * np.sqrt(size)), 0, size
    )
    return ranked(total, size)


def instances(chance: float) -> Draw:
    return lambda rng, shape: ranked(
        (rng.random(shape) < chance).astype(float), np.ones(shape)
    )


def two_on_instances(chance: float, changed: float, more: float = 0.0) -> Draw:
    """The second run answers so large a share of instances anew."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        own = rng.random(shape) < chance
        other = np.where(
            rng.random(shape) < changed, rng.random(shape) < chance + more, own
        )
        return np.concatenate(
            [ranked(run.astype(float), np.ones(shape)) for run in (own, other)], axis=-1
        )

    return rows


def overlaps(rng: np.random.Generator, shape: Shape) -> Floats:
    return ranked(rng.beta(2, 5, shape), np.ones(shape))


def two_overlaps(rng: np.random.Generator, shape: Shape) -> Floats:
    own = rng.beta(2, 5, shape)
    other = np.clip(own + rng.normal(0.02, 0.1, shape), 0, 1)
    return np.concatenate(
        [ranked(run, np.ones(shape)) for run in (own, other)], axis=-1
    )


def classified(fewest: int, most: int) -> Draw:
    """Instances of four classes of 50, 25, 15 and 10 %, seven of ten answered rightly."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        size = rng.integers(fewest, most + 1, shape)
        support = rng.multinomial(size, [0.5, 0.25, 0.15, 0.1])
        both = rng.binomial(support, rng.beta(5.6, 2.4, shape)[..., None])
        wrong = rng.multinomial((support - both).sum(axis=-1), [0.4, 0.3, 0.2, 0.1])
        return np.concatenate(
            [support, both + wrong, both, size[..., None]], axis=-1
        ).astype(float)

    return rows


def sized_topics(tie: float, spread: float = 0.8) -> Draw:
    """Topics of lognormal size; ``tie`` says how far the ease of a topic goes with its size."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        z = rng.standard_normal(shape)
        size = np.maximum(2, np.round(np.exp(2.5 + spread * z)))
        own = np.sqrt(1 - tie**2) * rng.standard_normal(shape)
        ease = np.clip(0.55 + 0.12 * (tie * z + own), 0.02, 0.98)
        found = rng.binomial(size.astype(int), ease)
        wrong = rng.binomial(size.astype(int), 0.4 * (1 - ease))
        return np.stack([found, wrong, size - found], axis=-1).astype(float)

    return rows


def answered_topics(count: int, share: float) -> Draw:
    """Of all topics a few are answered, each with five spans, of which a share is right."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        right = rng.binomial(5, rng.beta(4 * share, 4 * (1 - share), shape)).astype(
            float
        )
        is_answered = np.zeros(shape, dtype=bool)
        is_answered[..., : min(count, shape[-1])] = True
        return (
            np.stack([right, 5 - right, np.zeros(shape)], axis=-1)
            * is_answered[..., None]
        )

    return rows


def rare_class(rng: np.random.Generator, shape: Shape) -> Floats:
    """A class of 5 %, of which .6 are found; .6 of what is found is right."""
    is_gold = rng.random(shape) < 0.05
    answered = rng.random(shape) < np.where(is_gold, 0.6, 0.05 * 0.6 * 0.4 / 0.6 / 0.95)
    return np.stack(
        [is_gold & answered, ~is_gold & answered, is_gold & ~answered], -1
    ).astype(float)


def drawn(of_unit: Callable[[np.random.Generator, Shape], Floats]) -> Draw:
    """One value a unit."""
    return lambda rng, shape: ranked(of_unit(rng, shape), np.ones(shape))


def two_modes(share: float) -> Draw:
    return drawn(
        lambda rng, shape: np.where(
            rng.random(shape) < share, rng.beta(18, 2, shape), rng.beta(2, 38, shape)
        )
    )


def nested(rng: np.random.Generator, shape: Shape) -> Floats:
    """Five binary instances a paper, which are alike."""
    return ranked(rng.binomial(5, rng.beta(2, 2, shape)), np.full(shape, 5))


def unequal_classes(shares: tuple[float, ...], right: float) -> Draw:
    """Single instances of classes with these shares; wrong answers go to the other classes by their share."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        gold = rng.multinomial(1, shares, size=shape)
        is_right = rng.random(shape) < right
        others = np.array(
            [
                [0 if i == j else shares[j] for j in range(len(shares))]
                for i in range(len(shares))
            ]
        )
        chances = (others / others.sum(axis=1, keepdims=True))[gold.argmax(axis=-1)]
        answered = np.where(is_right[..., None], gold, rng.multinomial(1, chances))
        parts = [gold, answered, gold * is_right[..., None], np.ones((*shape, 1))]
        return np.concatenate(parts, axis=-1).astype(float)

    return rows


def surprisals(rng: np.random.Generator, shape: Shape) -> Floats:
    return np.stack(
        [rng.exponential(2.0, shape), np.zeros(shape), np.ones(shape)], axis=-1
    )


def lengths(rng: np.random.Generator, shape: Shape) -> Floats:
    """Words of the answer and of the gold."""
    gold = rng.lognormal(4.5, 0.4, shape)
    return np.stack(
        [gold * rng.lognormal(-0.1, 0.3, shape), gold, np.ones(shape)], axis=-1
    )


def tagged(rng: np.random.Generator, shape: Shape) -> Floats:
    """Sentences of a text by intent, the run's and the gold's; of each side 15 to 39."""
    sides = []
    for mean in ((0.3, 0.3, 0.25, 0.15), (0.4, 0.3, 0.2, 0.1)):
        own = rng.gamma(np.broadcast_to(20 * np.array(mean), (*shape, 4)))
        sides.append(
            rng.multinomial(
                rng.integers(15, 40, shape), own / own.sum(axis=-1, keepdims=True)
            )
        )
    return np.concatenate(sides, axis=-1).astype(float)


def scored(positive: float, per_unit: int = 1, noise: float = 1.0) -> Draw:
    """Of 200 instances so many positives as the size says, their scores so far above the others'."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        repetitions, size = shape
        count = max(INSTANCES, 2 * size)
        is_positive = np.zeros((repetitions, count))
        is_positive[:, :size] = 1
        units = np.broadcast_to(np.arange(count) // per_unit, is_positive.shape)
        shared = rng.normal(0, 0.5, (repetitions, count // per_unit + 1))
        scores = positive * is_positive + noise * rng.standard_normal(is_positive.shape)
        if per_unit > 1:
            scores = scores + np.take_along_axis(shared, units, axis=1)
        return np.stack([units, scores, is_positive, np.ones_like(scores)], axis=-1)

    return rows


def two_scored(positive: float) -> Draw:
    """The second run's scores have half of their noise from the first."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        first = scored(positive)(rng, shape)
        second = first.copy()
        is_positive = first[..., 2]
        noise = first[..., 1] - positive * is_positive
        fresh = rng.standard_normal(noise.shape)
        second[..., 1] = positive * is_positive + (noise + fresh) / np.sqrt(2)
        return np.stack([first, second], axis=1)

    return rows


def pairs(noise: float, step: float = 0.0) -> Draw:
    """Numbers and answers around them, rounded to steps where there are ties."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        gold = rng.standard_normal(shape)
        answers = gold + noise * rng.standard_normal(shape)
        if step:
            gold, answers = (step * np.rint(side / step) for side in (gold, answers))
        units = np.broadcast_to(np.arange(shape[1], dtype=float), shape)
        return np.stack([units, gold, answers, np.ones(shape)], axis=-1)

    return rows


def leaderboards(noise: float, topics: int = 0) -> Draw:
    """Systems that the judge scores with noise; on each topic both have noise besides."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        truth = rng.standard_normal(shape)
        judge = truth + noise * rng.standard_normal(shape)
        places = np.broadcast_to(np.arange(shape[1], dtype=float), shape)
        every = np.ones(shape)
        on_topics = [
            column
            for _ in range(topics)
            for column in (
                truth + rng.standard_normal(shape),
                judge + rng.standard_normal(shape),
                every,
            )
        ]
        columns = [places, truth, judge, places, *on_topics, every]
        return np.stack(columns, axis=-1)

    return rows


def moments(
    gold: Callable[[np.random.Generator, Shape], Floats],
    errors: Callable[[np.random.Generator, Shape], Floats],
    slope: float = 1.0,
    offset: float = 0.0,
) -> Draw:
    """Rows of numbers and answers, centred on the medians of each test set as `Moments` does."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        x = offset + gold(rng, shape)
        y = offset + slope * (x - offset) + errors(rng, shape)
        d, centre = x - y, np.median(x[..., :1000], axis=-1, keepdims=True)
        z = y - np.median(y[..., :1000], axis=-1, keepdims=True)
        x, y = x - centre, y - centre
        columns = [x, y, x * x, y * y, x * y, np.abs(d), d * d, z, z * z, x * z]
        return np.stack([*columns, np.ones(shape)], axis=-1)

    return rows


def normal(spread: float = 1.0) -> Callable[[np.random.Generator, Shape], Floats]:
    return lambda rng, shape: spread * rng.standard_normal(shape)


def lognormal(spread: float) -> Callable[[np.random.Generator, Shape], Floats]:
    return lambda rng, shape: rng.lognormal(0.0, spread, shape)


def laplace(rng: np.random.Generator, shape: Shape) -> Floats:
    return rng.laplace(size=shape)


def heavy(rng: np.random.Generator, shape: Shape) -> Floats:
    """Student's t with 5 degrees of freedom."""
    return rng.standard_t(5, shape)


def mostly_exact(rng: np.random.Generator, shape: Shape) -> Floats:
    return (rng.random(shape) < 0.3) * rng.standard_normal(shape)


def losses(a: float, b: float) -> Draw:
    """Minus the logarithm of probabilities of the gold's label."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        loss = -np.log(np.clip(rng.beta(a, b, shape), 1e-15, 1 - 1e-15))
        return np.stack([loss, np.ones(shape)], axis=-1)

    return rows


def words_and_squares(rng: np.random.Generator, shape: Shape) -> Floats:
    words = np.rint(rng.lognormal(4.5, 0.3, shape))
    return np.stack([words, words**2, np.ones(shape)], axis=-1)


def matched_grams(rng: np.random.Generator, shape: Shape) -> Floats:
    """Pairs of texts of about 20 words, easier or harder by a beta distribution."""
    answered = 4 + rng.poisson(18, shape).astype(float)
    wanted = 4 + rng.poisson(20, shape).astype(float)
    ease = rng.beta(4, 4, shape)
    totals = [answered - order for order in range(4)]
    correct = [
        rng.binomial(total.astype(int), ease ** (1 + 0.6 * order))
        for order, total in enumerate(totals)
    ]
    return np.stack([answered, wanted, *correct, *totals, np.ones(shape)], axis=-1)


#: Labels or levels of rated items, and people who rate each.
LABELS_OF_ITEMS, RATERS = 5, 3


def labelled_items(shares: tuple[float, ...], guessed: float) -> Draw:
    """Each rater gives an item's label, or guesses by the shares of labels."""

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        ends = np.cumsum(shares)[:-1]
        own = np.searchsorted(ends, rng.random(shape), side="right")[..., None]
        given = np.searchsorted(ends, rng.random((*shape, RATERS)), side="right")
        is_own = rng.random(given.shape) >= guessed
        return rated_rows(np.where(is_own, own, given))

    return rows


def judged_topics(
    shares: tuple[float, ...], pairs: tuple[int, int], errors: tuple[float, float]
) -> Draw:
    """Of each topic the cells of the confusion matrix of two judges. Topics differ in their number of pairs,
    in the shares of labels and in how often a judge errs; a judge that errs gives any label by the shares.
    """
    labels = np.eye(len(shares))

    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        size = rng.integers(pairs[0], pairs[1] + 1, shape)
        own = rng.dirichlet(8 * np.array(shares), shape)
        given = []
        for error in errors:
            errs = rng.beta(4 * error, 4 * (1 - error), shape)[..., None, None]
            given.append((1 - errs) * labels + errs * np.array(shares))
        cells = np.einsum("...t,...ta,...tb->...ab", own, *given)
        cells = cells.reshape(*shape, -1)
        cells /= cells.sum(axis=-1, keepdims=True)
        return rng.multinomial(size, cells).astype(float)

    return rows


def levelled_items(shares: tuple[float, ...], noise: float) -> Draw:
    def rows(rng: np.random.Generator, shape: Shape) -> Floats:
        ends = np.cumsum(shares)[:-1]
        own = np.searchsorted(ends, rng.random(shape), side="right")[..., None]
        given = np.rint(own + noise * rng.standard_normal((*shape, RATERS)))
        return rated_rows(np.clip(given, 0, LABELS_OF_ITEMS - 1))

    return rows


def rated_rows(ratings: NDArray[Any]) -> Floats:
    """Of each item the counts of its labels, the share of equal pairs, and how often labels are paired."""
    counts = np.stack(
        [(ratings == label).sum(axis=-1) for label in range(LABELS_OF_ITEMS)], axis=-1
    ).astype(float)
    equal = (counts * (counts - 1)).sum(axis=-1) / (RATERS * (RATERS - 1))
    paired = counts[..., :, None] * counts[..., None, :]
    paired -= np.eye(LABELS_OF_ITEMS) * counts[..., None]
    paired = paired.reshape(*counts.shape[:-1], -1) / (RATERS - 1)
    return np.concatenate([counts, equal[..., None], paired], axis=-1)


def _shares_and_agreement(sums: Floats) -> tuple[Floats, Floats]:
    counts = sums[..., :LABELS_OF_ITEMS]
    total = counts.sum(axis=-1, keepdims=True)
    return counts / total, sums[..., LABELS_OF_ITEMS] * RATERS / total[..., 0]


def fleiss_of(sums: Floats) -> Floats:
    shares, agreed = _shares_and_agreement(sums)
    expected = (shares**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(
            expected < 1 - 1e-12, (agreed - expected) / (1 - expected), np.nan
        )


def ac1_of_two_labels(sums: Floats) -> Floats:
    shares, agreed = _shares_and_agreement(sums)
    expected = (shares * (1 - shares)).sum(axis=-1)
    values: Floats = (agreed - expected) / (1 - expected)
    return values


def ordinal_alpha_of(sums: Floats) -> Floats:
    paired = sums[..., LABELS_OF_ITEMS + 1 :]
    paired = paired.reshape(*sums.shape[:-1], LABELS_OF_ITEMS, LABELS_OF_ITEMS)
    counts = paired.sum(axis=-1)
    middle = np.cumsum(counts, axis=-1) - counts / 2
    distance = (middle[..., :, None] - middle[..., None, :]) ** 2
    by_chance = counts[..., :, None] * counts[..., None, :] * distance
    expected = by_chance.sum(axis=(-1, -2)) / (counts.sum(axis=-1) - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (paired * distance).sum(axis=(-1, -2))
        return np.where(expected > 0, 1 - observed / expected, np.nan)


AGREEMENTS = {
    "nominal": fleiss_of,
    "ordinal": ordinal_alpha_of,
    "ac1": ac1_of_two_labels,
}


class Intents(Metric):
    """KL(P || Q) of four labels, as `kl_intent` has it over its own."""

    shape = "divergence"

    def instance_stats(self, gold: object, answers: object) -> Floats:
        raise NotImplementedError("its rows are drawn")

    @property
    def value_range(self) -> tuple[float, float]:
        return (-np.inf, np.inf)

    def aggregate(self, sums: Floats) -> Floats:
        return compute_kl_divergence(
            compute_label_shares(sums[..., :4]), compute_label_shares(sums[..., 4:])
        )


def families() -> list[Family]:
    micro, macro = (
        Overlap(f"overlap_f1_{average}", CORRECTED, part="f1", average=average)
        for average in ("micro", "macro")
    )
    recall = Ranking("recall", CORRECTED, measure="recall")
    by_paper = Ranking("recall_macro", CORRECTED, measure="recall", over_units=True)
    macro_f1 = ClassAverage(
        "macro_f1", CORRECTED, part="f1", average="macro", labels="abcd"
    )
    kappa = Kappa("kappa", CORRECTED, labels="abcd")
    two_kappa, matthews = (
        Kappa("kappa", CORRECTED, labels="ab"),
        Matthews("mcc", CORRECTED, labels="ab"),
    )
    precision = Overlap(
        "overlap_precision", CORRECTED, part="precision", average="micro"
    )
    log_loss = LogLoss("log_loss", CORRECTED, labels="ab")
    length = Length("length", CORRECTED, column="words")
    length_ratio = LengthRatio("length_ratio", CORRECTED, column="words")
    return [
        Family("micro F1, unit topic", micro, topics),
        Family("macro F1 over topics", macro, averaged(macro, topics)),
        Family("recall .11, unit paper", recall, papers(1, 8)),
        Family("recall .90, unit paper", recall, papers(9, 1)),
        Family(
            "mean of papers' recalls .11", by_paper, averaged(by_paper, papers(1, 8))
        ),
        Family("reciprocal rank, unit paper", recall, reciprocal_ranks(8)),
        Family("reciprocal rank, unit instance", recall, reciprocal_ranks(1)),
        Family("nDCG, unit paper", recall, gains),
        Family("share .05, unit instance", recall, instances(0.05), is_mean=True),
        Family("share .3, unit instance", recall, instances(0.3), is_mean=True),
        Family("share .95, unit instance", recall, instances(0.95), is_mean=True),
        Family("mean like ROUGE, unit instance", recall, overlaps, is_mean=True),
        Family("macro F1 over 4 classes, unit paper", macro_f1, classified(8, 24)),
        Family("macro F1 over 4 classes, unit instance", macro_f1, classified(1, 1)),
        Family("kappa of 4 classes, unit paper", kappa, classified(8, 24)),
        Family("kappa of 4 classes, unit instance", kappa, classified(1, 1)),
        Family("F1 of a 5 % class", micro, rare_class),
        Family("precision of a 5 % class", precision, rare_class),
        Family("precision .05, 5 topics answered", precision, answered_topics(5, 0.05)),
        Family("precision .5, 20 topics answered", precision, answered_topics(20, 0.5)),
        Family("precision .9, 10 topics answered", precision, answered_topics(10, 0.9)),
        Family("micro F1, size goes with ease", micro, sized_topics(0.8)),
        Family("micro F1, size goes against ease", micro, sized_topics(-0.8)),
        Family("micro F1, size by itself", micro, sized_topics(0.0)),
        Family("micro F1, sizes lognormal 1.2", micro, sized_topics(0.0, 1.2)),
        Family(
            "mean of beta(.2, 3)",
            recall,
            drawn(lambda rng, shape: rng.beta(0.2, 3, shape)),
            is_mean=True,
        ),
        Family(
            "mean of two modes 85:15",
            recall,
            two_modes(0.15),
            not_held=FEW_OF_A_MODE,
            is_mean=True,
        ),
        Family("share of five instances a paper", recall, nested, is_mean=True),
        Family("kappa of classes 95:5", two_kappa, unequal_classes((0.95, 0.05), 0.9)),
        Family("MCC of classes 95:5", matthews, unequal_classes((0.95, 0.05), 0.9)),
        Family(
            "macro F1 with a 1 % class",
            ClassAverage(
                "macro_f1", CORRECTED, part="f1", average="macro", labels="abc"
            ),
            unequal_classes((0.6, 0.39, 0.01), 0.8),
            not_held=FEW_OF_A_CLASS,
        ),
        Family(
            "perplexity, surprisal exponential",
            Perplexity("perplexity", CORRECTED),
            surprisals,
        ),
        Family("length, unit instance", length, lengths),
        Family("length ratio, unit instance", length_ratio, lengths),
        Family("KL of intents, unit text", Intents("kl", "default"), tagged),
        *measures_of_numbers(),
        *measures_of_rows(),
        *measures_of_people(),
        Family("log loss of beta(2, .3)", log_loss, losses(2, 0.3)),
        Family("log loss of beta(5, 1)", log_loss, losses(5, 1), true=0.2),
        Family(
            "deviation of lengths",
            LengthDeviation("deviation", CORRECTED, column="words"),
            words_and_squares,
            not_held=OF_TAILS,
        ),
        Family("BLEU of a corpus", Bleu("bleu", CORRECTED), matched_grams),
        Family(
            "difference of micro F1, unit topic",
            micro,
            two_on_topics,
            is_difference=True,
        ),
        Family(
            "difference of macro F1 over topics",
            macro,
            averaged(macro, two_on_topics, runs=2),
            is_difference=True,
        ),
        Family(
            "difference of recalls, unit paper",
            recall,
            two_on_papers,
            is_difference=True,
        ),
        Family(
            "difference of shares .5, 1 of 5 changed",
            recall,
            two_on_instances(0.5, 0.2),
            is_difference=True,
        ),
        Family(
            "difference of shares .1, 1 of 10 changed",
            recall,
            two_on_instances(0.1, 0.1),
            is_difference=True,
        ),
        Family(
            "difference of shares .3 and .36",
            recall,
            two_on_instances(0.3, 0.6, 0.1),
            is_difference=True,
        ),
        Family(
            "difference of means like ROUGE", recall, two_overlaps, is_difference=True
        ),
    ]


def measures_of_numbers() -> list[Family]:
    """Correlation, concordance, R² and errors."""
    pearson, r2 = Pearson("pearson", CORRECTED), Determination("r2", CORRECTED)
    concordance, rmse = (
        Concordance("concordance", CORRECTED),
        SquaredError("rmse", CORRECTED),
    )
    mae = AbsoluteError("mae", CORRECTED)
    near, far = normal(0.5), normal(1.2)
    # Of lognormal gold the variance is (e^s² - 1) e^s².
    skewed = 1 - 0.25 / ((np.exp(0.64) - 1) * np.exp(0.64))
    return [
        Family(
            "Pearson of normal pairs", pearson, moments(normal(), near), true=0.8**0.5
        ),
        Family(
            "Pearson at an offset of 1e8",
            pearson,
            moments(normal(), far, offset=1e8),
            true=1 / 2.44**0.5,
        ),
        Family(
            "Pearson of lognormal gold",
            pearson,
            moments(lognormal(0.5), near),
            not_held=OF_TAILS,
        ),
        Family(
            "concordance of normal pairs",
            concordance,
            moments(normal(), near),
            true=2 / 2.25,
        ),
        Family(
            "concordance of lognormal gold",
            concordance,
            moments(lognormal(0.5), near),
            not_held=OF_TAILS,
        ),
        Family("R² of normal pairs", r2, moments(normal(), near), true=0.75),
        Family("R² of bad answers", r2, moments(normal(), far), true=-0.44),
        Family("R² of lognormal gold", r2, moments(lognormal(0.8), near), true=skewed),
        Family(
            "R² of gold with heavy tails",
            r2,
            moments(heavy, near),
            true=1 - 0.25 / (5 / 3),
        ),
        Family("RMSE of normal errors", rmse, moments(normal(), near), true=0.5),
        Family(
            "RMSE of Laplace errors",
            rmse,
            moments(normal(), laplace),
            true=2**0.5,
            not_held=OF_TAILS,
        ),
        Family(
            "RMSE, 70 % exact", rmse, moments(normal(), mostly_exact), true=0.3**0.5
        ),
        Family("MAE of Laplace errors", mae, moments(normal(), laplace), true=1.0),
        Family(
            "MAE at an offset of 1e8",
            mae,
            moments(normal(), normal(), offset=1e8),
            true=(2 / np.pi) ** 0.5,
        ),
    ]


def measures_of_rows() -> list[Family]:
    """Areas by positives of 200, and correlations of ranks."""
    of_label: dict[str, Any] = {"label": "a", "labels": "ab"}
    auroc = Auroc("auroc", CORRECTED, **of_label)
    average = AveragePrecision("average_precision", CORRECTED, **of_label)
    auprc = Auprc("auprc", CORRECTED, **of_label)
    spearman, kendall = (
        RankCorrelation("spearman", CORRECTED),
        Kendall("kendall", CORRECTED),
    )
    few, some = (3, 5, 10, 30, 100), (5, 10, 30)
    return [
        Weighted("AUROC .76, by positives", auroc, scored(1.0), sizes=few),
        Weighted("AUROC .92, by positives", auroc, scored(2.0), sizes=few),
        Weighted("AUROC .98, by positives", auroc, scored(2.9), sizes=few),
        Weighted(
            "AUROC, units of four, by positives",
            auroc,
            scored(1.5, per_unit=4),
            sizes=(30, 100),
        ),
        Weighted("average precision, by positives", average, scored(2.0), sizes=few),
        Weighted("AUPRC, by positives", auprc, scored(2.0), sizes=few),
        Weighted(
            "Spearman of normal pairs", spearman, pairs(0.7), sizes=(5, 10, 30, 100)
        ),
        Weighted(
            "Spearman with ties", spearman, pairs(0.7, step=1.0), sizes=(10, 30, 100)
        ),
        Weighted("Kendall with ties", kendall, pairs(0.7, step=1.0), sizes=(10, 30)),
        *measures_of_leaderboards(),
        Weighted(
            "difference of AUROC, by positives",
            auroc,
            two_scored(2.0),
            is_difference=True,
            true=0.0,
            sizes=some,
        ),
    ]


def measures_of_leaderboards() -> list[Family]:
    """Correlations of a judge's leaderboard with the truth, by systems."""

    def correlation(coefficient: str, best: int = 0) -> LeaderboardCorrelation:
        return LeaderboardCorrelation(
            coefficient, CORRECTED, coefficient=coefficient, best=best
        )

    of_topics = TopicCorrelation("kendall_by_topic", CORRECTED, coefficient="kendall")
    sizes, names = (5, 10, 30), ("kendall", "pearson", "spearman", "tauap_b", "tau_gap")
    return [
        *(
            Ranked(
                f"{name} of leaderboards",
                correlation(name),
                leaderboards(0.5),
                sizes=sizes,
            )
            for name in names
        ),
        *(
            Ranked(
                f"{name}@10 of leaderboards",
                correlation(name, best=10),
                leaderboards(0.5),
                sizes=(30,),
            )
            for name in ("kendall", "tauap_b", "tau_gap")
        ),
        Ranked(
            "kendall by topic of leaderboards",
            of_topics,
            leaderboards(0.5, topics=TOPICS),
            sizes=(5, 10, 30),
        ),
    ]


def measures_of_people() -> list[Family]:
    """Kappa, alpha and AC1 of three people; the metric stands for the columns alone."""
    rows = Ranking("rated", CORRECTED, measure="recall")
    people, rare = (10, 30, 100), (0.95, 0.05, 0.0, 0.0, 0.0)
    uneven, even = (0.9, 0.1, 0.0, 0.0, 0.0), (0.5, 0.5, 0.0, 0.0, 0.0)
    levels, skewed = (0.05, 0.1, 0.2, 0.4, 0.25), (0.01, 0.02, 0.07, 0.3, 0.6)
    named = [
        ("Fleiss' kappa, labels 50:50", "nominal", labelled_items(even, 0.3)),
        ("Fleiss' kappa, labels 90:10", "nominal", labelled_items(uneven, 0.2)),
        ("Fleiss' kappa, labels 95:5", "nominal", labelled_items(rare, 0.2)),
        ("AC1, labels 50:50", "ac1", labelled_items(even, 0.3)),
        ("AC1, labels 95:5", "ac1", labelled_items(rare, 0.3)),
        ("ordinal alpha of five levels", "ordinal", levelled_items(levels, 0.8)),
        ("ordinal alpha of skewed levels", "ordinal", levelled_items(skewed, 0.8)),
    ]
    return [
        *(
            Agreed(name, rows, draw, sizes=people, level=level)
            for name, level, draw in named
        ),
        *measures_of_judges(),
    ]


def measures_of_judges() -> list[Family]:
    """Kappa of a judge with people, who label few pairs of a topic, and of two judges that label all."""
    few, some, many = (2, 8), (5, 20), (20, 60)
    named = [
        ("a judge with people, labels 60:20:20", (0.6, 0.2, 0.2), few, (0.05, 0.2)),
        ("a judge with people, labels 85:15", (0.85, 0.15), few, (0.05, 0.2)),
        ("a judge with people, labels 95:5", (0.95, 0.05), few, (0.05, 0.2)),
        ("two judges, labels 70:30", (0.7, 0.3), many, (0.1, 0.2)),
        ("two judges, labels 80:15:5", (0.8, 0.15, 0.05), some, (0.1, 0.2)),
        ("two judges, labels 95:5", (0.95, 0.05), some, (0.1, 0.2)),
    ]
    return [
        Confused(
            f"kappa of {name}",
            Kappa("kappa", CORRECTED, labels="abc"[: len(shares)]),
            judged_topics(shares, pairs, errors),
            sizes=SIZES_OF_JUDGES,
        )
        for name, shares, pairs, errors in named
    ]


def measured_classes() -> dict[type[Metric], str]:
    """By class of each measure of the forms and of the built-in types where it is named."""
    classes: dict[type[Metric], str] = {}
    for form, measures in MEASURES_BY_FORM.items():
        for name, measure in measures.items():
            classes.setdefault(
                import_referenced_object(measure.metric), f"{form}: {name}"
            )
    for kind in task_types().values():
        for rules in kind.rules:
            for metric in build_metrics(kind, rules, kind.validate_options({})):
                classes.setdefault(type(metric), f"{kind.slug}: {metric.name}")
    return classes


def without_population() -> list[str]:
    """Measures that have intervals and no shape, or a shape of which no population is drawn."""
    drawn_shapes = {family.shape for family in families()}
    return [
        f"{place} ({kind.__name__}, shape “{kind.shape}”)"
        for kind, place in measured_classes().items()
        if kind.has_honest_interval
        and getattr(kind, "has_interval", True)
        and kind.shape not in drawn_shapes
    ]


def counted_cells(
    repetitions: int, seed: int, kept: Path | None, *, has_percentiles: bool = True
) -> dict[str, dict[str, list[Cell]]]:
    """By kind of interval and family a cell for each size, of two processes."""
    found = json.loads(kept.read_text()) if kept and kept.exists() else {}
    few = max(200, repetitions // 8)
    asked = [
        (number, count, seed, is_percentile)
        for is_percentile, count in ((False, repetitions), (True, few))
        for number, family in enumerate(families())
        if not is_percentile or (has_percentiles and family.has_percentiles)
    ]
    missing = [own for own in asked if _key(*own) not in found]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for key, cells in pool.imap_unordered(_of_family, missing):
            found[key] = cells
            if kept:
                kept.write_text(json.dumps(found))
    names = [own.name for own in families()]
    return {
        kind: {
            names[own[0]]: [Cell(**cell) for cell in found[_key(*own)]]
            for own in asked
            if own[3] == is_one
        }
        for kind, is_one in (("default", False), ("percentile", True))
    }


def _key(number: int, repetitions: int, seed: int, is_percentile: bool) -> str:
    return f"{families()[number].name}, {repetitions}, {seed}{', percentile' if is_percentile else ''}"


def _of_family(asked: tuple[int, int, int, bool]) -> tuple[str, list[dict[str, float]]]:
    number, repetitions, seed, is_percentile = asked
    cells = simulated(
        families()[number], repetitions, seed, is_percentile=is_percentile
    )
    return _key(*asked), [vars(cell) for cell in cells]


def tables(
    repetitions: int, seed: int, *, is_page: bool, kept: Path | None = None
) -> str:
    """The page's part: coverage, what falls short, and the percentile bootstrap."""
    found = counted_cells(repetitions, seed, kept)
    cells, percentile = found["default"], found["percentile"]
    by_name = {own.name: own for own in families()}
    counted = counted_in(cells)
    short = [
        f"- {name} at {size}: {own.held:.1f}. {by_name[name].not_held.capitalize() or 'Not explained'}."
        for name, size, own in counted
        if not own.is_held
    ]
    mean = np.mean([own.held for _, _, own in counted])
    few = next(iter(percentile.values()))[0].repetitions
    error = Cell(95.0, 0.0, 1.0, repetitions).error
    sizes = SIZES_ON_PAGE if is_page else SIZES
    shapes = sorted({own.shape for own in by_name.values()})
    return "\n".join(
        [
            f"{repetitions:,} test sets a cell, seed {seed}; two standard errors are {error:.1f} points.",
            f"Last the percentile bootstrap ({RESAMPLES} resamples, {few:,} test sets a cell).",
            "",
            "| Shape | Units |"
            + "".join(f" {size} |" for size in sizes)
            + "".join(f" percentile, {size} |" for size in PERCENTILE_SIZES),
            "| --- | --- |" + " ---: |" * (len(sizes) + len(PERCENTILE_SIZES)),
            *(
                f"| {shape} | {name} |"
                + "".join(f" {text} |" for text in chosen(by_name[name], row, sizes))
                + "".join(
                    f" {cell.text(has_width=False)} |"
                    for cell in percentile.get(name, [])
                )
                + ("" if name in percentile else " – |" * len(PERCENTILE_SIZES))
                for shape in shapes
                for name, row in cells.items()
                if by_name[name].shape == shape
            ),
            "",
            f"From {FEWEST} carriers on the mean of all {len(counted)} cells is {mean:.1f} %.",
            f"More than {ERRORS} standard errors below {AIM:.0f} % "
            + ("are, and are not held:" if short else "is none."),
            *(["", *short] if short else []),
        ]
    )


def chosen(family: Family, cells: list[Cell], sizes: tuple[int, ...]) -> list[str]:
    """By size the text of the cell; a dash where the family has no such size."""
    by_size = dict(zip(family.sizes, cells, strict=True))
    return [
        by_size[size].text(has_width=True) if size in by_size else "–" for size in sizes
    ]


def counted_in(cells: Mapping[str, list[Cell]]) -> list[tuple[str, int, Cell]]:
    """The cells that have to hold, by name and size."""
    sizes = {own.name: own.sizes for own in families()}
    return [
        (name, size, own)
        for name, row in cells.items()
        for size, own in zip(sizes[name], row, strict=True)
        if own.is_counted
    ]


def faults(cells: Mapping[str, list[Cell]]) -> list[str]:
    """What is wrong with the table: measures without a population, cells that fail without a reason, too many
    that are known not to hold.
    """
    reasons = {own.name: own.not_held for own in families()}
    short = [own for own in counted_in(cells) if not own[2].is_held]
    found = [f"no population: {place}" for place in without_population()]
    found += [
        f"{name} at {size}: {own.held:.1f} % of {own.repetitions}"
        for name, size, own in short
        if not reasons[name]
    ]
    if len(short) > MAX_NOT_HELD:
        found.append(f"{len(short)} cells are not held; at most {MAX_NOT_HELD} may be")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=4000, metavar="N")
    parser.add_argument("--seed", type=int, default=3, metavar="S")
    parser.add_argument(
        "--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}"
    )
    parser.add_argument(
        "--cells", type=Path, metavar="FILE", help="keeps what has been counted"
    )
    given = parser.parse_args()
    text = tables(given.repetitions, given.seed, is_page=given.write, kept=given.cells)
    if not given.write:
        print(text)
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
