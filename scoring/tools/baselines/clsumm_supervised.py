"""Implement the supervised system of clair_umich in the CL-Summ pilot, with the
features for which data are available.

Section 5 of the paper (Jaidka et al., 2014) describes a classifier of pairs of a
citance and a sentence of the reference paper. The features of the classifier are
TF-IDF, longest common subsequences, WordNet similarity and common dependencies. The
classifier of this module has two more features, the number of common words and the
position of the sentence. Features from WordNet and from a parser are used only if
WordNet or the parser is installed and selected. For each topic, the classifier is
trained on the gold of all other topics.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, divide_or_zero
from scoring.metrics.meteor import open_wordnet_reader as database_reader
from scoring.tools.baselines.clsumm import (
    compute_similarity,
    list_paper_and_citances,
    make_learning_baseline,
    make_span_answer,
)
from scoring.tools.baselines.clsumm_senses import compute_sentence_similarities
from scoring.tools.baselines.tfidf import rank_positions, split_into_ascii_words
from tasks.types.base import Option, Options
from tasks.types.baselines import Answer
from tasks.types.clsumm.citances import CitanceName
from tasks.types.clsumm.options import ANNOTATION_OPTION
from tasks.types.clsumm.topics import InputTopic, read_input_topics, read_topics
from tasks.types.files import InputFile
from tasks.types.positional_citations.claims import ROOT_RELATION, Parse
from tasks.types.positional_citations.parsing import (
    make_pipeline_name,
    parse_texts_with_pipeline,
)
from tasks.types.problems import SoftwareUnavailable

BASELINE_NAME = "clsumm-umich-supervised"
SENTENCES_PER_CITANCE = 2
WORDNET_OPTION = Option(
    name="wordnet",
    default="auto",
    summary="A folder with the database of WordNet, such as /usr/share/wordnet; `auto` takes NLTK's where it "
    "is installed, `yes` needs it, `no` does without.",
)
WITHOUT_PARSER = "none"
PARSER_OPTION = Option(
    name="parser",
    default=WITHOUT_PARSER,
    summary="The spaCy pipeline, by name or folder, whose dependencies are a feature; `none` does without.",
)
SUPERVISED_OPTIONS = (ANNOTATION_OPTION, WORDNET_OPTION, PARSER_OPTION)
CitedSentencesByTopic = dict[str, dict[CitanceName, set[str]]]


def load_installed_wordnet() -> Any | None:
    try:
        from nltk.corpus import wordnet

        wordnet.ensure_loaded()
    except (ImportError, LookupError):
        return None
    return wordnet


def load_chosen_wordnet(option: str) -> Any | None:
    if option not in ("auto", "yes", "no"):
        return database_reader(Path(option))
    wordnet = None if option == "no" else load_installed_wordnet()
    if option == "yes" and wordnet is None:
        raise SoftwareUnavailable(
            "NLTK's data of WordNet are not installed: `python -m nltk.downloader wordnet` fetches them, "
            "and wordnet=no does without"
        )
    return wordnet


def compute_features(topic: InputTopic, options: Options) -> Floats:
    """Return the (citances, sentences, features) array of a topic. Raises Unavailable."""
    near = compute_similarity(topic, list_paper_and_citances).cosine_matrix
    return np.concatenate(
        [
            _compute_word_features(topic, near),
            *iterate_optional_features(topic, options),
        ],
        axis=2,
    )


def iterate_optional_features(topic: InputTopic, options: Options) -> Iterator[Floats]:
    """If selected, yield the features from WordNet with the shape (citances, sentences,
    6), and from a parser with the shape (citances, sentences, 1).
    """
    citances = [citance.text for citance in topic.citances]
    sentences = [sentence.text for sentence in topic.sentences]
    if wordnet := load_chosen_wordnet(options[WORDNET_OPTION.name]):
        yield compute_sentence_similarities(
            list(map(split_into_ascii_words, citances)),
            list(map(split_into_ascii_words, sentences)),
            wordnet,
        )
    if (parser := options[PARSER_OPTION.name]) != WITHOUT_PARSER:
        first, second = (
            parse_texts_with_pipeline(texts, parser) for texts in (citances, sentences)
        )
        yield compute_dependency_overlap(first, second, wordnet)


def describe_used_features(
    options: Options, always: str = "TF-IDF, common subsequences, common words, place"
) -> str:
    used = [always]
    if wordnet := load_chosen_wordnet(options[WORDNET_OPTION.name]):
        used.append(f"six measures over WordNet {wordnet.get_version()}")
    if options[PARSER_OPTION.name] != WITHOUT_PARSER:
        used.append(
            f"dependencies by {make_pipeline_name(options[PARSER_OPTION.name])}"
        )
    return f"Its features: {', '.join(used)}."


def compute_common_subsequence_lengths(
    citances: Sequence[Sequence[str]], sentences: Sequence[Sequence[str]]
) -> Floats:
    """Return the length in words of the longest common subsequence of each citance and
    each sentence.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import LCSseq

    return np.asarray(
        process.cdist(citances, sentences, scorer=LCSseq.similarity, dtype=np.float64)
    )


