"""Check the paired tests of a board, and repeat them."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from scoring.metrics import metrics_of
from scoring.offline.compare import FOUND, tests_again
from scoring.offline.evaluate import Measurements, measured
from scoring.offline.scoring import read_scored
from scoring.offline.verify.numbers import uses_model
from scoring.offline.verify.report import Verified
from scoring.offline.verify.scores import Rescored
from scoring.stats.significance import APPROXIMATE, MAX_EXACT_UNITS, SEED, trials_for

#: Reasons not to check a number.
NOT_REPEATED = "not all paired tests behind them can be repeated"
MODEL_TESTS = "they rest on a model, whose last digits differ from machine to machine"

Board = Mapping[str, Any]
Rows = Mapping[int, Mapping[str, Any]]
Tests = Sequence[Mapping[str, Any]]


class Repeatable(NamedTuple):
    """The paired tests that can be repeated, and the reason why the others cannot."""

    tests: Tests
    why_not_others: str


def has_sound_tests(
    path: str, board: Board, rows: Rows, tests: Tests, verified: Verified
) -> bool:
    """Return False if ranks cannot rest on the tests; report what is wrong with them."""
    compared = {frozenset((test["first"], test["second"])) for test in tests}
    pairs = math.comb(len(rows), 2)
    if len(compared) < len(tests) or not all(
        pair <= rows.keys() and len(pair) == 2 for pair in compared
    ):
        verified.differs(f"{path}: its paired tests are not each of two rows")
        return False
    if board["compared"] and len(tests) < pairs:
        lacking = pairs - len(tests)
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
    """Return the tests whose two runs were scored again with the gold of the board."""
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
    metrics = (evaluation["metrics"][tested_metric] for evaluation in of_gold.values())
    if any(uses_model(metric) for metric in metrics):
        return Repeatable([], MODEL_TESTS)
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
    """Return False if the tests are not of the metric that ranks; report this."""
    rules = board["rules"]
    first = rescored.scorings[tests[0]["first"], rules]
    metrics = metrics_of(first.task_type, first.rules, first.options)
    ranked_by = board.get("rank_by", metrics[0].name)
    metric = next((metric for metric in metrics if metric.name == ranked_by), None)
    if metric is None or ranked_by != tested_metric:
        verified.differs(
            f"{path}: ranked by {ranked_by}, and tested by {tested_metric}"
        )
        return False

    @cache
    def measured_run(run: int) -> Measurements:
        scoring = rescored.scorings[run, rules]
        return measured([metric], *read_scored(scoring).rows(scoring))

    repeated = tests_again(metric, tests, measured_run)
    for test, again in zip(tests, repeated, strict=True):
        place = f"{path} runs {test['first']} and {test['second']}"
        verified.compare(place, {name: test[name] for name in FOUND}, again)
    return True
