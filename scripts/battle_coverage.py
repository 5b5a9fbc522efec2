"""How often intervals and rank ranges of battles hold: the table of docs/judges-and-battles.md.

    python scripts/battle_coverage.py [--sets N] [--seed S] [--write]

Draws sets of battles from populations whose strengths are known and counts. Intervals and rank ranges come
from the functions that `python -m scoring battles` uses. `--write` puts the table into the page.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scoring.metrics.base import Floats
from scoring.stats.battles import (
    SHARE_RANGE,
    compute_jackknife_intervals,
    compute_rank_ranges,
    compute_win_shares,
    fit_log_strengths,
)
from scoring.stats.jackknife import UNBOUNDED_RANGE, ValueRange

PAGE = ROOT / "docs" / "judges-and-battles.md"
BEGIN, END = (
    "<!-- the table of scripts/battle_coverage.py -->",
    "<!-- end of the table -->",
)
#: A cell fails more than three standard errors below this share, in percent.
AIM, ERRORS = 93.0, 3
TOPICS = (15, 30, 60)
#: Topics of which the true strengths are made.
POPULATION = 20_000
TIES, POSITION_BIAS = 0.15, 0.3
#: Values that differ by less are equal.
EQUAL = 1e-9


@dataclass(frozen=True)
class Population:
    """Systems whose log strengths lie ``spread`` apart from the first to the last.

    On each topic a system is better or worse by normal noise of standard deviation ``noise``. ``share`` of
    the pairs of systems meet on a topic, ``repeats`` times each. The left side has an advantage.
    """

    name: str
    systems: int
    spread: float
    noise: float
    share: float = 1.0
    repeats: int = 1

    @property
    def pairs(self) -> Floats:
        return np.array([*itertools.combinations(range(self.systems), 2)])

    def chances(self, rng: np.random.Generator, topics: int, bias: Floats) -> Floats:
        """Return (topics, p): how likely the first of each pair wins a battle that is decided."""
        centre = self.spread * np.linspace(0.5, -0.5, self.systems)
        own = centre + self.noise * rng.standard_normal((topics, self.systems))
        first, second = self.pairs.T
        return np.asarray(1 / (1 + np.exp(own[:, second] - own[:, first] - bias)))

    def expected_wins(self, rng: np.random.Generator) -> Floats:
        """Return the (k, k) wins expected of one battle of every two systems, over topics and both sides."""
        sides = np.array([POSITION_BIAS, -POSITION_BIAS])
        expected = np.mean(
            [self.chances(rng, POPULATION, side).mean(axis=0) for side in sides], axis=0
        )
        if not self.spread:
            expected = np.full_like(expected, 0.5)
        wins = np.zeros((self.systems, self.systems))
        first, second = self.pairs.T
        wins[first, second], wins[second, first] = expected, 1 - expected
        return np.asarray(TIES / 2 * (wins + wins.T) + (1 - TIES) * wins)

    def draw(self, rng: np.random.Generator, topics: int) -> Floats:
        """Return (topics, k, k) wins of one set of battles."""
        count = len(self.pairs)
        wins = np.zeros((topics, self.systems, self.systems))
        first, second = self.pairs.T
        meets = rng.random((topics, count)).argsort(axis=1) < round(self.share * count)
        bias = POSITION_BIAS * rng.choice([-1.0, 1.0], (topics, count))
        chance = self.chances(rng, topics, bias)
        for _ in range(self.repeats):
            won = (rng.random(chance.shape) < chance).astype(float)
            won = np.where(rng.random(chance.shape) < TIES, 0.5, won)
            wins[:, first, second] += meets * won
            wins[:, second, first] += meets * (1 - won)
        return wins


POPULATIONS = (
    Population("4 equal systems", 4, 0.0, 0.5),
    Population("4 systems, spread 1", 4, 1.0, 0.5),
    Population("4 systems, spread 3", 4, 3.0, 0.5),
    Population("8 equal systems", 8, 0.0, 0.5),
    Population("8 systems, spread 2", 8, 2.0, 0.5),
    Population("8 systems, no noise of topics", 8, 2.0, 0.0),
    Population("8 systems, much noise of topics", 8, 2.0, 1.5),
    Population("8 systems, half of the pairs", 8, 2.0, 0.5, share=0.5),
    Population("8 systems, a quarter of the pairs", 8, 2.0, 0.5, share=0.25),
    Population("8 systems, three judges", 8, 2.0, 0.5, repeats=3),
    Population("12 systems, spread 3", 12, 3.0, 0.5),
)


@dataclass(frozen=True)
class Cell:
    """In percent: the shares of intervals and rank ranges that hold, by strengths and by shares of wins, and
    the share of sets whose strengths have intervals.
    """

    intervals: float
    ranks: float
    of_shares: float
    ranks_by_shares: float
    given: float
    sets: int

    @property
    def is_held(self) -> bool:
        """Whether all are no more than three standard errors below the aim."""
        share = AIM / 100
        error = 100 * np.sqrt(share * (1 - share) / self.sets)
        error_of_given = error / np.sqrt(max(self.given, 1) / 100)
        return bool(
            min(self.of_shares, self.ranks_by_shares) >= AIM - ERRORS * error
            and min(self.intervals, self.ranks) >= AIM - ERRORS * error_of_given
        )

    @property
    def text(self) -> str:
        given = f" [{self.given:.0f}]" if self.given < 99.5 else ""
        by_shares = f"{self.of_shares:.1f} / {self.ranks_by_shares:.1f}"
        return f"{self.intervals:.1f} / {self.ranks:.1f}{given}; {by_shares}"


class Counts:
    """Whether intervals and rank ranges hold the true values, system by system and set by set."""

    def __init__(self, truth: Floats, value_range: ValueRange) -> None:
        self.truth, self.value_range = truth, value_range
        above = truth[None, :] - truth[:, None]
        self.best = 1 + (above > EQUAL).sum(axis=1)
        self.worst = len(truth) - (above < -EQUAL).sum(axis=1)
        self.intervals: list[bool] = []
        self.ranks: list[bool] = []

    def add(self, value: Floats, without: Floats) -> None:
        """Count a set, unless one of its values has no interval."""
        ends = compute_jackknife_intervals(value, without, self.value_range)
        known = [own for own in ends if own]
        if len(known) < len(ends):
            return
        self.intervals += [
            low <= true <= high
            for true, (low, high) in zip(self.truth, known, strict=True)
        ]
        first, last = compute_rank_ranges(value, without, self.value_range)
        self.ranks += [*((first <= self.best) & (self.worst <= last))]


def percent(held: Sequence[bool]) -> float:
    return 100 * float(np.mean(held)) if held else 0.0


def counted(population: Population, topics: int, sets: int, seed: int) -> Cell:
    rng = np.random.default_rng([seed, topics, POPULATIONS.index(population)])
    expected = population.expected_wins(rng)
    by_strength = Counts(fit_log_strengths(expected), UNBOUNDED_RANGE)
    by_share = Counts(compute_win_shares(expected), SHARE_RANGE)
    for _ in range(sets):
        by_topic = population.draw(rng, topics)
        wins = by_topic.sum(axis=0)
        without = wins - by_topic
        by_strength.add(fit_log_strengths(wins), fit_log_strengths(without))
        by_share.add(compute_win_shares(wins), compute_win_shares(without))
    return Cell(
        intervals=percent(by_strength.intervals),
        ranks=percent(by_strength.ranks),
        of_shares=percent(by_share.intervals),
        ranks_by_shares=percent(by_share.ranks),
        given=100 * len(by_strength.intervals) / population.systems / sets,
        sets=sets,
    )


def table(cells: dict[tuple[str, int], Cell], sets: int, seed: int) -> str:
    error = 200 * np.sqrt(0.05 * 0.95 / sets)
    lines = [
        f"{sets:,} sets a cell, seed {seed}; two standard errors are {error:.1f} points.",
        "",
        "| Population |" + "".join(f" {topics} topics |" for topics in TOPICS),
        "| --- |" + " ---: |" * len(TOPICS),
        *(
            f"| {own.name} |"
            + "".join(f" {cells[own.name, topics].text} |" for topics in TOPICS)
            for own in POPULATIONS
        ),
    ]
    return "\n".join(lines)


def faults(cells: dict[tuple[str, int], Cell]) -> list[str]:
    return [
        f"{name} on {topics} topics: {own.text}"
        for (name, topics), own in cells.items()
        if not own.is_held
    ]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=5, metavar="S")
    parser.add_argument(
        "--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}"
    )
    given = parser.parse_args(words)
    cells = {
        (own.name, topics): counted(own, topics, given.sets, given.seed)
        for own in POPULATIONS
        for topics in TOPICS
    }
    text = table(cells, given.sets, given.seed)
    if given.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    else:
        print(text)
    for fault in faults(cells):
        print(f"not held: {fault}", file=sys.stderr)
    return 1 if faults(cells) else 0


if __name__ == "__main__":
    sys.exit(main())
