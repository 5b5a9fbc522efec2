"""The pilot's systems to the letter, where those of the plain names differ from the paper's words.

Jaidka et al. 2014, section 5. MQ counts words in the citances too and passes over sentences of under 50
characters, also for topics and context; its TF.IDF summary takes the sentences whose weights add up to most;
clair_umich counts words in the reference paper's sentences alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, ratio
from scoring.metrics.meteor import reader as database_reader
from scoring.papers.clsumm_senses import sentence_likeness
from scoring.tools.baselines.clsumm import (
    CONTEXT,
    MQ_SENTENCES,
    PILOT,
    SHORTEST,
    THRESHOLDS,
    Choice,
    Counted,
    above,
    citance_sentences,
    declared,
    declared_summary,
    fitting,
    likeness,
    paper_alone,
    span_answer,
    with_citances,
    with_citing_papers,
)
from scoring.tools.baselines.clsumm_facets import CLASSIFIERS, declared_facets
from scoring.tools.baselines.clsumm_supervised import (
    NO_PARSER,
    PARSER,
    PASSED_OVER,
    Cited,
    chosen_wordnet,
    cited_sentences,
    learned,
)
from scoring.tools.baselines.tfidf import TfIdf, cosines, ranked, words
from tasks.types.base import Option, Options, checked_options
from tasks.types.baselines import Answer, Answering, Baseline
from tasks.types.clsumm.options import ANNOTATION
from tasks.types.clsumm.pairs import section_kind
from tasks.types.clsumm.topics import InputTopic, read_input_topics
from tasks.types.files import InputFile
from tasks.types.positional_citations.claims import Parse
from tasks.types.positional_citations.parsing import pipeline_name, pipeline_parses

SWEEP = "clair_umich's TF-IDF to the letter"


def of_long_sentences(counted: Counted, *, context: int = 0) -> Choice:
    """The three sentences of 50 characters or more that are most like the citance."""

    def choose(topic: InputTopic) -> list[list[int]]:
        is_long = [len(sentence.text) >= SHORTEST for sentence in topic.sentences]
        rows = likeness(topic, counted, context=context).cosines
        return [[place for place in ranked(row) if is_long[place]][:MQ_SENTENCES] for row in rows]

    return choose


def summary_by_weights(topic: InputTopic) -> list[str]:
    weights: Floats = likeness(topic, paper_alone).sentences.sum(axis=1)
    return fitting(topic, weights)


SPANS = (
    declared(
        "clsumm-mq-tfidf-literal",
        "MQ “TF.IDF” to the letter: IDF also from the citances, short sentences passed over.",
        of_long_sentences(with_citances),
    ),
    declared(
        "clsumm-mq-topics-literal",
        "MQ “topics” to the letter: short sentences passed over.",
        of_long_sentences(with_citing_papers),
    ),
    declared(
        "clsumm-mq-context-literal",
        "MQ “context” to the letter: short sentences passed over.",
        of_long_sentences(with_citing_papers, context=CONTEXT),
    ),
    *(
        declared(
            f"clsumm-umich-{threshold}-literal",
            f"clair_umich to the letter: cosines above {threshold}, IDF from the paper's sentences alone.",
            above(threshold, paper_alone),
            sweep=SWEEP,
            at=threshold,
        )
        for threshold in THRESHOLDS
    ),
)
SUMMARIES = (
    declared_summary(
        "clsumm-mq-summary-tfidf-literal",
        "MQ “TF.IDF” to the letter: the sentences whose TF-IDF weights add up to most.",
        summary_by_weights,
    ),
)


TALN_NAME = "clsumm-taln-literal"
NUMBERS = (1, 2, 3, 4, 5)
TALN_SWEEP = "TALN.UPF to the letter"
Shares = Mapping[str, float]


def section_shares(topics: Sequence[InputTopic], cited: Cited) -> Shares:
    """By kind of section, the share of the gold's sentences that stand there; of no gold nothing."""
    counts: Counter[str] = Counter()
    for topic in topics:
        kinds = {sentence.sid: section_kind(sentence.section) for sentence in topic.sentences}
        for sids in cited.get(topic.name, {}).values():
            counts.update(kinds[sid] for sid in sids if sid in kinds)
    return {kind: count / counts.total() for kind, count in counts.items()}


def weighted_by(shares: Shares, count: int) -> Choice:
    """So many sentences with the best scores; where no gold teaches a share, all sections weigh the same."""

    def choose(topic: InputTopic) -> list[list[int]]:
        weights = TfIdf(with_citing_papers(topic), is_plain=True)
        vectors = weights.vectors([sentence.text for sentence in topic.sentences])
        kinds = [section_kind(sentence.section) for sentence in topic.sentences]
        factors = np.array([shares.get(kind, 0.0) if shares else 1.0 for kind in kinds])
        contexts = (weights.vectors(citance_sentences(topic, citance)) for citance in topic.citances)
        return [ranked(cosines(row, vectors).sum(axis=0) * factors)[:count] for row in contexts]

    return choose


def taln_answers(files: Sequence[InputFile], values: Options, *, count: int) -> Iterator[Answer]:
    options = checked_options(TALN_NAME, (ANNOTATION,), values)
    topics = read_input_topics(files, options)
    cited = cited_sentences(files, options[ANNOTATION.name])
    for topic in topics:
        choose = weighted_by(section_shares([other for other in topics if other is not topic], cited), count)
        for citance, places in zip(topic.citances, choose(topic), strict=True):
            yield span_answer(topic, citance, places)


