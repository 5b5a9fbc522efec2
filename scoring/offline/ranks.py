"""The paired tests of a board and the ranks that they leave open, found again from runs and gold."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Metric, finite
from scoring.offline.compare import paired
from scoring.offline.evaluate import Measurements
from scoring.stats.significance import Standing, differences, standings_of

#: What is found of two runs, as a board's file of tests has it beside the runs and how it was found.
FOUND = ("difference", "error", "low", "high", "p", "units")
#: Pairs that share their exchanges.
AT_A_TIME = 32

Tests = Sequence[Mapping[str, Any]]


def tests_again(
    metric: Metric, tests: Tests, measured: Callable[[int], Measurements]
) -> list[dict[str, float | None]]:
    """What each of the tests finds, by as many exchanges from the same seed, in their order."""
    again: list[dict[str, float | None]] = [{} for _ in tests]
    alike: dict[tuple[int, int], list[int]] = {}
    for place, test in enumerate(tests):
        alike.setdefault((test["trials"], test["seed"]), []).append(place)
    for (trials, seed), places in alike.items():
        for begin in range(0, len(places), AT_A_TIME):
            chosen = places[begin : begin + AT_A_TIME]
            runs = ((tests[place]["first"], tests[place]["second"]) for place in chosen)
            pairs = [paired(metric, measured(first), measured(second)) for first, second in runs]
            for place, found in zip(chosen, differences(pairs, trials=trials, seed=seed), strict=True):
                numbers = (found.difference, found.error, found.low, found.high, found.test.p, found.units)
                again[place] = dict(zip(FOUND, map(finite, numbers), strict=True))
    return again


def ranks_again(values: Mapping[int, float | None], tests: Tests) -> dict[int, Standing]:
    """By run; higher ``values`` are better. Runs that were not compared count as not different."""
    place = {run: number for number, run in enumerate(values)}
    p = np.ones((len(values), len(values)))
    for test in tests:
        first, second = place[test["first"]], place[test["second"]]
        p[first, second] = p[second, first] = math.nan if test["p"] is None else test["p"]
    merits = [math.nan if value is None else value for value in values.values()]
    return dict(zip(values, standings_of(merits, p), strict=True))
