"""Runs for tasks 1A and 1B: annotation lines or CSV rows in one file a topic, or JSON lines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from tasks.types.base import Index, Options
from tasks.types.clsumm.annotation import Source, marker_offset, read_annotations, read_csv_annotations
from tasks.types.clsumm.citances import (
    FACETS,
    NO_FACET,
    Annotation,
    CitanceName,
    Matcher,
    canonical_facet,
    has_reference,
    named_sentences,
    spans,
)
from tasks.types.clsumm.options import CALIBRATION
from tasks.types.files import InputFile
from tasks.types.probabilities import ProbabilitiesRefused, read_probabilities
from tasks.types.problems import InputRefused, Problem, Problems, TooManyProblems, fatal, quoted
from tasks.types.run_forms import RunForm
from tasks.types.text import json_kind, json_lines

JSON_SUFFIXES = (".jsonl", ".ndjson")
FORMS = "annotation lines (`Task1/<topic>.annv3.txt`), CSV (`Task1/<topic>.csv`) or JSON lines (`.jsonl`)"
_LINE_FIELDS = (b"Reference Article", b"Citing Article", b"Citation Marker Offset", b"Reference Offset")
RUN_FORM = RunForm(
    described=FORMS,
    keys=(frozenset({"topic", "sentences"}), frozenset({"citing", "sentences"})),
    is_line=lambda line: any(field in line for field in _LINE_FIELDS),
)
MAX_SENTENCES = 5
MAX_SPANS = 3
#: A run may have so many answers beyond ten for each citance. All of them are kept in memory.
MORE_ANSWERS = 10_000


@dataclass(frozen=True)
class Run:
    """A team's answers. ``topics`` are those the run has a file or a line for, an empty file included."""

    answers: tuple[Annotation, ...]
    topics: frozenset[str]


def read_run(files: Sequence[InputFile], index: Index, options: Options) -> tuple[Run, list[Problem]]:
    """The answers, and everything that is wrong with the files.

    The run is only meant where nothing is fatal.
    """
    problems = Problems()
    answers: list[Annotation] = []
    topics: set[str] = set()
    left = MORE_ANSWERS + 10 * sum(len(topic["citances"]) for topic in index["topics"].values())
    for file in _run_files(files, problems):
        topic = file.stem if file.stem in index["topics"] else None
        before = problems.found
        try:
            found = list(_limited(_answers(file, topic, index, problems, options), left - len(answers), file))
        except InputRefused as refused:
            problems.extend(refused.problems)
            continue
        if not found and topic is None and problems.found == before:
            problems.append(Problem(file=file.shown, message="no answers in this file", expected=FORMS))
        problems.extend(_doubts(file, found, index, options))
        answers.extend(found)
        topics.update(answer.topic for answer in found)
        topics.update([topic] if topic else [])
    if not topics & set(index["topics"]) and not fatal(problems):
        shown = files[0].shown if len(files) == 1 else ""
        expected = f"one of {some(list(index['topics']))}"
        problems.append(
            Problem(file=shown, message="none of the split's topics is answered", expected=expected)
        )
    run = Run(tuple(answers), frozenset(topics))
    if not fatal(problems):
        problems.extend(_missing(run, index))
    return run, problems


def _run_files(files: Sequence[InputFile], problems: list[Problem]) -> Iterator[InputFile]:
    """The files that carry answers to Task 1; summaries and notes beside them are passed over."""
    readable = 0
    for file in files:
        if "Task2" in file.parts[:-1] or ".system." in file.parts[-1]:
            continue
        if is_json_run(file, files) or (file.suffix in (".txt", ".csv") and not _is_readme(file)):
            readable += 1
            yield file
        elif len(files) == 1:
            message = f"a “{PurePosixPath(file.name).suffix or 'nameless'}” file"
            problems.append(Problem(file=file.shown, message=message, expected=FORMS))
            return
        else:
            message = "passed over: it holds no answers"
            problems.append(Problem(file=file.shown, message=message, expected=FORMS, fatal=False))
    if not readable:
        problems.append(Problem(message="the input holds no file that can be a run", expected=FORMS))


def _is_readme(file: InputFile) -> bool:
    return file.stem.lower().startswith("readme")


