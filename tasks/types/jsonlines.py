"""Read runs with one answer per instance, which are JSON lines or a JSON list of
objects.

This module checks the ids of answers, and reports repeated answers, unknown instances
and missing instances. The task type parses the content of each answer. To save memory,
only answers to known instances and the first problems of a run are stored.
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

from tasks.types.files import GZIP_SUFFIX, IGNORED_FILE_NAMES, Files, InputFile
from tasks.types.guarded.json_reader import (
    JsonKeyRepeated,
    NumberNotFinite,
    read_json,
    read_json_list,
)
from tasks.types.guarded.limits import TextUnreadable
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    TooManyProblems,
    raise_if_any_problem_is_fatal,
    select_fatal_problems,
    shorten_quoted_line,
)
from tasks.types.text import (
    decode_utf8_or_windows_1252,
    describe_json_type,
    iterate_json_objects,
    make_json_error_message,
    normalise_to_nfc,
)

MAX_TEXT_CHARACTERS = 100_000
#: `MISSING_FIELD_MESSAGE_END` is the end of every error message about a missing field.
#: `MAX_FIELDS_LISTED` limits the fields that a message about a missing field lists.
MISSING_FIELD_MESSAGE_END, MAX_FIELDS_LISTED = "” is missing", 8
#: `UNKNOWN_INSTANCE_MESSAGE_END` ends the error message about an answer to an unknown instance.
UNKNOWN_INSTANCE_MESSAGE_END = "is not in this split"
#: `MAX_UNLISTED_ERRORS` limits the errors that are counted but not listed.
#: Reading stops when more than `MAX_UNLISTED_ERRORS` errors are counted but not listed.
MAX_UNLISTED_ERRORS = 99_000
ParsedAnswer = TypeVar("ParsedAnswer")


class AnswerLine:
    """An answer in a run, which a task type parses. Faults that the task type finds are
    recorded with the position of the answer in the file.
    """

    def __init__(self, record: "JsonRecord", problems: ProblemList) -> None:
        self.record, self.value, self._problems = record, record.value, problems
        self.is_sound = True

    def wrong(self, message: str, expected: str = "") -> None:
        """Record a fatal fault of the answer, which makes the run invalid. If the
        message states that a field is missing, the fields of the answer are added to
        the message.
        """
        self.is_sound = False
        if message.endswith(MISSING_FIELD_MESSAGE_END):
            fields = ", ".join(
                f"“{key[:40]}”" for key in [*self.value][:MAX_FIELDS_LISTED]
            )
            message = f"{message}; found {fields or 'no field'}"
        self._problems.note(lambda: self.record.problem(message, expected))

    def doubt(self, message: str, expected: str = "") -> None:
        """Record a warning about the answer, which does not make the run invalid."""
        self._problems.note(
            lambda: self.record.problem(message, expected, fatal=False), fatal=False
        )

    def text(
        self, key: str, *, example: str, longest: int = MAX_TEXT_CHARACTERS
    ) -> str | None:
        """Return the text that the answer contains under ``key``. If there is no text,
        or more than ``longest`` characters, record a fault and return None.
        """
        value = self.value.get(key)
        if key not in self.value:
            self.wrong(f"“{key}” is missing", example)
        elif not isinstance(value, str):
            self.wrong(f"“{key}” is {describe_json_type(value)}", "a text")
        elif len(value) > longest:
            self.wrong(f"“{key}” has {len(value):,} characters", f"at most {longest:,}")
        else:
            return replace_unpaired_surrogates(value)
        return None


@dataclass(frozen=True, kw_only=True)
class AnswerForm:
    """Describes the format of a run, for validation and error messages.

    ``example`` is an example of a valid line in a run. ``noun`` is the word for an
    answer in error messages. ``id`` is the key of the instance id in each answer. If
    ``later_counts`` is True, a later answer to the same instance replaces the earlier
    answer. If ``later_counts`` is False, a run with two answers to the same instance is
    refused.
    """

    example: str
    noun: str = "answer"
    id: str = "id"
    later_counts: bool = False
    #: `needs_all` is True if a run without an answer to every instance is refused.
    needs_all: bool = False
    #: `table` describes the columns of runs in CSV or TSV for error messages.
    #: If `table` is empty, runs cannot be CSV or TSV files.
    table: str = ""
    #: `others` describes further accepted formats of a run for error messages.
    others: str = ""

    @property
    def files(self) -> str:
        tables = f", or CSV or TSV with a header row and the columns {self.table}"
        lines = f"JSON lines (`.jsonl`) or a JSON list (`.json`) of objects such as {self.example}"
        others = f", or {self.others}" if self.others else ""
        return lines + (tables if self.table else "") + others


@dataclass(frozen=True)
class JsonRecord:
    """A JSON object in a file, and its position, which is a line number or an index in
    a JSON list.
    """

    file: str
    line: int | None
    item: int
    value: Mapping[str, Any]
    raw: str = ""

    @property
    def id(self) -> str | None:
        """Return the id in the record as a text, or None if the record has no id."""
        return get_record_id(self.value)

    def problem(
        self, message: str, expected: str = "", *, fatal: bool = True
    ) -> Problem:
        message = message if self.line is not None else f"item {self.item}: {message}"
        where: dict[str, Any] = {
            "file": self.file,
            "line": self.line,
            "quote": shorten_quoted_line(self.raw),
        }
        return Problem(**where, message=message, expected=expected, fatal=fatal)


#: `Named` functions yield each record in a file with its instance id or None.
NamedRecordsFunction = Callable[
    [InputFile, ProblemList], Iterable[tuple[str | None, JsonRecord]]
]


def iterate_records_with_ids(
    file: InputFile, problems: ProblemList, key: str = "id"
) -> Iterator[tuple[str | None, JsonRecord]]:
    """Yield each record in a JSON file with the record's id."""
    for record in read_records(file, problems):
        yield get_record_id(record.value, key), record


