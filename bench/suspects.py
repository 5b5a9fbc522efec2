"""Instances that organisers should read again: how many of the listed ones have wrong gold.

    python bench/suspects.py [--boards 100]

Systems answer 200 instances by a two-parameter logistic model: abilities N(0, s), difficulties N(-.5, 1.2),
logarithms of discriminations N(0, .35). In 5 % of the instances the gold names another of four labels. In the
last two rows half of the instances do not depend on ability at all, so that every one of them that is listed
is listed by chance; in the last one two systems are far behind.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scoring.stats import items

INSTANCES, WRONG = 200, 0.05
SYSTEMS = (12, 20, 30, 60)


@dataclass(frozen=True)
class Drawn:
    """``is_meant`` marks the instances with wrong gold, or those that do not depend on ability."""

    values: NDArray[np.float64]
    is_meant: NDArray[np.bool_]


def right_answers(
    rng: np.random.Generator, systems: int, spread: float, behind: int = 0
) -> NDArray[np.bool_]:
    ability = rng.normal(0, spread, systems)
    ability[:behind] -= 4
    difficulty = rng.normal(-0.5, 1.2, INSTANCES)
    discrimination = np.exp(rng.normal(0, 0.35, INSTANCES))
    chance = 1 / (1 + np.exp(-discrimination * (ability[:, None] - difficulty)))
    return np.asarray(rng.random((systems, INSTANCES)) < chance)


def with_wrong_gold(rng: np.random.Generator, systems: int, spread: float) -> Drawn:
    """Who is right misses the wrong label; who is wrong meets it one time in three."""
    right = right_answers(rng, systems, spread)
    is_wrong = rng.random(INSTANCES) < WRONG
    meets = ~right & (rng.random(right.shape) < 1 / 3)
    return Drawn(np.where(is_wrong, meets, right).astype(float), is_wrong)


def without_ability(rng: np.random.Generator, systems: int, behind: int) -> Drawn:
    right = right_answers(rng, systems, 1.0, behind)
    is_null = rng.random(INSTANCES) < 0.5
    chance = rng.random((systems, INSTANCES)) < rng.random(INSTANCES)
    return Drawn(np.where(is_null, chance, right).astype(float), is_null)


def row(draw: Callable[[np.random.Generator], Drawn], boards: int) -> str:
    """Return the last three cells of a row of the table."""
    rng = np.random.default_rng(20)
    listed, meant, both = 0, 0, 0
    shares = []
    for _ in range(boards):
        drawn = draw(rng)
        is_listed = items.run_item_rest_tests(drawn.values).is_below_zero
        listed += np.count_nonzero(is_listed)
        meant += np.count_nonzero(drawn.is_meant)
        both += np.count_nonzero(is_listed & drawn.is_meant)
        shares.append((is_listed & drawn.is_meant).sum() / max(1, is_listed.sum()))
    share = f"{both / listed:.2f}" if listed else "–"
    return (
        f"{listed / boards:.2f} | {share} | {both / meant:.3f} | {np.mean(shares):.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boards", type=int, default=100)
    boards = parser.parse_args().boards
    print(
        "| kind | systems | listed on a board | share of the listed that is meant "
        "| share of the meant that is listed | mean of the first share over boards |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for spread in (0.5, 1.0, 1.5):
        for systems in SYSTEMS:
            cells = row(
                lambda rng, n=systems, s=spread: with_wrong_gold(rng, n, s), boards
            )
            print(f"| wrong gold, s {spread} | {systems} | {cells} |", flush=True)
    for behind in (0, 2):
        for systems in SYSTEMS:
            cells = row(
                lambda rng, n=systems, b=behind: without_ability(rng, n, b), boards
            )
            kind = f"no dependence on ability, {behind} far behind"
            print(f"| {kind} | {systems} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