def is_json_run(file: InputFile, files: Sequence[InputFile]) -> bool:
    """JSON lines, or the only file; a `.json` beside others is what some program left there."""
    return file.suffix in JSON_SUFFIXES or (file.suffix == ".json" and len(files) == 1)


def _answers(
    file: InputFile, topic: str | None, index: Index, problems: list[Problem], options: Options
) -> Iterator[Annotation]:
    if file.suffix in (*JSON_SUFFIXES, ".json"):
        with_probabilities = options.get(CALIBRATION.name) == "yes"
        return read_json_answers(file, index, problems, with_probabilities=with_probabilities)
    if file.suffix == ".csv":
        return read_csv_annotations(file, topic, problems, Source.RUN)
    return read_annotations(file, topic, problems, Source.RUN)


def _limited(answers: Iterator[Annotation], most: int, file: InputFile) -> Iterator[Annotation]:
    """No more answers than a run can mean, since each is kept. Raises TooManyProblems."""
    for number, answer in enumerate(answers, start=1):
        if number > most:
            message = "the run has more answers than the split has citances, many times over"
            expected = "one answer for each citance"
            problem = Problem(file=file.shown, line=answer.line, message=message, expected=expected)
            raise TooManyProblems([problem])
        yield answer


def _doubts(
    file: InputFile, answers: Sequence[Annotation], index: Index, options: Options
) -> Iterator[Problem]:
    """What can be read but hardly meant, by line."""
    known = index["topics"]
    by_topic: dict[str, list[Annotation]] = defaultdict(list)
    for answer in answers:
        by_topic[answer.topic].append(answer)
    for topic, own in by_topic.items():
        if topic not in known:
            for answer in own:
                yield _warning(file, answer, f"topic {topic} is not in this split", f"one of {some(known)}")
            continue
        yield from _name_doubts(file, own, Matcher.of_index(known[topic]))
        order = {sid: place for place, sid in enumerate(known[topic]["sentences"])}
        for answer in own:
            yield from _sentence_doubts(file, answer, order, options)
            yield from _form_doubts(file, answer)


def _name_doubts(file: InputFile, answers: Sequence[Annotation], matcher: Matcher) -> Iterator[Problem]:
    seen: dict[int, int] = {}
    for answer, place in zip(answers, matcher.places([answer.name for answer in answers]), strict=True):
        if place is None:
            message = f"topic {answer.topic} has no citance {_shown(answer.name)}"
            yield _warning(file, answer, message, "a citance of the inputs")
        elif place in seen:
            message = f"the citance of line {seen[place]} again: the later line counts"
            yield _warning(file, answer, message, "one line each")
        if place is not None:
            seen[place] = answer.line


def _form_doubts(file: InputFile, answer: Annotation) -> Iterator[Problem]:
    if has_reference(answer) and not answer.is_quoted:
        message = (
            "the Reference Text quotes no sentence or an empty one: the program of 2018 passes the row over"
        )
        yield _warning(file, answer, message, '`<S sid="…">sentence</S>`')
    for facet, written in zip(answer.facets, answer.facets_as_written, strict=False):
        if canonical_facet(facet) is None and facet not in NO_FACET:
            message = f"“{quoted(written)}” is not a facet"
            yield _warning(file, answer, message, f"one of {', '.join(FACETS)}")


def _sentence_doubts(
    file: InputFile, answer: Annotation, order: dict[str, int], options: Options
) -> Iterator[Problem]:
    unknown = [sid for sid in named_sentences(answer) if order and sid not in order]
    if unknown:
        yield _warning(
            file,
            answer,
            f"{answer.topic} has no sentence {some(unknown)}",
            f"ids from {next(iter(order))} to {next(reversed(order))}",
        )
    is_fatal = options["over_limit"] == "refuse"
    distinct = set(named_sentences(answer))
    if len(distinct) > MAX_SENTENCES:
        yield _warning(
            file, answer, f"{len(distinct)} sentences", f"at most {MAX_SENTENCES}", is_fatal=is_fatal
        )
    if order and (count := spans(answer.sentences, order)) > MAX_SPANS:
        yield _warning(file, answer, f"{count} separate spans", f"at most {MAX_SPANS}", is_fatal=is_fatal)


