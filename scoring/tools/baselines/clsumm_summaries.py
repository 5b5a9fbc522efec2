"""Summaries for task 2: MQ's three systems of the pilot, and the paper's first words.

Jaidka et al. 2014, section 5. Sentences are taken by score, those of under 50 characters passed over, as long
as they fit into the 250 words, and put back into the paper's order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from scoring.metrics.base import Floats
from scoring.tools.baselines.clsumm_spans import (
    CONTEXT,
    PILOT,
    SHORTEST,
    likeness,
    mmr,
    paper_alone,
    with_citing_papers,
)
from scoring.tools.baselines.tfidf import cosines, ranked
from tasks.types.baselines import Answer, Baseline
from tasks.types.clsumm.inputs import InputTopic, read_input_topics
from tasks.types.clsumm.summaryruns import MAX_WORDS
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem

Summarizer = Callable[[InputTopic], list[str]]


def lead(topic: InputTopic) -> list[str]:
    """The paper's first 250 words after its title, the last sentence cut."""
    sentences, left = [], MAX_WORDS
    for sentence in topic.sentences[1:]:
        words = sentence.text.split()[:left]
        left -= len(words)
        sentences.append(" ".join(words))
    return [sentence for sentence in sentences if sentence]


def mq_tfidf(topic: InputTopic) -> list[str]:
    """Sentences like the whole paper: the cosine with the sum of all."""
    vectors = likeness(topic, paper_alone).sentences
    return fitting(topic, cosines(vectors.sum(axis=0, keepdims=True), vectors)[0])


def mq_ranks(topic: InputTopic) -> list[str]:
    """Sentences that stand high in the ranks that task 1A makes for the citances by TF-IDF.

    Raises InputRefused for a topic without citances, as the next one does.
    """
    _require_citances(topic)
    return fitting(topic, _from_ranks([ranked(row) for row in likeness(topic, paper_alone).cosines], topic))


def mq_mmr_ranks(topic: InputTopic) -> list[str]:
    """The same with the ranks of MMR."""
    _require_citances(topic)
    own = likeness(topic, with_citing_papers, context=CONTEXT)
    return fitting(topic, _from_ranks(mmr(topic, own, len(topic.sentences)), topic))


def _require_citances(topic: InputTopic) -> None:
    if not topic.citances:
        message = f"topic {topic.name} has no citances, which this system goes by"
        raise InputRefused([Problem(message=message)])


def _from_ranks(ranks: Sequence[Sequence[int]], topic: InputTopic) -> Floats:
    """Each citance gives a sentence 1 less its rank's share of the paper; these are added up."""
    scores = np.zeros(len(topic.sentences))
    for own in ranks:
        scores[list(own)] += 1 - np.arange(len(own)) / len(topic.sentences)
    return scores


def fitting(topic: InputTopic, scores: Floats) -> list[str]:
    chosen: list[int] = []
    left = MAX_WORDS
    for place in ranked(scores):
        text = topic.sentences[place].text
        words = len(text.split())
        if len(text) >= SHORTEST and words <= left:
            chosen.append(place)
            left -= words
    return [topic.sentences[place].text for place in sorted(chosen)]


def summarised(topics: Sequence[InputTopic], summarize: Summarizer) -> Iterator[Answer]:
    for topic in topics:
        yield {"topic": topic.name, "summary": summarize(topic)}


def declared(name: str, summary: str, summarize: Summarizer, source: str = PILOT) -> Baseline:
    def answers(files: Sequence[InputFile]) -> Iterator[Answer]:
        topics = read_input_topics(files, {"annotation": "auto"}, with_papers_alone=True)
        return summarised(topics, summarize)

    return Baseline(name=name, summary=summary, source=source, answers=answers)


BASELINES = (
    declared("clsumm-lead", "The paper's first 250 words after its title.", lead, "A customary baseline"),
    declared("clsumm-mq-summary-tfidf", "MQ “TF.IDF”: the sentences most like the whole paper.", mq_tfidf),
    declared(
        "clsumm-mq-summary-ranks", "MQ “Task 1A TF.IDF”: sentences ranked high for many citances.", mq_ranks
    ),
    declared("clsumm-mq-summary-mmr", "MQ “Task 1A MMR”: the same with the ranks of MMR.", mq_mmr_ranks),
)
