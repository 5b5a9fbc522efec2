"""Read the runs of another platform in a sandboxed process, with the scores that the
other platform computed. The function `read` takes and returns JSON values, and imports
no Django.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from citeboard.core.confined import UPLOAD_FILE_NAME
from scoring.exchange.bundles import answers as own_answers
from scoring.exchange.bundles.answers import AnswerLines, parse_number, read_answers
from scoring.exchange.bundles.files import (
    BUNDLE_ARCHIVE_LIMITS,
    INNER_ARCHIVE_LIMITS,
    find_common_folder,
    read_text_file,
)
from tasks.types import InputRefused, Problem
from tasks.types.files import InputFile, open_input_files
from tasks.types.problems import convert_problems_to_dicts

READING_PROGRAM = "scoring.exchange.bundles.old_runs:read"
SCORE_LIST_FILE_NAME = "scores.csv"
MAX_OLD_RUNS, MAX_SCORE_COLUMNS, MAX_TEAM_OR_RUN_NAME_LENGTH = 2_000, 20, 80
#: In score lists, a column named in TEAM_COLUMN_NAMES or RUN_COLUMN_NAMES identifies the team or run.
TEAM_COLUMN_NAMES = (
    "team",
    "teamname",
    "user",
    "username",
    "participant",
    "owner",
    "submittedby",
)
RUN_COLUMN_NAMES = (
    "run",
    "submission",
    "file",
    "filename",
    "id",
    "submissionid",
    "system",
)


@dataclass
class OldRun:
    """A participant's run that was submitted to another platform, with the scores that
    the other platform computed.

    ``part`` is the name of the run's file in the working folder of the sandboxed
    process.
    """

    team: str
    system: str
    part: str = ""
    suffix: str = ".jsonl"
    scores: dict[str, float] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True)
class _ScoreListEntry:
    team: str
    run: str
    values: dict[str, float]


def read(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the runs in a file that was exported from another platform. The keys
    `form` and `instances` of ``given`` describe the gold that scores these runs.
    """
    try:
        files = open_input_files(
            Path(UPLOAD_FILE_NAME),
            shown=given["filename"],
            limits=BUNDLE_ARCHIVE_LIMITS,
        )
        files = _list_files_below_score_list(files)
        scores = _read_score_list(files)
        runs = []
        for team, name, own in _group_files_by_submission(files):
            run = OldRun(
                team[:MAX_TEAM_OR_RUN_NAME_LENGTH], name[:MAX_TEAM_OR_RUN_NAME_LENGTH]
            )
            runs.append(run)
            _write_run_parts(run, own, given, len(runs))
        unmatched = _assign_scores_to_runs(runs, scores)
    except InputRefused as refused:
        return {"runs": [], "problems": convert_problems_to_dicts(refused.problems)}
    problems = [
        Problem(
            file=SCORE_LIST_FILE_NAME,
            message=f"team “{score.team}”, run “{score.run or '–'}” has no file",
            fatal=False,
        )
        for score in unmatched[:20]
    ]
    if not runs:
        expected = "a file, a zip or a folder for each team"
        nothing = Problem(
            file=given["filename"], message="there are no runs", expected=expected
        )
        problems = [nothing]
    return {
        "runs": [asdict(run) for run in runs],
        "problems": convert_problems_to_dicts(problems),
    }


def _list_files_below_score_list(files: Sequence[InputFile]) -> list[InputFile]:
    lists = [file.name for file in files if file.base.lower() == SCORE_LIST_FILE_NAME]
    if lists:
        shortest = min(lists, key=lambda name: len(PurePosixPath(name).parts))
        base = shortest[: -len(SCORE_LIST_FILE_NAME)]
    else:
        base = find_common_folder([file.name for file in files])
        rest = [file.name.removeprefix(base) for file in files]
        # A folder that contains only files is the folder of a single team.
        base = (
            base if any("/" in name or name.endswith(".zip") for name in rest) else ""
        )
    return [
        _copy_with_name(file, file.name.removeprefix(base))
        for file in files
        if file.name.startswith(base)
    ]


def _copy_with_name(file: InputFile, name: str) -> InputFile:
    return InputFile(name, file.shown, file.open)


