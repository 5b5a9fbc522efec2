"""What reads a file that somebody sends, as its process does, and large files that cost much to read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

from citeboard.core.confined import UPLOAD_FILE_NAME
from scoring.human import reading as human
from scoring.worker import reading as worker
from tasks.seasons.file.entries import UploadedSeasonFile, parse_season_file
from tasks.submissions import reading
from tasks.types import InputRefused, TaskType
from tests.growth.readers import (
    ANNOTATION,
    ROW,
    TREC,
    first_record,
    gold_files,
    in_memory,
    index_and_options,
    reading_gold,
)

Made = Callable[[int], bytes]
Read = Callable[[bytes], object]
#: In bytes.
SMALLEST, LARGEST = 1 << 17, 1 << 24
SMALL = {"escapes in one line", "escapes without an end", "answers", "problems"}


def _times(piece: bytes, head: bytes = b"", tail: bytes = b"") -> Made:
    return lambda size: head + piece * (size // len(piece)) + tail


def _line(form: str) -> bytes:
    return (form.splitlines()[-1] % tuple("1" * form.count("%s")) + "\n").encode()


def files(record: dict[str, Any]) -> Iterator[tuple[str, str, Made]]:
    """By what it is, its name, and how one of so many bytes is made; the record is a right answer."""
    answer = json.dumps(record).encode() + b"\n"
    for name in ("run.jsonl", "run.json"):
        yield "escapes in one line", name, _times(b'\\"', b'{"id": "', b'"}\n')
        yield "escapes without an end", name, _times(b'\\"', b'{"id": "')
        yield "escapes of letters", name, _times(b"\\u0041", b'{"id": "', b'"}\n')
        yield "quotation marks", name, _times(b'"')
        yield "brackets", name, _times(b"[")
        yield "one word", name, _times(b"a")
        yield (
            "other ids",
            name,
            lambda size: b"".join(b'{"id": "%d"}\n' % n for n in range(size // 16)),
        )
    yield "answers", "run.jsonl", _times(answer)
    yield "problems", "run.jsonl", _times(b'{"topic": 1}\n')
    yield (
        "answers in a list",
        "run.json",
        _times(answer.strip() + b", ", b"[", answer.strip() + b"]"),
    )
    yield (
        "lines of CSV",
        "run.csv",
        _times(_line(ROW), ROW.splitlines()[0].encode() + b"\n"),
    )
    yield "lines of TREC", "run.trec", _times(_line(TREC))
    yield "lines of annotations", "W01-0101.annv3.txt", _times(_line(ANNOTATION))
    yield "tags", "W01-0101.annv3.txt", _times(b"<S sid=")


def runs(task_type: TaskType, folder: Path) -> Iterator[tuple[str, Read, Made]]:
    """The check of an upload, from opening it on."""
    index, options = index_and_options(task_type)
    given = {
        "task_type": task_type.reference,
        "options": options,
        "max_bytes": LARGEST * 2,
        "reading": 2,
    }
    for what, name, made in files(first_record(task_type)):
        facts = {**given, "filename": name}
        yield (
            f"{task_type.slug}: {what} as {name}",
            partial(_program, folder, reading.check, facts, index),
            made,
        )


def gold(task_type: TaskType) -> Iterator[tuple[str, Read, Made]]:
    read, own = reading_gold(task_type), gold_files(task_type)
    for place, file in enumerate(own):

        def one(content: bytes, place: int = place, name: str = file.name) -> object:
            return read(
                [
                    in_memory(name, content) if here == place else each
                    for here, each in enumerate(own)
                ]
            )

        begin = file.read()
        for what, _, made in files(first_record(task_type)):
            yield f"gold of {task_type.slug}, {file.name}: {what}", one, made
        yield f"gold of {task_type.slug}, {file.name}: itself again", one, _times(begin)


LABEL = b'{"premise": "a b", "hypothesis": "c", "entailed": true}\n'
JUDGEMENT = b'{"kind": "claim", "item": "c1", "answer": true}\n'


def others(folder: Path) -> Iterator[tuple[str, Read, Made]]:
    form = {"code": "code", "criteria": ["fluency"], "lowest": 1, "highest": 5}
    programs = {
        "metadata": (reading.metadata, {}, b"method:\n  a: b\n"),
        "labels": (worker.judgements, {"filename": "l.jsonl"}, LABEL),
        "ratings": (
            human.ratings,
            {"filename": "r.csv", "form": form, "codes": ["T1"]},
            b"T1,3\n",
        ),
        "judgements": (human.judgements, {"filename": "j.jsonl"}, JUDGEMENT),
    }
    (folder / human.JUDGEABLE_ITEMS_FILE_NAME).write_text(json.dumps([["claim", "c1"]]))
    for name, (program, facts, line) in programs.items():
        for what, _, made in (*files({"id": "1"}), ("its lines", "", _times(line))):
            yield f"{name}: {what}", partial(_program, folder, program, facts), made
    yield "season file: keys", _season, _keys
    yield "season file: tables", _season, _times(b"[[tasks]]\na = 1\n")
    yield "season file: one text", _season, _times(b'\\"', b'a = "', b'"\n')


def _keys(size: int) -> bytes:
    return b"[season]\n" + b"".join(
        b"a%d = 1\n" % number for number in range(size // 12)
    )


def _season(content: bytes) -> object:
    try:
        return parse_season_file(content, UploadedSeasonFile())
    except InputRefused as refused:
        return refused


def _program(
    folder: Path, program: Callable[..., object], facts: dict[str, Any], *given: Any
) -> object:
    *index, content = given
    with chdir(folder):
        Path(UPLOAD_FILE_NAME).write_bytes(content)
        return program(facts, *index)
