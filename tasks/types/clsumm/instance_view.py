"""Citances and summaries as people read them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tasks.types.base import (
    ALIKE,
    IMPLIED,
    MISSED,
    RIGHT,
    WRONG,
    Options,
    Pairs,
    ShownInstance,
    Split,
    joined,
    rows_by_name,
)
from tasks.types.clsumm.pairs import citance_label
from tasks.types.clsumm.topics import InputTopic, read_input_topics
from tasks.types.files import InputFile
from tasks.types.text import decoded

Text = Callable[[Any], str]
#: A wrong sentence with so many of the citance's words is like it; a missed one with so few is implied by it.
ALIKE_FROM, IMPLIED_UP_TO = 3, 1
_WORD = re.compile(r"[a-z]{4,}")


def show_spans(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """The sentences that each annotator found, a line each, and those that the run names."""

    def span(side: Any) -> str:
        return f"[{', '.join(side.sentences)}] {' '.join(side.lines)}".strip() if side else ""

    rows = rows_by_name(pairs.names)
    topics = read_input_topics(files, options)
    sentences = {
        citance_label(topic.name, citance.name): {one.sid: one.text for one in topic.sentences}
        for topic in topics
        for citance in topic.citances
    }
    for shown in _citances(topics, pairs, gold=span, answer=span):
        sides = [(pairs.gold[row], pairs.answers[row]) for row in rows[shown.name]]
        judged = judged_sentences(shown.given, sides, sentences.get(shown.name, {}))
        yield replace(shown, judged=tuple(judged))


def judged_sentences(
    citance: str, sides: Sequence[tuple[Any, Any]], sentences: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The answer's sentences, then those missed, as Figures 2 and 3 of the pilot's paper tell errors apart.

    With several annotators a sentence is right that one of them has, and missed that any of them has.
    """
    gold = dict.fromkeys(sid for side, _ in sides if side for sid in side.sentences)
    answer = dict.fromkeys(sid for _, side in sides if side for sid in side.sentences)
    words = set(_WORD.findall(citance.lower()))
    for sid in [*answer, *(sid for sid in gold if sid not in answer)]:
        text = sentences.get(sid, "")
        shared = len(words.intersection(_WORD.findall(text.lower())))
        if sid in answer:
            outcome = RIGHT if sid in gold else ALIKE if shared >= ALIKE_FROM else WRONG
        else:
            outcome = IMPLIED if shared <= IMPLIED_UP_TO else MISSED
        yield outcome, f"[{sid}] {text}".strip()


def show_facets(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    return _citances(
        read_input_topics(files, options),
        pairs,
        gold=lambda facet: facet or "",
        answer=lambda pair: pair.facet or "" if pair else "",
    )


def _citances(
    topics: Sequence[InputTopic], pairs: Pairs, *, gold: Text, answer: Text
) -> Iterator[ShownInstance]:
    texts = {
        citance_label(topic.name, citance.name): citance.text
        for topic in topics
        for citance in topic.citances
    }
    for name, rows in rows_by_name(pairs.names).items():
        yield ShownInstance(
            name=name,
            given=texts.get(name, ""),
            gold=joined([gold(pairs.gold[row]) for row in rows]),
            answer=joined([answer(pairs.answers[row]) for row in rows]),
        )


def show_summaries(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """The beginning of the reference paper, every gold summary under its kind, and the run's."""
    papers = {
        topic.name: " ".join(sentence.text for sentence in topic.sentences)
        for topic in read_input_topics(files, {"annotation": "auto", **options}, with_papers_alone=True)
    }
    for name, [row] in rows_by_name(pairs.names).items():
        answer = pairs.answers[row]
        yield ShownInstance(
            name=name,
            given=papers.get(name, ""),
            gold="\n\n".join(f"{kind}:\n{_lines(lines)}" for kind, lines in pairs.gold[row].references),
            answer=_lines(answer.lines) if answer else "",
        )


def _lines(lines: Sequence[bytes]) -> str:
    return "\n".join(text for line in lines if (text := decoded(line).strip()))