def _compute_word_features(topic: InputTopic, cosines: Floats) -> Floats:
    citances = [split_into_ascii_words(citance.text) for citance in topic.citances]
    sentences = [split_into_ascii_words(sentence.text) for sentence in topic.sentences]
    common = compute_common_subsequence_lengths(citances, sentences)
    shared = np.array(
        [[len(set(c) & set(s)) for s in sentences] for c in citances], dtype=np.float64
    )
    lengths = (
        np.array([[len(c)] for c in citances]),
        np.array([[len(s) for s in sentences]]),
    )
    place = np.broadcast_to(np.linspace(0, 1, len(sentences)), cosines.shape)
    is_title = np.broadcast_to(np.arange(len(sentences)) == 0, cosines.shape)
    ranks = np.argsort(
        np.argsort(-np.round(cosines, 12), axis=1, kind="stable"), axis=1
    )
    return np.stack(
        [
            cosines,
            divide_or_zero(common, lengths[0]),
            divide_or_zero(common, lengths[1]),
            divide_or_zero(shared, lengths[0]),
            divide_or_zero(shared, lengths[1]),
            1 / (1.0 + ranks),
            place,
            is_title.astype(np.float64),
            np.log1p(np.broadcast_to(lengths[1], cosines.shape)),
        ],
        axis=2,
    )


def read_cited_sentences(
    files: Sequence[InputFile], annotation: str
) -> CitedSentencesByTopic:
    cited: CitedSentencesByTopic = {}
    for topic in read_topics(files, {"annotation": annotation}):
        cites = cited.setdefault(topic.name, {})
        for citance in (citance for file in topic.files for citance in file.citances):
            cites.setdefault(citance.name, set()).update(citance.sentences)
    return cited


def iterate_learned_answers(
    files: Sequence[InputFile],
    options: Options,
    *,
    features: Callable[[InputTopic, Options], Floats],
) -> Iterator[Answer]:
    """For each topic, yield the sentences that the classifier gives the highest
    probabilities. Raises Unavailable.

    For each topic, the classifier is trained on the gold of all other topics. If no
    other topic has gold, sentences are ranked by the first feature.
    """
    annotation = options[ANNOTATION_OPTION.name]
    topics = read_input_topics(files, {ANNOTATION_OPTION.name: annotation})
    cited = read_cited_sentences(files, annotation)
    inputs = [features(topic, options) for topic in topics]
    targets = []
    for topic in topics:
        sids = [
            cited.get(topic.name, {}).get(citance.name, ())
            for citance in topic.citances
        ]
        targets.append(
            np.array(
                [
                    [sentence.sid in cited for sentence in topic.sentences]
                    for cited in sids
                ]
            )
        )
    for number, topic in enumerate(topics):
        others = [other for other in range(len(topics)) if other != number]
        scores = _train_and_score(
            inputs[number], [inputs[o] for o in others], [targets[o] for o in others]
        )
        for citance, row in zip(topic.citances, scores, strict=True):
            yield make_span_answer(
                topic, citance, rank_positions(row)[:SENTENCES_PER_CITANCE]
            )


def _train_and_score(
    table: Floats, inputs: Sequence[Floats], targets: Sequence[NDArray[np.bool_]]
) -> Floats:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    wanted = (
        np.concatenate([target.ravel() for target in targets])
        if targets
        else np.zeros(0, dtype=bool)
    )
    if not wanted.any() or wanted.all():
        return np.asarray(table[..., 0])
    model = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
    )
    model.fit(
        np.concatenate([text.reshape(-1, text.shape[2]) for text in inputs]), wanted
    )
    return np.asarray(
        model.decision_function(table.reshape(-1, table.shape[2])).reshape(
            table.shape[:2]
        )
    )


BASELINE_SUMMARY = "clair_umich: a classifier of citance-sentence similarities, trained on the other topics."
make_supervised_baseline = partial(make_learning_baseline, options=SUPERVISED_OPTIONS)
BASELINES = (
    make_supervised_baseline(
        partial(iterate_learned_answers, features=compute_features),
        name=BASELINE_NAME,
        summary=BASELINE_SUMMARY,
        rests_on=describe_used_features,
    ),
)

#: Relations of the dependency parser that the feature ignores.
IGNORED_RELATIONS = (ROOT_RELATION, "punct", "dep")

Dependency = tuple[str, str, str]


def compute_dependency_overlap(
    citances: Sequence[Parse],
    sentences: Sequence[Parse],
    wordnet: Any | None,
) -> Floats:
    """Return how similar the dependencies of each citance are to those of each
    sentence, with the shape (citances, sentences, 1).

    A similarity is ``2 |common| * |Rc||Rr| / (|Rc| + |Rr|)`` for the sets of
    dependencies ``Rc`` and ``Rr``.
    """
    first, second = (
        [list_dependencies(parse, wordnet) for parse in side]
        for side in (citances, sentences)
    )
    common = np.array([[len(one & other) for other in second] for one in first], float)
    counts = [np.array([len(one) for one in side], float) for side in (first, second)]
    by_counts = divide_or_zero(np.outer(*counts), np.add.outer(*counts))
    return np.asarray(2 * common.reshape(by_counts.shape) * by_counts)[..., np.newaxis]


def list_dependencies(parse: Parse, wordnet: Any | None = None) -> set[Dependency]:
    """Return the dependencies between the words of a sentence, in which lemmas from
    WordNet replace the words.

    A word for which WordNet has no lemma is not replaced.
    """
    words = [token.lower() for token in parse.tokens]
    lemmas = [(wordnet and wordnet.morphy(word)) or word for word in words]
    found = zip(lemmas, parse.heads, parse.relations, strict=True)
    return {
        (lemmas[head], name, lemma)
        for lemma, head, name in found
        if name not in IGNORED_RELATIONS
    }
