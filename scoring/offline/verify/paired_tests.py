"""Check the archived paired tests of a board, and repeat the tests."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from scoring.metrics import Metric, metrics_of
from scoring.offline.compare import FOUND, tests_again
from scoring.offline.evaluate import Measurements, measured
from scoring.offline.scoring import read_scored
from scoring.offline.verify.numbers import has_intervals_of, uses_model
from scoring.offline.verify.report import Verified
from scoring.offline.verify.scores import (
    ENDS,
    OLD_INTERVALS,
    OLD_METRIC,
    Rescored,
)
from scoring.stats.significance import APPROXIMATE, MAX_EXACT_UNITS, SEED, trials_for

#: NOT_REPEATED and similar messages explain why a paired test is not checked.
NOT_REPEATED = "not all paired tests behind them can be repeated"
MODEL_TESTS = "they rest on a model, whose last digits differ from machine to machine"

Board = Mapping[str, Any]
Rows = Mapping[int, Mapping[str, Any]]
Tests = Sequence[Mapping[str, Any]]


class Repeatable(NamedTuple):
    """The paired tests of a board that can be repeated, and the reason why other tests
    cannot be repeated.
    """

    tests: Tests
    why_not_others: str


def has_sound_tests(
    path: str,
    board: Board,
    rows: Rows,
    tests: Tests,
    tests_of_means: Tests,
    verified: Verified,
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
    most = max(trials_for(1, 2 * len(rows)), 1 << MAX_EXACT_UNITS)
    for test in tests:
        fewest = trials_for(test["units"]) if test["test"] == APPROXIMATE else 1
        if test["seed"] != SEED or not fewest <= test["trials"] <= most:
            verified.differs(
                f"{path}: a paired test is not made as those of boards are"
            )
            return False
    return True


def repeatable_tests(
    board: Board, rows: Rows, tests: Tests, tested_metric: str, rescored: Rescored
) -> Repeatable:
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
        return Repeatable([], MODEL_TESTS)
    today = metric_of_today(rules, tested_metric, [*of_gold], rescored)
    if today and min(map(version_number, archived)) < today.version:
        return Repeatable([], OLD_METRIC)
    repeatable = [
        test for test in tests if {test["first"], test["second"]} <= of_gold.keys()
    ]
    return Repeatable(repeatable, NOT_REPEATED)


def repeat_tests(
    path: str,
    board: Board,
    tests: Tests,
    tested_metric: str,
    rescored: Rescored,
    verified: Verified,
) -> bool:
    """Repeat the archived paired tests of a board and report different results. Return
    False if the archived tests do not use the metric that ranks the board.
    """
    rules = board["rules"]
    metric = tested_metric_of(
        path, board, tests[0]["first"], tested_metric, rescored, verified
    )
    if metric is None:
        return False

    @cache
    def measured_run(run: int) -> Measurements:
        scoring = rescored.scorings[run, rules]
        return measured([metric], *read_scored(scoring).rows(scoring))

    repeated = tests_again(metric, tests, measured_run)
    for test, again in zip(tests, repeated, strict=True):
        place = f"{path} runs {test['first']} and {test['second']}"
        runs = (rescored.evaluations[test[side], rules] for side in ("first", "second"))
        names: Sequence[str] = FOUND
        if not lists_ends(metric, [run["metrics"][tested_metric] for run in runs]):
            names = [name for name in FOUND if name not in ENDS]
            verified.unchecked[OLD_INTERVALS] += len(ENDS)
        verified.compare(
            place,
            {name: test[name] for name in names},
            {name: again[name] for name in names},
        )
    return True


def tested_metric_of(
    path: str,
    board: Board,
    run: int,
    tested_metric: str,
    rescored: Rescored,
    verified: Verified,
) -> Metric | None:
    """Return the metric that ranks a board, or report the metric of the paired tests
    and return None if the tests use another metric.
    """
    first = rescored.scorings[run, board["rules"]]
    ranking = metrics_of(first.task_type, first.rules, first.options)[0]
    ranked_by = board.get("rank_by", ranking.name)
    metric = metric_of_today(board["rules"], ranked_by, [run], rescored)
    if metric is None or ranked_by != tested_metric:
        verified.differs(
            f"{path}: ranked by {ranked_by}, and tested by {tested_metric}"
        )
        return None
    return metric


def lists_ends(metric: Metric, archived: Sequence[Mapping[str, Any]]) -> bool:
    """Return False if another version of the scorer computed the archived intervals."""
    version = str(metric.interval_version)
    return all(has_intervals_of(numbers, version) for numbers in archived)


def version_number(archived: Mapping[str, Any]) -> float:
    version: str = archived["column"].rpartition("|v:")[2]
    return int(version) if version.isdecimal() else math.inf


def metric_of_today(
    rules: str, name: str, runs: Sequence[int], rescored: Rescored
) -> Metric | None:
    """Return the present metric with this name, or None if there are no runs or the
    metric no longer exists.
    """
    for run in runs[:1]:
        scoring = rescored.scorings[run, rules]
        metrics = metrics_of(scoring.task_type, scoring.rules, scoring.options)
        return next((metric for metric in metrics if metric.name == name), None)
    return None
