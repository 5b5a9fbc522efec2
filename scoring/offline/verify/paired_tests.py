"""Check the archived paired tests of a board, and repeat the tests."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from scoring.metrics import Metric, build_metrics
from scoring.offline.compare import TEST_RESULT_FIELDS, repeat_paired_tests
from scoring.offline.evaluate import RunMeasurements, measure_run
from scoring.offline.scoring import read_gold_and_run
from scoring.offline.verify.numbers import has_intervals_of_version, uses_model
from scoring.offline.verify.report import VerificationReport
from scoring.offline.verify.scores import (
    INTERVAL_END_FIELDS,
    OLD_INTERVALS_REASON,
    OLD_METRIC_REASON,
    RescoredRuns,
)
from scoring.stats.significance import (
    APPROXIMATE_TEST,
    MAX_EXACT_UNITS,
    SEED,
    choose_number_of_exchanges,
)

#: NOT_REPEATABLE_REASON and similar messages explain why a paired test is not checked.
NOT_REPEATABLE_REASON = "not all paired tests behind them can be repeated"
MODEL_TESTS_REASON = (
    "they rest on a model, whose last digits differ from machine to machine"
)

ArchivedBoard = Mapping[str, Any]
ArchivedRowByRun = Mapping[int, Mapping[str, Any]]
ArchivedTests = Sequence[Mapping[str, Any]]


class RepeatableTests(NamedTuple):
    """The paired tests of a board that can be repeated, and the reason why other tests
    cannot be repeated.
    """

    tests: ArchivedTests
    why_not_others: str


def has_valid_tests(
    path: str,
    board: ArchivedBoard,
    rows: ArchivedRowByRun,
    tests: ArchivedTests,
    tests_of_means: ArchivedTests,
    verified: VerificationReport,
) -> bool:
    """Report faults of the archived paired tests of a board. Return False if ranks
    cannot be computed from the archived paired tests.
    """
    means = {run for run, row in rows.items() if row.get("runs")}
    pairs = math.comb(len(rows), 2)
    every = [*tests, *tests_of_means]
    compared = {frozenset((test["first"], test["second"])) for test in every}
    if (
        len(compared) < len(every)
        or not all(pair <= rows.keys() and len(pair) == 2 for pair in compared)
        or any({test["first"], test["second"]} & means for test in tests)
        or not all({test["first"], test["second"]} & means for test in tests_of_means)
    ):
        verified.differs(f"{path}: its paired tests are not each of two rows")
        return False
    if board["compared"] and len(every) < pairs:
        lacking = pairs - len(every)
        verified.differs(
            f"{path}: it is said to be compared, and {lacking} paired tests are missing"
        )
    most = max(choose_number_of_exchanges(1, 2 * len(rows)), 1 << MAX_EXACT_UNITS)
    for test in tests:
        fewest = (
            choose_number_of_exchanges(test["units"])
            if test["test"] == APPROXIMATE_TEST
            else 1
        )
        if test["seed"] != SEED or not fewest <= test["trials"] <= most:
            verified.differs(
                f"{path}: a paired test is not made as those of boards are"
            )
            return False
    return True


def find_repeatable_tests(
    board: ArchivedBoard,
    rows: ArchivedRowByRun,
    tests: ArchivedTests,
    tested_metric: str,
    rescored: RescoredRuns,
) -> RepeatableTests:
    """Return the paired tests of runs that were both rescored with the board's gold."""
    rules, gold = board["rules"], board["gold"]["sha256"]
    evaluations = {
        run: rescored.evaluations[run, rules]
        for run in rows
        if (run, rules) in rescored.scorings
    }
    of_gold = {
        run: evaluation
        for run, evaluation in evaluations.items()
        if evaluation["gold"]["sha256"] == gold
    }
    archived = [evaluation["metrics"][tested_metric] for evaluation in of_gold.values()]
    if any(uses_model(metric) for metric in archived):
        return RepeatableTests([], MODEL_TESTS_REASON)
    today = build_present_metric(rules, tested_metric, [*of_gold], rescored)
    if today and min(map(parse_metric_version, archived)) < today.version:
        return RepeatableTests([], OLD_METRIC_REASON)
    repeatable = [
        test for test in tests if {test["first"], test["second"]} <= of_gold.keys()
    ]
    return RepeatableTests(repeatable, NOT_REPEATABLE_REASON)


def repeat_tests(
    path: str,
    board: ArchivedBoard,
    tests: ArchivedTests,
    tested_metric: str,
    rescored: RescoredRuns,
    verified: VerificationReport,
) -> bool:
    """Repeat the archived paired tests of a board and report different results. Return
    False if the archived tests do not use the metric that ranks the board.
    """
    rules = board["rules"]
    metric = find_tested_metric(
        path, board, tests[0]["first"], tested_metric, rescored, verified
    )
    if metric is None:
        return False

    @cache
    def measure_cached_run(run: int) -> RunMeasurements:
        scoring = rescored.scorings[run, rules]
        return measure_run([metric], *read_gold_and_run(scoring).rows(scoring))

    repeated = repeat_paired_tests(metric, tests, measure_cached_run)
    for test, again in zip(tests, repeated, strict=True):
        place = f"{path} runs {test['first']} and {test['second']}"
        runs = (rescored.evaluations[test[side], rules] for side in ("first", "second"))
        names: Sequence[str] = TEST_RESULT_FIELDS
        if not has_present_interval_version(
            metric, [run["metrics"][tested_metric] for run in runs]
        ):
            names = [
                name for name in TEST_RESULT_FIELDS if name not in INTERVAL_END_FIELDS
            ]
            verified.unchecked[OLD_INTERVALS_REASON] += len(INTERVAL_END_FIELDS)
        verified.compare(
            place,
            {name: test[name] for name in names},
            {name: again[name] for name in names},
        )
    return True


def find_tested_metric(
    path: str,
    board: ArchivedBoard,
    run: int,
    tested_metric: str,
    rescored: RescoredRuns,
    verified: VerificationReport,
) -> Metric | None:
    """Return the metric that ranks a board, or report the metric of the paired tests
    and return None if the tests use another metric.
    """
    first = rescored.scorings[run, board["rules"]]
    ranking = build_metrics(first.task_type, first.rules, first.options)[0]
    ranked_by = board.get("rank_by", ranking.name)
    metric = build_present_metric(board["rules"], ranked_by, [run], rescored)
    if metric is None or ranked_by != tested_metric:
        verified.differs(
            f"{path}: ranked by {ranked_by}, and tested by {tested_metric}"
        )
        return None
    return metric


def has_present_interval_version(
    metric: Metric, archived: Sequence[Mapping[str, Any]]
) -> bool:
    """Return False if another version of the scorer computed the archived intervals."""
    version = str(metric.interval_version)
    return all(has_intervals_of_version(numbers, version) for numbers in archived)


def parse_metric_version(archived: Mapping[str, Any]) -> float:
    version: str = archived["column"].rpartition("|v:")[2]
    return int(version) if version.isdecimal() else math.inf


def build_present_metric(
    rules: str, name: str, runs: Sequence[int], rescored: RescoredRuns
) -> Metric | None:
    """Return the present metric with this name, or None if there are no runs or the
    metric no longer exists.
    """
    for run in runs[:1]:
        scoring = rescored.scorings[run, rules]
        metrics = build_metrics(scoring.task_type, scoring.rules, scoring.options)
        return next((metric for metric in metrics if metric.name == name), None)
    return None
