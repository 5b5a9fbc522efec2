"""Recompute the boards of battles in an archive from the archived pairwise judgements."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scoring.offline.battles import (
    BATTLES_SIGNATURE,
    convert_battle_results_to_json,
    read_battles,
)
from scoring.offline.verify.files import (
    ArchivedFileMissing,
    find_archived_file,
    read_json,
)
from scoring.offline.verify.report import VerificationReport
from scoring.stats.battles import compute_battle_results
from tasks.types import InputRefused

#: OTHER_METHOD_REASON is the reason why the numbers of some boards of battles are not checked.
OTHER_METHOD_REASON = "another version computed the board of battles"
#: The names in INTERVAL_END_FIELDS are those of interval bounds, which are compared to fewer digits.
INTERVAL_END_FIELDS = ("low", "high")


def check_battles(
    archive: Path, season: Mapping[str, Any], verified: VerificationReport
) -> None:
    """Compare all numbers of each archived board of battles with numbers recomputed
    from the judgements.
    """
    for task in season["tasks"]:
        for phase in task["phases"]:
            if entry := phase.get("battles"):
                try:
                    _check_battle_board(
                        archive, entry["rows"], entry["board"], verified
                    )
                except ArchivedFileMissing as missing:
                    verified.differs(str(missing))


def _check_battle_board(
    archive: Path, rows: str, board: str, verified: VerificationReport
) -> None:
    archived, path = read_json(archive, board), find_archived_file(archive, rows)
    if archived["signature"] != BATTLES_SIGNATURE:
        numbers = [
            value
            for _, _, value in _iterate_values_with_paths(archived)
            if _is_number(value)
        ]
        verified.unchecked[OTHER_METHOD_REASON] += len(numbers)
        return
    try:
        expected = convert_battle_results_to_json(
            compute_battle_results(read_battles(path, shown=rows))
        )
    except InputRefused as refused:
        for problem in refused.problems:
            verified.differs(str(problem))
        return
    again = {
        (place, name): value
        for place, name, value in _iterate_values_with_paths(expected)
    }
    for place, name, value in _iterate_values_with_paths(archived):
        other = again.pop((place, name), None)
        if isinstance(value, str) or isinstance(other, str):
            if value != other:
                message = f"the archive has {value}, computed again it is {other}"
                verified.differs(f"{board}{place} {name}: {message}")
        else:
            verified.compare(f"{board}{place}", {name: value}, {name: other})
    for (place, name), other in again.items():
        verified.compare(f"{board}{place}", {}, {name: other})


def _iterate_values_with_paths(
    content: Any, place: str = ""
) -> Iterator[tuple[str, str, Any]]:
    """Yield the path, name and value of each number or text in a JSON value, where the
    names of interval bounds are `low` and `high`.
    """
    pairs = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in pairs:
        name = str(key)
        if isinstance(value, dict | list):
            yield from _iterate_values_with_paths(value, f"{place} {name}")
            continue
        of, _, end = name.rpartition("_")
        yield (
            (f"{place} {of}", end, value)
            if of and end in INTERVAL_END_FIELDS
            else (
                place,
                name,
                value,
            )
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
