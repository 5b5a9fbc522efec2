"""The pilot's systems to the letter, where those of the plain names differ from the paper's words.

Jaidka et al. 2014, section 5. MQ counts words in the citances too and passes over sentences of under 50
characters, also for topics and context; its TF.IDF summary takes the sentences whose weights add up to most;
clair_umich counts words in the reference paper's sentences alone.
"""

from __future__ import annotations

from scoring.metrics.base import Floats
from scoring.tools.baselines.clsumm_spans import (
    CONTEXT,
    MQ_SENTENCES,
    SHORTEST,
    THRESHOLDS,
    Choice,
    Counted,
    above,
    declared,
    likeness,
    paper_alone,
    with_citances,
    with_citing_papers,
)
from scoring.tools.baselines.clsumm_summaries import declared as declared_summary
from scoring.tools.baselines.clsumm_summaries import fitting
from scoring.tools.baselines.tfidf import ranked
from tasks.types.clsumm.inputs import InputTopic

SWEEP = "clair_umich's TF-IDF to the letter"


def of_long_sentences(counted: Counted, *, context: int = 0) -> Choice:
    """The three sentences of 50 characters or more that are most like the citance."""

    def choose(topic: InputTopic) -> list[list[int]]:
        is_long = [len(sentence.text) >= SHORTEST for sentence in topic.sentences]
        rows = likeness(topic, counted, context=context).cosines
        return [[place for place in ranked(row) if is_long[place]][:MQ_SENTENCES] for row in rows]

    return choose


def summary_by_weights(topic: InputTopic) -> list[str]:
    """The sentences whose words weigh most, all their TF-IDF weights added up."""
    weights: Floats = likeness(topic, paper_alone).sentences.sum(axis=1)
    return fitting(topic, weights)


BASELINES = (
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
