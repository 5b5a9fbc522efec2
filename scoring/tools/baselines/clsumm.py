"""Implement the pilot's systems for task 1A, which find the sentences of a reference
paper that a citance refers to by the words in common.

Section 5 of the paper (Jaidka et al., 2014) describes the systems MQ, clair_umich and
TALN.UPF. Comments in this module explain decisions about details that the paper does
not specify.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from scoring.metrics.base import Floats
from scoring.tools.baselines.tfidf import TfIdfVectors, compute_cosines, rank_positions
from tasks.types import Split
from tasks.types.base import Options
from tasks.types.baselines import Answer, Baseline
from tasks.types.clsumm.citances import MAJORITY_FACET
from tasks.types.clsumm.options import ANNOTATION_OPTION
from tasks.types.clsumm.pairs import classify_section
from tasks.types.clsumm.summaries import (
    MAX_SUMMARY_WORDS,
    SummaryTopic,
    cut_lines_at_word_limit,
)
from tasks.types.clsumm.topics import (
    ClsummTopic,
    InputCitance,
    InputTopic,
    read_input_topics,
)
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem

PILOT_TASK_SOURCE = (
    "Jaidka et al. 2014, The Computational Linguistics Summarization Pilot Task, TAC"
)
MQ_SENTENCES = 3
#: Sentences with fewer characters are skipped by maximal marginal relevance.
MIN_SENTENCE_LENGTH = 50
CONTEXT_SENTENCES = 20
MMR_LAMBDA = 0.97
#: Weights of sentences in sections that usually summarise the paper.
#: The weight of a title is always 1, whatever its section.
SECTION_WEIGHTS = {"Abstract": 2.0, "Introduction": 2.0, "Conclusion": 2.0}
COSINE_THRESHOLDS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)

TopicOfAnyTask = ClsummTopic | SummaryTopic
SelectSentences = Callable[[InputTopic], list[list[int]]]
#: Returns the texts of a topic from which document frequencies are computed.
ListFrequencyTexts = Callable[[InputTopic], list[str]]


@dataclass(frozen=True)
class CitanceSimilarity:
    sentences: Floats
    citances: Floats

    @property
    def cosine_matrix(self) -> Floats:
        return compute_cosines(self.citances, self.sentences)


def list_paper_sentences(topic: InputTopic) -> list[str]:
    return [sentence.text for sentence in topic.sentences]


def list_paper_and_citances(topic: InputTopic) -> list[str]:
    return [*list_paper_sentences(topic), *(citance.text for citance in topic.citances)]


def list_paper_and_citing_papers(topic: InputTopic) -> list[str]:
    return [
        *list_paper_sentences(topic),
        *(one.text for paper in topic.papers.values() for one in paper),
    ]


def compute_similarity(
    topic: InputTopic, counted: ListFrequencyTexts, *, context: int = 0
) -> CitanceSimilarity:
    """Return the cosines between TF-IDF vectors of citances and of sentences, with
    document frequencies from the texts that ``counted`` returns.

    To the vector of each sentence, the function adds the vectors of ``context``
    neighbouring sentences, half of them before and half after the sentence.
    """
    weights = TfIdfVectors(counted(topic), is_plain=True)
    sentences = weights.transform_dense(list_paper_sentences(topic))
    if reach := context // 2:
        sums = np.vstack([np.zeros(sentences.shape[1]), np.cumsum(sentences, axis=0)])
        places = np.arange(len(sentences))
        starts, ends = (
            np.maximum(places - reach, 0),
            np.minimum(places + reach + 1, len(sentences)),
        )
        sentences = np.asarray(sums[ends] - sums[starts])
    return CitanceSimilarity(
        sentences, weights.transform_dense([citance.text for citance in topic.citances])
    )


def make_similarity_ranker(
    counted: ListFrequencyTexts,
    *,
    context: int = 0,
    count: int | None = MQ_SENTENCES,
    shortest: int = 0,
) -> SelectSentences:
    """Return a system that selects the ``count`` most similar sentences for each
    citance. If ``count`` is None, the system selects all sentences.

    The system skips sentences with fewer than ``shortest`` characters.
    """

    def select_sentences(topic: InputTopic) -> list[list[int]]:
        rows = compute_similarity(topic, counted, context=context).cosine_matrix
        return [
            _skip_short_sentences(topic, rank_positions(row), shortest)[:count]
            for row in rows
        ]

    return select_sentences


def _skip_short_sentences(
    topic: InputTopic, places: Sequence[int], shortest: int = MIN_SENTENCE_LENGTH
) -> list[int]:
    return [place for place in places if len(topic.sentences[place].text) >= shortest]


select_by_mq_tfidf, select_by_mq_topics = (
    make_similarity_ranker(list_paper_sentences),
    make_similarity_ranker(list_paper_and_citing_papers),
)
select_by_mq_context = make_similarity_ranker(
    list_paper_and_citing_papers, context=CONTEXT_SENTENCES
)


def select_by_marginal_relevance(
    topic: InputTopic, count: int = MQ_SENTENCES
) -> list[list[int]]:
    """Select sentences by maximal marginal relevance (Carbonell and Goldstein 1998).

    Each step selects a sentence that is similar to the citance and its context, and
    dissimilar to the sentences that were already selected. Short sentences are skipped.
    """
    near = compute_similarity(
        topic, list_paper_and_citing_papers, context=CONTEXT_SENTENCES
    )
    left = np.array(
        _skip_short_sentences(topic, range(len(topic.sentences))), dtype=np.intp
    )
    alike = compute_cosines(near.sentences[left], near.sentences[left])
    scores = near.cosine_matrix[:, left]
    rows = np.arange(len(scores))
    # Each iteration selects the next sentence for every citance.
    worst, picked = np.zeros_like(scores), np.zeros(scores.shape, dtype=bool)
    picks = []
    for _ in range(min(count, len(left))):
        merits = np.where(
            picked,
            -np.inf,
            np.round(MMR_LAMBDA * scores - (1 - MMR_LAMBDA) * worst, 12),
        )
        pick = merits.argmax(axis=1)
        picks.append(left[pick])
        picked[rows, pick] = True
        np.maximum(worst, alike[pick], out=worst)
    return np.array(picks, dtype=np.intp).reshape(-1, len(scores)).T.tolist()


def make_threshold_selector(
    threshold: float, counted: ListFrequencyTexts = list_paper_and_citances
) -> SelectSentences:
    """Return the unsupervised system of clair_umich, which selects all sentences whose
    cosine with the citance exceeds the threshold.
    """
    return lambda topic: [
        np.flatnonzero(row > threshold).tolist()
        for row in compute_similarity(topic, counted).cosine_matrix
    ]


def rank_by_citation_context(topic: InputTopic) -> list[list[int]]:
    """Rank sentences by their similarity to the context of the citation, weighted by
    the kind of section.

    The context consists of the citance's sentences in the citing paper and one more
    sentence on each side. The similarity is the sum of the cosines between the sentence
    and each sentence of the context. If the text of the citing paper is missing, only
    the citance is used.
    """
    contexts = [
        find_citance_sentences(topic, citance, around=1) for citance in topic.citances
    ]
    sentences = list_paper_sentences(topic)
    weights = TfIdfVectors(
        [*sentences, *(text for texts in contexts for text in texts)], is_plain=True
    )
    vectors = weights.transform_dense(sentences)
    factors = np.array(
        [SECTION_WEIGHTS.get(classify_section(s.section), 1.0) for s in topic.sentences]
    )
    scores = [
        compute_cosines(weights.transform_dense(texts), vectors).sum(axis=0) * factors
        for texts in contexts
    ]
    return [
        _skip_short_sentences(topic, rank_positions(row))[:MQ_SENTENCES]
        for row in scores
    ]


def find_citance_sentences(
    topic: InputTopic, citance: InputCitance, *, around: int = 0
) -> list[str]:
    """Return the sentences of the citing paper that form the citance, with ``around``
    more sentences on each side.

    If the text of the citing paper is missing, return the text of the citance.
    """
    paper = topic.get_sentences_of_citing_paper(citance)
    places = [
        index for index, sentence in enumerate(paper) if sentence.sid in citance.offsets
    ]
    if not places:
        return [citance.text]
    return [
        sentence.text
        for sentence in paper[max(0, min(places) - around) : max(places) + around + 1]
    ]


def iterate_span_answers(
    topics: Sequence[InputTopic], choose: SelectSentences
) -> Iterator[Answer]:
    for topic in topics:
        for citance, places in zip(topic.citances, choose(topic), strict=True):
            yield make_span_answer(topic, citance, places)


def make_span_answer(
    topic: InputTopic,
    citance: InputCitance,
    places: Sequence[int],
    facet: str = MAJORITY_FACET,
) -> Answer:
    citing, marker, number = (
        citance.name.citing,
        citance.name.marker,
        citance.name.number,
    )
    named = {"topic": topic.name, "citing": citing, "marker": marker, "citance": number}
    return {
        **named,
        "sentences": [topic.sentences[place].sid for place in places],
        "facets": [facet],
    }


def list_annotators(topic: TopicOfAnyTask) -> list[str]:
    files = (
        topic.list_reference_texts_of_kind("human")
        if isinstance(topic, SummaryTopic)
        else topic.files
    )
    return [file.annotator for file in files]


def select_multiply_annotated_topics(split: Split) -> list[TopicOfAnyTask]:
    return [topic for topic in split.content if len(set(list_annotators(topic))) > 1]


def make_span_baseline(
    name: str, summary: str, choose: SelectSentences, **facts: Any
) -> Baseline:
    return _make_topic_baseline(
        name, summary, lambda topics: iterate_span_answers(topics, choose), **facts
    )


#: Declares a baseline that answers each topic with the gold of all other topics.
make_learning_baseline = partial(
    Baseline.of, source=PILOT_TASK_SOURCE, learns_from_gold=True
)


def _make_topic_baseline(
    name: str,
    summary: str,
    answer: Callable[[Sequence[InputTopic]], Iterator[Answer]],
    *,
    source: str = PILOT_TASK_SOURCE,
    with_papers_alone: bool = False,
    **facts: Any,
) -> Baseline:
    def answer_files(files: Sequence[InputFile], options: Options) -> Iterator[Answer]:
        return answer(
            read_input_topics(files, options, with_papers_alone=with_papers_alone)
        )

    return Baseline.of(
        answer_files,
        name=name,
        summary=summary,
        source=source,
        options=(ANNOTATION_OPTION,),
        **facts,
    )


BASELINES = (
    *(
        make_span_baseline(
            f"clsumm-tfidf-top{count}",
            f"The {f'{count} sentences' if count > 1 else 'sentence'} most like the citance by TF-IDF.",
            make_similarity_ranker(list_paper_and_citances, count=count),
        )
        for count in (1, 2, 3, 5)
    ),
    make_span_baseline(
        "clsumm-mq-tfidf",
        "MQ “TF.IDF”: the three sentences most like the citance; IDF from the paper alone.",
        select_by_mq_tfidf,
    ),
    make_span_baseline(
        "clsumm-mq-topics",
        "MQ “topics”: IDF also from the citing papers.",
        select_by_mq_topics,
    ),
    make_span_baseline(
        "clsumm-mq-context",
        "MQ “context”: each sentence with 20 around it.",
        select_by_mq_context,
    ),
    make_span_baseline(
        "clsumm-mq-mmr",
        "MQ “MMR”: the ranks of “context”, diversified.",
        select_by_marginal_relevance,
    ),
    make_span_baseline(
        "clsumm-taln",
        "TALN.UPF: cosines with the citation's context, weighted by section.",
        rank_by_citation_context,
    ),
    *(
        make_span_baseline(
            f"clsumm-umich-{threshold}",
            f"clair_umich: every sentence with a cosine above {threshold}.",
            make_threshold_selector(threshold),
            sweep="clair_umich's TF-IDF",
            at=threshold,
        )
        for threshold in COSINE_THRESHOLDS
    ),
)

SummariseTopic = Callable[[InputTopic], list[str]]


def take_first_words(topic: InputTopic) -> list[str]:
    """Return the first 250 words of the reference paper after its title. The summary
    may end within a sentence.
    """
    return list(
        filter(
            None,
            cut_lines_at_word_limit(sentence.text for sentence in topic.sentences[1:]),
        )
    )


def summarize_by_tfidf(topic: InputTopic) -> list[str]:
    vectors = compute_similarity(topic, list_paper_sentences).sentences
    return select_sentences_within_limit(
        topic, compute_cosines(vectors.sum(axis=0, keepdims=True), vectors)[0]
    )


def make_rank_summarizer(rank: SelectSentences) -> SummariseTopic:
    """Return a system for task 2 that selects the sentences that a system for task 1A
    ranks highest.

    The system raises InputRefused for a topic without citances.
    """

    def summarize(topic: InputTopic) -> list[str]:
        if not topic.citances:
            message = f"topic {topic.name} has no citances, which this system goes by"
            raise InputRefused([Problem(message=message)])
        scores = np.zeros(len(topic.sentences))
        for order in rank(topic):
            scores[order] += 1 - np.arange(len(order)) / len(topic.sentences)
        return select_sentences_within_limit(topic, scores)

    return summarize


summarise_by_mq_ranks = make_rank_summarizer(
    make_similarity_ranker(list_paper_sentences, count=None)
)
summarise_by_mq_mmr_ranks = make_rank_summarizer(
    lambda topic: select_by_marginal_relevance(topic, len(topic.sentences))
)


def select_sentences_within_limit(topic: InputTopic, scores: Floats) -> list[str]:
    chosen: list[int] = []
    left = MAX_SUMMARY_WORDS
    for place in rank_positions(scores):
        text = topic.sentences[place].text
        words = len(text.split())
        if len(text) >= MIN_SENTENCE_LENGTH and words <= left:
            chosen.append(place)
            left -= words
    return [topic.sentences[place].text for place in sorted(chosen)]


def make_summary_baseline(
    name: str, summary: str, summarize: SummariseTopic, source: str = PILOT_TASK_SOURCE
) -> Baseline:
    def answer_topics(topics: Sequence[InputTopic]) -> Iterator[Answer]:
        return ({"topic": topic.name, "summary": summarize(topic)} for topic in topics)

    return _make_topic_baseline(
        name, summary, answer_topics, source=source, with_papers_alone=True
    )


SUMMARIES = (
    make_summary_baseline(
        "clsumm-lead",
        "The paper's first 250 words after its title.",
        take_first_words,
        "A customary baseline",
    ),
    make_summary_baseline(
        "clsumm-mq-summary-tfidf",
        "MQ “TF.IDF”: the sentences most like the whole paper.",
        summarize_by_tfidf,
    ),
    make_summary_baseline(
        "clsumm-mq-summary-ranks",
        "MQ “Task 1A TF.IDF”: sentences ranked high for many citances.",
        summarise_by_mq_ranks,
    ),
    make_summary_baseline(
        "clsumm-mq-summary-mmr",
        "MQ “Task 1A MMR”: the same with the ranks of MMR.",
        summarise_by_mq_mmr_ranks,
    ),
)
