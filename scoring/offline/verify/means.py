"""Check the board's means over runs with different seeds, and repeat the tests of these
means against other rows.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import Any

from scoring.metrics import Metric
from scoring.metrics.base import finite_or_none
from scoring.offline.compare import align_runs_by_unit
from scoring.offline.evaluate import RunMeasurements, measure_run
from scoring.offline.scoring import read_gold_and_run
from scoring.offline.verify.numbers import uses_model
from scoring.offline.verify.paired_tests import (
    MODEL_TESTS_REASON,
    NOT_REPEATABLE_REASON,
    build_present_metric,
    find_tested_metric,
    has_present_interval_version,
    parse_metric_version,
)
from scoring.offline.verify.report import VerificationReport
from scoring.offline.verify.scores import (
    INTERVAL_END_FIELDS,
    OLD_METRIC_REASON,
    RescoredRuns,
)
from scoring.stats.seeds import compare_system_means, compute_system_mean_interval

#: The columns MEAN_TEST_RESULT_FIELDS are the result of a test of a mean against another row.
MEAN_TEST_RESULT_FIELDS = ("difference", "error", "df", "low", "high", "p", "units")
#: MEANS_WITHOUT_INTERVAL_REASON is the reason why the interval of a mean over seeds is not checked.
MEANS_WITHOUT_INTERVAL_REASON = "the site gave these means no interval"

ArchivedBoard = Mapping[str, Any]
ArchivedRow = Mapping[str, Any]
ArchivedTests = Sequence[Mapping[str, Any]]


def list_submission_ids(row: ArchivedRow) -> list[int]:
    """Return the submission ids of all runs of a mean over seeds, or the submission id
    of a row with one run.
    """
    return [run["submission"] for run in row.get("runs") or [row]]


class RescoredBoard:
    """The rescored runs of a board, with their matrix rows computed once per metric."""

    def __init__(self, board: ArchivedBoard, rescored: RescoredRuns) -> None:
        self.rules: str = board["rules"]
        self.gold: str = board["gold"]["sha256"]
        self.rescored = rescored
        self.measured = cache(self._measure_run)

    def _measure_run(self, run: int, metric: Metric) -> RunMeasurements:
        scoring = self.rescored.scorings[run, self.rules]
        return measure_run([metric], *read_gold_and_run(scoring).rows(scoring))

    def metric(self, runs: Sequence[int], name: str) -> Metric | None:
        return build_present_metric(self.rules, name, runs, self.rescored)

    def list_archived_numbers(
        self, runs: Sequence[int], name: str
    ) -> list[Mapping[str, Any]]:
        """Return the archived numbers of a metric for each of these runs."""
        evaluations = self.rescored.evaluations
        return [evaluations[run, self.rules]["metrics"][name] for run in runs]

    def explain_not_recomputable(self, runs: Sequence[int], name: str) -> str:
        """Return the reason why the numbers of these runs cannot be recomputed, or an
        empty text if they can be.
        """
        evaluations = self.rescored.evaluations
        keys = [(run, self.rules) for run in runs]
        if not self.rescored.scorings.keys() >= set(keys) or any(
            evaluations[key]["gold"]["sha256"] != self.gold for key in keys
        ):
            return NOT_REPEATABLE_REASON
        archived, today = (
            self.list_archived_numbers(runs, name),
            self.metric(runs, name),
        )
        if any(map(uses_model, archived)):
            return MODEL_TESTS_REASON
        if today is None or min(map(parse_metric_version, archived)) < today.version:
            return OLD_METRIC_REASON
        return ""


def check_means(
    path: str,
    board: ArchivedBoard,
    rescored: RescoredRuns,
    verified: VerificationReport,
) -> None:
    """Compare each mean over seeds with the values of the averaged runs, and recompute
    the interval of the mean.
    """
    repeated = RescoredBoard(board, rescored)
    metrics = {column["name"]: column["metric"] for column in board["columns"]}
    for row in board["rows"]:
        for name, cell in row["scores"].items() if row.get("runs") else ():
            place = f"{path} {row['system']} {name}"
            values = [run["scores"][name]["value"] for run in row["runs"]]
            mean = None if None in values else fmean(values)
            verified.compare(place, {"value": cell["value"]}, {"value": mean})
            _check_interval(
                place, cell, list_submission_ids(row), metrics[name], repeated, verified
            )


def _check_interval(
    place: str,
    cell: Mapping[str, Any],
    runs: Sequence[int],
    name: str,
    repeated: RescoredBoard,
    verified: VerificationReport,
) -> None:
    reason = repeated.explain_not_recomputable(runs, name)
    metric = repeated.metric(runs, name) if not reason else None
    if metric is None or not has_present_interval_version(
        metric, repeated.list_archived_numbers(runs, name)
    ):
        verified.unchecked[reason or OLD_METRIC_REASON] += len(INTERVAL_END_FIELDS)
        return
    low = high = None
    if metric.is_exchangeable and metric.is_decomposable:
        read = [repeated.measured(run, metric) for run in runs]
        bounds = compute_system_mean_interval(metric, align_runs_by_unit(metric, read))
        if isinstance(bounds, tuple):
            low, high = bounds
    if cell["low"] is None and low is not None:
        verified.unchecked[MEANS_WITHOUT_INTERVAL_REASON] += len(INTERVAL_END_FIELDS)
        return
    verified.compare(
        place,
        {end: cell[end] for end in INTERVAL_END_FIELDS},
        {"low": low, "high": high},
    )


def repeat_tests_of_means(
    path: str,
    board: ArchivedBoard,
    rows: Mapping[int, ArchivedRow],
    tests: ArchivedTests,
    tested_metric: str,
    rescored: RescoredRuns,
    verified: VerificationReport,
) -> int | None:
    """Return how many archived tests of means over seeds cannot be repeated, or None if
    the tests use another metric than the board.
    """
    repeated = RescoredBoard(board, rescored)
    not_repeated = 0
    for test in tests:
        sides = [list_submission_ids(rows[test[side]]) for side in ("first", "second")]
        runs = [*sides[0], *sides[1]]
        if reason := repeated.explain_not_recomputable(runs, tested_metric):
            verified.unchecked[reason] += len(MEAN_TEST_RESULT_FIELDS)
            not_repeated += 1
            continue
        metric = find_tested_metric(
            path, board, runs[0], tested_metric, rescored, verified
        )
        if metric is None:
            return None
        names: Sequence[str] = MEAN_TEST_RESULT_FIELDS
        if not has_present_interval_version(
            metric, repeated.list_archived_numbers(runs, tested_metric)
        ):
            names = [name for name in names if name not in INTERVAL_END_FIELDS]
            verified.unchecked[OLD_METRIC_REASON] += len(INTERVAL_END_FIELDS)
        aligned_rows = align_runs_by_unit(
            metric, [repeated.measured(run, metric) for run in runs]
        )
        count = len(sides[0])
        found = compare_system_means(metric, aligned_rows[:count], aligned_rows[count:])
        place = f"{path} rows {test['first']} and {test['second']}"
        again = {name: getattr(found, name) for name in names}
        verified.compare(
            place,
            {name: test[name] for name in names},
            {name: finite_or_none(value) for name, value in again.items()},
        )
    return not_repeated
