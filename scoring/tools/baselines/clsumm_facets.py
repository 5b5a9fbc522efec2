"""Implement the facet classifiers of the CL-Summ pilot, which are tested by leaving out
one topic at a time.

Table 4 of the paper (Jaidka et al., 2014) has naive Bayes, a linear SVM and logistic
regression. The features of all classifiers are lower-cased 1- to 3-grams of the words
and of the lemmas of the cited sentences. A variant that uses only lemmas gives figures
that are closer to some of the published figures, and is also available.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from scoring.metrics.base import Floats
from scoring.tools.baselines.clsumm import (
    make_learning_baseline,
    make_span_answer,
    rank_by_citation_context,
)
from scoring.tools.baselines.tfidf import split_into_ascii_words
from tasks.types.base import Options
from tasks.types.baselines import Answer, Baseline
from tasks.types.clsumm.citances import MAJORITY_FACET, normalise_distinct_facets
from tasks.types.clsumm.options import ANNOTATION_OPTION
from tasks.types.clsumm.topics import ClsummTopic, read_input_topics, read_topics
from tasks.types.files import InputFile

NGRAM_LENGTH_RANGE = (1, 3)
#: Endings of words and their replacements, from the rules of WordNet.
#: The lemma is the first result of a replacement that also occurs in the papers.
LEMMA_ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("shes", "sh"),
    ("ches", "ch"),
    ("xes", "x"),
    ("zes", "z"),
    ("s", ""),
    ("ied", "y"),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
)
MIN_LEMMA_LENGTH = 3

#: Eigenvalues smaller than this fraction of the largest eigenvalue are noise.
_MIN_RELATIVE_EIGENVALUE = 1e-12


@dataclass(frozen=True)
class CitedText:
    words: tuple[str, ...]
    lemmas: tuple[str, ...]


@dataclass(frozen=True)
class FacetPair:
    topic: str
    sentence: str
    text: CitedText
    facet: str


def list_facet_pairs(topics: Sequence[ClsummTopic]) -> list[FacetPair]:
    """Return all pairs of a citance and a cited text in the gold. The facet of a pair
    is the most frequent facet of all citations of the cited text.

    If several citations connect the same citance and cited text, the pair occurs once
    for each of the citations.
    """
    citances = [
        (topic, citance)
        for topic in topics
        for file in topic.files
        for citance in file.citances
    ]
    counts = Counter(
        facet
        for _, citance in citances
        for facet in normalise_distinct_facets(citance.facets)
    )
    lemma = make_lemmatizer(topics)
    pairs = []
    for topic, citance in citances:
        facets = sorted(
            normalise_distinct_facets(citance.facets),
            key=lambda facet: (-counts[facet], facet),
        )
        for sid in citance.sentences:
            if facets and sid in topic.order:
                text = lemmatize_text(topic.sentences[topic.order[sid]].text, lemma)
                pairs.append(
                    FacetPair(topic.name, f"{topic.name}#{sid}", text, facets[0])
                )
    return pairs


def lemmatize_text(text: str, lemma: Callable[[str], str]) -> CitedText:
    found = tuple(split_into_ascii_words(text))
    return CitedText(found, tuple(map(lemma, found)))


def make_lemmatizer(topics: Sequence[ClsummTopic]) -> Callable[[str], str]:
    """Return a function that removes the ending of a word if the remaining word also
    occurs in the papers.

    The function needs no dictionary, because it looks up words in the papers.
    """
    bases = {
        word
        for topic in topics
        for sentence in topic.sentences
        for word in split_into_ascii_words(sentence.text)
    }

    def find_lemma(word: str) -> str:
        for ending, instead in LEMMA_ENDINGS:
            if word.endswith(ending):
                base = word.removesuffix(ending) + instead
                if len(base) >= MIN_LEMMA_LENGTH and base in bases:
                    return base
        return word

    return find_lemma


CLASSIFIER_NAMES = ("NB", "SVM", "LR")
LEMMA_NGRAMS, WORD_AND_LEMMA_NGRAMS, LEMMA_UNIGRAMS = (
    "lemmas",
    "words and lemmas",
    "single lemmas",
)


def predict_facets(
    classifier: str,
    texts: Sequence[CitedText],
    facets: Sequence[str],
    texts_to_name: Sequence[CitedText],
    of: str,
    *,
    is_balanced: bool = False,
) -> list[str]:
    """Train a classifier on the labelled texts, and return the predicted facets of
    ``texts_to_name``.

    Naive Bayes and the SVM use TF-IDF weights of n-grams, and logistic regression uses
    counts of n-grams. If ``is_balanced`` is True, facets are weighted inversely to
    their frequency, and logistic regression is regularised more strongly.
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.svm import LinearSVC

    counted: Any = CountVectorizer if classifier == "LR" else TfidfVectorizer
    vectorizer = counted(analyzer=partial(list_ngrams, of=of))
    vectors, wanted = (
        vectorizer.fit_transform(texts),
        vectorizer.transform(texts_to_name),
    )
    if classifier == "LR":
        vectors, wanted = _factorise_vectors(vectors, wanted)
    weight = "balanced" if is_balanced else None
    models = {
        "LR": LogisticRegression(
            C=0.01 if is_balanced else 1.0, max_iter=1000, class_weight=weight
        ),
        "NB": MultinomialNB(fit_prior=not is_balanced),
        "SVM": LinearSVC(random_state=0, class_weight=weight),
    }
    return [
        str(facet) for facet in models[classifier].fit(vectors, facets).predict(wanted)
    ]