def _missing(run: Run, index: Index) -> Iterator[Problem]:
    topics = [topic for topic in index["topics"] if topic not in run.topics]
    if topics:
        yield Problem(
            message=f"no answers for {len(topics)} of {len(index['topics'])} topics: {some(topics)}",
            fatal=False,
        )
    missing, first = 0, ""
    names: dict[str, list[CitanceName]] = defaultdict(list)
    for answer in run.answers:
        names[answer.topic].append(answer.name)
    for topic in sorted(run.topics & index["topics"].keys()):
        unanswered = Matcher.of_index(index["topics"][topic]).unanswered(names[topic])
        missing += len(unanswered)
        first = first or next((f"{_shown(name)} of {topic}" for name in unanswered), "")
    if missing:
        yield Problem(
            message=f"{missing} citances of the answered topics have no answer, one is {first}", fatal=False
        )


def _warning(
    file: InputFile, answer: Annotation, message: str, expected: str, *, is_fatal: bool = False
) -> Problem:
    return Problem(file=file.shown, line=answer.line, message=message, expected=expected, fatal=is_fatal)


def _shown(name: CitanceName) -> str:
    parts = [
        f"number {name.number}" if name.number else "",
        name.citing,
        f"marker {name.marker}" if name.marker else "",
    ]
    return ", ".join(part for part in parts if part)


def some(names: Sequence[str] | Mapping[str, object], most: int = 5) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


EXAMPLE = (
    '{"topic": "C90-2039", "citing": "C92-1059", "marker": "44", "sentences": ["0"], "facets": ["Method"]}'
)


def read_json_answers(
    file: InputFile, index: Index, problems: list[Problem], *, with_probabilities: bool = False
) -> Iterator[Annotation]:
    """The answers of one file, each named as the gold names its citance; what is wrong becomes a problem."""
    answers: list[Annotation] = []
    for number, record, raw in json_lines(file, problems):
        faults, probabilities = list(_faults(record)), None
        if with_probabilities:
            try:
                probabilities = read_probabilities(record, FACETS, canonical_facet)
            except ProbabilitiesRefused as refused:
                faults.append((refused.message, refused.expected))
        problems.extend(
            Problem(file=file.shown, line=number, message=message, expected=expected, quote=quoted(raw))
            for message, expected in faults
        )
        if not faults:
            answers.append(replace(_answer(record, number), probabilities=probabilities))
    names, in_order = _named(answers, index)
    if in_order:
        message = f"{in_order} lines fit several citances and were matched with them in order"
        expected = "“citing”, “marker” and “citance” on each line"
        problems.append(Problem(file=file.shown, message=message, expected=expected, fatal=False))
    for answer, name in zip(answers, names, strict=True):
        yield replace(answer, name=name)


def _named(answers: Sequence[Annotation], index: Index) -> tuple[list[CitanceName], int]:
    """The gold's name of each answer's citance, its own where there is none; and how many went by order.

    The gold spells articles with or without an ending and JSON lines do not follow it there, so that both
    sides are compared without; under every rule set the answer then bears the gold's spelling.
    """
    names = [answer.name for answer in answers]
    by_topic: dict[str, list[int]] = defaultdict(list)
    for turn, answer in enumerate(answers):
        by_topic[answer.topic].append(turn)
    in_order = 0
    for topic in by_topic.keys() & index["topics"].keys():
        matcher = Matcher.of_index(index["topics"][topic])
        spelled = {bare_article(name.citing): name.citing for name in matcher.names}
        turns = by_topic[topic]
        for turn in turns:
            citing = names[turn].citing
            names[turn] = names[turn]._replace(citing=spelled.get(bare_article(citing), citing))
        for turn, place in zip(turns, matcher.places([names[turn] for turn in turns]), strict=True):
            names[turn] = names[turn] if place is None else matcher.names[place]
        in_order += matcher.in_order
    return names, in_order


def bare_article(name: str) -> str:
    for ending in (".xml", ".txt", ".pdf"):
        name = name.removesuffix(ending)
    return name


