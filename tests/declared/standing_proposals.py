"""What is proposed for drawn gold, as the file beside this says it.

    python -m tests.declared.standing_proposals

writes the file anew, for a change that is meant.
"""

import csv
import io
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tasks.types import InputRefused
from tasks.types.declared.proposals import (
    PROPOSED_MEASURES_BY_FORM,
    format_task_toml,
    list_available_measures,
    propose_declaration,
)
from tasks.types.files import InputFile
from tests.scoring.standing_numbers import digest, said, written

FILE = Path(__file__).with_suffix(".json")
BLOCKS, FOLDERS = 30, 8
WORDS = (
    *("we", "they", "parser", "tree", "count", "word", "large", "small", "results"),
    *("sentence", "marking", "hand", "who", "what", "never", "almost"),
)
ANSWERS = (
    "label",
    "gold",
    "my_answer",
    "score",
    "spans",
    "evidence",
    "references",
    "relevant",
    "z",
)
FIELDS = (
    "a",
    "when",
    "kind",
    "grade",
    "tells",
    "word",
    "there",
    "parts",
    "paper_id",
    "pool",
    "b",
)
SUFFIXES = ("jsonl", "jsonl", "json", "csv", "tsv", "scsv")
Rows = list[dict[str, Any]]


def _text(draw: random.Random, least: int = 1, most: int = 9) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(least, most)))


def _answer(draw: random.Random, form: str, labels: Sequence[str], place: int) -> Any:
    if form == "labels":
        return draw.choice(labels)
    if form == "numbers":
        return draw.choice((draw.randint(0, 5), draw.random(), draw.randint(-3, 3)))
    if form == "spans":
        kinds = [
            draw.sample(labels, k=draw.randint(0, 1)) for _ in range(draw.randint(0, 2))
        ]
        return [
            [place, place + 3, *kind] if draw.random() < 0.99 else [place]
            for kind in kinds
        ]
    if form == "ranking":
        return draw.choice(
            (f"D{place % 7}", [f"D{place % 7}", "D1"], {"D2": 1, "D3": 0})
        )
    if form == "evidence":
        sets = {f"D{place % 7}": [{"sentences": [1], "label": draw.choice(labels)}]}
        return draw.choice(
            (sets, {}, [["D1", 2], ["D2", 0]] if labels[0] == "no" else sets)
        )
    return draw.choice((_text(draw), [_text(draw), _text(draw)]))


def _rows(draw: random.Random, form: str) -> Rows:
    """Instances with fields that tell nothing, something, or the answer; some are not in every row."""
    count = draw.choice((1, 2, 3, 4, 5, 8, 19, 20, 21, 40, 61, 80))
    many = [f"c{number}" for number in range(draw.choice((7, 8, 9, 49, 50, 51)))]
    labels = draw.choice((["no", "yes"], ["no", "maybe", "yes"], many))
    groups = draw.choice((1, 2, count // 2 or 1, count))
    classes = draw.choice((1, 2, 5, 19, 20, 21, count // 2 or 1, count // 4 or 1))
    own, fields = draw.choice(ANSWERS), draw.sample(FIELDS, k=5)
    key, years, times = (
        draw.choice(("id", "key", "name", "doc_id")),
        draw.choice((1, 3)),
        draw.choice((2, 3, 4)),
    )
    inner, has_all = draw.choice((0, 0, 17, 18, 19, 20, 21)), draw.random() < 0.5
    rows: Rows = []
    for place in range(count):
        answer = _answer(draw, form, labels, place)
        sign = str(answer) if draw.random() < draw.choice((0.85, 0.95, 1)) else "other"
        about = {
            "a": _text(draw),
            "b": _text(draw, 3, 4),
            "when": f"{2019 + place % years}-0{1 + place % 9}"
            if classes != 2
            else "soon",
            "kind": f"k{place % classes}",
            "grade": (place % classes if place % 7 or years > 1 else "x")
            if sign != "yes"
            else None,
            "tells": sign,
            "word": f"{_text(draw)} {sign[:3]}",
            "there": "here it is told" if sign in ("yes", "c1", "5") else None,
            "parts": {"x": place, **{f"p{number}": 1 for number in range(inner)}}
            | ({"url": sign} if sign != "no" or place % times == 0 else {}),
            "paper_id": f"P{place % groups}",
            "pool": [f"D{number}" for number in range(7)]
            if has_all or place % 5
            else list(map(str, _ids(answer))),
        }
        rows.append(
            {key: f"i{place}"}
            | {name: about[name] for name in fields[:3]}
            | {own: answer}
        )
        rows[-1] |= {name: about[name] for name in fields[3:]}
    return rows


def _ids(answer: Any) -> Any:
    return (
        answer
        if isinstance(answer, list | dict)
        else [answer, "D1"]
        if answer == "D2"
        else [answer]
    )


def _file(name: str, rows: Rows) -> InputFile:
    if name.endswith(".json"):
        content = json.dumps(rows)
    elif name.endswith("l"):
        content = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        out = io.StringIO()
        table = csv.DictWriter(
            out, list(rows[0]), delimiter={"csv": ",", "tsv": "\t"}.get(name[-3:], ";")
        )
        table.writeheader()
        table.writerows(rows)
        content, name = out.getvalue(), name.replace("scsv", "csv")
    return InputFile(name, name, lambda: io.BytesIO(content.encode()))


def _folder(draw: random.Random, form: str) -> list[InputFile]:
    files = [_file(f"gold.{draw.choice(SUFFIXES)}", _rows(draw, form))]
    if form in ("ranking", "evidence") and draw.random() < 0.7:
        last = draw.choice((4, 7, 8))
        pool = [
            {"doc": f"D{place}", "title": _text(draw), "sentences": [_text(draw)]}
            for place in range(last)
        ]
        files.insert(draw.randint(0, 1), _file("corpus.jsonl", pool))
    if draw.random() < 0.1:
        content = draw.choice((b"", b"{", b"a;b,c\n1;2,3\n"))
        name = "more.csv" if content[:1] == b"a" else "more.jsonl"
        files.append(InputFile(name, name, lambda: io.BytesIO(content)))
    return files if draw.random() < 0.99 else files[:0]


def block(number: int) -> str:
    """A digest of what is proposed for folders of each form, of its measures, and of what refuses them."""
    draw = random.Random(f"proposals {number}")
    content: list[Any] = []
    # No field that is drawn is a list of tags.
    for form in sorted(PROPOSED_MEASURES_BY_FORM.keys() - {"tags"}):
        for _ in range(FOLDERS):
            try:
                found = propose_declaration(form, "task", "Task", _folder(draw, form))
            except InputRefused as refused:
                content.append(said(refused.problems))
                continue
            content += [
                asdict(found),
                format_task_toml(found.task),
                list_available_measures(found.task),
            ]
    return digest(content)


def everything() -> Mapping[str, Any]:
    return {"blocks": [block(number) for number in range(BLOCKS)]}


if __name__ == "__main__":
    FILE.write_text(written(everything()) + "\n")
