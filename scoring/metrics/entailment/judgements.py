"""What people say of claims and responses, one JSON object a line.

    {"annotator": "A", "id": "q1", "claim": "It rains", "recall": 1}
    {"annotator": "A", "id": "q1", "claim": "It rains", "mark": 2, "precision": 0}
    {"annotator": "A", "id": "q1", "utility": 4, "citation_utility": 1}

A claim is named by its text: do the passages of its marks entail it, and does this mark earn its credit?
Whole responses are rated from 1 to 5, their citations with 0 or 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.types.files import open_input
from tasks.types.problems import InputRefused, Problem, quoted
from tasks.types.text import json_lines

#: What is judged, by its name: a claim as (id, text), a mark as (id, text, mark), a response as (id,).
Item = tuple[Any, ...]
RECALL, PRECISION = "recall", "precision"
RATINGS: Mapping[str, tuple[int, ...]] = {"utility": (1, 2, 3, 4, 5), "citation_utility": (0, 1)}
EXAMPLE = '{"annotator": "A", "id": "q1", "claim": "It rains", "recall": 1}'


@dataclass(frozen=True)
class Judgements:
    """By kind and item each annotator's answer."""

    answers: dict[str, dict[Item, dict[str, int]]] = field(
        default_factory=lambda: {kind: defaultdict(dict) for kind in (RECALL, PRECISION, *RATINGS)}
    )


def read_judgements(path: Path, is_known: Callable[[Item], bool], *, shown: str | None = None) -> Judgements:
    """Raises InputRefused with every line that says nothing, or of something that the run does not have.

    ``shown`` is what problems call the file.
    """
    problems: list[Problem] = []
    found = Judgements()
    for file in open_input(path, shown=shown):
        for line, record, raw in json_lines(file, problems):
            faults = list(_faults(record)) or [
                (f"the run has no {_shown(item)}", "a claim as the run's details spell it")
                for _, item, _ in _stated(record)
                if not is_known(item)
            ]
            if not faults:
                faults = [
                    (
                        f"{quoted(record['annotator'])} says otherwise on an earlier line",
                        "one judgement of each",
                    )
                    for kind, item, value in _stated(record)
                    if found.answers[kind][item].setdefault(record["annotator"], value) != value
                ]
            for message, expected in faults:
                problems.append(
                    Problem(file=file.shown, line=line, message=message, expected=expected, quote=quoted(raw))
                )
    if problems:
        raise InputRefused(problems)
    return found


def _stated(record: Mapping[str, Any]) -> Iterator[tuple[str, Item, int]]:
    name, claim, mark = record["id"], record.get("claim"), record.get("mark")
    if RECALL in record:
        yield RECALL, (name, claim), record[RECALL]
    if PRECISION in record:
        yield PRECISION, (name, claim, mark), record[PRECISION]
    for kind in RATINGS:
        if kind in record:
            yield kind, (name,), record[kind]


def _faults(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("annotator", "id"):
        if not isinstance(record.get(key), str):
            yield f"“{key}” is no text", EXAMPLE
    kinds = [kind for kind in (RECALL, PRECISION, *RATINGS) if kind in record]
    if not kinds:
        yield "nothing is judged", f"one of {', '.join((RECALL, PRECISION, *RATINGS))}"
    for kind in kinds:
        allowed = RATINGS.get(kind, (0, 1))
        if type(record[kind]) is not int or record[kind] not in allowed:
            yield f"“{kind}” is {quoted(repr(record[kind]))}", f"one of {', '.join(map(str, allowed))}"
    if (RECALL in record or PRECISION in record) and not isinstance(record.get("claim"), str):
        yield "“claim” is no text", EXAMPLE
    if PRECISION in record and type(record.get("mark")) is not int:
        yield (
            "“mark” is no number",
            '{"annotator": "A", "id": "q1", "claim": "It rains", "mark": 2, "precision": 0}',
        )


def _shown(item: Item) -> str:
    names = ("response", "claim", "mark")
    return f"{names[len(item) - 1]} “{quoted(str(item[-1]))}”" + (f" of {item[0]}" if len(item) > 1 else "")