def read_answers(
    files: Files,
    known: Collection[str],
    read: Callable[[str, AnswerLine], ParsedAnswer | None],
    form: AnswerForm,
    *,
    named: NamedRecordsFunction | None = None,
) -> tuple[dict[str, ParsedAnswer], list[Problem]]:
    """Return the answers of a run by instance, and all problems of the files. Callers
    must ignore the answers if a problem is fatal.

    The function ``read`` parses the answer on a line of the run, and records its
    faults. The function ``read`` is also called for lines with an unknown or missing
    instance id, which already have a fault. The function ``named`` yields each record
    with its instance id, which is by default the value of the key ``form.id``. Raises
    TooManyProblems.
    """
    problems = ProblemList(counts=MAX_UNLISTED_ERRORS)
    answers: dict[str, ParsedAnswer] = {}
    named = named or partial(iterate_records_with_ids, key=form.id)
    for file in select_answer_files(files, form, problems):
        try:
            records = replace_ids_by_gold_spelling(
                named(file, problems), known, file.reading
            )
            for name, line in iterate_valid_answer_lines(
                records, known, answers, form, problems
            ):
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


def replace_ids_by_gold_spelling(
    records: Iterable[tuple[str | None, JsonRecord]],
    known: Collection[str],
    reading: int,
) -> Iterator[tuple[str | None, JsonRecord]]:
    """Yield each record of a run with its instance id, in the spelling of the gold. The
    instance ids of run and gold are compared in the Unicode form NFC.
    """
    spelling: dict[str, str] | None = None
    for name, record in records:
        if name and name not in known and reading > 1:
            if spelling is None:
                spelling = {normalise_to_nfc(own): own for own in known}
            yield spelling.get(normalise_to_nfc(name), name), record
        else:
            yield name, record


