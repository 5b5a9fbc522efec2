"""Trivial runs of CL-Summ, which do not use the gold answers."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tasks.types.base import Options, Split
from tasks.types.clsumm.citances import (
    FACETS,
    MAJORITY_FACET,
    CitanceName,
    list_real_sentence_ids,
)
from tasks.types.clsumm.runs import MAX_SENTENCES_PER_ANSWER
from tasks.types.clsumm.summaries import cut_lines_at_word_limit
from tasks.types.clsumm.topics import ClsummTopic, PaperSentence, read_input_topics
from tasks.types.files import Files
from tasks.types.trivial_runs import (
    FIRST_ITEM_RUN,
    INPUT_COPY_RUN,
    LONGEST_ITEM_RUN,
    RANDOM_RUN_DRAWS,
    TrivialRunFiles,
    draw_row_numbers,
    make_run_file,
    make_seeded_random,
)

#: `MAX_TOPICS_IN_QUICK_TRIAL` is the maximum number of topics in a quick trial of trivial runs.
MAX_TOPICS_IN_QUICK_TRIAL = 10
#: `MAX_CONSTANT_SENTENCE_ID_RUNS` limits the trivial runs that answer with one constant sentence id.
#: The sentence ids that the gold contains most often are used.
MAX_CONSTANT_SENTENCE_ID_RUNS = 5

#: `Answer` is a pair of sentence ids and facets.
SentenceIdsAndFacets = tuple[Sequence[str], Sequence[str]]


def _select_topics(split: Split, *, is_quick: bool) -> Split:
    """Return some topics of the split, or all if ``is_quick`` is False. If some topics
    are left out, the index is reduced in the same way.
    """
    rows = draw_row_numbers(
        len(split.content), MAX_TOPICS_IN_QUICK_TRIAL if is_quick else None
    )
    content = tuple(split.content[row] for row in rows)
    names = {topic.name for topic in content}
    topics = {name: own for name, own in split.index["topics"].items() if name in names}
    index = {**split.index, "topics": topics}
    count = sum(
        len(topic.asked) if isinstance(topic, ClsummTopic) else 1 for topic in content
    )
    return replace(split, content=content, index=index, instances=count)


def make_trivial_span_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRunFiles:
    """Return runs of task 1A that answer with the sentence at a fixed or a random
    position of each paper, and with the most frequent facet.
    """
    part = _select_topics(split, is_quick=is_quick)

    def make_run_of_sentence_ids(
        ids_of: Callable[[ClsummTopic], Sequence[str]],
    ) -> Files:
        return _write_citance_answers(
            part, lambda topic, _name: (ids_of(topic), [MAJORITY_FACET])
        )

    def make_run_of_constant_sentence(sid: str) -> Files:
        return make_run_of_sentence_ids(lambda _topic: [sid])

    def find_longest_sentence_id(topic: ClsummTopic) -> Sequence[str]:
        by_length = sorted(topic.sentences, key=lambda one: -len(one.text))
        return [one.sid for one in by_length[:1]]

    common = Counter(
        sid
        for topic in part.content
        for file in topic.files
        for citance in file.citances
        for sid in set(list_real_sentence_ids(citance))
    )
    return TrivialRunFiles(
        split=part,
        runs={
            FIRST_ITEM_RUN: make_run_of_sentence_ids(lambda topic: [*topic.order][:1]),
            LONGEST_ITEM_RUN: make_run_of_sentence_ids(find_longest_sentence_id),
        },
        constants={
            f"sentence {sid}": make_run_of_constant_sentence(sid)
            for sid, _count in common.most_common(MAX_CONSTANT_SENTENCE_ID_RUNS)
        },
        draws=[
            _write_citance_answers(
                part, _make_random_sentence_answer(draw, facets=(MAJORITY_FACET,))
            )
            for draw in range(RANDOM_RUN_DRAWS)
        ],
    )


def make_trivial_facet_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRunFiles:
    """Return runs of task 1B, with one facet for all citances or with random facets."""
    part = _select_topics(split, is_quick=is_quick)

    def get_first_sentence_ids(topic: ClsummTopic) -> Sequence[str]:
        return [*topic.order][:MAX_SENTENCES_PER_ANSWER]

    def make_run_of_constant_facet(facet: str) -> Files:
        return _write_citance_answers(
            part, lambda topic, _name: (get_first_sentence_ids(topic), [facet])
        )

    def make_random_facet_run(draw: int) -> Files:
        source = make_seeded_random(draw)
        return _write_citance_answers(
            part,
            lambda topic, _name: (
                get_first_sentence_ids(topic),
                [source.choice(FACETS)],
            ),
        )

    return TrivialRunFiles(
        split=part,
        constants={facet: make_run_of_constant_facet(facet) for facet in FACETS},
        draws=[make_random_facet_run(draw) for draw in range(RANDOM_RUN_DRAWS)],
    )


def _make_random_sentence_answer(
    draw: int, facets: Sequence[str]
) -> Callable[[ClsummTopic, CitanceName], SentenceIdsAndFacets]:
    source = make_seeded_random(draw)

    def draw_answer_to_citance(
        topic: ClsummTopic, _name: CitanceName
    ) -> SentenceIdsAndFacets:
        ids = [*topic.order]
        return ([source.choice(ids)] if ids else [], facets)

    return draw_answer_to_citance


def _write_citance_answers(
    split: Split, answer: Callable[[ClsummTopic, CitanceName], SentenceIdsAndFacets]
) -> Files:
    """Return a run that answers each citance whose reference paper is available."""

    def iterate_answer_lines() -> Iterator[Mapping[str, Any]]:
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

    return make_run_file(iterate_answer_lines(), split.reading)


def make_trivial_summary_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRunFiles:
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
            {
                "topic": topic.name,
                "summary": list(filter(None, cut_lines_at_word_limit(own))),
            }
            for topic, own in zip(topics, texts, strict=True)
        )
        return make_run_file(lines, split.reading)

    def make_random_summary_run(draw: int) -> Files:
        source = make_seeded_random(draw)
        return write_summary_run(
            source.sample(texts, len(texts))
            for texts in map(_list_sentence_texts, papers)
        )

    papers = [topic.sentences for topic in topics]
    if not topics:
        return TrivialRunFiles(split=part)
    return TrivialRunFiles(
        split=part,
        runs={
            FIRST_ITEM_RUN: write_summary_run(map(_list_sentence_texts, papers)),
            LONGEST_ITEM_RUN: write_summary_run(
                sorted(_list_sentence_texts(paper), key=len, reverse=True)
                for paper in papers
            ),
            INPUT_COPY_RUN: write_summary_run(
                [citance.text for citance in topic.citances] for topic in topics
            ),
        },
        draws=[make_random_summary_run(draw) for draw in range(RANDOM_RUN_DRAWS)],
    )


def _list_sentence_texts(sentences: Sequence[PaperSentence]) -> list[str]:
    return [sentence.text for sentence in sentences]
