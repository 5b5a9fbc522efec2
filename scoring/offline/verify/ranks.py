"""Check the ranks and groups of an archived board, which follow from values and paired
tests.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.offline.compare import FOUND, ranks_again
from scoring.offline.verify.files import FileMissing, read_json, tests_of
from scoring.offline.verify.means import repeat_tests_of_means
from scoring.offline.verify.paired_tests import (
    has_sound_tests,
    repeat_tests,
    repeatable_tests,
)
from scoring.offline.verify.report import VALUE_DIGITS, Verified
from scoring.offline.verify.scores import Rescored

#: NO_TESTS is the reason why the ranks of a board are not checked.
NO_TESTS = "the archive does not hold the paired tests that ranks and groups rest on"
RANKED = ("rank", "rank_low", "rank_high", "group")

Board = Mapping[str, Any]
Rows = Mapping[int, Mapping[str, Any]]


def check_ranks(
    archive: Path, path: str, board: Board, rescored: Rescored, verified: Verified
) -> None:
    rows = {row["submission"]: row for row in board["rows"] if row["rank"] is not None}
    if not rows:
        return
    try:
        archived = read_json(archive, tests_of(path))
    except FileMissing:
        verified.unchecked[NO_TESTS] += sum(
            row[name] is not None for row in rows.values() for name in RANKED
        )
        return
    tests, metric = archived["tests"], archived["metric"]
    of_means = archived.get("tests_of_means", [])
    if not has_sound_tests(path, board, rows, tests, of_means, verified):
        return
    single = {run: row for run, row in rows.items() if not row.get("runs")}
    repeatable = repeatable_tests(board, single, tests, metric, rescored)
    not_repeated = len(tests) - len(repeatable.tests)
    verified.unchecked[repeatable.why_not_others] += len(FOUND) * not_repeated
    if repeatable.tests and not repeat_tests(
        path, board, repeatable.tests, metric, rescored, verified
    ):
        return
    means_left = repeat_tests_of_means(
        path, board, rows, of_means, metric, rescored, verified
    )
    if means_left is None:
        return
    not_repeated += means_left
    # A rank depends on values only, but ranges of ranks and groups depend on tests.
    names = RANKED[:1] if not_repeated else RANKED
    left_out = len(RANKED) - len(names)
    verified.unchecked[repeatable.why_not_others] += len(rows) * left_out
    values = _ranking_values(board, rows, metric)
    for run, standing in ranks_again(values, [*tests, *of_means]).items():
        expected = {
            "rank": standing.rank,
            "rank_low": standing.low,
            "rank_high": standing.high,
            "group": standing.low,
        }
        verified.compare(
            f"{path} {rows[run]['system']}",
            {name: rows[run][name] for name in names},
            {name: expected[name] for name in names},
        )


def _ranking_values(board: Board, rows: Rows, metric: str) -> dict[int, float | None]:
    """Return the rounded values of the metric that ranks the board, keyed by run. The
    returned values are negated if lower values are better.
    """
    [column] = [column for column in board["columns"] if column["name"] == metric]
    sign = -1 if column["higher_is_better"] is False else 1
    values: dict[int, float | None] = {}
    for run, row in rows.items():
        value = row["scores"].get(column["name"], {}).get("value")
        values[run] = (
            None if value is None else float(format(sign * value, f".{VALUE_DIGITS}g"))
        )
    return values
