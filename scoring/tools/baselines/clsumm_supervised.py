"""clair_umich's supervised system of the pilot, with as many of its features as there are data for.

Jaidka et al. 2014, section 5: a classifier over pairs of citance and reference sentence, from TF-IDF, longest
common subsequences, likeness in WordNet and common dependencies. The first two always count here, with the
words in common and the sentence's place; WordNet where it is installed, dependencies where a parser is named.
It is trained on the gold of all topics but the one that it answers.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, ratio
from scoring.tools.baselines.clsumm import PILOT, span_answer, with_citances
from scoring.tools.baselines.tfidf import TfIdf, cosines, ranked, words
from tasks.types.base import Option, Options, checked_options
from tasks.types.baselines import Answer, Baseline
from tasks.types.clsumm.citances import CitanceName
from tasks.types.clsumm.options import ANNOTATION
from tasks.types.clsumm.topics import InputTopic, read_input_topics, read_topics
from tasks.types.files import InputFile
from tasks.types.positional_citations.claims import ROOT, Parse
from tasks.types.positional_citations.parsing import pipeline_name, pipeline_parses
from tasks.types.unavailable import Unavailable

NAME = "clsumm-umich-supervised"
SENTENCES = 2
WORDNET = Option(
    name="wordnet",
    default="auto",
    summary="Likeness in WordNet as a feature: `auto` where NLTK has its data, `yes` or `no`.",
    choices=("auto", "yes", "no"),
)
NO_PARSER = "none"
PARSER = Option(
    name="parser",
    default=NO_PARSER,
    summary="The spaCy pipeline, by name or folder, whose dependencies are a feature; `none` does without.",
)
OPTIONS = (ANNOTATION, WORDNET, PARSER)
Cited = dict[str, dict[CitanceName, set[str]]]


def features(topic: InputTopic, options: Options) -> Floats:
    """(citances, sentences, features) for one topic. Raises Unavailable."""
    weights = TfIdf(with_citances(topic), is_plain=True)
    texts = [citance.text for citance in topic.citances], [sentence.text for sentence in topic.sentences]
    citances, sentences = map(weights.vectors, texts)
    parts = [_features_of_words(topic, cosines(citances, sentences))]
    if wordnet := chosen_wordnet(options[WORDNET.name]):
        parts.append(text_likeness(citances, sentences, weights.vocabulary, wordnet))
    if options[PARSER.name] != NO_PARSER:
        parts.append(common_dependencies(*texts, options[PARSER.name]))
    return np.concatenate(parts, axis=2)


def features_used(options: Options) -> str:
    used = ["TF-IDF", "common subsequences", "common words", "place"]
    if wordnet := chosen_wordnet(options[WORDNET.name]):
        used.append(f"WordNet {wordnet.get_version()}")
    if options[PARSER.name] != NO_PARSER:
        used.append(f"dependencies by {pipeline_name(options[PARSER.name])}")
    return f"Its features: {', '.join(used)}."


def features_missing(options: Options) -> str:
    missing = [
        *([] if chosen_wordnet(options[WORDNET.name]) else ["WordNet"]),
        *(["a parser"] if options[PARSER.name] == NO_PARSER else []),
    ]
    return f"without the features that need {' or '.join(missing)}" if missing else ""


def _features_of_words(topic: InputTopic, cosines: Floats) -> Floats:
    from rapidfuzz import process
    from rapidfuzz.distance import LCSseq

    citances = [words(citance.text) for citance in topic.citances]
    sentences = [words(sentence.text) for sentence in topic.sentences]
    common = process.cdist(citances, sentences, scorer=LCSseq.similarity, dtype=np.float64)
    shared = np.array([[len(set(c) & set(s)) for s in sentences] for c in citances], dtype=np.float64)
    lengths = np.array([[len(c)] for c in citances]), np.array([[len(s) for s in sentences]])
    place = np.broadcast_to(np.linspace(0, 1, len(sentences)), cosines.shape)
    is_title = np.broadcast_to(np.arange(len(sentences)) == 0, cosines.shape)
    ranks = np.argsort(np.argsort(-np.round(cosines, 12), axis=1, kind="stable"), axis=1)
    return np.stack(
        [
            cosines,
            ratio(common, lengths[0]),
            ratio(common, lengths[1]),
            ratio(shared, lengths[0]),
            ratio(shared, lengths[1]),
            1 / (1.0 + ranks),
            place,
            is_title.astype(np.float64),
            np.log1p(np.broadcast_to(lengths[1], cosines.shape)),
        ],
        axis=2,
    )


def cited_sentences(files: Sequence[InputFile], annotation: str) -> Cited:
    cited: Cited = {}
    for topic in read_topics(files, {"annotation": annotation}).topics:
        cites = cited.setdefault(topic.name, {})
        for citance in (citance for file in topic.files for citance in file.citances):
            cites.setdefault(citance.name, set()).update(citance.sentences)
    return cited


def answers(files: Sequence[InputFile], values: Options) -> Iterator[Answer]:
    """Each topic by a model of the others; nothing of its own gold is looked at.

    Options that are not given have their defaults. Raises OptionRefused or Unavailable.
    """
    options = checked_options(NAME, OPTIONS, values)
    return learned(files, options[ANNOTATION.name], partial(features, options=options))


def learned(
    files: Sequence[InputFile], annotation: str, features: Callable[[InputTopic], Floats]
) -> Iterator[Answer]:
    """The sentences that a classifier finds likeliest, each topic's by one of the other topics.

    The first feature stands for all of them where no topic has gold to learn from.
    """
    topics = read_input_topics(files, {ANNOTATION.name: annotation})
    cited = cited_sentences(files, annotation)
    inputs = [features(topic) for topic in topics]
    targets = []
    for topic in topics:
        sids = [cited.get(topic.name, {}).get(citance.name, ()) for citance in topic.citances]
        targets.append(np.array([[sentence.sid in cited for sentence in topic.sentences] for cited in sids]))
    for number, topic in enumerate(topics):
        others = [other for other in range(len(topics)) if other != number]
        scores = _scores(inputs[number], [inputs[o] for o in others], [targets[o] for o in others])
        for citance, row in zip(topic.citances, scores, strict=True):
            yield span_answer(topic, citance, ranked(row)[:SENTENCES])


def _scores(table: Floats, inputs: Sequence[Floats], targets: Sequence[NDArray[np.bool_]]) -> Floats:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    wanted = np.concatenate([target.ravel() for target in targets]) if targets else np.zeros(0, dtype=bool)
    if not wanted.any() or wanted.all():
        return np.asarray(table[..., 0])
    rows = np.concatenate([text.reshape(-1, text.shape[2]) for text in inputs])
    model = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000))
    model.fit(rows, wanted)
    return np.asarray(model.decision_function(table.reshape(-1, table.shape[2])).reshape(table.shape[:2]))


BASELINES = (
    Baseline(
        name=NAME,
        summary="clair_umich: a classifier of citance-sentence similarities, trained on the other topics.",
        source=PILOT,
        answers=partial(answers, values={}),
        learns_from_gold=True,
        options=OPTIONS,
        configured=lambda options: partial(answers, values=options),
        rests_on=features_used,
    ),
)


MISSING = (
    "NLTK's data of WordNet are not installed: `python -m nltk.downloader wordnet` fetches them, "
    "and wordnet=no does without"
)


def installed() -> Any | None:
    try:
        from nltk.corpus import wordnet

        wordnet.ensure_loaded()
    except (ImportError, LookupError):
        return None
    return wordnet


def chosen_wordnet(option: str) -> Any | None:
    wordnet = None if option == "no" else installed()
    if option == "yes" and wordnet is None:
        raise Unavailable(MISSING)
    return wordnet


def text_likeness(citances: Floats, sentences: Floats, vocabulary: Sequence[str], wordnet: Any) -> Floats:
    """(citances, sentences, 4): by each measure how far the sentence covers the citance, and the reverse.

    Both are given as TF-IDF weights over the vocabulary. A text without weight is covered by nothing.
    """
    first, other = (np.flatnonzero(texts.any(axis=0)).tolist() for texts in (citances, sentences))
    measures = word_likeness([vocabulary[i] for i in first], [vocabulary[i] for i in other], wordnet)
    citances, sentences = citances[:, first], sentences[:, other]
    sides = [
        side
        for likeness in measures
        for side in (_covered(citances, sentences, likeness), _covered(sentences, citances, likeness.T).T)
    ]
    return np.stack(sides, axis=2)


def word_likeness(first: Sequence[str], second: Sequence[str], wordnet: Any) -> tuple[Floats, Floats]:
    """Two (first, second) tables from 0 to 1: by the shortest way, and by depth.

    A word is wholly like itself, also where WordNet does not have it. By depth the best of all common
    ancestors counts, a root having depth 1.
    """
    ways = {word: _ways_up(word, wordnet) for word in {*first, *second}}
    by_way = np.array([[float(a == b) for b in second] for a in first]).reshape(len(first), len(second))
    by_depth = by_way.copy()
    below: dict[Any, list[tuple[int, int]]] = {}
    for place, word in enumerate(second):
        for ancestor, steps in ways[word].items():
            below.setdefault(ancestor, []).append((place, steps))
    tables = {ancestor: np.array(pairs).T for ancestor, pairs in below.items()}
    for row, word in enumerate(first):
        for ancestor, steps in ways[word].items():
            if ancestor not in tables:
                continue
            columns, further = tables[ancestor]
            way, depth = steps + further, ancestor.max_depth() + 1
            by_way[row, columns] = np.maximum(by_way[row, columns], 1 / (1 + way))
            by_depth[row, columns] = np.maximum(by_depth[row, columns], 2 * depth / (2 * depth + way))
    return by_way, by_depth


def _ways_up(word: str, wordnet: Any) -> dict[Any, int]:
    """How far up from a word each of its ancestors stands."""
    shortest: dict[Any, int] = {}
    for part_of_speech in ("n", "v"):
        for sense in wordnet.synsets(word, pos=part_of_speech)[:1]:
            for ancestor, steps in sense.hypernym_distances():
                shortest[ancestor] = min(steps, shortest.get(ancestor, steps))
    return shortest


def _covered(texts: Floats, others: Floats, likeness: Floats) -> Floats:
    best = np.zeros((texts.shape[1], len(others)))
    for column, other in enumerate(others):
        words = np.flatnonzero(other)
        if len(words):
            best[:, column] = likeness[:, words].max(axis=1)
    return ratio(texts @ best, texts.sum(axis=1, keepdims=True))


#: Relations that say nothing about what is said.
PASSED_OVER = (ROOT, "punct", "dep")

Dependency = tuple[str, str, str]


def common_dependencies(citances: Sequence[str], sentences: Sequence[str], pipeline: str) -> Floats:
    """(citances, sentences, 2): the common dependencies as a share of the citance's and of the sentence's.

    Raises Unavailable where the pipeline cannot be loaded.
    """
    first = [dependencies(parse) for parse in pipeline_parses(citances, pipeline)]
    other = [dependencies(parse) for parse in pipeline_parses(sentences, pipeline)]
    common = np.array([[len(a & b) for b in other] for a in first], dtype=np.float64)
    common = common.reshape(len(first), len(other))
    counts = np.array([[len(a)] for a in first], float), np.array([[len(b) for b in other]], float)
    return np.stack([ratio(common, count) for count in counts], axis=2)


def dependencies(parse: Parse) -> set[Dependency]:
    words = [token.lower() for token in parse.tokens]
    return {
        (words[head], relation, word)
        for word, head, relation in zip(words, parse.heads, parse.relations, strict=True)
        if relation not in PASSED_OVER
    }
