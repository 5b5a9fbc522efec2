"""clair_umich's supervised system of the pilot to the letter: the paper's nine features, by its formulas.

Jaidka et al. 2014, “Supervised System”: the cosine of TF-IDF with document frequencies from the reference
paper's sentences, the longest common subsequence by the shorter text's length, six measures over WordNet, and
the dependencies in common. Which classifier there was, how it was trained and how many sentences it chose the
paper does not say; these are those of the baseline of the plain name. Its parser was Stanford's: here it is
whichever is named, and without one, or without WordNet, those features are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics import meteor as database
from scoring.metrics.base import Floats, ratio
from scoring.tools.baselines import clsumm_wordnet
from scoring.tools.baselines.clsumm_dependencies import PASSED_OVER
from scoring.tools.baselines.clsumm_senses import sentence_likeness
from scoring.tools.baselines.clsumm_spans import PILOT, likeness, paper_alone
from scoring.tools.baselines.clsumm_supervised import NO_PARSER, PARSER, learned
from scoring.tools.baselines.tfidf import words
from tasks.types.base import Option, Options, checked_options
from tasks.types.baselines import Answer, Baseline
from tasks.types.clsumm.inputs import InputTopic
from tasks.types.clsumm.options import ANNOTATION
from tasks.types.files import InputFile
from tasks.types.positional_citations.pipelines import parsed, pipeline_name
from tasks.types.positional_citations.tree import Parse

NAME = "clsumm-umich-supervised-literal"
WORDNET = Option(
    name="wordnet",
    default="auto",
    summary="A folder with the database of WordNet, such as /usr/share/wordnet; `auto` takes NLTK's where it "
    "is installed, `no` does without.",
)
OPTIONS = (ANNOTATION, WORDNET, PARSER)
#: Relation, lemma of the head, lemma of the dependent.
Dependency = tuple[str, str, str]


def chosen_wordnet(option: str) -> Any | None:
    """NLTK's reader, by the option. Raises Unavailable where a folder is named that is none of WordNet's."""
    if option in ("auto", "no"):
        return clsumm_wordnet.chosen(option)
    return database.reader(Path(option))


def features(topic: InputTopic, options: Options) -> Floats:
    """(citances, sentences, features) for one topic. Raises Unavailable."""
    texts = [citance.text for citance in topic.citances]
    others = [sentence.text for sentence in topic.sentences]
    citances, sentences = list(map(words, texts)), list(map(words, others))
    wordnet = chosen_wordnet(options[WORDNET.name])
    found = [likeness(topic, paper_alone).cosines[..., np.newaxis], subsequences(citances, sentences)]
    if wordnet:
        found.append(sentence_likeness(citances, sentences, wordnet))
    if (parser := options[PARSER.name]) != NO_PARSER:
        found.append(dependency_overlap(parsed(texts, parser), parsed(others, parser), wordnet))
    return np.concatenate(found, axis=2)


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
    counts = [np.array([len(own) for own in side], float) for side in (first, second)]
    by_counts = ratio(np.outer(*counts), np.add.outer(*counts))
    return np.asarray(2 * common.reshape(by_counts.shape) * by_counts)[..., np.newaxis]


def dependencies(parse: Parse, wordnet: Any | None) -> set[Dependency]:
    """With the lemmas that WordNet knows; a word that it does not have, or without it, as it stands."""
    lemmas = [_lemma(token.lower(), wordnet) for token in parse.tokens]
    return {
        (relation, lemmas[head], lemma)
        for lemma, head, relation in zip(lemmas, parse.heads, parse.relations, strict=True)
        if relation not in PASSED_OVER
    }


def _lemma(word: str, wordnet: Any | None) -> str:
    return (wordnet and wordnet.morphy(word)) or word


def features_used(options: Options) -> str:
    """In words, for whoever reads the run's scores. Raises Unavailable."""
    used = ["TF-IDF", "longest common subsequence"]
    wordnet = chosen_wordnet(options[WORDNET.name])
    if wordnet:
        used.append(f"six measures over WordNet {wordnet.get_version()}")
    if options[PARSER.name] != NO_PARSER:
        used.append(f"dependencies by {pipeline_name(options[PARSER.name])}")
    return f"Its features: {', '.join(used)}."


def answers(files: Sequence[InputFile], given: Options) -> Iterator[Answer]:
    """Options that are not given have their defaults. Raises OptionRefused or Unavailable."""
    options = checked_options(NAME, OPTIONS, given)
    return learned(files, options[ANNOTATION.name], partial(features, options=options))


BASELINES = (
    Baseline(
        name=NAME,
        summary="clair_umich supervised to the letter: the paper's nine features by its formulas, trained on "
        "the other topics.",
        source=PILOT,
        answers=partial(answers, given={}),
        learns_from_gold=True,
        options=OPTIONS,
        configured=lambda options: partial(answers, given=options),
        rests_on=features_used,
    ),
)
