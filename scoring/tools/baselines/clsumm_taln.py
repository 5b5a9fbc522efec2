"""TALN.UPF's system for task 1A to the letter: each section weighs what the gold takes from it.

Jaidka et al. 2014, section 5. Words count in the citing papers and in the reference paper; a sentence's score
is the sum of its cosines with the citance's sentences, times the share of the gold's sentences that stand in
its kind of section. Of equals the one that stands first in the paper comes first. The published shares may be
those of the topics that were answered, too: a baseline answers each topic by the shares of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from scoring.tools.baselines.clsumm_spans import (
    MQ_SENTENCES,
    PILOT,
    Choice,
    citance_sentences,
    span_answer,
    with_citing_papers,
)
from scoring.tools.baselines.clsumm_supervised import Cited, cited_sentences
from scoring.tools.baselines.tfidf import TfIdf, cosines, ranked
from tasks.types.base import Options, checked_options
from tasks.types.baselines import Answer, Answering, Baseline
from tasks.types.clsumm.features import section_kind
from tasks.types.clsumm.inputs import InputTopic, read_input_topics
from tasks.types.clsumm.options import ANNOTATION
from tasks.types.files import InputFile

NAME = "clsumm-taln-literal"
NUMBERS = (1, 2, 3, 4, 5)
SWEEP = "TALN.UPF to the letter"
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
        return [ranked(cosines(own, vectors).sum(axis=0) * factors)[:count] for own in contexts]

    return choose


def answers(files: Sequence[InputFile], given: Options, *, count: int) -> Iterator[Answer]:
    """Each topic by the shares of the others. Raises OptionRefused."""
    options = checked_options(NAME, (ANNOTATION,), given)
    topics = read_input_topics(files, options)
    cited = cited_sentences(files, options[ANNOTATION.name])
    for topic in topics:
        choose = weighted_by(section_shares([other for other in topics if other is not topic], cited), count)
        for citance, places in zip(topic.citances, choose(topic), strict=True):
            yield span_answer(topic, citance, places)


def _answering(count: int, options: Options) -> Answering:
    return partial(answers, given=options, count=count)


def _declared(count: int) -> Baseline:
    taken = "sentence" if count == 1 else f"{count} sentences"
    return Baseline(
        name=NAME if count == MQ_SENTENCES else f"{NAME}-top{count}",
        summary=f"TALN.UPF to the letter: {taken}; a section weighs its share of the other topics' gold.",
        source=PILOT,
        answers=_answering(count, {}),
        learns_from_gold=True,
        options=(ANNOTATION,),
        configured=partial(_answering, count),
        sweep=SWEEP,
        at=count,
        swept="sentences",
    )


BASELINES = tuple(_declared(count) for count in NUMBERS)
