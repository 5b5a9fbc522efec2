"""Answers as JSON lines: one citance a line, named as the inputs name it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tasks.types.base import Index
from tasks.types.clsumm.citances import FACETS, Annotation, CitanceName, canonical_facet
from tasks.types.clsumm.fields import marker_offset
from tasks.types.clsumm.pairing import Matcher
from tasks.types.files import InputFile
from tasks.types.probabilities import ProbabilitiesRefused, read_probabilities
from tasks.types.problems import Problem, quoted
from tasks.types.text import json_kind, json_lines

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