def _faults(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with the form of one JSON answer."""
    for key in ("topic", "citing", "marker", "citance"):
        value = record.get(key)
        if value is not None and not _is_name(value):
            yield f"“{key}” is {json_kind(value)}", "a text"
    if record.get("topic") is None:
        yield "“topic” is missing", EXAMPLE
    if record.get("citance") is None and record.get("citing") is None:
        yield "neither “citance” nor “citing” with “marker” names the citance", EXAMPLE
    if not _is_names(record.get("sentences")):
        found = "missing" if "sentences" not in record else "not a list of sentence ids"
        yield f"“sentences” is {found}", 'a list such as ["12", "13"]'
    if record.get("facets") is not None and not _is_names(record["facets"]):
        yield "“facets” is not a list of facets", 'a list such as ["Method"]'


def _is_name(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(_is_name(item) for item in value)


def _answer(record: Mapping[str, Any], line: int) -> Annotation:
    topic, citing, marker, number = (
        _text(record.get(key)) for key in ("topic", "citing", "marker", "citance")
    )
    facets = record.get("facets")
    return Annotation(
        topic=topic,
        name=CitanceName("", citing, marker_offset(marker), number),
        sentences=tuple(str(sid) for sid in record["sentences"]),
        facets=("none",) if facets is None else tuple(map(_facet_name, facets)),
        facets_as_written=() if facets is None else tuple(map(str, facets)),
        texts={},
        line=line,
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _facet_name(spelling: object) -> str:
    """A bare name as the annotation files spell it; what is no facet keeps its own spelling."""
    word = str(spelling).strip().lower().replace(" ", "_")
    bare = canonical_facet(word)
    return f"{bare.lower()}_citation" if bare and "_" not in word else word


#: Lines that are looked at for one that is a record.
LOOKED_AT = 100
LONGEST = 1 << 20
#: Bytes that are looked at of all files together, since a sender waits for it.
MAX_BYTES = 64 << 20


def accepts_citances(files: Sequence[InputFile]) -> bool:
    """Annotation lines, CSV rows or JSON lines about citances."""
    look = _Look(files)
    return any(map(look.answers_citances, files))


def accepts_facets(files: Sequence[InputFile]) -> bool:
    """The same, with facets anywhere among what is looked at."""
    look = _Look(files)
    return any(look.answers_citances(file) and look.finds(file, _names_facets) for file in files)


def accepts_summaries(files: Sequence[InputFile]) -> bool:
    """A system's summaries, or JSON lines with them."""
    look = _Look(files)
    for file in files:
        if is_json_run(file, files):
            if "Task1" not in file.parts[:-1] and look.has_key(file, "summary"):
                return True
        elif file.suffix == ".txt" and ("Task2" in file.parts[:-1] or ".system." in file.parts[-1]):
            return True
    return False


@dataclass
class _Look:
    """At the lines of files, for one that is of a kind, until so many bytes are read."""

    files: Sequence[InputFile]
    left: int = field(default_factory=lambda: MAX_BYTES)

    def answers_citances(self, file: InputFile) -> bool:
        if "Task2" in file.parts[:-1] or ".system." in file.parts[-1]:
            return False
        if file.suffix in (*JSON_SUFFIXES, ".json"):
            return is_json_run(file, self.files) and self.has_key(file, "sentences")
        return file.suffix in (".txt", ".csv") and (
            "Task1" in file.parts[:-1] or self.finds(file, _names_citances)
        )

    def has_key(self, file: InputFile, key: str) -> bool:
        return self.finds(file, lambda line: key in _record(line), most=LOOKED_AT)

    def finds(self, file: InputFile, is_one: Callable[[bytes], bool], most: int | None = None) -> bool:
        """Whether a line is of this kind; a file that cannot be read has none, which its own check says."""
        if self.left <= 0:
            return False
        try:
            for number, line in enumerate(file.lines(LONGEST)):
                self.left -= len(line)
                if self.left < 0 or (most is not None and number >= most):
                    return False
                if is_one(line):
                    return True
        except InputRefused:
            return False
        return False


def _record(line: bytes) -> dict[str, object]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _names_facets(line: bytes) -> bool:
    return b"facet" in line.lower()


def _names_citances(line: bytes) -> bool:
    return b"Citing Article" in line
