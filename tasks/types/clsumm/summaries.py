"""Gold summaries of task 2: abstract, community and human, the latter two by one or several annotators."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.types.base import Index, Options, Split
from tasks.types.clsumm.annotation import Source
from tasks.types.clsumm.copying import prints_of
from tasks.types.clsumm.documents import read_sentences
from tasks.types.clsumm.fields import tags_removed
from tasks.types.clsumm.layout import (
    TopicFolder,
    annotator,
    chosen_annotation,
    passed_over,
    topic_folders,
    topic_name,
)
from tasks.types.clsumm.topics import public_topic
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem, Problems
from tasks.types.text import decoded, unescaped

KINDS = ("abstract", "community", "human")
LAYOUT = "a topic folder with `summary/<topic>.abstract.txt`, or a folder or zip of such folders"

_KIND = re.compile(rf"\.({'|'.join(KINDS)})(?=\.|$)")
#: An element ends with its own closing tag; what lies between, broken tags too, is its sentence.
_ELEMENT = re.compile(r"<S\b", re.IGNORECASE)
_END = re.compile("</S>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Reference:
    """One gold summary.

    ``raw`` is the file as it is, tags and all, which is what the official program read; ``lines`` its
    sentences without tags, entities decoded.
    """

    kind: str
    annotator: str
    file: str
    raw: bytes
    lines: tuple[str, ...]


@dataclass(frozen=True)
class SummaryTopic:
    """One reference paper's gold summaries in the order of their files' names."""

    name: str
    references: tuple[Reference, ...]
    #: What the paper's own abstract is recognised by.
    abstract: Sequence[int]

    def of_kind(self, kind: str) -> list[Reference]:
        return [reference for reference in self.references if reference.kind == kind]


def read_gold(files: Sequence[InputFile], options: Options) -> Split:
    """Every topic that has a summary. Raises InputRefused where there is none or one stands twice."""
    problems = Problems()
    topics: dict[str, SummaryTopic] = {}
    notes = [f"passed over, no topic: {folder}" for folder in sorted(passed_over(files))]
    for folder in topic_folders(files):
        topic = _topic(folder, notes)
        if topic is None:
            notes.append(f"passed over, no summary: {folder.shown}")
        elif topic.name in topics:
            problems.append(Problem(file=folder.shown, message=f"topic {topic.name} is given twice"))
        else:
            topics[topic.name] = topic
    if not topics and not problems:
        shown = files[0].shown if files else ""
        problems.append(Problem(file=shown, message="no summary was found", expected=LAYOUT))
    if problems:
        raise InputRefused(problems)
    content = tuple(topics[name] for name in sorted(topics))
    return Split(
        content=content,
        instances=len(content),
        index=_index({topic.name: topic.abstract for topic in content}),
        digest=_digest(content),
        notes=tuple(notes),
    )


def _topic(folder: TopicFolder, notes: list[str]) -> SummaryTopic | None:
    files = _summary_files(folder)
    if not files:
        return None
    name = _name(folder, files[0][1])
    references: dict[tuple[str, str], Reference] = {}
    for kind, file in files:
        reference = _reference(kind, file, name)
        key = (kind, reference.annotator)
        if key in references:
            notes.append(f"{file.shown} passed over: {references[key].file} is the same summary")
        references.setdefault(key, reference)
    return SummaryTopic(name, tuple(references.values()), _abstract(folder, name))


def _summary_files(folder: TopicFolder) -> list[tuple[str, InputFile]]:
    files = sorted(folder.files("gold/Task2") or folder.files("summary"), key=lambda file: file.parts[-1])
    kinds = [(_KIND.search(file.parts[-1].lower()), file) for file in files]
    return [(kind[1], file) for kind, file in kinds if kind]


def _name(folder: TopicFolder, first: InputFile) -> str:
    """The topic: what the annotation or the paper is called, since some summaries are misnamed."""
    chosen = chosen_annotation(folder, "auto", Source.GOLD)
    if chosen:
        return chosen.topic
    papers = folder.papers
    return papers[0].stem if len(papers) == 1 else topic_name(folder, first)


def _reference(kind: str, file: InputFile, topic: str) -> Reference:
    raw = file.read()
    return Reference(kind, annotator(file, topic), file.parts[-1], raw, summary_lines(decoded(raw)))


def summary_lines(text: str) -> tuple[str, ...]:
    """The sentences: one for each `<S>` element, or one a line where there is none; entities decoded.

    Twice, since some of the gold has its entities encoded a second time (`&amp;quot;`).
    """
    found = [tags_removed(_TAG, element) for element in _elements(text)] or text.split("\n")
    lines = (" ".join(unescaped(unescaped(line)).split()) for line in found)
    return tuple(line for line in lines if line)


def _elements(text: str) -> Iterator[str]:
    """What stands in each element. Once one does not end, no later one does."""
    place = 0
    while (tag := _ELEMENT.search(text, place)) and (begin := text.find(">", tag.end()) + 1):
        end = _END.search(text, begin)
        if end is None:
            return
        yield text[begin : end.start()]
        place = end.end()


def _abstract(folder: TopicFolder, name: str) -> Sequence[int]:
    """Of the paper's own abstract, which every participant has."""
    own = [file for file in folder.papers if file.stem == name] or folder.papers
    sentences = read_sentences(own[0]) if own else []
    return prints_of(sentence.text for sentence in sentences if sentence.section.lower() == "abstract")


def _index(abstracts: Mapping[str, Sequence[int]]) -> Index:
    return {"topics": {name: {"abstract": list(own)} for name, own in abstracts.items()}}


def _digest(topics: Sequence[SummaryTopic]) -> str:
    content = [
        [topic.name, [[r.kind, r.annotator, hashlib.sha256(r.raw).hexdigest()] for r in topic.references]]
        for topic in topics
    ]
    canonical = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_inputs(files: Sequence[InputFile], options: Options) -> Index:
    """The index, from the public inputs that participants have: every topic with its paper."""
    found = {}
    for folder in topic_folders(files):
        if folder.papers:
            name = _name(folder, folder.papers[0])
            found[name] = _abstract(folder, name)
    if not found:
        raise InputRefused(
            [Problem(message="no topic was found", expected="`<topic>/Reference_XML/<topic>.xml`")]
        )
    return _index(dict(sorted(found.items())))


def public_files(files: Sequence[InputFile], options: Options) -> Iterator[tuple[str, bytes]]:
    """What participants may have: the papers, and the citances where there are any; no summary."""
    for folder in topic_folders(files):
        if own := _summary_files(folder):
            yield from public_topic(
                folder, _name(folder, own[0][1]), chosen_annotation(folder, "auto", Source.GOLD)
            )
