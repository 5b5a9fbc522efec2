"""Trivial runs of CL-Summ, which do not use the gold answers."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tasks.types.base import Options, Split
from tasks.types.clsumm.citances import (
    FACETS,
    MAJORITY,
    CitanceName,
    named_sentences,
)
from tasks.types.clsumm.runs import MAX_SENTENCES
from tasks.types.clsumm.summaries import first_words
from tasks.types.clsumm.topics import Sentence, Topic, read_input_topics
from tasks.types.files import Files
from tasks.types.trivial_runs import (
    DRAWS,
    FIRST,
    INPUT,
    LONGEST,
    TrivialRuns,
    drawn_rows,
    random_of,
    run_file,
)

#: `MOST_TOPICS` is the maximum number of topics in a quick trial of trivial runs.
MOST_TOPICS = 10
#: `MOST_CONSTANTS` limits the trivial runs that answer with one constant sentence id.
#: The sentence ids that the gold contains most often are used.
MOST_CONSTANTS = 5

#: `Answer` is a pair of sentence ids and facets.
Answer = tuple[Sequence[str], Sequence[str]]


def _select_topics(split: Split, *, is_quick: bool) -> Split:
    """Return some topics of the split, or all if ``is_quick`` is False. If some topics
    are left out, the index is reduced in the same way.
    """
    rows = drawn_rows(len(split.content), MOST_TOPICS if is_quick else None)
    content = tuple(split.content[row] for row in rows)
    names = {topic.name for topic in content}
    topics = {name: own for name, own in split.index["topics"].items() if name in names}
    index = {**split.index, "topics": topics}
    count = sum(
        len(topic.asked) if isinstance(topic, Topic) else 1 for topic in content
    )
    return replace(split, content=content, index=index, instances=count)


def span_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRuns:
    """Return runs of task 1A that answer with the sentence at a fixed or a random
    position of each paper, and with the most frequent facet.
    """
    part = _select_topics(split, is_quick=is_quick)

    def answered(ids_of: Callable[[Topic], Sequence[str]]) -> Files:
        return _write_citance_answers(
            part, lambda topic, _name: (ids_of(topic), [MAJORITY])
        )

    def named(sid: str) -> Files:
        return answered(lambda _topic: [sid])

    def longest(topic: Topic) -> Sequence[str]:
        by_length = sorted(topic.sentences, key=lambda one: -len(one.text))
        return [one.sid for one in by_length[:1]]

    common = Counter(
        sid
        for topic in part.content
        for file in topic.files
        for citance in file.citances
        for sid in set(named_sentences(citance))
    )
    return TrivialRuns(
        split=part,
        runs={
            FIRST: answered(lambda topic: [*topic.order][:1]),
            LONGEST: answered(longest),
        },
        constants={
            f"sentence {sid}": named(sid)
            for sid, _count in common.most_common(MOST_CONSTANTS)
        },
        draws=[
            _write_citance_answers(
                part, _make_random_sentence_answer(draw, facets=(MAJORITY,))
            )
            for draw in range(DRAWS)
        ],
    )


def facet_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRuns:
    """Return runs of task 1B, with one facet for all citances or with random facets."""
    part = _select_topics(split, is_quick=is_quick)

    def first(topic: Topic) -> Sequence[str]:
        return [*topic.order][:MAX_SENTENCES]

    def constant(facet: str) -> Files:
        return _write_citance_answers(
            part, lambda topic, _name: (first(topic), [facet])
        )

    def drawn(draw: int) -> Files:
        source = random_of(draw)
        return _write_citance_answers(
            part, lambda topic, _name: (first(topic), [source.choice(FACETS)])
        )

    return TrivialRuns(
        split=part,
        constants={facet: constant(facet) for facet in FACETS},
        draws=[drawn(draw) for draw in range(DRAWS)],
    )


def _make_random_sentence_answer(
    draw: int, facets: Sequence[str]
) -> Callable[[Topic, CitanceName], Answer]:
    source = random_of(draw)

    def answer(topic: Topic, _name: CitanceName) -> Answer:
        ids = [*topic.order]
        return ([source.choice(ids)] if ids else [], facets)

    return answer


def _write_citance_answers(
    split: Split, answer: Callable[[Topic, CitanceName], Answer]
) -> Files:
    """Return a run that answers each citance whose reference paper is available."""

    def lines() -> Iterator[Mapping[str, Any]]:
        for topic in split.content:
            for name in topic.asked:
                ids, facets = answer(topic, name)
                if ids:
                    yield {
                        "topic": topic.name,
                        "citing": name.citing,
                        "marker": name.marker,
                        "citance": name.number,
                        "sentences": list(ids),
                        "facets": list(facets),
                    }

    return run_file(lines(), split.reading)


def summary_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRuns:
    """Return runs of task 2 that copy sentences of the paper or citances, up to the
    word limit.
    """
    part = _select_topics(split, is_quick=is_quick)
    known = {topic.name for topic in part.content}
    topics = [
        topic
        for topic in read_input_topics(
            files, {"annotation": "auto"}, with_papers_alone=True
        )
        if topic.name in known
    ]

    def write_summary_run(texts: Iterable[Sequence[str]]) -> Files:
        lines = (
            {"topic": topic.name, "summary": list(filter(None, first_words(own)))}
            for topic, own in zip(topics, texts, strict=True)
        )
        return run_file(lines, split.reading)

    def drawn(draw: int) -> Files:
        source = random_of(draw)
        return write_summary_run(
            source.sample(texts, len(texts))
            for texts in map(_list_sentence_texts, papers)
        )

    papers = [topic.sentences for topic in topics]
    if not topics:
        return TrivialRuns(split=part)
    return TrivialRuns(
        split=part,
        runs={
            FIRST: write_summary_run(map(_list_sentence_texts, papers)),
            LONGEST: write_summary_run(
                sorted(_list_sentence_texts(paper), key=len, reverse=True)
                for paper in papers
            ),
            INPUT: write_summary_run(
                [citance.text for citance in topic.citances] for topic in topics
            ),
        },
        draws=[drawn(draw) for draw in range(DRAWS)],
    )


def _list_sentence_texts(sentences: Sequence[Sentence]) -> list[str]:
    return [sentence.text for sentence in sentences]
