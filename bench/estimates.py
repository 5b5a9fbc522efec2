"""Measure the coverage of intervals of estimated scores, and the worth of a judge in
labels.

    python bench/estimates.py [--sets N] [--seed S] [--kind nuggets|citations|claims]

Test sets are drawn from populations of topics. Topics differ in difficulty, in size, and in how often the
judge errs; judges are lenient, strict, or better for one of two systems. A line has the share of test sets
whose 95 % interval holds the true value of the population, for the difference of two systems and for single
values, with the number of test sets for which the site shows it. It fails if a coverage lies more than three
standard errors below the aim: .92 for differences, .90 for single values.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scoring.stats.estimates import (  # noqa: E402
    LabelledSample,
    NoEstimateReason,
    ScoreEstimate,
    estimate_score,
    estimated_difference,
)
from scoring.stats.sampling import compute_label_weights  # noqa: E402

Floats = NDArray[np.float64]
DIFFERENCES, SINGLE = "differences", "single values"
AIMS = {DIFFERENCES: 0.92, SINGLE: 0.90}
KINDS = ("nuggets", "citations", "claims")
#: Draws of topics from which true values are computed.
TRUE_TOPICS = 20_000


@dataclass(frozen=True, kw_only=True)
class Population:
    """Two systems with a share of supported units each, and the judge's accuracy on each.

    ``kind`` is ``nuggets`` (the systems share their units), ``citations`` (units of their own; the judge's
    value of a topic is their mean) or ``claims`` (units of their own, on some topics none). ``lean`` moves
    the judge's errors to supported (1) or to unsupported units (-1); 0 leaves them equally frequent.
    """

    name: str
    kind: str
    labels: int
    shares: tuple[float, float] = (0.6, 0.5)
    accuracy: tuple[float, float] = (0.85, 0.85)
    topics: int = 50
    sizes: tuple[int, int] = (8, 30)
    spread: float = 5.0
    lean: float = 0.0
    is_graded: bool = False


POPULATIONS = (
    *(
        Population(
            name=f"{kind}, {labels} labels, right in {first} and {second}",
            kind=kind,
            labels=labels,
            accuracy=(first, second),
        )
        for kind in KINDS
        for labels in (50, 100, 200)
        for first, second in ((0.95, 0.95), (0.9, 0.7), (0.8, 0.6), (0.6, 0.6))
    ),
    *(
        Population(
            name=f"{kind}, {labels} labels, {first} supported",
            kind=kind,
            labels=labels,
            shares=(first, second),
        )
        for kind in KINDS
        for labels in (50, 100, 200)
        for first, second in ((0.9, 0.85), (0.1, 0.15), (0.97, 0.9))
    ),
    *(
        Population(
            name=f"{kind}, {labels} labels, {topics} topics",
            kind=kind,
            labels=labels,
            topics=topics,
        )
        for kind in KINDS
        for topics, labels in ((10, 40), (20, 40), (20, 60), (20, 120), (200, 60))
    ),
    *(
        Population(name=f"{kind}, lenient judge", kind=kind, labels=100, lean=1.0)
        for kind in KINDS
    ),
    *(
        Population(
            name=f"{kind}, strict judge, {labels} labels",
            kind=kind,
            labels=labels,
            lean=-1.0,
        )
        for kind in KINDS
        for labels in (60, 150)
    ),
    *(
        Population(
            name=f"{kind}, topics of {low} to {high}",
            kind=kind,
            labels=100,
            sizes=(low, high),
        )
        for kind in KINDS
        for low, high in ((1, 5), (1, 40))
    ),
    *(
        Population(
            name=f"{kind}, three levels, {labels} labels",
            kind=kind,
            labels=labels,
            is_graded=True,
        )
        for kind in ("nuggets", "citations")
        for labels in (50, 150)
    ),
    *(
        Population(
            name=f"{kind}, topics all or nothing", kind=kind, labels=100, spread=0.6
        )
        for kind in KINDS
    ),
    *(
        Population(
            name=f"{kind}, 50 labels, 0.93 supported",
            kind=kind,
            labels=50,
            shares=(0.93, 0.8),
        )
        for kind in KINDS
    ),
)


@dataclass(frozen=True)
class _Topics:
    """Sizes, shares of supported units, and the judge's accuracy, by topic and system."""

    sizes: NDArray[np.int_]
    shares: Floats
    accuracy: Floats


def _topics(rng: np.random.Generator, of: Population, count: int) -> _Topics:
    low, high = of.sizes
    sizes = rng.integers(low, high + 1, (2, count))
    if of.kind == "nuggets":
        sizes[1] = sizes[0]
    elif of.kind == "claims":
        sizes *= rng.random((2, count)) > 0.1
    # Both systems find the same topics hard: their shares are quantiles of one draw.
    from scipy.special import betaincinv

    ease = np.clip(rng.random(count) + rng.normal(0, 0.1, (2, count)), 1e-6, 1 - 1e-6)
    means = np.array(of.shares)[:, None]
    shares = betaincinv(of.spread * means, of.spread * (1 - means), ease)
    right = np.array(of.accuracy)[:, None]
    skill = np.clip(rng.random(count) + rng.normal(0, 0.2, (2, count)), 1e-6, 1 - 1e-6)
    accuracy = betaincinv(8 * right, 8 * (1 - right), skill)
    return _Topics(sizes, shares, accuracy)


def true_values(of: Population) -> Floats:
    """Return the mean share of supported units of each system over the topics of a population."""
    return _true_values(of.shares, of.spread)


@cache
def _true_values(shares: tuple[float, float], spread: float) -> Floats:
    of = Population(name="", kind="nuggets", labels=0, shares=shares, spread=spread)
    drawn = _topics(np.random.default_rng(0), of, TRUE_TOPICS)
    return drawn.shares.mean(axis=1)


