"""How often the interval of a mean over seeds holds the true value, and how often equal systems differ.

    python scripts/seed_coverage.py [--kind KIND] [--repetitions N] [--seed S]

Draws systems whose runs differ by a seed, and test sets whose units are hard or easy for all runs alike. The
intervals and p-values come from the functions that boards use. Fails if from three runs on a cell holds the
true value more than three standard errors less often than in 93 % of test sets, or if systems without a
difference differ more than three standard errors more often than in 5 %.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scoring.metrics.base import Floats, MeanMetric, Metric
from scoring.metrics.clsumm import Overlap
from scoring.stats.seeds import compare_system_means, compute_system_mean_interval

AIM, LEVEL_OF_TESTS, ERRORS = 93.0, 5.0, 3
RUNS, UNITS = (3, 5, 10), (30, 100, 400)
#: Seeds and units that the true value is the mean of.
TRUE_SEEDS, TRUE_UNITS = 2000, 5000
REPETITIONS, SEED = 1000, 7


class _Accuracy(MeanMetric):
    columns = ("right",)

    def instance_stats(self, gold: object, answers: object) -> Floats:
        raise NotImplementedError


class _Error(_Accuracy):
    """A mean from 0 on without an upper end."""

    higher_is_better = False
    scale = 0
    ends = (0.0, math.inf)


@dataclass(frozen=True)
class Family:
    """Systems of one kind: a metric, how far a seed moves a run, and the rows of units.

    ``draw`` takes the hardness of the units and the levels of the runs, both standard normal but for the size
    of the seeds' spread, and returns (runs, units, m) rows.
    """

    name: str
    metric: Metric
    draw: Callable[[np.random.Generator, Floats, Floats], Floats]
    spread: float

    def systems(
        self, rng: np.random.Generator, runs: int, units: int, number: int = 1
    ) -> list[list[Floats]]:
        """Return the rows of so many equal systems on one test set."""
        hardness = rng.standard_normal(units)
        drawn = (
            self.draw(rng, hardness, self.spread * rng.standard_normal(runs))
            for _system in range(number)
        )
        return [list(rows) for rows in drawn]

    def truth(self, rng: np.random.Generator) -> float:
        """Return the mean over seeds of the value over all units."""
        values = [
            self.metric.total(self.systems(rng, 1, TRUE_UNITS)[0][0])
            for _seed in range(TRUE_SEEDS)
        ]
        return float(np.mean(values))


def right_or_wrong(
    rng: np.random.Generator, hardness: Floats, levels: Floats
) -> Floats:
    chance = 1 / (1 + np.exp(-(0.8 + levels[:, None] - 1.5 * hardness)))
    right = rng.random(chance.shape) < chance
    return np.stack([right, np.ones(right.shape)], axis=-1).astype(float)


def shares(rng: np.random.Generator, hardness: Floats, levels: Floats) -> Floats:
    """Return a score from 0 to 1 of each unit, such as ROUGE."""
    noise = rng.standard_normal((len(levels), len(hardness)))
    scores = 1 / (1 + np.exp(-(levels[:, None] - 0.8 * hardness + 0.6 * noise)))
    return np.stack([scores, np.ones(scores.shape)], axis=-1)


def overlaps(rng: np.random.Generator, hardness: Floats, levels: Floats) -> Floats:
    """Return true positives, false positives and misses of each unit."""
    chance = 1 / (1 + np.exp(-(levels[:, None] - hardness)))
    size = 1 + rng.poisson(np.exp(1 + 0.3 * hardness))
    hits = rng.binomial(np.broadcast_to(size, chance.shape), chance)
    wrong = rng.poisson(2 * (1 - chance))
    return np.stack([hits, wrong, size - hits], axis=-1).astype(float)


def errors(rng: np.random.Generator, hardness: Floats, levels: Floats) -> Floats:
    """Return an error from 0 on of each unit."""
    noise = rng.standard_normal((len(levels), len(hardness)))
    sizes = np.exp(0.4 * hardness + levels[:, None]) * np.abs(noise + hardness)
    return np.stack([sizes, np.ones(sizes.shape)], axis=-1)


KINDS = {
    "accuracy": (_Accuracy("accuracy", "corrected"), right_or_wrong),
    "mean of shares": (_Accuracy("mean", "corrected"), shares),
    "micro F1": (
        Overlap("overlap_f1_micro", "corrected", part="f1", average="micro"),
        overlaps,
    ),
    "error": (_Error("mae", "corrected"), errors),
}
SPREADS = {"equal seeds": 0.0, "small": 0.1, "large": 0.5}
FAMILIES = {
    f"{kind}, {size}": Family(f"{kind}, {size}", metric, draw, spread)
    for (kind, (metric, draw)), (size, spread) in itertools.product(
        KINDS.items(), SPREADS.items()
    )
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    family: str
    runs: int
    units: int
    #: Percentages of test sets.
    held: float
    differing: float
    width: float
    repetitions: int

    @property
    def faults(self) -> list[str]:
        found = []
        if self.held < AIM - self._errors(AIM):
            found.append(f"{self}: holds in {self.held:.1f} %")
        if self.differing > LEVEL_OF_TESTS + self._errors(LEVEL_OF_TESTS):
            found.append(f"{self}: equal systems differ in {self.differing:.1f} %")
        return found

    def _errors(self, share: float) -> float:
        return ERRORS * math.sqrt(share * (100 - share) / self.repetitions)

    def __str__(self) -> str:
        return f"{self.family}, {self.runs} runs, {self.units} units"


def simulate(
    family: Family, runs: int, units: int, *, repetitions: int, seed: int
) -> Cell:
    rng = np.random.default_rng([seed, runs, units, *family.name.encode()])
    truth = family.truth(np.random.default_rng([seed, *family.name.encode()]))
    held = differing = 0
    widths = []
    for _test_set in range(repetitions):
        one, other = family.systems(rng, runs, units, number=2)
        ends = compute_system_mean_interval(family.metric, one)
        # A test set without an interval is one that does not hold.
        if isinstance(ends, tuple):
            held += ends[0] <= truth <= ends[1]
            widths.append(ends[1] - ends[0])
        differing += compare_system_means(family.metric, one, other).p <= 0.05
    return Cell(
        family=family.name,
        runs=runs,
        units=units,
        held=100 * held / repetitions,
        differing=100 * differing / repetitions,
        width=float(np.mean(widths)),
        repetitions=repetitions,
    )


def cells(*, kind: str = "", repetitions: int, seed: int) -> Iterator[Cell]:
    families = [family for name, family in FAMILIES.items() if name.startswith(kind)]
    for family, runs, units in itertools.product(families, RUNS, UNITS):
        yield simulate(family, runs, units, repetitions=repetitions, seed=seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--kind", default="", choices=["", *KINDS])
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    faults = []
    for cell in cells(kind=args.kind, repetitions=args.repetitions, seed=args.seed):
        print(
            f"{cell}: holds {cell.held:.1f} %, equal systems differ {cell.differing:.1f} %, "
            f"mean width {cell.width:.3f}",
            flush=True,
        )
        faults += cell.faults
    print("\n".join(faults) or "All cells hold.")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
