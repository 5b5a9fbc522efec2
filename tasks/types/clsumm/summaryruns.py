"""Runs for task 2: one file a topic, or JSON lines; and the limit on their length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.types.base import Index, Options
from tasks.types.clsumm.copying import COPIED, copied_share, prints_of
from tasks.types.clsumm.runs import JSON_SUFFIXES, is_json_run, some
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem, Problems, fatal, quoted
from tasks.types.run_forms import RunForm, binary_kind
from tasks.types.text import decoded, json_kind, json_lines

FORMS = "`Task2/<topic>.system.txt`, one file a topic, or JSON lines (`.jsonl`)"
EXAMPLE = '{"topic": "C90-2039", "summary": "One sentence.\\nAnother one."}'
RUN_FORM = RunForm(described=FORMS, keys=(frozenset({"topic", "summary"}),))
MAX_WORDS = 250
#: In bytes; far beyond the limit, and scored in no time.
MAX_SUMMARY = 1 << 16
TOO_LONG = f"a summary of more than {MAX_SUMMARY:,} bytes"
LIMIT = f"at most {MAX_WORDS} words"
REFUSE, TRUNCATE, FLAG = "refuse", "truncate", "flag"


@dataclass(frozen=True)
class SystemSummary:
    """A system's summary of one topic: the bytes that the official program reads, and their lines.

    A line is a sentence to ROUGE-L.
    """

    topic: str
    raw: bytes
    file: str
    line: int | None

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(decoded(self.raw).split("\n"))

    @property
    def words(self) -> int:
        return len(decoded(self.raw).split())

    @property
    def first_words(self) -> tuple[str, ...]:
        """The lines as far as the limit goes."""
        kept, left = [], MAX_WORDS
        for line in self.lines:
            words = line.split()[:left]
            left -= len(words)
            kept.append(" ".join(words))
        return tuple(kept)


@dataclass(frozen=True)
class SummaryRun:
    """A team's summaries by topic."""

    summaries: Mapping[str, SystemSummary]


def read_run(files: Sequence[InputFile], index: Index, options: Options) -> tuple[SummaryRun, list[Problem]]:
    """The summaries, and everything that is wrong with the files."""
    problems = Problems()
    found: dict[str, SystemSummary] = {}
    for file in _run_files(files, problems):
        for summary in _summaries(file, problems):
            if summary.topic in found:
                message = f"topic {summary.topic} again: the later summary counts"
                problems.append(_warning(summary, message, "one summary a topic"))
            found[summary.topic] = summary
            problems.extend(_doubts(summary, index, options))
    known = index["topics"]
    if not found.keys() & known.keys() and not fatal(problems):
        shown = files[0].shown if len(files) == 1 else ""
        message = "none of the split's topics has a summary"
        problems.append(Problem(file=shown, message=message, expected=f"one of {some(known)}"))
    elif missing := [topic for topic in known if topic not in found]:
        message = f"no summary for {len(missing)} of {len(known)} topics: {some(missing)}"
        problems.append(Problem(message=message, fatal=False))
    return SummaryRun(found), problems


def _run_files(files: Sequence[InputFile], problems: list[Problem]) -> Iterator[InputFile]:
    """The files that carry summaries; the answers to task 1 and notes beside them are passed over."""
    readable = False
    for file in files:
        is_text = file.suffix == ".txt" and (".system." in file.parts[-1] or len(files) == 1)
        if (is_text or is_json_run(file, files)) and "Task1" not in file.parts[:-1]:
            readable = True
            yield file
        elif file.suffix == ".txt" and "Task2" in file.parts[:-1]:
            message = "passed over: its name does not say that it is a system's summary"
            problems.append(Problem(file=file.shown, message=message, expected=FORMS, fatal=False))
    if not readable:
        shown = files[0].shown if len(files) == 1 else ""
        problems.append(Problem(file=shown, message="no file that can be a summary", expected=FORMS))


def _summaries(file: InputFile, problems: list[Problem]) -> Iterator[SystemSummary]:
    try:
        if file.suffix in (*JSON_SUFFIXES, ".json"):
            yield from _json_summaries(file, problems)
        else:
            yield SystemSummary(file.stem, _bounded(file), file.shown, None)
    except InputRefused as refused:
        problems.extend(refused.problems)


def _bounded(file: InputFile) -> bytes:
    chunks, size = [], 0
    for chunk in file.chunks():
        chunks.append(chunk)
        size += len(chunk)
        if size >= MAX_SUMMARY:
            raise InputRefused([Problem(file=file.shown, message=TOO_LONG, expected=LIMIT)])
    raw = b"".join(chunks)
    if kind := binary_kind(raw):
        message = f"this is {kind}, which is no summary"
        raise InputRefused([Problem(file=file.shown, message=message, expected=LIMIT)])
    return raw


def _json_summaries(file: InputFile, problems: list[Problem]) -> Iterator[SystemSummary]:
    for number, record, raw in json_lines(file, problems):
        faults = list(_faults(record))
        problems.extend(
            Problem(file=file.shown, line=number, message=message, expected=EXAMPLE, quote=quoted(raw))
            for message in faults
        )
        if faults:
            continue
        summary = _text(record["summary"]).encode("utf-8", "replace")
        if len(summary) < MAX_SUMMARY:
            yield SystemSummary(str(record["topic"]), summary, file.shown, number)
        else:
            problems.append(
                Problem(file=file.shown, line=number, message=TOO_LONG, expected=LIMIT, quote=quoted(raw))
            )


def _faults(record: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(record.get("topic"), str):
        yield "“topic” is missing" if "topic" not in record else f"“topic” is {json_kind(record['topic'])}"
    summary = record.get("summary")
    if "summary" not in record:
        yield "“summary” is missing"
    elif not isinstance(summary, str) and not _is_lines(summary):
        yield f"“summary” is {json_kind(summary)}, not a text or a list of sentences"


def _is_lines(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(line, str) for line in value)


def _text(summary: str | list[str]) -> str:
    """A list of sentences has one on each line."""
    return summary if isinstance(summary, str) else "\n".join(" ".join(line.split()) for line in summary)


def _doubts(summary: SystemSummary, index: Index, options: Options) -> Iterator[Problem]:
    """What can be read but hardly meant."""
    known = index["topics"]
    if summary.topic not in known:
        yield _warning(summary, f"topic {summary.topic} is not in this split", f"one of {some(known)}")
        return
    if not summary.words:
        yield _warning(summary, f"the summary of {summary.topic} is empty", "a summary")
    if summary.words > MAX_WORDS:
        is_fatal = options["over_limit"] == REFUSE
        cut = "; under the corrected rules it is cut there" if options["over_limit"] == TRUNCATE else ""
        message = f"{summary.words} words for {summary.topic}{cut}"
        yield _warning(summary, message, LIMIT, is_fatal=is_fatal)
    share = copied_share(prints_of(summary.lines), known[summary.topic]["abstract"])
    if share >= COPIED:
        message = f"the summary of {summary.topic} copies the abstract, which is one of the gold summaries"
        yield _warning(summary, f"{message} ({share:.0%})", "a summary of the paper's own making")


def _warning(summary: SystemSummary, message: str, expected: str, *, is_fatal: bool = False) -> Problem:
    return Problem(file=summary.file, line=summary.line, message=message, expected=expected, fatal=is_fatal)
