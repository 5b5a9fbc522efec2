"""Runs with one answer for each instance, as JSON lines or as a JSON list of the same objects.

A task type says what its answers look like; ids, answers given again, unknown and missing instances, and
files that hold no answers are seen to here. Of a run no more is kept than its answers to known instances
and the first problems.
"""

import codecs
import hashlib
import json
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Sized,
)
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any, TypeVar

from tasks.types.files import CLUTTER, PACKED, Files, InputFile
from tasks.types.guarded.json_reader import (
    NotFinite,
    RepeatedKey,
    read_json,
    read_json_list,
)
from tasks.types.guarded.limits import Unreadable
from tasks.types.problems import (
    InputRefused,
    Problem,
    Problems,
    TooManyProblems,
    fatal,
    quoted,
    refuse,
)
from tasks.types.text import (
    decoded,
    json_fault,
    json_kind,
    json_lines,
    nfc,
)

MAX_TEXT = 100_000
#: How a message about a field ends that a line does not have; so many of its fields are named then.
MISSING, MAX_FIELDS = "” is missing", 8
#: How a message about an instance of other data ends.
NOT_IN_SPLIT = "is not in this split"
#: So many errors beyond those that are listed are counted before reading ends.
MAX_COUNTED = 99_000
Answer = TypeVar("Answer")


class Line:
    """One answer while it is read. What is wrong with it is noted with its place in the file."""

    def __init__(self, record: "Record", problems: Problems) -> None:
        self.record, self.value, self._problems = record, record.value, problems
        self.is_sound = True

    def wrong(self, message: str, expected: str = "") -> None:
        """Note what refuses the run; of a field that is missing those that are there."""
        self.is_sound = False
        if message.endswith(MISSING):
            fields = ", ".join(f"“{key[:40]}”" for key in [*self.value][:MAX_FIELDS])
            message = f"{message}; found {fields or 'no field'}"
        self._problems.note(lambda: self.record.problem(message, expected))

    def doubt(self, message: str, expected: str = "") -> None:
        """Note what its sender should look at."""
        self._problems.note(
            lambda: self.record.problem(message, expected, fatal=False), fatal=False
        )

    def text(self, key: str, *, example: str, longest: int = MAX_TEXT) -> str | None:
        """The text under a key; None, and noted, where there is none or it is too long."""
        value = self.value.get(key)
        if key not in self.value:
            self.wrong(f"“{key}” is missing", example)
        elif not isinstance(value, str):
            self.wrong(f"“{key}” is {json_kind(value)}", "a text")
        elif len(value) > longest:
            self.wrong(f"“{key}” has {len(value):,} characters", f"at most {longest:,}")
        else:
            return well_formed(value)
        return None


@dataclass(frozen=True, kw_only=True)
class AnswerForm:
    """What a run looks like, for its messages. ``example`` is a line as it should be, ``noun`` what an answer
    is called. Where ``later_counts``, an instance may be answered again; otherwise that refuses the run.
    ``id`` is the key of the instance's name.
    """

    example: str
    noun: str = "answer"
    id: str = "id"
    later_counts: bool = False
    #: Whether a run that leaves out an instance is refused.
    needs_all: bool = False
    #: The columns of a run as a table; empty where it cannot be one.
    table: str = ""
    #: What else a run may be, as a message names it.
    others: str = ""

    @property
    def files(self) -> str:
        tables = f", or CSV or TSV with a header row and the columns {self.table}"
        lines = f"JSON lines (`.jsonl`) or a JSON list (`.json`) of objects such as {self.example}"
        others = f", or {self.others}" if self.others else ""
        return lines + (tables if self.table else "") + others


@dataclass(frozen=True)
class Record:
    """One object and where it stands: by line, or as the n-th item of a list."""

    file: str
    line: int | None
    item: int
    value: Mapping[str, Any]
    raw: str = ""

    @property
    def id(self) -> str | None:
        """The instance's name, if the record gives one; numbers are read as they are written."""
        return record_id(self.value)

    def problem(
        self, message: str, expected: str = "", *, fatal: bool = True
    ) -> Problem:
        message = message if self.line is not None else f"item {self.item}: {message}"
        where: dict[str, Any] = {
            "file": self.file,
            "line": self.line,
            "quote": quoted(self.raw),
        }
        return Problem(**where, message=message, expected=expected, fatal=fatal)