def select_answer_files(
    files: Files, form: AnswerForm, problems: ProblemList
) -> list[InputFile]:
    """Return those files of a run that can contain answers according to their extension
    or their first bytes.

    Each other file is recorded as a problem, which is only a warning if some file of
    the run can contain answers.
    """
    readable = [file for file in files if file.suffix in JSON_SUFFIXES]
    readable = readable or [file for file in files if begins_like_json(file)]
    is_readable = set(map(id, readable))
    for file in files:
        if id(file) not in is_readable:
            message = file.kind_by_suffix
            problems.append(file.make_problem(message, form.files, fatal=not readable))
    return readable


def begins_like_json(file: InputFile) -> bool:
    with suppress(InputRefused):
        for line in replace(file, reading=1).lines():
            if begin := line.removeprefix(codecs.BOM_UTF8).strip():
                return begin.startswith((b"{", b"["))
    return False


def iterate_valid_answer_lines(
    records: Iterable[tuple[str | None, JsonRecord]],
    known: Collection[str],
    answered: Container[str],
    form: AnswerForm,
    problems: ProblemList,
) -> Iterator[tuple[str, AnswerLine]]:
    """Yield each answer in a run with its instance id. Record a fault for each answer
    with an unknown instance id, and for repeated answers to an instance.
    """
    once = f"one {form.noun} for each instance"
    for name, record in records:
        line = AnswerLine(record, problems)
        if not name:
            value = record.value.get(form.id)
            kind = (
                "missing"
                if value is None
                else "empty"
                if value == ""
                else describe_json_type(value)
            )
            line.wrong(f"“{form.id}” is {kind}", form.example)
        elif name not in known:
            first = next(iter(known), "")
            line.wrong(
                f"instance “{name}” {UNKNOWN_INSTANCE_MESSAGE_END}",
                f"an id of the split, such as “{first}”",
            )
        elif name in answered and not form.later_counts:
            line.wrong(f"instance “{name}” is answered a second time", once)
        elif name in answered:
            line.doubt(
                f"instance “{name}” is answered again: the later answer counts", once
            )
        yield name or "", line


def refuse_faulty_gold(
    files: Files, problems: Sequence[Problem], items: Sized, noun: str, expected: str
) -> None:
    """Raise InputRefused if the gold (reference answers) contains no items or a problem
    is fatal.
    """
    if not items and not select_fatal_problems(problems):
        shown = files[0].shown if len(files) == 1 else ""
        problems = [
            *problems,
            Problem(file=shown, message=f"no {noun} are here", expected=expected),
        ]
    raise_if_any_problem_is_fatal(problems)


