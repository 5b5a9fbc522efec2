"""Runs with one answer for each instance, as JSON lines or as a JSON list of the same objects.

A task type says what its answers look like; ids, answers given again, unknown and missing instances, and
files that hold no answers are seen to here. Of a run no more is kept than its answers to known instances
and the first problems.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem, Problems, TooManyProblems
from tasks.types.records import SUFFIXES, Record, read_records, well_formed
from tasks.types.text import json_kind

MAX_TEXT = 100_000
#: So many errors beyond those that are listed are counted before reading ends.
MAX_COUNTED = 99_000
Answer = TypeVar("Answer")


class Line:
    """One answer while it is read. What is wrong with it is noted with its place in the file."""

    def __init__(self, record: Record, problems: Problems) -> None:
        self.record, self.value, self._problems = record, record.value, problems
        self.is_sound = True

    def wrong(self, message: str, expected: str = "") -> None:
        """Note what refuses the run."""
        self.is_sound = False
        self._note(message, expected, is_fatal=True)

    def doubt(self, message: str, expected: str = "") -> None:
        """Note what its sender should look at."""
        self._note(message, expected, is_fatal=False)

    def _note(self, message: str, expected: str, *, is_fatal: bool) -> None:
        record = self.record
        self._problems.note(lambda: record.problem(message, expected, fatal=is_fatal), fatal=is_fatal)

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
    """What a run looks like, for its messages.

    ``example`` is a line as it should be, ``noun`` what an answer is called. Where ``later_counts``, an
    instance may be answered again; otherwise that refuses the run.
    """

    example: str
    noun: str = "answer"
    later_counts: bool = False

    @property
    def files(self) -> str:
        return f"JSON lines (`.jsonl`) or a JSON list (`.json`) of objects such as {self.example}"


#: The records of a file, each with the name of the instance that it answers; None where it names none.
Named = Callable[[InputFile, Problems], Iterable[tuple[str | None, Record]]]


def by_id(file: InputFile, problems: Problems) -> Iterator[tuple[str | None, Record]]:
    """Each record under its own id."""
    for record in read_records(file, problems):
        yield record.id, record


def read_answers(
    files: Sequence[InputFile],
    known: Collection[str],
    read: Callable[[str, Line], Answer | None],
    form: AnswerForm,
    *,
    named: Named = by_id,
) -> tuple[dict[str, Answer], list[Problem]]:
    """The answers by instance, and everything that is wrong with the files.

    ``read`` makes an answer of a line and notes on the line what is wrong with it; the instance is a known
    one where the line is sound as yet. The answers are only meant where no problem is fatal. Raises
    TooManyProblems.
    """
    problems = Problems(counts=MAX_COUNTED)
    answers: dict[str, Answer] = {}
    for file in run_files(files, form, problems):
        try:
            for name, line in named_lines(named(file, problems), known, answers, form, problems):
                answer = read(name, line)
                if line.is_sound and answer is not None:
                    answers[name] = answer
        except TooManyProblems:
            raise
        except InputRefused as refused:
            problems += refused.problems
    if not problems.has_errors:
        problems += _missing(answers, known, form, files)
    return answers, problems


def run_files(files: Sequence[InputFile], form: AnswerForm, problems: Problems) -> list[InputFile]:
    """The files that can hold answers; the others become problems, warnings where there are such files."""
    readable = [file for file in files if file.suffix in SUFFIXES]
    for file in files:
        if file.suffix not in SUFFIXES:
            message = f"a “{file.suffix or 'nameless'}” file"
            problems.append(
                Problem(file=file.shown, message=message, expected=form.files, fatal=not readable)
            )
    return readable


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
    for name, record in records:
        line = Line(record, problems)
        if not name:
            line.wrong(f"“id” is {_found(record.value.get('id'))}", form.example)
        elif name not in known:
            first = next(iter(known), "")
            line.wrong(f"instance “{name}” is not in this split", f"an id of the split, such as “{first}”")
        elif name in answered and not form.later_counts:
            line.wrong(f"instance “{name}” is answered a second time", f"one {form.noun} for each instance")
        elif name in answered:
            message = f"instance “{name}” is answered again: the later answer counts"
            line.doubt(message, f"one {form.noun} for each instance")
        yield name or "", line


def _found(value: object) -> str:
    return "missing" if value is None else "empty" if value == "" else json_kind(value)


def _missing(
    answers: Collection[str], known: Collection[str], form: AnswerForm, files: Sequence[InputFile]
) -> Iterator[Problem]:
    missing = len(known) - len(answers)
    if not answers:
        shown = files[0].shown if len(files) == 1 else ""
        yield Problem(file=shown, message=f"no {form.noun}s are here", expected=form.example)
    elif missing:
        first = next(name for name in known if name not in answers)
        yield Problem(
            message=f"{missing:,} of {len(known):,} instances have no {form.noun}, the first is “{first}”",
            fatal=False,
        )


def content_digest(records: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 of gold as JSON, records by id and keys in order: the same however the files have it."""
    content = sorted(records, key=lambda record: str(record["id"]))
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def as_lines(records: Iterable[Any]) -> bytes:
    """One JSON object a line, as public files have them."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
