"""Rank intervals by Romano and Wolf's step-down over shared exchanges, beside those of boards.

    python bench/rank_intervals.py [--boards N] [--seed S] [--systems K] [--topics N]

Boards of twelve kinds are drawn. Each pair of systems is compared by the same exchanges of topics. Boards
correct the p-values of a row by Holm and let two rows differ where the families of both say so. The step-down
(Romano and Wolf 2005, Exact and Approximate Stepdown Methods for Multiple Hypothesis Testing, JASA 100) takes
the distribution of the largest studentised difference of the remaining comparisons of a row instead: first
with the agreement of both families, then by the family of each row alone. A line has the mean number of ranks
in an interval and the share of rows whose true rank lies outside. The step-down is worth a change of ranks if
it has at most 80 % of the ranks and at most 5 % of rows outside on every kind.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scoring.stats.significance import FAMILYWISE_ERROR_RATE, compute_ranks_with_ranges  # noqa: E402

Floats = NDArray[np.float64]
EXCHANGES = 999
SPREADS = (0.0, 1.0, 3.0)


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.normal(0, 1, shape)


def tailed(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.standard_t(3, shape) / np.sqrt(3)


def mostly_zero(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Nine of ten are equal; the others follow an exponential distribution."""
    drawn = (rng.random(shape) < 0.1) * rng.exponential(1, shape)
    return (drawn - 0.1) / np.sqrt(0.19)


def two_modes(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.choice([-1.0, 1.0], shape)


NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": normal,
    "t(3)": tailed,
    "90 % zeros": mostly_zero,
    "two modes": two_modes,
}


def boards(
    rng: np.random.Generator, kind: str, spread: float, systems: int, topics: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yield true values, in standard errors of a system's mean, and the values of topics and systems."""
    while True:
        true = rng.normal(0, spread / np.sqrt(topics), systems)
        ease = rng.normal(0, 0.5, (topics, 1))
        yield true, true + ease + NOISES[kind](rng, (topics, systems))


def differing_by_steps(observed: Floats, exchanged: Floats) -> NDArray[np.bool_]:
    """``[i, j]``: whether row i differs from row j by the step-down over the comparisons of row i.
    ``observed`` is (k, k), ``exchanged`` (trials, k, k).
    """
    count = len(observed)
    differs = np.zeros((count, count), dtype=bool)
    for row in range(count):
        remaining = np.arange(count) != row
        while remaining.any():
            largest = exchanged[:, row, remaining].max(axis=1)
            limit = np.quantile(
                np.append(largest, np.inf), 1 - FAMILYWISE_ERROR_RATE, method="higher"
            )
            rejected = remaining & (observed[row] > limit)
            if not rejected.any():
                break
            differs[row] |= rejected
            remaining &= ~rejected
    return differs


def ranks_of(values: Floats, differs: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the ends of the rank intervals if row i is apart from row j where ``differs[i, j]``."""
    is_above = values[None, :] > values[:, None]
    low = 1 + (differs & is_above).sum(axis=1)
    high = len(values) - (differs & is_above.T).sum(axis=1)
    return low, high


def measure(
    rng: np.random.Generator, kind: str, spread: float, given: argparse.Namespace
) -> Iterator[tuple[float, float]]:
    """Yield the mean number of ranks and the share of rows outside, for boards and both step-downs."""
    sizes: list[list[float]] = [[], [], []]
    misses: list[list[float]] = [[], [], []]
    source = boards(rng, kind, spread, given.systems, given.topics)
    for _ in range(given.boards):
        true, rows = next(source)
        values = rows.mean(axis=0)
        signs = rng.choice([-1.0, 1.0], (EXCHANGES, given.topics))
        between = rows[:, :, None] - rows[:, None, :]
        norms = np.sqrt((between**2).sum(axis=0))
        norms[norms == 0] = np.inf
        observed = np.abs(between.sum(axis=0)) / norms
        flat = between.reshape(given.topics, -1)
        exchanged = np.abs(signs @ flat).reshape(-1, *norms.shape) / norms
        p = (1 + (exchanged >= observed - 1e-9).sum(axis=0)) / (1 + EXCHANGES)
        np.fill_diagonal(p, np.nan)
        own = differing_by_steps(observed, exchanged)
        standings = compute_ranks_with_ranges(values.tolist(), p)
        ends = (
            (
                np.array([one.low for one in standings]),
                np.array([one.high for one in standings]),
            ),
            ranks_of(values, own & own.T),
            ranks_of(values, own),
        )
        # Systems with the same true value share all the ranks between them.
        best = 1 + (true[None, :] > true[:, None]).sum(axis=1)
        worst = len(true) - (true[None, :] < true[:, None]).sum(axis=1)
        for place, (low, high) in enumerate(ends):
            sizes[place].append(float((high - low + 1).mean()))
            misses[place].append(float(((low > worst) | (high < best)).mean()))
    for own_sizes, own_misses in zip(sizes, misses, strict=True):
        yield float(np.mean(own_sizes)), float(np.mean(own_misses))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boards", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--systems", type=int, default=20, metavar="K")
    parser.add_argument("--topics", type=int, default=100, metavar="N")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    print(
        "| Noise, spread | boards | step-down, both | step-down, own | of the ranks |"
    )
    print("| --- |" + " ---: |" * 4)
    for kind in NOISES:
        for spread in SPREADS:
            found = list(measure(rng, kind, spread, given))
            cells = [
                f" {size:.2f} ranks, {100 * missed:.2f} % outside |"
                for size, missed in found
            ]
            shares = ", ".join(
                f"{100 * size / found[0][0]:.0f} %" for size, _ in found[1:]
            )
            print(
                f"| {kind}, {spread:g} |" + "".join(cells) + f" {shares} |", flush=True
            )


if __name__ == "__main__":
    main()