#: The records of a file, each with the name of the instance that it answers; None where it names none.
Named = Callable[[InputFile, Problems], Iterable[tuple[str | None, Record]]]


def by_id(
    file: InputFile, problems: Problems, key: str = "id"
) -> Iterator[tuple[str | None, Record]]:
    """Each record under its own id."""
    for record in read_records(file, problems):
        yield record_id(record.value, key), record


def read_answers(
    files: Files,
    known: Collection[str],
    read: Callable[[str, Line], Answer | None],
    form: AnswerForm,
    *,
    named: Named | None = None,
) -> tuple[dict[str, Answer], list[Problem]]:
    """The answers by instance, and everything that is wrong with the files. ``read`` makes an answer of a
    line and notes on the line what is wrong with it; the instance is a known one where the line is sound as
    yet. Lines are named by their ids, or as ``named`` says. The answers are only meant where no problem is
    fatal. Raises TooManyProblems.
    """
    problems = Problems(counts=MAX_COUNTED)
    answers: dict[str, Answer] = {}
    named = named or partial(by_id, key=form.id)
    for file in run_files(files, form, problems):
        try:
            records = as_known(named(file, problems), known, file.reading)
            for name, line in named_lines(records, known, answers, form, problems):
                answer = read(name, line)
                if line.is_sound and answer is not None:
                    answers[name] = answer
        except TooManyProblems:
            raise
        except InputRefused as refused:
            problems += refused.problems
    missing = len(known) - len(answers)
    if answers and missing and not problems.has_errors:
        first = next(name for name in known if name not in answers)
        message = f"{missing:,} of {len(known):,} instances have no {form.noun}, the first is “{first}”"
        problems.append(Problem(message=message, fatal=form.needs_all))
    return answers, problems


def as_known(
    records: Iterable[tuple[str | None, Record]], known: Collection[str], reading: int
) -> Iterator[tuple[str | None, Record]]:
    """Each record under the name as the gold spells it, in whatever Unicode form the run has it."""
    spelling: dict[str, str] | None = None
    for name, record in records:
        if name and name not in known and reading > 1:
            if spelling is None:
                spelling = {nfc(own): own for own in known}
            yield spelling.get(nfc(name), name), record
        else:
            yield name, record


def run_files(files: Files, form: AnswerForm, problems: Problems) -> list[InputFile]:
    """The files that can hold answers, by their names or, where no name says so, by how they begin; the
    others become problems, warnings where there are such files.
    """
    readable = [file for file in files if file.suffix in SUFFIXES]
    readable = readable or [file for file in files if begins_as_json(file)]
    is_readable = set(map(id, readable))
    for file in files:
        if id(file) not in is_readable:
            message = f"a “{file.suffix or 'nameless'}” file"
            problems.append(file.problem(message, form.files, fatal=not readable))
    return readable


def begins_as_json(file: InputFile) -> bool:
    with suppress(InputRefused):
        for line in replace(file, reading=1).lines():
            if begin := line.removeprefix(codecs.BOM_UTF8).strip():
                return begin.startswith((b"{", b"["))
    return False


def named_lines(
    records: Iterable[tuple[str | None, Record]],
    known: Collection[str],
    answered: Container[str],
    form: AnswerForm,
    problems: Problems,
) -> Iterator[tuple[str, Line]]:
    """Each line with its instance; sound where that is one of the split, and without an answer unless a later
    one counts.
    """
    once = f"one {form.noun} for each instance"
    for name, record in records:
        line = Line(record, problems)
        if not name:
            value = record.value.get(form.id)
            kind = (
                "missing"
                if value is None
                else "empty"
                if value == ""
                else json_kind(value)
            )
            line.wrong(f"“{form.id}” is {kind}", form.example)
        elif name not in known:
            first = next(iter(known), "")
            line.wrong(
                f"instance “{name}” {NOT_IN_SPLIT}",
                f"an id of the split, such as “{first}”",
            )
        elif name in answered and not form.later_counts:
            line.wrong(f"instance “{name}” is answered a second time", once)
        elif name in answered:
            line.doubt(
                f"instance “{name}” is answered again: the later answer counts", once
            )
        yield name or "", line


