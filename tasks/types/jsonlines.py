"""Runs with one answer per instance consist of JSON lines, or of a JSON list of the
same objects.

This module handles ids, repeated answers, unknown and missing instances, and files
without answers. Task types parse the answers. Only answers to known instances and the
first problems stay in memory.
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
#: `MISSING` is the last part of a message about a missing field.
#: `MAX_FIELDS` is the maximum number of existing fields that the message lists.
MISSING, MAX_FIELDS = "” is missing", 8
#: `NOT_IN_SPLIT` ends a message about an instance that is not part of the split.
NOT_IN_SPLIT = "is not in this split"
#: `MAX_COUNTED` limits the errors that are counted but not listed.
#: Reading stops when the number of unlisted errors exceeds `MAX_COUNTED`.
MAX_COUNTED = 99_000
Answer = TypeVar("Answer")


class Line:
    """One answer of a run, while a task type parses the answer. Faults of the answer
    are recorded with the position of the answer in the file.
    """

    def __init__(self, record: "Record", problems: Problems) -> None:
        self.record, self.value, self._problems = record, record.value, problems
        self.is_sound = True

    def wrong(self, message: str, expected: str = "") -> None:
        """Record a fault of the answer, which makes the site refuse the run. If a field
        is missing, the message lists the existing fields.
        """
        self.is_sound = False
        if message.endswith(MISSING):
            fields = ", ".join(f"“{key[:40]}”" for key in [*self.value][:MAX_FIELDS])
            message = f"{message}; found {fields or 'no field'}"
        self._problems.note(lambda: self.record.problem(message, expected))

    def doubt(self, message: str, expected: str = "") -> None:
        """Record a warning about the answer on the line."""
        self._problems.note(
            lambda: self.record.problem(message, expected, fatal=False), fatal=False
        )

    def text(self, key: str, *, example: str, longest: int = MAX_TEXT) -> str | None:
        """Return the text under a key of the answer. If the text is missing or too
        long, record a fault and return None.
        """
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
    """A description of the format of a run, for messages.

    ``example`` is a valid line of a run. ``noun`` is the word for an answer in
    messages. ``id`` is the key of the instance name in an answer. If ``later_counts``
    is True, the last answer to an instance replaces earlier answers. If
    ``later_counts`` is False, a run with a second answer to an instance is refused.
    """

    example: str
    noun: str = "answer"
    id: str = "id"
    later_counts: bool = False
    #: `needs_all` is True if every instance must have an answer.
    #: A run that omits an instance is refused if `needs_all` is True.
    needs_all: bool = False
    #: `table` describes the columns of a run in table form.
    #: If `table` is empty, runs cannot be tables.
    table: str = ""
    #: `others` describes other accepted formats of a run.
    others: str = ""

    @property
    def files(self) -> str:
        tables = f", or CSV or TSV with a header row and the columns {self.table}"
        lines = f"JSON lines (`.jsonl`) or a JSON list (`.json`) of objects such as {self.example}"
        others = f", or {self.others}" if self.others else ""
        return lines + (tables if self.table else "") + others


@dataclass(frozen=True)
class Record:
    """One object of a file with its position, which is the line number or the index in
    a list.
    """

    file: str
    line: int | None
    item: int
    value: Mapping[str, Any]
    raw: str = ""

    @property
    def id(self) -> str | None:
        """Return the instance name in the record, or None without a name. A number that
        is an instance name is converted to text.
        """
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


#: `Named` yields the records of a file, each with the name of its instance or None.
Named = Callable[[InputFile, Problems], Iterable[tuple[str | None, Record]]]


def by_id(
    file: InputFile, problems: Problems, key: str = "id"
) -> Iterator[tuple[str | None, Record]]:
    """Yield each record of a file with the id in the record."""
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
    """Return the answers of a run by instance, and all problems of the files. The
    answers are valid only if no problem is fatal.

    The function ``read`` parses the answer on a line and records faults on the line.
    The function ``read`` is called only for known instances, or for lines that already
    have a fault. The function ``named`` yields each record with the instance name, by
    default with the id in the record. Raises TooManyProblems.
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
    """Yield each record, with the instance name in the spelling of the gold. Instance
    names are compared in the Unicode form NFC.
    """
    spelling: dict[str, str] | None = None
    for name, record in records:
        if name and name not in known and reading > 1:
            if spelling is None:
                spelling = {nfc(own): own for own in known}
            yield spelling.get(nfc(name), name), record
        else:
            yield name, record