def _group_files_by_submission(
    files: Sequence[InputFile],
) -> Iterable[tuple[str, str, list[InputFile]]]:
    groups: dict[tuple[str, str], list[InputFile]] = {}
    for file in files:
        parts = PurePosixPath(file.name).parts
        if file.base.lower() == SCORE_LIST_FILE_NAME and len(parts) == 1:
            continue
        team = parts[0] if len(parts) > 1 else PurePosixPath(parts[0]).stem
        name = team
        if len(parts) > 2 or (len(parts) == 2 and file.suffix == ".zip"):
            name = PurePosixPath(parts[1]).stem if file.suffix == ".zip" else parts[1]
        groups.setdefault((team, name), []).append(file)
    if len(groups) > MAX_OLD_RUNS:
        message, expected = f"{len(groups):,} runs", f"at most {MAX_OLD_RUNS:,}"
        raise InputRefused([Problem(message=message, expected=expected)])
    for number, ((team, name), own) in enumerate(groups.items()):
        yield team, name, _unpack_run_files(own, number)


def _unpack_run_files(files: Sequence[InputFile], number: int) -> list[InputFile]:
    found: list[InputFile] = []
    for place, file in enumerate(files):
        if file.suffix != ".zip":
            found.append(file)
            continue
        copy = Path(f"inner-{number}-{place}.zip")
        with copy.open("wb") as target:
            target.writelines(file.iterate_raw_chunks())
        found += open_input_files(copy, shown=file.shown, limits=INNER_ARCHIVE_LIMITS)
    return found


def _write_run_parts(
    run: OldRun, files: Sequence[InputFile], given: Mapping[str, Any], number: int
) -> None:
    instances, form = given["instances"], given["form"]
    tables: list[InputFile] = []
    content: bytes | None = None
    for file in files:
        found = read_answers(file) if own_answers.is_answer_file(file) else None
        if isinstance(found, AnswerLines):
            is_whole = len(found.values) * found.width == instances
            is_whole = is_whole or len(found.values) == instances
            own = own_answers.answers_as_run_file(found, form) if is_whole else None
            content = content or own
        elif found is not None:
            tables.append(file)
    run.part = f"part-{number}"
    if content is not None:
        Path(run.part).write_bytes(content)
    elif len(tables) == 1:
        run.suffix = tables[0].suffix
        with Path(run.part).open("wb") as copy:
            copy.writelines(tables[0].iterate_raw_chunks())
    else:
        names = ", ".join(file.base for file in files[:5])
        run.part = ""
        run.problem = (
            f"no file with {instances:,} answers, and not one table: {names or 'empty'}"
        )


def _read_score_list(files: Sequence[InputFile]) -> list[_ScoreListEntry]:
    own = next(
        (file for file in files if file.name.lower() == SCORE_LIST_FILE_NAME), None
    )
    text = read_text_file(own) if own else ""
    if own is None or not text:
        return []
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as fault:
        raise InputRefused(
            [Problem(file=SCORE_LIST_FILE_NAME, message=str(fault))]
        ) from fault
    heads = [_normalise_name_for_matching(cell) for cell in rows[0]]
    team = next(
        (place for place, head in enumerate(heads) if head in TEAM_COLUMN_NAMES), None
    )
    if team is None:
        message, expected = "no column names the team", "a column “team”"
        problem = Problem(
            file=SCORE_LIST_FILE_NAME, line=1, message=message, expected=expected
        )
        raise InputRefused([problem])
    run = next(
        (
            place
            for place, head in enumerate(heads)
            if head in RUN_COLUMN_NAMES and place != team
        ),
        None,
    )
    found = []
    for row in rows[1:]:
        if len(row) != len(heads) or not row[team].strip():
            continue
        values = {
            rows[0][place].strip()[:40]: number
            for place, cell in enumerate(row)
            if place not in (team, run)
            and rows[0][place].strip()
            and (number := parse_number(cell.strip())) is not None
        }
        own_values = dict(list(values.items())[:MAX_SCORE_COLUMNS])
        name = row[run].strip() if run is not None else ""
        found.append(_ScoreListEntry(row[team].strip(), name, own_values))
    return found


def _normalise_name_for_matching(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _assign_scores_to_runs(
    runs: Sequence[OldRun], scores: Sequence[_ScoreListEntry]
) -> list[_ScoreListEntry]:
    """Assign the scores in score lists to runs by team name and run name, and return
    the scores that match no run.

    A score of a team with only one run needs no run name.
    """
    by_team: dict[str, list[OldRun]] = {}
    for run in runs:
        by_team.setdefault(_normalise_name_for_matching(run.team), []).append(run)
    rest = []
    for score in scores:
        own = by_team.get(_normalise_name_for_matching(score.team), [])
        names = (
            _normalise_name_for_matching(score.run),
            _normalise_name_for_matching(PurePosixPath(score.run).stem),
        )
        fitting = [
            run for run in own if _normalise_name_for_matching(run.system) in names
        ]
        fitting = fitting or (own if len(own) == 1 else [])
        if len(fitting) == 1 and not fitting[0].scores:
            fitting[0].scores = score.values
        else:
            rest.append(score)
    return rest