def compute_records_digest(records: Iterable[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of gold records (reference answers) in a canonical JSON text.
    The canonical text sorts records by id and keys by name, so the digest does not
    depend on the order of records in the file.
    """
    content = sorted(records, key=lambda record: str(record["id"]))
    text = json.dumps(
        content, ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()


def format_as_json_lines(records: Iterable[Any]) -> bytes:
    """Return the records as JSON lines, with one record per line."""
    return "".join(
        json.dumps(record, ensure_ascii=False) + "\n" for record in records
    ).encode()


JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
JSON_LINES_SUFFIXES = (".jsonl", ".ndjson")
#: `_ID_FIELD_NAMES` lists the keys of instance ids in published data sets.
_ID_FIELD_NAMES = ("id", "sample_id", "question_id")
_EXPECTED_FORMS_OF_FILE = (
    "a list of objects, an object with such a list under “data”, or one object a line"
)


def get_record_id(value: Mapping[str, Any], key: str = "id") -> str | None:
    """Return the id of a record, which is the value of ``key``. If ``key`` is `id` and
    missing, return the value of another id key of published data sets, such as
    `question_id`.
    """
    if type(first := value.get(key)) is str:
        return first
    keys = _ID_FIELD_NAMES if key == "id" else (key,)
    name = next((value[key] for key in keys if value.get(key) is not None), None)
    return (
        None
        if name is None or isinstance(name, bool | float | list | dict)
        else str(name)
    )


def replace_unpaired_surrogates(text: str) -> str:
    """Return a text in which question marks replace unpaired surrogates. JSON texts can
    contain unpaired surrogates, which cannot be encoded in UTF-8.
    """
    return text.encode("utf-8", "replace").decode()


def read_records(file: InputFile, problems: list[Problem]) -> Iterator[JsonRecord]:
    """Yield the records in a file of JSON lines or with a JSON list. A value that is
    not a JSON object is recorded as a problem.
    """
    yield from JsonFileRecords(file, problems)


def is_records_file(name: str) -> bool:
    """Return True if the extension of the file name is one of JSON files, and the file
    is no system file such as `.DS_Store`.
    """
    path = PurePosixPath(name.lower().removesuffix(GZIP_SUFFIX))
    return path.suffix in JSON_SUFFIXES and not IGNORED_FILE_NAMES.intersection(
        PurePosixPath(name).parts
    )


class JsonFileRecords:
    """An iterable of the records in a JSON file, which may contain millions of records.

    JSON lines are parsed one by one during the iteration, but a JSON list is parsed at
    once.
    """

    def __init__(self, file: InputFile, problems: list[Problem]) -> None:
        self._file, self._problems = file, problems
        self._items = (
            None if file.suffix in JSON_LINES_SUFFIXES else self._read_json_items()
        )

    @property
    def are_records_without_ids(self) -> bool:
        """Return True if the file is a JSON list, and no record in the list contains an
        id.
        """
        items = self._items
        return bool(items) and not any(
            get_record_id(item) for item in items or () if isinstance(item, dict)
        )

    def __len__(self) -> int:
        """Return the number of records if the file is a JSON list."""
        return sum(isinstance(item, dict) for item in self._items or ())

    def __iter__(self) -> Iterator[JsonRecord]:
        if self._items is None:
            for position, (line, value, raw) in enumerate(
                iterate_json_objects(self._file, self._problems), start=1
            ):
                yield JsonRecord(self._file.shown, line, position, value, raw)
            return
        for position, item in enumerate(self._items, start=1):
            if isinstance(item, dict):
                yield JsonRecord(self._file.shown, None, position, item)
            else:
                self._problems.append(
                    self._file.make_problem(
                        f"item {position} is {describe_json_type(item)}", "an object"
                    )
                )

    def _read_json_items(self) -> list[Any] | None:
        """Return the items if the file contains a JSON list, or None if the file
        contains JSON lines.
        """
        expected = _EXPECTED_FORMS_OF_FILE
        line: int | None = None
        try:
            items = read_json(
                decode_utf8_or_windows_1252(self._file.read()),
                is_unique=self._file.reading > 1,
            )
            if isinstance(items, dict):
                items = (
                    items["data"] if isinstance(items.get("data"), list) else [items]
                )
            if isinstance(items, list):
                return items
            message = f"found {describe_json_type(items)}"
        except ValueError as fault:
            message = make_json_error_message(fault)
            if isinstance(fault, json.JSONDecodeError):
                if fault.msg == "Extra data" and fault.lineno > 1:
                    return None
                line = fault.lineno
            elif isinstance(fault, JsonKeyRepeated):
                expected, line = "each key once", self._find_repeated_key_line()
            elif isinstance(fault, NumberNotFinite):
                expected = "finite numbers"
            elif isinstance(fault, TextUnreadable):
                line = fault.line
        self._problems.append(self._file.make_problem(message, expected, line=line))
        return []

    def _find_repeated_key_line(self) -> int | None:
        """Return the line number of that item in a JSON list which repeats a key."""
        try:
            read_json_list(
                decode_utf8_or_windows_1252(self._file.read()), is_unique=True
            )
        except ValueError as fault:
            return getattr(fault, "line", None)
        return None
