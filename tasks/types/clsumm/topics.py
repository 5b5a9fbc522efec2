"""Topics of tasks 1A and 1B: a reference paper, and the citances as each annotator annotated them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tasks.types.base import Index, Options, Split
from tasks.types.clsumm.annotation import Source, public_lines, read_annotations
from tasks.types.clsumm.citances import (
    Annotation,
    CitanceName,
    facts,
    has_reference,
    key_2017,
    key_2018,
    marked_last,
)
from tasks.types.clsumm.csvform import (
    ANSWER_COLUMNS,
    PUBLIC_COLUMNS,
    Row,
    annotation,
    citance_name,
    read_rows,
)
from tasks.types.clsumm.documents import Sentence, read_sentences
from tasks.types.clsumm.layout import (
    CSV,
    LAYOUT,
    Chosen,
    TopicFolder,
    chosen_annotation,
    is_topic_file,
    passed_over,
    topic_folders,
)
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem, Problems

__all__ = ["is_topic_file", "public_files", "read_gold", "read_inputs", "read_topics"]


@dataclass(frozen=True)
class GoldFile:
    """What one annotator found; ``annotator`` is empty where the corpus names none."""

    annotator: str
    citances: tuple[Annotation, ...]


@dataclass(frozen=True)
class Topic:
    """One reference paper and its gold.

    ``asked`` are the citances that participants are given, ``sentences`` the paper's, empty where the paper
    is not at hand.
    """

    name: str
    files: tuple[GoldFile, ...]
    asked: tuple[CitanceName, ...]
    sentences: tuple[Sentence, ...]

    @cached_property
    def order(self) -> dict[str, int]:
        """The place of each sentence in the paper; of two with one id the first."""
        return {sentence.sid: place for place, sentence in reversed(list(enumerate(self.sentences)))}

    @cached_property
    def sections(self) -> dict[str, str]:
        return {sid: self.sentences[place].section for sid, place in self.order.items()}


@dataclass(frozen=True)
class Topics:
    """The topics in the order of their names, and the folders that were passed over since they are none."""

    topics: tuple[Topic, ...]
    passed_over: tuple[str, ...]


def read_topics(files: Sequence[InputFile], options: Options, source: Source = Source.GOLD) -> Topics:
    """Every topic among the files. Raises InputRefused with all that is wrong.

    The same topic twice is an error.
    """
    problems = Problems()
    topics: dict[str, Topic] = {}
    others = passed_over(files)
    for folder in topic_folders(files):
        chosen = chosen_annotation(folder, options["annotation"], source)
        if chosen is None:
            others.add(folder.shown)
        elif chosen.topic in topics:
            problems.append(Problem(file=folder.shown, message=f"topic {chosen.topic} is given twice"))
        else:
            topics[chosen.topic] = _topic(chosen, folder, problems, source)
    if not topics and not problems:
        shown = files[0].shown if files else ""
        problems.append(Problem(file=shown, message="no topic was found", expected=LAYOUT))
    if problems:
        raise InputRefused(problems)
    return Topics(tuple(topics[name] for name in sorted(topics)), tuple(sorted(others)))


def _topic(chosen: Chosen, folder: TopicFolder, problems: list[Problem], source: Source) -> Topic:
    papers = folder.papers
    own = [file for file in papers if file.stem == chosen.topic] or papers
    sentences = tuple(read_sentences(own[0])) if own else ()
    if chosen.version == CSV:
        rows = [list(read_rows(file, problems, source)) for _, file in chosen.files]
        files = [
            GoldFile(name, marked_last([annotation(row, chosen.topic) for row in own_rows], key_2018))
            for (name, _), own_rows in zip(chosen.files, rows, strict=True)
        ]
        if source is Source.GOLD and not any(
            has_reference(citance) for file in files for citance in file.citances
        ):
            problems.append(Problem(file=chosen.files[0][1].shown, message="no row names a sentence"))
        asked = tuple(citance_name(row) for row in asked_rows(rows, source))
    else:
        lines = list(read_annotations(chosen.files[0][1], chosen.topic, problems, source))
        files = [GoldFile("", marked_last(lines, key_2017))]
        asked = tuple(line.name for line in lines)
    return Topic(chosen.topic, tuple(files), asked, sentences)


def asked_rows(files: Sequence[Sequence[Row]], source: Source) -> list[Row]:
    """One row for each citance that any annotator found a reference for, in the first one's order.

    Annotators number the same citance differently in places; its text tells that it is the same.
    """
    asked: dict[tuple[str, str, str, int], Row] = {}
    for rows in files:
        seen: Counter[tuple[str, str, str]] = Counter()
        for row in rows:
            name = citance_name(row)
            key = (name.citing, name.marker, row.values.get("Citation Text", "") or name.number)
            seen[key] += 1
            if source is Source.INPUTS or has_reference(annotation(row, None)):
                asked.setdefault((*key, seen[key]), row)
    return list(asked.values())


def read_gold(files: Sequence[InputFile], options: Options) -> Split:
    """The topics as gold, with the index that checks a run and holds none of it."""
    found = read_topics(files, options)
    topics = found.topics
    canonical = json.dumps(
        [_facts(topic) for topic in topics], ensure_ascii=False, separators=(",", ":"), sort_keys=True
    )
    return Split(
        content=topics,
        instances=sum(len(topic.asked) for topic in topics),
        index=_index(topics),
        digest=hashlib.sha256(canonical.encode()).hexdigest(),
        notes=(
            *(f"passed over, no topic: {folder}" for folder in found.passed_over),
            *(
                f"topic {topic.name} has no Reference_XML: sentence ids are not checked"
                for topic in topics
                if not topic.sentences
            ),
        ),
    )


def read_inputs(files: Sequence[InputFile], options: Options) -> Index:
    """The index, from the public inputs that participants have."""
    return _index(read_topics(files, options, Source.INPUTS).topics)


def _index(topics: Sequence[Topic]) -> Index:
    """What an answer may be: the citances by name and the reference paper's sentence ids."""
    return {
        "topics": {
            topic.name: {
                "citances": [[name.reference, name.citing, name.marker, name.number] for name in topic.asked],
                "sentences": [sentence.sid for sentence in topic.sentences],
            }
            for topic in topics
        }
    }


