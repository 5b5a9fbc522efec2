"""Compare two runs on the same gold by each metric, and recompute the ranks of a board
from its paired tests.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics import build_metrics
from scoring.metrics.base import (
    Floats,
    Metric,
    WeightedMetric,
    build_unit_rows,
    finite_or_none,
)
from scoring.offline.evaluate import RunMeasurements, measure_run
from scoring.offline.gold_key import DEFAULT_GOLD_KEY, GoldKey
from scoring.offline.parts import SplitPart, find_rows_of_parts
from scoring.offline.scoring import read_split
from scoring.stats import significance
from tasks.types import InputRefused, TaskType
from tasks.types.files import compute_input_digest, open_input_files
from tasks.types.problems import select_fatal_problems
from tasks.types.runs import read_run

#: The output shows the power for the multiples in UNIT_MULTIPLES of the number of units.
UNIT_MULTIPLES = (1, 2, 4)
ASSUMED_EXCHANGES = 10_000


def align_two_runs(
    metric: Metric, a: RunMeasurements, b: RunMeasurements
) -> significance.PairedRuns:
    """Return the matrix rows of two runs, aligned by unit, for a metric whose values
    can be exchanged between runs.
    """
    assert metric.is_exchangeable, metric.name
    return significance.PairedRuns(metric, *align_runs_by_unit(metric, [a, b]))


def align_runs_by_unit(metric: Metric, runs: Sequence[RunMeasurements]) -> list[Floats]:
    """Return the matrix rows of each run, aligned so that row i of all runs belongs to
    the same unit (the resampled item).

    The matrix row of a unit that a run lacks is zero and does not count.
    """
    resampled = [run.resampled_units for run in runs]
    every = [np.array(of_run, dtype=str) for of_run, _ in resampled]
    names = np.unique(np.concatenate(every))
    own = [
        build_unit_rows(metric, run.matrices[metric.statistic], run.units, run.clusters)
        for run in runs
    ]
    if isinstance(metric, WeightedMetric):
        # All runs have the same instances in the same order, so units have one number.
        for rows, (of_run, _) in zip(own, resampled, strict=True):
            rows[:, 0] = np.searchsorted(
                names, np.array(of_run, dtype=str)[rows[:, 0].astype(np.intp)]
            )
        return own
    # Matrices of runs may have different widths, and a missing column counts as 0.
    spread = np.zeros((len(runs), len(names), max(rows.shape[1] for rows in own)))
    for side, (of_run, numbers), rows in zip(spread, resampled, own, strict=True):
        occurring = np.array(of_run, dtype=str)[np.unique(numbers)]
        side[np.searchsorted(names, occurring), : rows.shape[1]] = rows
    return list(spread)


@dataclass(frozen=True, kw_only=True)
class ParsedRuns:
    """Several runs that were read with the same gold, and the output fields that
    describe all runs.
    """

    metrics: list[Metric]
    measurements: list[RunMeasurements]
    described: dict[str, Any]


def read_runs(
    task_type: TaskType,
    gold: Sequence[Path],
    runs: Sequence[Path],
    *,
    rules: str,
    options: Mapping[str, str],
    part: SplitPart | None = None,
    key: GoldKey = DEFAULT_GOLD_KEY,
) -> ParsedRuns:
    """Read the gold and several runs from files. Raises InputRefused with all problems
    that prevent the scoring of a run.
    """
    split = key.restore_candidate_order(
        task_type, read_split(task_type, gold, options, key)
    )
    metrics = build_metrics(task_type, rules, options)
    inputs = [open_input_files(run, reading=key.reading) for run in runs]
    named = zip(inputs, map(str, runs), strict=True)
    answers = [
        read_run(task_type, files, split.index, options, name=name)
        for files, name in named
    ]
    if problems := select_fatal_problems(
        [problem for _, of_run in answers for problem in of_run]
    ):
        raise InputRefused(problems)
    measurements = []
    for read, _ in answers:
        pairs, rows = task_type.pairs_of(split, read, rules, options), None
        if part is not None:
            rows, _ = find_rows_of_parts(
                task_type, part, pairs, split, read, rules, options
            )
        measurements.append(measure_run(metrics, pairs, rows))
    described = {
        "task_type": task_type.slug,
        "rules": rules,
        "options": dict(options),
        "gold": key.printed(split),
        "runs": [{"sha256": compute_input_digest(files)} for files in inputs],
    }
    return ParsedRuns(metrics=metrics, measurements=measurements, described=described)


def compare(read: ParsedRuns, *, trials: int, seed: int) -> dict[str, Any]:
    """Return the JSON output of the command `compare` for two runs."""
    a, b = read.measurements
    metrics = compare_runs(read.metrics, a, b, trials=trials, seed=seed)
    return {**read.described, "seed": seed, "metrics": metrics}


def compare_runs(
    metrics: Sequence[Metric],
    a: RunMeasurements,
    b: RunMeasurements,
    *,
    trials: int,
    seed: int,
) -> dict[str, dict[str, Any]]:
    """Return the comparison of two runs by each metric whose values can be exchanged
    between runs.

    The p-value ``p_holm`` is corrected by Holm's method for the number of compared
    metrics.
    """
    metrics = [metric for metric in metrics if metric.is_exchangeable]
    pairs = [align_two_runs(metric, a, b) for metric in metrics]
    compared = significance.compute_run_differences(pairs, trials=trials, seed=seed)
    adjusted = significance.adjust_by_holm(
        [difference.test.p for difference in compared]
    )
    return {
        metric.name: {
            **{
                part: finite_or_none(getattr(difference, part))
                for part in ("a", "b", "difference", "error")
            },
            "low": difference.low,
            "high": difference.high,
            **(
                {"no_interval": str(difference.no_interval)}
                if difference.no_interval
                else {}
            ),
            "p": finite_or_none(difference.test.p),
            "test": difference.test.kind,
            "trials": difference.test.trials,
            "units": difference.units,
            "p_holm": finite_or_none(p),
            "scale": metric.scale,
        }
        for metric, difference, p in zip(metrics, compared, adjusted, strict=True)
    }


def power(read: ParsedRuns, *, unit: str) -> dict[str, Any]:
    """Return the JSON output of the command `power`, in which values are null if the
    gold has too few units.
    """
    units = len({name for run in read.measurements for name in run.resampled_units[0]})
    metrics = {}
    for metric in (metric for metric in read.metrics if metric.is_exchangeable):
        pairs = itertools.combinations(read.measurements, 2)
        error = significance.compute_median_error(
            [align_two_runs(metric, a, b) for a, b in pairs]
        )
        low, high = metric.value_range
        at = partial(
            significance.compute_detectable_difference, error, units, largest=high - low
        )
        detectable = {
            str(more): finite_or_none(at(at_units=more * units))
            for more in (UNIT_MULTIPLES if units else ())
        }
        metrics[metric.name] = {
            "error": finite_or_none(error),
            "detectable": detectable,
            "scale": metric.scale or 1,
        }
    facts = {
        "unit": unit,
        "units": units,
        "smallest_p": significance.compute_smallest_p_value(units, ASSUMED_EXCHANGES),
    }
    return {**read.described, **facts, "metrics": metrics}


#: The fields in TEST_RESULT_FIELDS are the result of a paired test in a board's file of tests.
TEST_RESULT_FIELDS = ("difference", "error", "low", "high", "p", "units")
#: One batch of paired tests has at most PAIRS_PER_BATCH pairs of runs.
PAIRS_PER_BATCH = 32

PairedTestRecords = Sequence[Mapping[str, Any]]


def repeat_paired_tests(
    metric: Metric, tests: PairedTestRecords, measured: Callable[[int], RunMeasurements]
) -> list[dict[str, float | None]]:
    """Repeat each paired test of two runs with the test's number of random exchanges
    and random seed. Return the repeated tests' results in the order of ``tests``.
    """
    again: list[dict[str, float | None]] = [{} for _ in tests]
    alike: dict[tuple[int, int], list[int]] = {}
    for place, test in enumerate(tests):
        alike.setdefault((test["trials"], test["seed"]), []).append(place)
    for (trials, seed), places in alike.items():
        for begin in range(0, len(places), PAIRS_PER_BATCH):
            chosen = places[begin : begin + PAIRS_PER_BATCH]
            runs = ((tests[place]["first"], tests[place]["second"]) for place in chosen)
            pairs = [
                align_two_runs(metric, measured(first), measured(second))
                for first, second in runs
            ]
            compared = significance.compute_run_differences(
                pairs, trials=trials, seed=seed
            )
            for place, found in zip(chosen, compared, strict=True):
                numbers = (
                    found.difference,
                    found.error,
                    found.low,
                    found.high,
                    found.test.p,
                    found.units,
                )
                again[place] = dict(
                    zip(TEST_RESULT_FIELDS, map(finite_or_none, numbers), strict=True)
                )
    return again


def recompute_ranks(
    values: Mapping[int, float | None], tests: PairedTestRecords
) -> dict[int, significance.RankWithRange]:
    """Return the ranks of runs by their values and paired tests, keyed by run. Higher
    ``values`` are better. Two runs without a paired test count as not different.
    """
    place = {run: number for number, run in enumerate(values)}
    p = np.ones((len(values), len(values)))
    for test in tests:
        first, second = place[test["first"]], place[test["second"]]
        p[first, second] = p[second, first] = (
            math.nan if test["p"] is None else test["p"]
        )
    merits = [math.nan if value is None else value for value in values.values()]
    return dict(
        zip(values, significance.compute_ranks_with_ranges(merits, p), strict=True)
    )