def _credits(
    rng: np.random.Generator, of: Population, uniform: Floats, share: Floats
) -> Floats:
    """Return a credit for each unit, with the mean ``share``; graded credits include
    one half.
    """
    if not of.is_graded:
        return (uniform < share).astype(float)
    # The second draw with the same share is independent of the first.
    second = rng.random(len(share)) < share
    return ((uniform < share).astype(float) + second) / 2


def _judged(
    rng: np.random.Generator, of: Population, people: Floats, accuracy: Floats
) -> Floats:
    errs = (1 - accuracy) * (1 - of.lean * (2 * people - 1))
    wrong = rng.random(len(people)) < np.clip(errs, 0, 1)
    return np.where(wrong, 1 - people, people)


def samples(
    rng: np.random.Generator, of: Population
) -> tuple[LabelledSample, LabelledSample]:
    """Draw the samples of two systems."""
    drawn = _topics(rng, of, of.topics)
    order = rng.permutation(of.topics)
    shared = rng.random(drawn.sizes[0].sum())
    return (
        _sample(rng, of, drawn, 0, shared, order),
        _sample(rng, of, drawn, 1, shared, order),
    )


def _labelled(
    topics: NDArray[np.int_], order: NDArray[np.int_], labels: int
) -> NDArray[np.int_]:
    """Return the indices of labelled units: topics take turns in their order, as on
    sheets.

    The units of a topic are exchangeable, so they are labelled in their own order.
    """
    firsts = np.searchsorted(topics, topics)
    turns = np.arange(len(topics)) - firsts
    return np.lexsort((np.argsort(order)[topics], turns))[:labels]


def _sample(
    rng: np.random.Generator,
    of: Population,
    drawn: _Topics,
    system: int,
    shared: Floats,
    order: NDArray[np.int_],
) -> LabelledSample:
    sizes = drawn.sizes[system]
    topics = np.repeat(np.arange(of.topics), sizes)
    uniform = rng.random(len(topics))
    if of.kind == "nuggets":
        # Most nuggets are hard or easy for both systems.
        uniform = np.where(rng.random(len(topics)) < 0.6, shared, uniform)
    people = _credits(rng, of, uniform, drawn.shares[system][topics])
    judged = _judged(rng, of, people, drawn.accuracy[system][topics])
    labelled = _labelled(topics, order, of.labels)
    weights = 1 / sizes[topics]
    label_weights = compute_label_weights(topics, weights, labelled)
    if of.kind != "citations":
        return LabelledSample(
            topics=topics,
            judged=judged,
            weights=weights,
            label_topics=topics[labelled],
            label_judged=judged[labelled],
            people=people[labelled],
            label_weights=label_weights,
        )
    means = np.bincount(topics, judged, of.topics) / sizes
    return LabelledSample(
        topics=np.arange(of.topics),
        judged=means,
        weights=np.ones(of.topics),
        label_topics=topics[labelled],
        label_judged=judged[labelled],
        people=people[labelled],
        label_weights=label_weights,
    )


@dataclass
class Coverage:
    """The number of intervals that are shown, and of those that hold the true value."""

    shown: int = 0
    held: int = 0

    def add(self, found: ScoreEstimate | NoEstimateReason, true: float) -> None:
        if isinstance(found, ScoreEstimate):
            self.shown += 1
            self.held += bool(found.low <= true <= found.high)

    @property
    def share(self) -> float:
        return self.held / self.shown if self.shown else math.nan

    def reaches(self, aim: float) -> bool:
        """Return False if the coverage lies more than three standard errors below the aim."""
        if not self.shown:
            return True
        return self.share >= aim - 3 * math.sqrt(aim * (1 - aim) / self.shown)


@dataclass(frozen=True, kw_only=True)
class Line:
    population: Population
    coverage: dict[str, Coverage]
    worth: float

    @property
    def faults(self) -> list[str]:
        return [
            f"{self.population.name}: {what} are held in {own.share:.3f} of {own.shown}"
            for what, own in self.coverage.items()
            if not own.reaches(AIMS[what])
        ]


def measured(of: Population, sets: int, seed: int) -> Line:
    """Return the coverage over test sets of a population."""
    rng = np.random.default_rng([seed, POPULATIONS.index(of)])
    first, second = true_values(of)
    coverage = {what: Coverage() for what in AIMS}
    worth = []
    for _ in range(sets):
        one, other = samples(rng, of)
        difference = estimated_difference(one, other)
        coverage[DIFFERENCES].add(difference, first - second)
        coverage[SINGLE].add(estimate_score(one), first)
        coverage[SINGLE].add(estimate_score(other), second)
        if isinstance(difference, ScoreEstimate) and difference.worth is not None:
            worth.append(difference.worth)
    return Line(
        population=of,
        coverage=coverage,
        worth=float(np.median(worth)) if worth else math.nan,
    )


def lines(sets: int, seed: int, kind: str = "") -> Iterator[Line]:
    """Yield the lines of all populations, or of the populations of one kind."""
    for population in POPULATIONS:
        if kind in ("", population.kind):
            yield measured(population, sets, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=52)
    parser.add_argument("--kind", choices=KINDS, default="")
    given = parser.parse_args()
    print("| population | differences | shown | single values | shown | worth |")
    print("| --- | --- | --- | --- | --- | --- |")
    faults = []
    for line in lines(given.sets, given.seed, given.kind):
        cells = [f"{own.share:.3f} | {own.shown:,}" for own in line.coverage.values()]
        print(
            f"| {line.population.name} | {' | '.join(cells)} | {line.worth:.0f} |",
            flush=True,
        )
        faults += line.faults
    print(*(faults or ["every coverage reaches its aim"]), sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
