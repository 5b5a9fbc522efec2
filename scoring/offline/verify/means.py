"""Check the board's means over runs with different seeds, and repeat the tests of these
means against other rows.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import Any

from scoring.metrics import Metric
from scoring.metrics.base import finite
from scoring.offline.compare import aligned
from scoring.offline.evaluate import Measurements, measured
from scoring.offline.scoring import read_scored
from scoring.offline.verify.numbers import uses_model
from scoring.offline.verify.paired_tests import (
    MODEL_TESTS,
    NOT_REPEATED,
    lists_ends,
    metric_of_today,
    tested_metric_of,
    version_number,
)
from scoring.offline.verify.report import Verified
from scoring.offline.verify.scores import ENDS, OLD_METRIC, Rescored
from scoring.stats.seeds import mean_difference, mean_interval

#: The columns FOUND_OF_MEANS are the result of a test of a mean against another row.
FOUND_OF_MEANS = ("difference", "error", "df", "low", "high", "p", "units")
#: NO_INTERVAL is the reason why the interval of a mean over seeds is not checked.
NO_INTERVAL = "the site gave these means no interval"

Board = Mapping[str, Any]
Row = Mapping[str, Any]
Tests = Sequence[Mapping[str, Any]]


def runs_of(row: Row) -> list[int]:
    """Return the submission ids of all runs of a mean over seeds, or the submission id
    of a row with one run.
    """
    return [run["submission"] for run in row.get("runs") or [row]]


class Repeated:
    """The rescored runs of a board, with their matrix rows computed once per metric."""

    def __init__(self, board: Board, rescored: Rescored) -> None:
        self.rules: str = board["rules"]
        self.gold: str = board["gold"]["sha256"]
        self.rescored = rescored
        self.measured = cache(self._measure_run)

    def _measure_run(self, run: int, metric: Metric) -> Measurements:
        scoring = self.rescored.scorings[run, self.rules]
        return measured([metric], *read_scored(scoring).rows(scoring))

    def metric(self, runs: Sequence[int], name: str) -> Metric | None:
        return metric_of_today(self.rules, name, runs, self.rescored)

    def archived(self, runs: Sequence[int], name: str) -> list[Mapping[str, Any]]:
        """Return the archived numbers of a metric for each of these runs."""
        evaluations = self.rescored.evaluations
        return [evaluations[run, self.rules]["metrics"][name] for run in runs]

    def why_not(self, runs: Sequence[int], name: str) -> str:
        """Return the reason why the numbers of these runs cannot be recomputed, or an
        empty text if they can be.
        """
        evaluations = self.rescored.evaluations
        keys = [(run, self.rules) for run in runs]
        if not self.rescored.scorings.keys() >= set(keys) or any(
            evaluations[key]["gold"]["sha256"] != self.gold for key in keys
        ):
            return NOT_REPEATED
        archived, today = self.archived(runs, name), self.metric(runs, name)
        if any(map(uses_model, archived)):
            return MODEL_TESTS
        if today is None or min(map(version_number, archived)) < today.version:
            return OLD_METRIC
        return ""


def check_means(
    path: str, board: Board, rescored: Rescored, verified: Verified
) -> None:
    """Compare each mean over seeds with the values of the averaged runs, and recompute
    the interval of the mean.
    """
    repeated = Repeated(board, rescored)
    metrics = {column["name"]: column["metric"] for column in board["columns"]}
    for row in board["rows"]:
        for name, cell in row["scores"].items() if row.get("runs") else ():
            place = f"{path} {row['system']} {name}"
            values = [run["scores"][name]["value"] for run in row["runs"]]
            mean = None if None in values else fmean(values)
            verified.compare(place, {"value": cell["value"]}, {"value": mean})
            _check_interval(
                place, cell, runs_of(row), metrics[name], repeated, verified
            )


def _check_interval(
    place: str,
    cell: Mapping[str, Any],
    runs: Sequence[int],
    name: str,
    repeated: Repeated,
    verified: Verified,
) -> None:
    reason = repeated.why_not(runs, name)
    metric = repeated.metric(runs, name) if not reason else None
    if metric is None or not lists_ends(metric, repeated.archived(runs, name)):
        verified.unchecked[reason or OLD_METRIC] += len(ENDS)
        return
    low = high = None
    if metric.is_exchangeable and metric.is_decomposable:
        read = [repeated.measured(run, metric) for run in runs]
        bounds = mean_interval(metric, aligned(metric, read))
        if isinstance(bounds, tuple):
            low, high = bounds
    if cell["low"] is None and low is not None:
        verified.unchecked[NO_INTERVAL] += len(ENDS)
        return
    verified.compare(
        place, {end: cell[end] for end in ENDS}, {"low": low, "high": high}
    )


def repeat_tests_of_means(
    path: str,
    board: Board,
    rows: Mapping[int, Row],
    tests: Tests,
    tested_metric: str,
    rescored: Rescored,
    verified: Verified,
) -> int | None:
    """Return how many archived tests of means over seeds cannot be repeated, or None if
    the tests use another metric than the board.
    """
    repeated = Repeated(board, rescored)
    not_repeated = 0
    for test in tests:
        sides = [runs_of(rows[test[side]]) for side in ("first", "second")]
        runs = [*sides[0], *sides[1]]
        if reason := repeated.why_not(runs, tested_metric):
            verified.unchecked[reason] += len(FOUND_OF_MEANS)
            not_repeated += 1
            continue
        metric = tested_metric_of(
            path, board, runs[0], tested_metric, rescored, verified
        )
        if metric is None:
            return None
        names: Sequence[str] = FOUND_OF_MEANS
        if not lists_ends(metric, repeated.archived(runs, tested_metric)):
            names = [name for name in names if name not in ENDS]
            verified.unchecked[OLD_METRIC] += len(ENDS)
        aligned_rows = aligned(metric, [repeated.measured(run, metric) for run in runs])
        count = len(sides[0])
        found = mean_difference(metric, aligned_rows[:count], aligned_rows[count:])
        place = f"{path} rows {test['first']} and {test['second']}"
        again = {name: getattr(found, name) for name in names}
        verified.compare(
            place,
            {name: test[name] for name in names},
            {name: finite(value) for name, value in again.items()},
        )
    return not_repeated
