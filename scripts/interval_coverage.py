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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scoring.metrics import Metric
from scoring.metrics.base import Floats
from scoring.metrics.citation_text import Length, LengthRatio
from scoring.metrics.classification import ClassAverage, Kappa, Matthews
from scoring.metrics.clsumm import Overlap
from scoring.metrics.discourse import divergence, shares
from scoring.metrics.ranking import Perplexity, Ranking
from scoring.stats.jackknife import (
    MIN_UNITS,
    difference_bounds,
    one_ended_bounds,
    score_bounds,
)
from scoring.stats.significance import differences_of
from tasks.types import CORRECTED

PAGE = ROOT / "docs" / "uncertainty.md"
BEGIN, END = (
    "<!-- the tables of scripts/interval_coverage.py -->",
    "<!-- end of the tables -->",
)
SIZES = (3, 5, 10, 30, 100, 200, 1000)
SIZES_ON_PAGE, PERCENTILE_SIZES = (3, 5, 10, 30, 100, 1000), (10,)
#: From so many carriers on each cell is to hold so often, and all of them so often on average.
FEWEST, AIM, AIM_OF_THE_MEAN = 5, 92.5, 94.0
#: Units of which the true value is made, and so many test sets are looked at at a time.
POPULATION, BLOCK = 1_000_000, 100
FEW_OF_A_MODE = "three in five test sets of ten have no unit, or one, of the rarer mode, which nothing in them tells"  # noqa: E501
FEW_OF_A_CLASS = (
    "the error of the class of which a few instances are there makes that of the mean"
)
RESAMPLES = 500

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

    def rows(self, rng: np.random.Generator, shape: Shape) -> Floats:
        return self.draw(rng, shape)

    def value(self, sums: Floats) -> Floats:
        if not self.is_difference:
            return np.asarray(self.metric.aggregate(sums))
        half = sums.shape[-1] // 2
        return differences_of(self.metric, sums[..., :half], sums[..., half:])

    def truth(self, rng: np.random.Generator) -> float:
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
            carries.sum(axis=-1) >= MIN_UNITS
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
            ends = difference_bounds(
                values[is_known], errors, kish, (first, last), same=shares
            )
        else:
            if np.isinf(first) != np.isinf(last):
                # Every unit of these families carries.
                start, end = one_ended_bounds(
                    scale(values[is_known]), left_out.data, kish, (first, last)
                )
            else:
                start, end = score_bounds(
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
    truth = family.truth(rng)
    for size in PERCENTILE_SIZES if is_percentile else SIZES:
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


class Intents(Metric):
    """KL(P || Q) of four labels, as `kl_intent` has it over its own."""

    def instance_stats(self, gold: object, answers: object) -> Floats:
        raise NotImplementedError("its rows are drawn")

    @property
    def value_range(self) -> tuple[float, float]:
        return (-np.inf, np.inf)

    def aggregate(self, sums: Floats) -> Floats:
        return divergence(shares(sums[..., :4]), shares(sums[..., 4:]))


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
        Family("share .05, unit instance", recall, instances(0.05)),
        Family("share .3, unit instance", recall, instances(0.3)),
        Family("share .95, unit instance", recall, instances(0.95)),
        Family("mean like ROUGE, unit instance", recall, overlaps),
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
        ),
        Family(
            "mean of two modes 85:15", recall, two_modes(0.15), not_held=FEW_OF_A_MODE
        ),
        Family("share of five instances a paper", recall, nested),
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


def counted_cells(
    repetitions: int, seed: int, kept: Path | None
) -> dict[str, dict[str, list[Cell]]]:
    """By kind of interval and family a cell for each size, of two processes."""
    found = json.loads(kept.read_text()) if kept and kept.exists() else {}
    few = max(200, repetitions // 8)
    asked = [
        (number, count, seed, is_percentile)
        for is_percentile, count in ((False, repetitions), (True, few))
        for number in range(len(families()))
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
    reasons = {own.name: own.not_held for own in families()}
    counted = [
        (name, size, own)
        for name, row in cells.items()
        for size, own in zip(SIZES, row, strict=True)
        if own.given >= 0.01 and own.carriers >= FEWEST
    ]
    short = [
        f"- {name} at {size}: {own.held:.1f}. {reasons[name].capitalize() or 'Not explained'}."
        for name, size, own in counted
        if own.held < AIM
    ]
    mean = np.mean([own.held for _, _, own in counted])
    few = next(iter(percentile.values()))[0].repetitions
    error = Cell(95.0, 0.0, 1.0, repetitions).error
    sizes = SIZES_ON_PAGE if is_page else SIZES
    return "\n".join(
        [
            f"{repetitions:,} test sets a cell, seed {seed}; two standard errors are {error:.1f} points.",
            f"Last the percentile bootstrap ({RESAMPLES} resamples, {few:,} test sets a cell).",
            "",
            "| Units |"
            + "".join(f" {size} |" for size in sizes)
            + "".join(f" percentile, {size} |" for size in PERCENTILE_SIZES),
            "| --- |" + " ---: |" * (len(sizes) + len(PERCENTILE_SIZES)),
            *(
                f"| {name} |"
                + "".join(
                    f" {cell.text(has_width=True)} |" for cell in chosen(row, sizes)
                )
                + "".join(
                    f" {cell.text(has_width=False)} |" for cell in percentile[name]
                )
                for name, row in cells.items()
            ),
            "",
            f"From {FEWEST} carriers on the mean of all {len(counted)} cells is {mean:.1f} %.",
            f"Below {AIM} % {'are, and are not held:' if short else 'is none.'}",
            *(["", *short] if short else []),
        ]
    )


def chosen(cells: list[Cell], sizes: tuple[int, ...]) -> list[Cell]:
    return [cell for size, cell in zip(SIZES, cells, strict=True) if size in sizes]


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
