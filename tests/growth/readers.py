"""Every task type's readers, on hostile files in the names and forms that some type has."""

import copy
import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tasks.types import InputRefused, TaskType
from tasks.types.files import InputFile, open_input_files
from tasks.types.runs import read_run
from tests.tasks.test_every_type import folder, sample

#: A file name of each form, whichever types have it.
NAMES = (
    "run.jsonl",
    "run.json",
    "W01-0101.annv3.txt",
    "run.csv",
    "run.trec",
    "W01-0101.system.txt",
)
#: Answers in the forms that have no sample of their own; `%s` stands for what is hostile.
ANNOTATION = (
    "Citance Number: 1 | Reference Article: W01-0101 | Citing Article: W02-0202 | "
    "Citation Marker Offset: ['1'] | Citation Offset: ['1'] | Reference Offset: %s | "
    "Reference Text: %s | Discourse Facet: %s |\n"
)
ROW = (
    "Citance Number,Reference Article,Citing Article,Citation Marker Offset,Citation Offset,Reference Offset,"
    "Reference Text,Discourse Facet\n1,W01-0101,W02-0202,1,1,%s,%s,%s\n"
)
TREC = "%s Q0 %s 1 %s run\n"
FORMS = (("W01-0101.annv3.txt", ANNOTATION), ("run.csv", ROW), ("run.trec", TREC))
Files = list[InputFile]
Made = Callable[[int], Files]


def in_memory(name: str, content: bytes) -> InputFile:
    return InputFile(name, name, lambda: io.BytesIO(content))


def index_and_options(task_type: TaskType) -> tuple[dict[str, Any], dict[str, str]]:
    options = task_type.validate_options({})
    return task_type.read_gold(gold_files(task_type), options).index, options


def gold_files(task_type: TaskType) -> Files:
    return [file for path in sample(task_type)[0] for file in open_input_files(path)]


def reading(task_type: TaskType) -> Callable[[Files], object]:
    index, options = index_and_options(task_type)
    return lambda files: read_run(task_type, files, index, options)


def reading_gold(task_type: TaskType) -> Callable[[Files], object]:
    options = task_type.validate_options({})

    def read(files: Files) -> object:
        try:
            return task_type.read_gold(files, options)
        except InputRefused as refused:
            return refused

    return read


def hostile_contents(made: Callable[[int], str]) -> Iterator[tuple[str, Made]]:
    """A text as a file of each name."""
    for name in NAMES:
        yield (
            name,
            lambda size, name=name: [
                in_memory(name, made(size).encode("utf-8", "replace"))
            ],
        )


def hostile_fields(
    task_type: TaskType, made: Callable[[int], str]
) -> Iterator[tuple[str, Made]]:
    """A text in each field of an answer: of the sample's first line, and of the other forms."""
    record = first_record(task_type)
    for path in text_paths(record):
        yield f"field {path}", partial(_with_field, record, path, made)
    for name, form in FORMS:
        for place in range(form.count("%s")):
            yield (
                f"field {place} of {name}",
                partial(_with_place, name, form, place, made),
            )


