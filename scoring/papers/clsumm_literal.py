"""Declare the systems of the CL-Summ pilot exactly as the paper describes them. The
built-in systems, whose names have no suffix, deviate from the paper's text.

Section 5 of the paper (Jaidka et al., 2014) describes the systems. The system MQ
computes document frequencies from sentences and citances, and skips sentences with
fewer than 50 characters. The TF-IDF summary of MQ consists of the sentences with the
largest sum of TF-IDF weights. The system clair_umich computes document frequencies only
from the sentences of the reference paper. The system TALN.UPF computes the IDF over
whole papers, and the weights of sections over the gold of all topics, including the
topic that the system answers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from scoring.metrics.base import Floats, divide_or_zero
from scoring.tools.baselines import clsumm, clsumm_supervised
from scoring.tools.baselines.clsumm_facets import CLASSIFIER_NAMES, make_facet_baseline
from scoring.tools.baselines.tfidf import (
    TfIdfVectors,
    compute_cosines,
    rank_positions,
    split_into_ascii_words,
)
from tasks.types.base import Options
from tasks.types.baselines import Answer, Baseline
from tasks.types.clsumm.options import ANNOTATION_OPTION
from tasks.types.clsumm.pairs import classify_section
from tasks.types.clsumm.topics import InputTopic, read_input_topics
from tasks.types.files import InputFile

#: Selects the three most similar sentences that have at least 50 characters.
make_long_sentence_ranker = partial(
    clsumm.make_similarity_ranker, shortest=clsumm.MIN_SENTENCE_LENGTH
)


def summarise_by_weights(topic: InputTopic) -> list[str]:
    return clsumm.select_sentences_within_limit(
        topic,
        clsumm.compute_similarity(topic, clsumm.list_paper_sentences).sentences.sum(
            axis=1
        ),
    )


SPAN_BASELINES = (
    clsumm.make_span_baseline(
        "clsumm-mq-tfidf-literal",
        "MQ “TF.IDF” to the letter: IDF also from the citances, short sentences ignored.",
        make_long_sentence_ranker(clsumm.list_paper_and_citances),
    ),
    clsumm.make_span_baseline(
        "clsumm-mq-topics-literal",
        "MQ “topics” to the letter: short sentences ignored.",
        make_long_sentence_ranker(clsumm.list_paper_and_citing_papers),
    ),
    clsumm.make_span_baseline(
        "clsumm-mq-context-literal",
        "MQ “context” to the letter: short sentences ignored.",
        make_long_sentence_ranker(
            clsumm.list_paper_and_citing_papers, context=clsumm.CONTEXT_SENTENCES
        ),
    ),
    clsumm.make_span_baseline(
        "clsumm-mq-mmr-literal",
        "MQ “MMR” to the letter: short sentences ignored.",
        clsumm.select_by_marginal_relevance,
    ),
    *(
        clsumm.make_span_baseline(
            f"clsumm-umich-{threshold}-literal",
            f"clair_umich to the letter: cosines above {threshold}, IDF from the paper's sentences alone.",
            clsumm.make_threshold_selector(threshold, clsumm.list_paper_sentences),
            sweep="clair_umich's TF-IDF to the letter",
            at=threshold,
        )
        for threshold in clsumm.COSINE_THRESHOLDS
    ),
)
SUMMARIES = (
    clsumm.make_summary_baseline(
        "clsumm-mq-summary-tfidf-literal",
        "MQ “TF.IDF” to the letter: the sentences whose TF-IDF weights add up to most.",
        summarise_by_weights,
    ),
)

TALN_BASELINE_NAME = "clsumm-taln-literal"
ShareBySectionKind = Mapping[str, float]


def compute_section_shares(
    topics: Sequence[InputTopic], cited: clsumm_supervised.CitedSentencesByTopic
) -> ShareBySectionKind:
    """Return the fraction of gold sentences in each kind of section, or an empty
    mapping if no topic has gold.
    """
    counts: Counter[str] = Counter()
    for topic in topics:
        kinds = {
            sentence.sid: classify_section(sentence.section)
            for sentence in topic.sentences
        }
        for sids in cited.get(topic.name, {}).values():
            counts.update(kinds[sid] for sid in sids if sid in kinds)
    return {kind: count / counts.total() for kind, count in counts.items()}


def list_whole_papers(topic: InputTopic) -> list[str]:
    """Return the full texts of the reference paper and of each citing paper, from which
    TALN.UPF computes the IDF.

    If the text of a citing paper is missing, return the paper's citances instead.
    """
    cited = defaultdict[str, list[str]](list)
    for citance in topic.citances:
        if not topic.get_sentences_of_citing_paper(citance):
            cited[citance.name.citing].append(citance.text)
    papers = [[sentence.text for sentence in paper] for paper in topic.papers.values()]
    texts = [clsumm.list_paper_sentences(topic), *papers, *cited.values()]
    return [" ".join(sentences) for sentences in texts]


def choose_from_commonest_section(
    equal: Sequence[int], sections: Sequence[str], places: Sequence[int]
) -> int:
    """Among sentences with equal scores, return the sentence to select next.

    The function prefers sections from which more sentences were selected, and then
    earlier sentences.
    """
    here = Counter(sections[place] for place in places)
    return max(equal, key=lambda place: (here[sections[place]], -place))


def make_weighted_selector(
    shares: ShareBySectionKind, count: int
) -> clsumm.SelectSentences:
    """Return a function that selects the sentences with the best scores, weighted by
    section.

    If no topic has gold, all sections have the same weight.
    """

    def select_sentences(scores: Floats, sections: Sequence[str]) -> list[int]:
        rounded, places, left = (
            np.round(scores, 12),
            list[int](),
            rank_positions(scores),
        )
        while left and len(places) < count:
            equal = [place for place in left if rounded[place] == rounded[left[0]]]
            places.append(choose_from_commonest_section(equal, sections, places))
            left.remove(places[-1])
        return places

    def select_for_topic(topic: InputTopic) -> list[list[int]]:
        weights = TfIdfVectors(list_whole_papers(topic), is_plain=True)
        vectors = weights.transform_dense(
            [sentence.text for sentence in topic.sentences]
        )
        kinds = [classify_section(sentence.section) for sentence in topic.sentences]
        factors = np.array([shares.get(kind, 0.0) if shares else 1.0 for kind in kinds])
        contexts = (
            weights.transform_dense(clsumm.find_citance_sentences(topic, citance))
            for citance in topic.citances
        )
        sections = [sentence.section for sentence in topic.sentences]
        return [
            select_sentences(
                compute_cosines(row, vectors).sum(axis=0) * factors, sections
            )
            for row in contexts
        ]

    return select_for_topic


def iterate_taln_answers(
    files: Sequence[InputFile], options: Options, *, count: int
) -> Iterator[Answer]:
    """Answer each topic with section weights that are computed from the gold of all
    topics. As in the paper, the gold of all topics includes the gold of the answered
    topic.
    """
    topics = read_input_topics(files, options)
    cited = clsumm_supervised.read_cited_sentences(
        files, options[ANNOTATION_OPTION.name]
    )
    choose = make_weighted_selector(compute_section_shares(topics, cited), count)
    yield from clsumm.iterate_span_answers(topics, choose)


def _make_taln_baseline(count: int) -> Baseline:
    taken = "sentence" if count == 1 else f"{count} sentences"
    return clsumm.make_learning_baseline(
        partial(iterate_taln_answers, count=count),
        name=TALN_BASELINE_NAME
        if count == clsumm.MQ_SENTENCES
        else f"{TALN_BASELINE_NAME}-top{count}",
        summary=f"TALN.UPF to the letter: {taken}; a section weighs its share of all topics' gold.",
        options=(ANNOTATION_OPTION,),
        sweep="TALN.UPF to the letter",
        at=count,
        swept="sentences",
    )


TALN_BASELINES = tuple(_make_taln_baseline(count) for count in range(1, 6))


def compute_literal_features(topic: InputTopic, options: Options) -> Floats:
    """Return the features of each pair of a citance and a sentence, with the shape
    (citances, sentences, features). Raises Unavailable.
    """
    texts = [
        [split_into_ascii_words(part.text) for part in side]
        for side in (topic.citances, topic.sentences)
    ]
    lengths = ([len(text) for text in side] for side in texts)
    parts = [
        clsumm.compute_similarity(topic, clsumm.list_paper_sentences).cosine_matrix,
        divide_or_zero(
            clsumm_supervised.compute_common_subsequence_lengths(*texts),
            np.minimum.outer(*lengths),
        ),
    ]
    of_data = clsumm_supervised.iterate_optional_features(topic, options)
    return np.concatenate([np.stack(parts, axis=2), *of_data], axis=2)


describe_literal_features = partial(
    clsumm_supervised.describe_used_features,
    always="TF-IDF, longest common subsequence",
)
LITERAL_SUPERVISED_BASELINE = clsumm_supervised.make_supervised_baseline(
    partial(
        clsumm_supervised.iterate_learned_answers, features=compute_literal_features
    ),
    name="clsumm-umich-supervised-literal",
    summary="clair_umich supervised to the letter: the paper's nine features by its formulas, trained on the "
    "other topics.",
    rests_on=describe_literal_features,
)
BASELINES = (*SPAN_BASELINES, *TALN_BASELINES, LITERAL_SUPERVISED_BASELINE)
FACETS = tuple(
    make_facet_baseline(classifier, is_literal=True) for classifier in CLASSIFIER_NAMES
)