def _answering(count: int, options: Options) -> Answering:
    return partial(taln_answers, values=options, count=count)


def _declared(count: int) -> Baseline:
    taken = "sentence" if count == 1 else f"{count} sentences"
    return Baseline(
        name=TALN_NAME if count == MQ_SENTENCES else f"{TALN_NAME}-top{count}",
        summary=f"TALN.UPF to the letter: {taken}; a section weighs its share of the other topics' gold.",
        source=PILOT,
        answers=_answering(count, {}),
        learns_from_gold=True,
        options=(ANNOTATION,),
        configured=partial(_answering, count),
        sweep=TALN_SWEEP,
        at=count,
        swept="sentences",
    )


TALN = tuple(_declared(count) for count in NUMBERS)


SUPERVISED = "clsumm-umich-supervised-literal"
WORDNET = Option(
    name="wordnet",
    default="auto",
    summary="A folder with the database of WordNet, such as /usr/share/wordnet; `auto` takes NLTK's where it "
    "is installed, `no` does without.",
)
OPTIONS = (ANNOTATION, WORDNET, PARSER)
#: Relation, lemma of the head, lemma of the dependent.
Dependency = tuple[str, str, str]


def wordnet_reader(option: str) -> Any | None:
    if option in ("auto", "no"):
        return chosen_wordnet(option)
    return database_reader(Path(option))


def features(topic: InputTopic, options: Options) -> Floats:
    """(citances, sentences, features) for one topic. Raises Unavailable."""
    texts = [citance.text for citance in topic.citances]
    others = [sentence.text for sentence in topic.sentences]
    citances, sentences = list(map(words, texts)), list(map(words, others))
    wordnet = wordnet_reader(options[WORDNET.name])
    parts = [likeness(topic, paper_alone).cosines[..., np.newaxis], subsequences(citances, sentences)]
    if wordnet:
        parts.append(sentence_likeness(citances, sentences, wordnet))
    if (parser := options[PARSER.name]) != NO_PARSER:
        parts.append(
            dependency_overlap(pipeline_parses(texts, parser), pipeline_parses(others, parser), wordnet)
        )
    return np.concatenate(parts, axis=2)


def subsequences(citances: Sequence[Sequence[str]], sentences: Sequence[Sequence[str]]) -> Floats:
    """(citances, sentences, 1): the longest common subsequence of words by the shorter text's length."""
    from rapidfuzz import process
    from rapidfuzz.distance import LCSseq

    common = process.cdist(citances, sentences, scorer=LCSseq.similarity, dtype=np.float64)
    lengths = (np.array([len(text) for text in side], float) for side in (citances, sentences))
    return ratio(common, np.minimum.outer(*lengths))[..., np.newaxis]


def dependency_overlap(citances: Sequence[Parse], sentences: Sequence[Parse], wordnet: Any | None) -> Floats:
    """(citances, sentences, 1): ``2 |common| * |Rc||Rr| / (|Rc| + |Rr|)``, of two sets of dependencies."""
    first, second = ([dependencies(parse, wordnet) for parse in side] for side in (citances, sentences))
    common = np.array([[len(one & other) for other in second] for one in first], float)
    counts = [np.array([len(one) for one in side], float) for side in (first, second)]
    by_counts = ratio(np.outer(*counts), np.add.outer(*counts))
    return np.asarray(2 * common.reshape(by_counts.shape) * by_counts)[..., np.newaxis]


def dependencies(parse: Parse, wordnet: Any | None) -> set[Dependency]:
    """With the lemmas that WordNet knows; a word that it does not have, or without it, as it stands."""
    words = [token.lower() for token in parse.tokens]
    lemmas = [(wordnet and wordnet.morphy(word)) or word for word in words]
    return {
        (relation, lemmas[head], lemma)
        for lemma, head, relation in zip(lemmas, parse.heads, parse.relations, strict=True)
        if relation not in PASSED_OVER
    }


def features_used(options: Options) -> str:
    used = ["TF-IDF", "longest common subsequence"]
    wordnet = wordnet_reader(options[WORDNET.name])
    if wordnet:
        used.append(f"six measures over WordNet {wordnet.get_version()}")
    if options[PARSER.name] != NO_PARSER:
        used.append(f"dependencies by {pipeline_name(options[PARSER.name])}")
    return f"Its features: {', '.join(used)}."


def supervised_answers(files: Sequence[InputFile], values: Options) -> Iterator[Answer]:
    options = checked_options(SUPERVISED, OPTIONS, values)
    return learned(files, options[ANNOTATION.name], partial(features, options=options))


LITERAL_SUPERVISED = (
    Baseline(
        name=SUPERVISED,
        summary="clair_umich supervised to the letter: the paper's nine features by its formulas, trained on "
        "the other topics.",
        source=PILOT,
        answers=partial(supervised_answers, values={}),
        learns_from_gold=True,
        options=OPTIONS,
        configured=lambda options: partial(supervised_answers, values=options),
        rests_on=features_used,
    ),
)
BASELINES = (*SPANS, *TALN, *LITERAL_SUPERVISED)
FACETS = tuple(declared_facets(classifier, is_literal=True) for classifier in CLASSIFIERS)