def run_files(files: Files, form: AnswerForm, problems: Problems) -> list[InputFile]:
    """Return the files of a run that can contain answers, according to their names or
    first bytes.

    Every other file of the run becomes a problem, which is a warning if at least one
    file can contain answers, otherwise an error.
    """
    readable = [file for file in files if file.suffix in SUFFIXES]
    readable = readable or [file for file in files if begins_as_json(file)]
    is_readable = set(map(id, readable))
    for file in files:
        if id(file) not in is_readable:
            message = file.kind_by_name
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
    """Yield each line of a run with the instance of the line. Record unknown and
    repeated instances as problems.
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
    """Raise InputRefused if gold (reference answers) has a fatal problem or is empty."""
    if not items and not fatal(problems):
        shown = files[0].shown if len(files) == 1 else ""
        problems = [
            *problems,
            Problem(file=shown, message=f"no {noun} are here", expected=expected),
        ]
    refuse(problems)


def content_digest(records: Iterable[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of gold (reference answers) as JSON. Records are sorted by id
    and keys by name, so the digest does not depend on the order of the file.
    """
    content = sorted(records, key=lambda record: str(record["id"]))
    text = json.dumps(
        content, ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()


def as_lines(records: Iterable[Any]) -> bytes:
    """Return the records as lines with one JSON value per line, in the format of public
    files.
    """
    return "".join(
        json.dumps(record, ensure_ascii=False) + "\n" for record in records
    ).encode()


SUFFIXES = (".json", ".jsonl", ".ndjson")
LINES = (".jsonl", ".ndjson")
#: Published data sets have instance names under these keys.
_IDS = ("id", "sample_id", "question_id")
_FORMS = (
    "a list of objects, an object with such a list under “data”, or one object a line"
)


def record_id(value: Mapping[str, Any], key: str = "id") -> str | None:
    """Return the id of a record under the key ``key``. For the default key `id`, also
    try the id keys of published data sets.
    """
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
    """Replace unpaired surrogates in a text. JSON can contain unpaired surrogates, but
    UTF-8 cannot.
    """
    return text.encode("utf-8", "replace").decode()


def read_records(file: InputFile, problems: list[Problem]) -> Iterator[Record]:
    """Yield the records of a file of JSON. Values of the file that are not objects
    become problems.
    """
    yield from Records(file, problems)


def is_records_file(name: str) -> bool:
    """Return True if the file may contain the records of a gold or of public inputs,
    according to its name.
    """
    path = PurePosixPath(name.lower().removesuffix(PACKED))
    return path.suffix in SUFFIXES and not CLUTTER.intersection(
        PurePosixPath(name).parts
    )


class Records:
    """The records of a file, created lazily because a file may contain millions of
    records.

    JSON lines are read during iteration, while a JSON list is read at once.
    """

    def __init__(self, file: InputFile, problems: list[Problem]) -> None:
        self._file, self._problems = file, problems
        self._items = None if file.suffix in LINES else self._list()

    @property
    def are_by_place(self) -> bool:
        """Return True for a JSON list whose records do not contain instance names."""
        items = self._items
        return bool(items) and not any(
            record_id(item) for item in items or () if isinstance(item, dict)
        )

    def __len__(self) -> int:
        """Return the number of records in a JSON list."""
        return sum(isinstance(item, dict) for item in self._items or ())

    def __iter__(self) -> Iterator[Record]:
        if self._items is None:
            for position, (line, value, raw) in enumerate(
                json_lines(self._file, self._problems), start=1
            ):
                yield Record(self._file.shown, line, position, value, raw)
            return
        for position, item in enumerate(self._items, start=1):
            if isinstance(item, dict):
                yield Record(self._file.shown, None, position, item)
            else:
                self._problems.append(
                    self._file.problem(
                        f"item {position} is {json_kind(item)}", "an object"
                    )
                )

    def _list(self) -> list[Any] | None:
        """Return the items of a JSON list, or None if the file contains JSON lines."""
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
        """Return the line number of the list item that contains a repeated key."""
        try:
            read_json_list(decoded(self._file.read()), is_unique=True)
        except ValueError as fault:
            return getattr(fault, "line", None)
        return None
