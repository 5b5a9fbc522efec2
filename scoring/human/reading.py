"""Read ratings and judgements that users upload, in processes with limited rights.

Arguments and results are JSON values; Django is not imported.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from citeboard.core.confined import UPLOAD_FILE_NAME
from scoring.offline.battles import read_battles
from scoring.stats.battles import Battle
from scoring.stats.people_and_labels import read_judgements
from tasks.types import InputRefused, Problem
from tasks.types.problems import convert_problems_to_dicts
from tasks.types.text import normalise_to_nfc

#: The maximum size of a file of ratings, and the maximum number of reported problems.
MAX_UPLOAD_BYTES, MAX_REPORTED_PROBLEMS = 8 << 20, 200
#: The maximum length of a judge's name in characters.
MAX_JUDGE_NAME_LENGTH = 80
#: A page that shows a board compares at most this many pairs of labels.
MAX_LABEL_COMPARISONS = 250_000
#: Name of the file with the items of a run that people can judge.
JUDGEABLE_ITEMS_FILE_NAME = "items.json"


def ratings(facts: Mapping[str, Any]) -> dict[str, Any]:
    shown, form = facts["filename"], SimpleNamespace(**facts["form"])
    rated: dict[str, dict[str, int]] = {}
    try:
        text = _read_uploaded_text(shown)
    except InputRefused as refused:
        return {"ratings": {}, "problems": convert_problems_to_dicts(refused.problems)}
    problems: list[Problem] = []
    codes = set(facts["codes"])
    for line, row in _iterate_csv_rows(
        text, shown, [form.code, *form.criteria], problems
    ):
        faults = [*_find_row_faults(row, form, codes, rated)]
        problems += [
            Problem(file=shown, line=line, message=message, expected=expected)
            for message, expected in faults
        ]
        if len(problems) >= MAX_REPORTED_PROBLEMS:
            break
        if not faults and any(row[name] for name in form.criteria):
            rated[row[form.code]] = {name: int(row[name]) for name in form.criteria}
    if not rated and not problems:
        expected = f"{form.lowest} to {form.highest}"
        problems.append(
            Problem(file=shown, message="no ratings are here", expected=expected)
        )
    return {"ratings": rated, "problems": convert_problems_to_dicts(problems)}


def judgements(facts: Mapping[str, Any]) -> dict[str, Any]:
    items = {
        tuple(item) for item in json.loads(Path(JUDGEABLE_ITEMS_FILE_NAME).read_bytes())
    }
    try:
        read = read_judgements(
            Path(UPLOAD_FILE_NAME), items.__contains__, shown=facts["filename"]
        )
    except InputRefused as refused:
        return {"answers": [], "problems": convert_problems_to_dicts(refused.problems)}
    answers = [
        [kind, item, by_annotator]
        for kind, one in read.answers.items()
        for item, by_annotator in one.items()
    ]
    return {"answers": answers, "problems": []}


def battles(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Read judgements of battles. All systems and topics that the file names must exist
    in the phase.
    """
    shown, systems, topics = facts["filename"], facts["systems"], facts["topics"]
    known = {normalise_to_nfc(topic) for topic in topics}

    def find_faults_of_battle(battle: Battle) -> Iterator[tuple[str, str]]:
        if battle.topic not in known:
            yield f"“{battle.topic[:40]}” is no topic", _list_first_few_names(topics)
        for name in (battle.left, battle.right):
            if name not in systems:
                yield f"“{name[:40]}” names no run", _list_first_few_names([*systems])
        # A file can name a run by its system, or by its system and its number.
        if systems.get(battle.left, battle.left) == systems.get(battle.right):
            yield f"“{battle.left[:40]}” meets itself", "two different systems"
        if len(battle.judge) > MAX_JUDGE_NAME_LENGTH:
            message = f"“judge” has {len(battle.judge)} characters"
            yield message, f"at most {MAX_JUDGE_NAME_LENGTH} characters"

    try:
        _read_uploaded_text(shown)
        rows = read_battles(
            Path(UPLOAD_FILE_NAME), shown=shown, faults_of=find_faults_of_battle
        )
        _refuse_too_many_comparisons(rows, shown)
    except InputRefused as refused:
        return {"battles": [], "problems": convert_problems_to_dicts(refused.problems)}
    return {"battles": [astuple(row) for row in rows], "problems": []}


def _refuse_too_many_comparisons(rows: Sequence[Battle], shown: str) -> None:
    counts = Counter((row.topic, *sorted((row.left, row.right))) for row in rows)
    compared = sum(labels * (labels - 1) // 2 for labels in counts.values())
    if compared > MAX_LABEL_COMPARISONS:
        message = f"{compared:,} comparisons of two labels on the same texts"
        expected = f"at most {MAX_LABEL_COMPARISONS:,}"
        raise InputRefused([Problem(file=shown, message=message, expected=expected)])


def _list_first_few_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5]) or "none"
    return f"{shown} and {len(names) - 5:,} more" if len(names) > 5 else shown


def _read_uploaded_text(shown: str) -> str:
    with Path(UPLOAD_FILE_NAME).open("rb") as file:
        content = file.read(MAX_UPLOAD_BYTES + 1)
    if len(content) > MAX_UPLOAD_BYTES:
        raise InputRefused(
            [
                Problem(
                    file=shown,
                    message=f"the file is larger than {MAX_UPLOAD_BYTES >> 20} MB",
                )
            ]
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise InputRefused(
            [Problem(file=shown, message="the file is not UTF-8")]
        ) from fault


def _iterate_csv_rows(
    text: str, shown: str, needed: Sequence[str], problems: list[Problem]
) -> Iterator[tuple[int, dict[str, str]]]:
    first = text.partition("\n")[0]
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=";" if ";" in first else ",",
        strict=True,
    )
    try:
        head = [name.strip() for name in next(reader, [])]
        if missing := [name for name in needed if name not in head]:
            message = f"no column {', '.join(missing)}"
            problems.append(
                Problem(file=shown, line=1, message=message, expected=", ".join(needed))
            )
            return
        places = {name: head.index(name) for name in needed}
        for row in reader:
            if any(cell.strip() for cell in row):
                cells = {
                    name: row[at].strip() if at < len(row) else ""
                    for name, at in places.items()
                }
                yield reader.line_num, cells
    except csv.Error as fault:
        problems.append(
            Problem(file=shown, line=reader.line_num, message=f"not CSV: {fault}")
        )


def _find_row_faults(
    row: Mapping[str, str],
    form: SimpleNamespace,
    codes: set[str],
    seen: Mapping[str, object],
) -> Iterator[tuple[str, str]]:
    code = row[form.code]
    if code not in codes:
        yield (
            f"no text of this sheet is called “{code[:40]}”",
            f"a {form.code} of the sheet",
        )
    elif code in seen:
        yield f"{code} is rated twice", "one line for each text"
    cells = [row[name] for name in form.criteria]
    allowed = {str(value) for value in range(form.lowest, form.highest + 1)}
    if any(cells):
        for name, value in zip(form.criteria, cells, strict=True):
            if value not in allowed:
                yield (
                    f"{name} is “{value[:20]}”",
                    f"a whole number from {form.lowest} to {form.highest}",
                )
