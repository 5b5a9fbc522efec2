"""Whether the order of a board's first two holds with as many topics again as often as is told.

    python scripts/order_calibration.py [--boards N] [--seed S]

Boards are drawn with systems whose true values are the same (0), or spread by so many standard errors of one
system's mean. A row is a size of board, its cells the mean chance that was told and the share that held.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scoring.stats.significance import order_chance

TOPICS, SYSTEMS, SPREADS = (10, 30), (2, 3, 5, 10, 20), (0.0, 0.5, 1.0, 3.0)


def simulated_boards(
    rng: np.random.Generator, topics: int, systems: int, spread: float, *, boards: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Of each board the chance that is told, and whether the order held; topics have an ease of their own."""
    told, held = np.zeros(boards), np.zeros(boards, dtype=bool)
    for board in range(boards):
        true = rng.normal(0, spread / math.sqrt(topics), systems)
        old, new = (
            true + rng.normal(0, 0.5, (topics, 1)) + rng.normal(0, 1, (topics, systems))
            for _ in range(2)
        )
        means = old.mean(axis=0)
        first, second = np.argsort(-means)[:2]
        between = old[:, first] - old[:, second]
        pairs = np.triu_indices(systems, 1)
        squares = (means[pairs[0]] - means[pairs[1]]) ** 2
        errors = (old[:, pairs[0]] - old[:, pairs[1]]).var(axis=0, ddof=1) / topics
        told[board] = order_chance(
            float(between.mean()),
            float(between.std(ddof=1) / math.sqrt(topics)),
            topics,
            rows=systems,
            squares=float(squares.mean()),
            errors=float(errors.mean()),
        )
        together = means + new.mean(axis=0)
        held[board] = together[first] > together[second]
    return told, held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boards", type=int, default=2000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    print(
        "| Topics, systems |" + "".join(f" spread {spread:g} |" for spread in SPREADS)
    )
    print("| --- |" + " ---: |" * len(SPREADS))
    for topics in TOPICS:
        for systems in SYSTEMS:
            cells = []
            for spread in SPREADS:
                told, held = simulated_boards(
                    rng, topics, systems, spread, boards=given.boards
                )
                cells.append(
                    f" {100 * told.mean():.1f} told, {100 * held.mean():.1f} held |"
                )
            print(f"| {topics}, {systems} |" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
