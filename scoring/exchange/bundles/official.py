"""Propose the scoring program of a competition bundle as the official program of a
task, without running the program.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.exchange.bundles.answers import (
    AnswerLines,
    AnswerLinesOrTable,
    AnswerTable,
)
from scoring.exchange.bundles.files import read_text_file
from scoring.exchange.bundles.programs import (
    PROGRAM_METADATA_FILE_NAMES,
    RESOURCE_COLUMN_PATTERN,
    ScoringProgram,
    find_command_line,
)
from scoring.exchange.bundles.reading import LeaderboardColumn
from scoring.exchange.bundles.report import ImportReport
from tasks.types import InputRefused
from tasks.types.base import PROGRAM_METRIC_PREFIX
from tasks.types.declared.official_program import (
    COLUMN_NAME_PATTERN,
    MAX_PROGRAM_COLUMNS,
    format_program_json,
    is_plain_path,
    list_missing_resource_warnings,
    parse_program_json,
    validate_program_json,
)
from tasks.types.files import InputFile
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import Problem

OFFICIAL_PROGRAM_RULE_SET = "with-program"
#: The site can write the input tables of a scoring program in these three formats.
PROGRAM_TABLE_FORMATS = ("csv", "tsv", "jsonl")
RULE_SET_CARD_SECTION = (
    f"### `{OFFICIAL_PROGRAM_RULE_SET}`\n\nThe numbers of the organisers' own program, `program.json`, "
    "beside those of this site.\n\n"
)
_NON_PROGRAM_FILE_PATTERN = re.compile(
    r"\.(?:pyc|png|jpe?g|gif|pdf|ipynb|DS_Store)$|(?:^|/)__", re.IGNORECASE
)


@dataclass(frozen=True)
class ProposedOfficialProgram:
    """An official scoring program, with the text of its `program.json`, its table
    `[task.program]` in the season file, and the measures and titles of its rule set.
    """

    text: str
    table: Mapping[str, Any]
    measures: Sequence[Mapping[str, Any]]
    titles: Mapping[str, str]


def propose_official_program(
    files: Sequence[InputFile],
    program: ScoringProgram,
    gold: AnswerLinesOrTable,
    answers: InputFile | None,
    columns: Sequence[LeaderboardColumn],
    fields: Mapping[str, Any],
    place: str,
    report: ImportReport,
) -> ProposedOfficialProgram | None:
    """Return the scoring program of a competition bundle as a proposed official
    program, or report the reason and return None if the site cannot run the program.

    ``answers`` is the answer file of the bundle's sample submission, with the file name
    that the program expects, or None without a sample. ``fields`` is the table
    `[task.gold]` of the drafted season file.
    """
    layout, reason = _describe_table_layout(gold, answers, fields, program)
    keys = _select_measure_columns(program, columns)
    if not reason and not keys:
        reason = "no column of a leaderboard names a number that it writes"
    text = "" if reason else _build_program_file_text(files, program, place, report)
    problems: list[Problem] = []
    found = validate_program_json(text, place, problems) if text else None
    if problems:
        reason = problems[0].message
    if found is None:
        words = f"the site cannot run the program beside its own measures: {reason}"
        report.left_out(place, words)
        return None
    names = {column.key: _make_measure_name(column.key) for column in keys}
    own = ", ".join(names.values())
    words = f"the official program is `program.json`; rule set `{OFFICIAL_PROGRAM_RULE_SET}` has {own}"
    report.add_understood_value(place, words)
    for words in list_missing_resource_warnings(parse_program_json(text)):
        report.add_needed_decision(place, f"the official program: {words}")
    report.add_needed_decision(
        place,
        "the official program runs once those who run the site approve its text; the"
        " text is given out with the inputs and the archive",
    )
    return ProposedOfficialProgram(
        text,
        {**layout, "columns": list(names)},
        [
            {
                "name": names[column.key],
                "column": column.key,
                **({"lower_is_better": True} if column.is_ascending else {}),
            }
            for column in keys
        ],
        {names[column.key]: column.title for column in keys if column.title},
    )


def _describe_table_layout(
    gold: AnswerLinesOrTable,
    answers: InputFile | None,
    fields: Mapping[str, Any],
    program: ScoringProgram,
) -> tuple[dict[str, Any], str]:
    if answers is None or not is_plain_path(answers.name):
        return {}, "no sample shows the name of the file of answers"
    if not is_plain_path(gold.file.name):
        return {}, "the name of its gold has other signs than letters, digits and `-_.`"
    layout: dict[str, Any] = {"gold": gold.file.name, "answers": answers.name}
    if isinstance(gold, AnswerTable):
        layout |= {
            "files": gold.file.suffix.removeprefix("."),
            "id": str(fields["id"]),
            "field": str(fields["field"]),
        }
        return layout, _find_reason_against_table(gold.file, answers, fields, program)
    if gold.width > 1:
        layout["width"] = gold.width
    return layout, _find_reason_against_lines(gold)


def _find_reason_against_lines(gold: AnswerLines) -> str:
    if gold.ids:
        return (
            "its gold has a column of ids and no names of columns; give the gold with"
            " names in its first line, or one value on each line"
        )
    if gold.width > 1 and any(sign in _read_first_line(gold.file) for sign in b",;"):
        return (
            "its gold has vectors that are not parted by spaces; give gold, sample and"
            " program in another form"
        )
    return ""


def _find_reason_against_table(
    gold: InputFile,
    answers: InputFile,
    fields: Mapping[str, Any],
    program: ScoringProgram,
) -> str:
    """Return the reason why a scoring program cannot read tables with an id and a value
    in each row, or an empty text if the program can read such tables.
    """
    kind = gold.suffix.removeprefix(".")
    if fields.get("delimiter") or not isinstance(fields["field"], str):
        return "its gold has another separator than commas, or several fields"
    if kind not in PROGRAM_TABLE_FORMATS:
        return f"its gold is {kind}; give a table as CSV, TSV or JSON lines"
    if answers.suffix != gold.suffix:
        return f"its sample is no {kind} as the gold is; give both in one form"
    own = {str(fields["id"]), str(fields["field"])}
    for file in (gold, answers):
        names = _read_column_names(file, kind)
        if lacking := sorted(own - names):
            return (
                f"{file.name} has no column {', '.join(lacking)}; name the columns of"
                " gold and answers alike"
            )
        if more := sorted((names - own) & program.words):
            return (
                f"it reads the columns {', '.join(more)} of {file.name}, and the site"
                f" gives it {' and '.join(sorted(own))} alone"
            )
    return ""


def _read_column_names(file: InputFile, kind: str) -> set[str]:
    try:
        line = _read_first_line(file).decode("utf-8-sig").strip()
        if kind == "jsonl":
            row = read_json(line)
            return {str(name) for name in row} if isinstance(row, dict) else set()
    except (ValueError, RecursionError, InputRefused):
        return set()
    parts = line.split("\t" if kind == "tsv" else ",")
    return {part.strip().strip('"') for part in parts}


def _read_first_line(file: InputFile) -> bytes:
    return next(iter(file.lines()), b"")


def _select_measure_columns(
    program: ScoringProgram, columns: Sequence[LeaderboardColumn]
) -> list[LeaderboardColumn]:
    own = [
        one
        for one in columns
        if COLUMN_NAME_PATTERN.fullmatch(one.key)
        and not RESOURCE_COLUMN_PATTERN.search(one.key)
    ]
    named = [one for one in own if one.key in program.words]
    once = {_make_measure_name(one.key): one for one in reversed(named or own)}
    return list(reversed(once.values()))[:MAX_PROGRAM_COLUMNS]


def _make_measure_name(key: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_")
    return f"{PROGRAM_METRIC_PREFIX}{words or 'score'}"


def _build_program_file_text(
    files: Sequence[InputFile],
    program: ScoringProgram,
    place: str,
    report: ImportReport,
) -> str:
    texts: dict[str, str] = {}
    for file in files:
        if file.name in PROGRAM_METADATA_FILE_NAMES or _NON_PROGRAM_FILE_PATTERN.search(
            file.name
        ):
            continue
        text = read_text_file(file)
        if text is None or not is_plain_path(file.name):
            report.left_out(
                f"{place}/{file.name}", "no text: the official program lacks it"
            )
        else:
            texts[file.name] = text
    command = find_command_line(files) or f"python3 {program.entry}"
    return format_program_json(command, texts)