def list_ngrams(text: CitedText, of: str) -> list[tuple[str, ...]]:
    """Return the n-grams of the lemmas of a text and, if selected, the n-grams of its
    words. In the result, a prefix distinguishes n-grams of lemmas from n-grams of
    words.
    """
    longest = 1 if of == LEMMA_UNIGRAMS else NGRAM_LENGTH_RANGE[1]
    sides = {
        LEMMA_NGRAMS: text.lemmas,
        **({"words": text.words} if of == WORD_AND_LEMMA_NGRAMS else {}),
    }
    return [
        (side, *units[start : start + length])
        for side, units in sides.items()
        for length in range(NGRAM_LENGTH_RANGE[0], longest + 1)
        for start in range(len(units) - length + 1)
    ]


def _factorise_vectors(known_vectors: Any, wanted: Any) -> tuple[Floats, Floats]:
    values, vectors = np.linalg.eigh(
        (known_vectors @ known_vectors.T).toarray().astype(np.float64)
    )
    is_known = values > values.max(initial=0.0) * _MIN_RELATIVE_EIGENVALUE
    axes = vectors[:, is_known] / np.sqrt(values[is_known])
    return known_vectors @ known_vectors.T @ axes, wanted @ known_vectors.T @ axes


CLASSIFIER_TITLES = {
    "NB": "naive Bayes",
    "SVM": "a linear SVM",
    "LR": "logistic regression",
}


def iterate_facet_answers(
    files: Sequence[InputFile], options: Options, *, classifier: str, is_literal: bool
) -> Iterator[Answer]:
    gold = read_topics(files, options)
    of = WORD_AND_LEMMA_NGRAMS if is_literal else LEMMA_UNIGRAMS
    for topic in read_input_topics(files, options):
        others = [other for other in gold if other.name != topic.name]
        chosen = rank_by_citation_context(topic)
        pairs, lemma = list_facet_pairs(others), make_lemmatizer(others)
        texts, facets = [pair.text for pair in pairs], [pair.facet for pair in pairs]
        wanted = [
            lemmatize_text(topic.sentences[place].text, lemma)
            for places in chosen
            for place in places
        ]
        names = sorted(set(facets)) or [MAJORITY_FACET]
        if len(names) == 1 or not wanted:
            answered = iter(names[:1] * len(wanted))
        else:
            answered = iter(
                predict_facets(
                    classifier, texts, facets, wanted, of, is_balanced=not is_literal
                )
            )
        for citance, places in zip(topic.citances, chosen, strict=True):
            votes = Counter(next(answered) for _ in places)
            yield make_span_answer(
                topic,
                citance,
                places,
                votes.most_common(1)[0][0] if votes else MAJORITY_FACET,
            )


def make_facet_baseline(classifier: str, *, is_literal: bool) -> Baseline:
    corrected = "single lemmas, rare facets as weighty as others"
    reading = "words and lemmas, to the letter" if is_literal else corrected
    return make_learning_baseline(
        partial(iterate_facet_answers, classifier=classifier, is_literal=is_literal),
        name=f"clsumm-facets-{classifier.lower()}{'-literal' if is_literal else ''}",
        summary=(
            f"TALN.UPF's facets by {CLASSIFIER_TITLES[classifier]} of {reading}; "
            "learned from the other topics."
        ),
        options=(ANNOTATION_OPTION,),
    )


BASELINES = tuple(
    make_facet_baseline(classifier, is_literal=False) for classifier in CLASSIFIER_NAMES
)
