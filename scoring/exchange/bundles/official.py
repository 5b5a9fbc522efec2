"""Propose the scoring program of a competition bundle as the official program of a
task, without running the program.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.exchange.bundles.answers import Answers, Lines, TableFile
from scoring.exchange.bundles.files import text_of
from scoring.exchange.bundles.programs import DURATION, METADATA, Program, command_of
from scoring.exchange.bundles.reading import Column
from scoring.exchange.bundles.report import Report
from tasks.types import InputRefused
from tasks.types.base import PROGRAM_PREFIX
from tasks.types.declared.official_program import (
    COLUMN_NAME,
    MAX_COLUMNS,
    is_plain_path,
    program_of,
    read_program,
    warnings_of,
    written_program,
)
from tasks.types.files import InputFile
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import Problem

RULES = "with-program"
#: The site can write the input tables of a scoring program in these three formats.
TABLES = ("csv", "tsv", "jsonl")
CARD = (
    f"### `{RULES}`\n\nThe numbers of the organisers' own program, `program.json`, beside those of this"
    " site.\n\n"
)
_NO_PART = re.compile(
    r"\.(?:pyc|png|jpe?g|gif|pdf|ipynb|DS_Store)$|(?:^|/)__", re.IGNORECASE
)


@dataclass(frozen=True)
class Offer:
    """An official scoring program, with the text of its `program.json`, its table
    `[task.program]` in the season file, and the measures and titles of its rule set.
    """

    text: str
    table: Mapping[str, Any]
    measures: Sequence[Mapping[str, Any]]
    titles: Mapping[str, str]


def offer(
    files: Sequence[InputFile],
    program: Program,
    gold: Answers,
    answers: InputFile | None,
    columns: Sequence[Column],
    fields: Mapping[str, Any],
    place: str,
    report: Report,
) -> Offer | None:
    """Return the scoring program of a competition bundle as a proposed official
    program, or report the reason and return None if the site cannot run the program.

    ``answers`` is the answer file of the bundle's sample submission, with the file name
    that the program expects, or None without a sample. ``fields`` is the table
    `[task.gold]` of the drafted season file.
    """
    layout, reason = _layout(gold, answers, fields, program)
    keys = _keys(program, columns)
    if not reason and not keys:
        reason = "no column of a leaderboard names a number that it writes"
    text = "" if reason else _text(files, program, place, report)
    problems: list[Problem] = []
    found = read_program(text, place, problems) if text else None
    if problems:
        reason = problems[0].message
    if found is None:
        words = f"the site cannot run the program beside its own measures: {reason}"
        report.left_out(place, words)
        return None
    names = {column.key: _name(column.key) for column in keys}
    own = ", ".join(names.values())
    words = f"the official program is `program.json`; rule set `{RULES}` has {own}"
    report.understood(place, words)
    for words in warnings_of(program_of(text)):
        report.decide(place, f"the official program: {words}")
    report.decide(
        place,
        "the official program runs once those who run the site approve its text; the"
        " text is given out with the inputs and the archive",
    )
    return Offer(
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


def _layout(
    gold: Answers,
    answers: InputFile | None,
    fields: Mapping[str, Any],
    program: Program,
) -> tuple[dict[str, Any], str]:
    if answers is None or not is_plain_path(answers.name):
        return {}, "no sample shows the name of the file of answers"
    if not is_plain_path(gold.file.name):
        return {}, "the name of its gold has other signs than letters, digits and `-_.`"
    layout: dict[str, Any] = {"gold": gold.file.name, "answers": answers.name}
    if isinstance(gold, TableFile):
        layout |= {
            "files": gold.file.suffix.removeprefix("."),
            "id": str(fields["id"]),
            "field": str(fields["field"]),
        }
        return layout, _reason_against_table(gold.file, answers, fields, program)
    if gold.width > 1:
        layout["width"] = gold.width
    return layout, _reason_against_lines(gold)


def _reason_against_lines(gold: Lines) -> str:
    if gold.ids:
        return (
            "its gold has a column of ids and no names of columns; give the gold with"
            " names in its first line, or one value on each line"
        )
    if gold.width > 1 and any(sign in _first_line(gold.file) for sign in b",;"):
        return (
            "its gold has vectors that are not parted by spaces; give gold, sample and"
            " program in another form"
        )
    return ""


def _reason_against_table(
    gold: InputFile, answers: InputFile, fields: Mapping[str, Any], program: Program
) -> str:
    """Return the reason why a scoring program cannot read tables with an id and a value
    in each row, or an empty text if the program can read such tables.
    """
    kind = gold.suffix.removeprefix(".")
    if fields.get("delimiter") or not isinstance(fields["field"], str):
        return "its gold has another separator than commas, or several fields"
    if kind not in TABLES:
        return f"its gold is {kind}; give a table as CSV, TSV or JSON lines"
    if answers.suffix != gold.suffix:
        return f"its sample is no {kind} as the gold is; give both in one form"
    own = {str(fields["id"]), str(fields["field"])}
    for file in (gold, answers):
        names = _names_in(file, kind)
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


def _names_in(file: InputFile, kind: str) -> set[str]:
    try:
        line = _first_line(file).decode("utf-8-sig").strip()
        if kind == "jsonl":
            row = read_json(line)
            return {str(name) for name in row} if isinstance(row, dict) else set()
    except (ValueError, RecursionError, InputRefused):
        return set()
    parts = line.split("\t" if kind == "tsv" else ",")
    return {part.strip().strip('"') for part in parts}


def _first_line(file: InputFile) -> bytes:
    return next(iter(file.lines()), b"")


def _keys(program: Program, columns: Sequence[Column]) -> list[Column]:
    own = [
        one
        for one in columns
        if COLUMN_NAME.fullmatch(one.key) and not DURATION.search(one.key)
    ]
    named = [one for one in own if one.key in program.words]
    once = {_name(one.key): one for one in reversed(named or own)}
    return list(reversed(once.values()))[:MAX_COLUMNS]


def _name(key: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_")
    return f"{PROGRAM_PREFIX}{words or 'score'}"


def _text(
    files: Sequence[InputFile], program: Program, place: str, report: Report
) -> str:
    texts: dict[str, str] = {}
    for file in files:
        if file.name in METADATA or _NO_PART.search(file.name):
            continue
        text = text_of(file)
        if text is None or not is_plain_path(file.name):
            report.left_out(
                f"{place}/{file.name}", "no text: the official program lacks it"
            )
        else:
            texts[file.name] = text
    command = command_of(files) or f"python3 {program.entry}"
    return written_program(command, texts)
