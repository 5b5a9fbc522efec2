"""TALN.UPF's classifiers of facets as runs of task 1B, each topic by what the gold of the others teaches.

Jaidka et al. 2014, section 5 and table 4. To the letter they see the n-grams of words as well as of lemmas
and take facets as often as they come; over topics that they have not seen they then hardly ever leave the
most frequent facet. Those of the plain names see single lemmas and give rare facets the weight of frequent
ones. The sentences are those of `clsumm-taln`; a citance has the facet that most of its sentences have, of
several the one of the best sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from scoring.tools.baselines.clsumm_facets import (
    CLASSIFIERS,
    SINGLE_LEMMAS,
    WORDS_AND_LEMMAS,
    cited_text,
    facet_pairs,
    facets_by,
    lemmatizer,
)
from scoring.tools.baselines.clsumm_spans import PILOT, span_answer, taln
from tasks.types.base import Options, checked_options
from tasks.types.baselines import Answer, Answering, Baseline
from tasks.types.clsumm.citances import MAJORITY
from tasks.types.clsumm.inputs import InputTopic, read_input_topics
from tasks.types.clsumm.options import ANNOTATION
from tasks.types.clsumm.topics import Topic, read_topics
from tasks.types.files import InputFile

NAME = "clsumm-facets"
TITLES = {"NB": "naive Bayes", "SVM": "a linear SVM", "LR": "logistic regression"}


def answers(
    files: Sequence[InputFile], given: Options, *, classifier: str, is_literal: bool
) -> Iterator[Answer]:
    """Raises OptionRefused."""
    options = checked_options(NAME, (ANNOTATION,), given)
    gold = read_topics(files, options).topics
    for topic in read_input_topics(files, options):
        others = [other for other in gold if other.name != topic.name]
        places = taln(topic)
        facets = iter(_facets(topic, places, others, classifier, is_literal=is_literal))
        for citance, own in zip(topic.citances, places, strict=True):
            votes = Counter(next(facets) for _ in own)
            facet = votes.most_common(1)[0][0] if votes else MAJORITY
            yield span_answer(topic, citance, own, facet)


def _facets(
    topic: InputTopic,
    places: Sequence[Sequence[int]],
    others: Sequence[Topic],
    classifier: str,
    *,
    is_literal: bool,
) -> list[str]:
    """Of each chosen sentence, citance by citance; with nothing to choose from the only facet there is."""
    pairs, lemma = facet_pairs(others), lemmatizer(others)
    asked = [cited_text(topic.sentences[place].text, lemma) for own in places for place in own]
    known = sorted({pair.facet for pair in pairs}) or [MAJORITY]
    if len(known) == 1 or not asked:
        return known[:1] * len(asked)
    texts, facets = [pair.text for pair in pairs], [pair.facet for pair in pairs]
    of = WORDS_AND_LEMMAS if is_literal else SINGLE_LEMMAS
    return facets_by(classifier, texts, facets, asked, of, is_balanced=not is_literal)


def _declared(classifier: str, *, is_literal: bool) -> Baseline:
    def answering(options: Options) -> Answering:
        return partial(answers, given=options, classifier=classifier, is_literal=is_literal)

    reading = (
        "words and lemmas, to the letter" if is_literal else "single lemmas, rare facets as weighty as others"
    )
    return Baseline(
        name=f"{NAME}-{classifier.lower()}{'-literal' if is_literal else ''}",
        summary=f"TALN.UPF's facets by {TITLES[classifier]} of {reading}; learned from the other topics.",
        source=PILOT,
        answers=answering({}),
        learns_from_gold=True,
        options=(ANNOTATION,),
        configured=answering,
    )


BASELINES = tuple(
    _declared(classifier, is_literal=is_literal) for classifier in CLASSIFIERS for is_literal in (False, True)
)