def many(task_type: TaskType) -> Iterator[tuple[str, Made]]:
    """Many ids, many problems, many members, and lists and objects with many items."""
    record = first_record(task_type)
    for text, line in (("one answer", record), ("no answer", {}), ("no object", 1)):
        content = (json.dumps(line) + "\n").encode()
        yield (
            f"{text} many times",
            lambda size, line=content: [
                in_memory("run.jsonl", line * (size // len(line)))
            ],
        )
        yield f"{text} in a list", partial(_as_list, line)
        yield f"{text} in many members", partial(_as_members, content)
    yield (
        "many ids",
        lambda size: [in_memory("run.jsonl", b"".join(_other_ids(record, size)))],
    )
    for path in list_paths(record):
        yield f"many items in {path}", partial(_with_items, record, path)
    for name, form in FORMS:
        yield f"many lines of {name}", partial(_lines, name, form)
    yield (
        "many queries by turns",
        partial(
            _by_turns, list(index_and_options(task_type)[0].get("instances", "ab"))
        ),
    )


def first_record(task_type: TaskType) -> dict[str, Any]:
    lines = (folder(task_type) / "sample" / "run.jsonl").read_text().splitlines()
    record: dict[str, Any] = json.loads(lines[0])
    return record


def text_paths(
    value: object, *, before: tuple[str | int, ...] = ()
) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, str):
        yield before
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        yield from text_paths(item, before=(*before, key))


def list_paths(record: dict[str, Any]) -> list[str]:
    return [
        key for key, value in record.items() if isinstance(value, list | dict) and value
    ]


def _with_field(
    record: dict[str, Any],
    path: tuple[str | int, ...],
    made: Callable[[int], str],
    size: int,
) -> Files:
    changed = copy.deepcopy(record)
    inside: Any = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = made(size)
    return [in_memory("run.jsonl", json.dumps(changed).encode())]


def _with_place(
    name: str, form: str, place: int, made: Callable[[int], str], size: int
) -> Files:
    values = [
        made(size).replace("\n", " ") if here == place else "1"
        for here in range(form.count("%s"))
    ]
    return [in_memory(name, (form % tuple(values)).encode("utf-8", "replace"))]


def _as_list(line: object, size: int) -> Files:
    count = size // (len(json.dumps(line)) + 2)
    return [in_memory("run.json", json.dumps([line] * count).encode())]


def _as_members(content: bytes, size: int) -> Files:
    count = size // 64
    return [in_memory(f"{place}.jsonl", content) for place in range(count)]


def _other_ids(record: dict[str, Any], size: int) -> Iterator[bytes]:
    left, place = size, 0
    while left > 0:
        other = {
            key: f"{value}{place}" if isinstance(value, str) else value
            for key, value in record.items()
        }
        line = json.dumps(other).encode() + b"\n"
        left -= len(line)
        place += 1
        yield line


def _with_items(record: dict[str, Any], key: str, size: int) -> Files:
    own, count = record[key], size // 12
    items: object = (
        [f"{own[0]}{n}" for n in range(count)]
        if isinstance(own, list)
        else dict.fromkeys(map(str, range(count)), 1.0)
    )
    return [in_memory("run.jsonl", json.dumps({**record, key: items}).encode())]


def _lines(name: str, form: str, size: int) -> Files:
    head, _, line = form.rpartition("\n1,") if form is ROW else ("", "", form)
    line = f"1,{line}" if head else line
    count = size // len(line)
    lines = (
        line % tuple(str(n) for _ in range(line.count("%s"))) for n in range(count)
    )
    return [in_memory(name, f"{head}\n{''.join(lines)}".encode())]


def _by_turns(names: list[str], size: int) -> Files:
    lines = (TREC % (names[n % len(names)], "x", "1") for n in range(size // 20))
    return [in_memory("run.trec", "".join(lines).encode())]


def hostile_gold(
    task_type: TaskType, made: Callable[[int], str]
) -> Iterator[tuple[str, Made]]:
    """The sample's gold with one file hostile, whole or behind its own beginning."""
    files = [(file.name, file.shown, file.read()) for file in gold_files(task_type)]
    for place, (name, _, _) in enumerate(files):
        if Path(name).suffix:
            yield f"gold {name}", partial(_gold_with, files, place, made)


def _gold_with(
    files: list[tuple[str, str, bytes]],
    place: int,
    made: Callable[[int], str],
    size: int,
) -> Files:
    found = []
    for here, (name, shown, content) in enumerate(files):
        own = (
            content + made(size).encode("utf-8", "replace")
            if here == place
            else content
        )
        found.append(InputFile(name, shown, lambda own=own: io.BytesIO(own)))
    return found