def refuse_faulty(
    files: Files, problems: Sequence[Problem], items: Sized, noun: str, expected: str
) -> None:
    """Where gold has a fatal problem, or nothing in it. Raises InputRefused."""
    if not items and not fatal(problems):
        shown = files[0].shown if len(files) == 1 else ""
        problems = [
            *problems,
            Problem(file=shown, message=f"no {noun} are here", expected=expected),
        ]
    refuse(problems)


def content_digest(records: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 of gold as JSON, records by id and keys in order: the same however the files have it."""
    content = sorted(records, key=lambda record: str(record["id"]))
    text = json.dumps(
        content, ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()


def as_lines(records: Iterable[Any]) -> bytes:
    """One JSON object a line, as public files have them."""
    return "".join(
        json.dumps(record, ensure_ascii=False) + "\n" for record in records
    ).encode()


SUFFIXES = (".json", ".jsonl", ".ndjson")
LINES = (".jsonl", ".ndjson")
#: Where the data sets keep the name of an instance.
_IDS = ("id", "sample_id", "question_id")
_FORMS = (
    "a list of objects, an object with such a list under “data”, or one object a line"
)


def record_id(value: Mapping[str, Any], key: str = "id") -> str | None:
    """Under its key; where that is the usual one, under those of the data sets too."""
    if type(first := value.get(key)) is str:
        return first
    keys = _IDS if key == "id" else (key,)
    name = next((value[key] for key in keys if value.get(key) is not None), None)
    return (
        None
        if name is None or isinstance(name, bool | float | list | dict)
        else str(name)
    )


def well_formed(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can spell and no file can hold."""
    return text.encode("utf-8", "replace").decode()


def read_records(file: InputFile, problems: list[Problem]) -> Iterator[Record]:
    """The records of a file, one after the other; what is no record becomes a problem."""
    yield from Records(file, problems)


def is_records_file(name: str) -> bool:
    """Whether a file of this name may be gold or inputs in the form of records."""
    path = PurePosixPath(name.lower().removesuffix(PACKED))
    return path.suffix in SUFFIXES and not CLUTTER.intersection(
        PurePosixPath(name).parts
    )


class Records:
    """The records of a file: made as they are asked for, since there may be millions. A file of lines is read
    while one goes through it, a list at once.
    """

    def __init__(self, file: InputFile, problems: list[Problem]) -> None:
        self._file, self._problems = file, problems
        self._items = None if file.suffix in LINES else self._list()

    @property
    def are_by_place(self) -> bool:
        """Whether this is a list of which no record names its instance."""
        items = self._items
        return bool(items) and not any(
            record_id(item) for item in items or () if isinstance(item, dict)
        )

    def __len__(self) -> int:
        """Of a list."""
        return sum(isinstance(item, dict) for item in self._items or ())

    def __iter__(self) -> Iterator[Record]:
        if self._items is None:
            for place, (line, value, raw) in enumerate(
                json_lines(self._file, self._problems), start=1
            ):
                yield Record(self._file.shown, line, place, value, raw)
            return
        for place, item in enumerate(self._items, start=1):
            if isinstance(item, dict):
                yield Record(self._file.shown, None, place, item)
            else:
                self._problems.append(
                    self._file.problem(
                        f"item {place} is {json_kind(item)}", "an object"
                    )
                )

    def _list(self) -> list[Any] | None:
        """None where the file has lines, whatever its name says."""
        expected = _FORMS
        line: int | None = None
        try:
            items = read_json(
                decoded(self._file.read()), is_unique=self._file.reading > 1
            )
            if isinstance(items, dict):
                items = (
                    items["data"] if isinstance(items.get("data"), list) else [items]
                )
            if isinstance(items, list):
                return items
            message = f"found {json_kind(items)}"
        except ValueError as fault:
            message = json_fault(fault)
            if isinstance(fault, json.JSONDecodeError):
                if fault.msg == "Extra data" and fault.lineno > 1:
                    return None
                line = fault.lineno
            elif isinstance(fault, RepeatedKey):
                expected, line = "each key once", self._line_of_repeated()
            elif isinstance(fault, NotFinite):
                expected = "finite numbers"
            elif isinstance(fault, Unreadable):
                line = fault.line
        self._problems.append(self._file.problem(message, expected, line=line))
        return []

    def _line_of_repeated(self) -> int | None:
        """Return the line of the item that has a key twice, of a file that is a list."""
        try:
            read_json_list(decoded(self._file.read()), is_unique=True)
        except ValueError as fault:
            return getattr(fault, "line", None)
        return None