def _facts(topic: Topic) -> list[Any]:
    """Whatever of a topic a number can depend on, which the order of its lines is not."""
    return [
        topic.name,
        [[file.annotator, sorted(map(facts, file.citances))] for file in topic.files],
        [[sentence.sid, sentence.text, sentence.section] for sentence in topic.sentences],
    ]


def public_files(files: Sequence[InputFile], options: Options) -> Iterator[tuple[str, bytes]]:
    """What participants may have: the papers as they are, and the citances without reference and facet."""
    for folder in topic_folders(files):
        chosen = chosen_annotation(folder, options["annotation"], Source.GOLD)
        if chosen is not None:
            yield from public_topic(folder, chosen.topic, chosen)


def public_topic(folder: TopicFolder, topic: str, chosen: Chosen | None) -> Iterator[tuple[str, bytes]]:
    for kind in ("Reference_XML", "Citance_XML"):
        for file in folder.files(kind):
            if file.suffix == ".xml":
                yield f"{topic}/{kind}/{file.parts[-1]}", file.read()
    if chosen is None:
        return
    if chosen.version == CSV:
        yield f"{topic}/annotation/{topic}.csv", _public_csv(chosen).encode()
    else:
        lines = public_lines(chosen.files[0][1])
        yield f"{topic}/annotation/{topic}.annv3.txt", "\n\n".join(lines).encode()


def _public_csv(chosen: Chosen) -> str:
    rows = asked_rows([list(read_rows(file, [], Source.GOLD)) for _, file in chosen.files], Source.GOLD)
    written = io.StringIO()
    writer = csv.DictWriter(written, [*PUBLIC_COLUMNS, *ANSWER_COLUMNS], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: row.values.get(name, "") for name in PUBLIC_COLUMNS})
    return written.getvalue()
