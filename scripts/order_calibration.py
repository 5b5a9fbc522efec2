"""Whether the order of a board's first two holds with as many topics again as often as the API predicts.

    python scripts/order_calibration.py [--boards N] [--seed S]

Boards are drawn with systems whose true values are the same (0), or spread by so many standard errors of one
system's mean; on some boards one weak team is 24 standard errors below the others. As on boards, only systems
whose rank ranges overlap that of the leader shrink the difference, and boards whose first two differ have no
chance. Ranges follow from paired t tests in the place of exchanges, which take long. A row is a kind of noise
and a size of board, its cells the mean chance that was predicted and the share that held.
"""

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scoring.stats.significance import (
    PRIOR_OF_EQUAL_SYSTEMS,
    compute_ranks_with_ranges,
    order_chance,
)

Floats = NDArray[np.float64]
TOPICS, SYSTEMS = (10, 30), (3, 5, 10)
#: Spread of the true values, and whether there is a weak team.
SPREADS = ((0.0, False), (0.0, True), (1.0, False), (1.0, True), (3.0, False))
#: Standard errors that the weak team is below the mean of the others.
WEAK = 24.0


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.normal(0, 1, shape)


def tailed(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.standard_t(3, shape) / math.sqrt(3)


def mostly_zero(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Nine of ten are equal; the others follow an exponential distribution."""
    drawn = (rng.random(shape) < 0.1) * rng.exponential(1, shape)
    return (drawn - 0.1) / math.sqrt(0.19)


NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": normal,
    "t(3)": tailed,
    "90 % zeros": mostly_zero,
}


def simulated_boards(
    rng: np.random.Generator,
    topics: int,
    systems: int,
    spread: float,
    *,
    boards: int,
    noise: str = "normal",
    has_weak_team: bool = False,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return for each board with a chance the chance, and whether the order held. Topics have an ease of
    their own.
    """
    predicted, held = np.full(boards, np.nan), np.zeros(boards, dtype=bool)
    pairs = np.triu_indices(systems, 1)
    for board in range(boards):
        true = rng.normal(0, spread / math.sqrt(topics), systems)
        if has_weak_team:
            true[-1] = true[:-1].mean() - WEAK / math.sqrt(topics)
        old, new = (
            true
            + rng.normal(0, 0.5, (topics, 1))
            + NOISES[noise](rng, (topics, systems))
            for _ in range(2)
        )
        order = np.argsort(-old.mean(axis=0))
        old, new = old[:, order], new[:, order]
        between = old[:, pairs[0]] - old[:, pairs[1]]
        differences = between.mean(axis=0)
        errors = between.var(axis=0, ddof=1) / topics
        with np.errstate(divide="ignore", invalid="ignore"):
            of_pairs = 2 * stdtr(topics - 1, -np.abs(differences) / np.sqrt(errors))
        p = np.full((systems, systems), np.nan)
        p[pairs] = p.T[pairs] = np.nan_to_num(of_pairs, nan=1.0)
        standings = compute_ranks_with_ranges(old.mean(axis=0).tolist(), p)
        if standings[1].low > 1:
            continue
        overlaps = np.array([one.low <= standings[0].high for one in standings])
        shrinking = overlaps[pairs[0]] & overlaps[pairs[1]]
        predicted[board] = order_chance(
            float(differences[0]),
            math.sqrt(errors[0]),
            topics,
            rows=int(overlaps.sum()),
            squares=float((differences[shrinking] ** 2).mean()),
            errors=float(errors[shrinking].mean()),
            equal=PRIOR_OF_EQUAL_SYSTEMS,
        )
        together = old.mean(axis=0) + new.mean(axis=0)
        held[board] = together[0] > together[1]
    has_chance = ~np.isnan(predicted)
    return predicted[has_chance], held[has_chance]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boards", type=int, default=5000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    heads = [f" {spread:g}{', weak team' * weak} |" for spread, weak in SPREADS]
    print("| Noise, topics, systems |" + "".join(heads))
    print("| --- |" + " ---: |" * len(SPREADS))
    for noise in NOISES:
        for topics in TOPICS:
            for systems in SYSTEMS:
                cells = []
                for spread, has_weak_team in SPREADS:
                    predicted, held = simulated_boards(
                        rng,
                        topics,
                        systems,
                        spread,
                        boards=given.boards,
                        noise=noise,
                        has_weak_team=has_weak_team,
                    )
                    cells.append(
                        f" {100 * predicted.mean():.1f}/{100 * held.mean():.1f} |"
                    )
                print(f"| {noise}, {topics}, {systems} |" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
