"""Check the ranks and groups of an archived board, which follow from values and paired
tests.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.offline.compare import TEST_RESULT_FIELDS, recompute_ranks
from scoring.offline.verify.files import (
    ArchivedFileMissing,
    format_tests_path,
    read_json,
)
from scoring.offline.verify.means import repeat_tests_of_means
from scoring.offline.verify.paired_tests import (
    find_repeatable_tests,
    has_valid_tests,
    repeat_tests,
)
from scoring.offline.verify.report import VALUE_DIGITS, VerificationReport
from scoring.offline.verify.scores import RescoredRuns

#: NO_TESTS_REASON is the reason why the ranks of a board are not checked.
NO_TESTS_REASON = (
    "the archive does not hold the paired tests that ranks and groups rest on"
)
RANK_FIELDS = ("rank", "rank_low", "rank_high", "group")

ArchivedBoard = Mapping[str, Any]
ArchivedRowByRun = Mapping[int, Mapping[str, Any]]


def check_ranks(
    archive: Path,
    path: str,
    board: ArchivedBoard,
    rescored: RescoredRuns,
    verified: VerificationReport,
) -> None:
    rows = {row["submission"]: row for row in board["rows"] if row["rank"] is not None}
    if not rows:
        return
    try:
        archived = read_json(archive, format_tests_path(path))
    except ArchivedFileMissing:
        verified.unchecked[NO_TESTS_REASON] += sum(
            row[name] is not None for row in rows.values() for name in RANK_FIELDS
        )
        return
    tests, metric = archived["tests"], archived["metric"]
    of_means = archived.get("tests_of_means", [])
    if not has_valid_tests(path, board, rows, tests, of_means, verified):
        return
    single = {run: row for run, row in rows.items() if not row.get("runs")}
    repeatable = find_repeatable_tests(board, single, tests, metric, rescored)
    not_repeated = len(tests) - len(repeatable.tests)
    verified.unchecked[repeatable.why_not_others] += (
        len(TEST_RESULT_FIELDS) * not_repeated
    )
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
    names = RANK_FIELDS[:1] if not_repeated else RANK_FIELDS
    left_out = len(RANK_FIELDS) - len(names)
    verified.unchecked[repeatable.why_not_others] += len(rows) * left_out
    values = _collect_ranking_values(board, rows, metric)
    for run, standing in recompute_ranks(values, [*tests, *of_means]).items():
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


def _collect_ranking_values(
    board: ArchivedBoard, rows: ArchivedRowByRun, metric: str
) -> dict[int, float | None]:
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
