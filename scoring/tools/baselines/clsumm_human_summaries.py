"""An annotator's human summary of task 2 as the run that the human line scores.

It is held to the abstract and to what the others made, community and human summaries; never to one's own.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.types.clsumm.summaries import SummaryTopic
from tasks.types.clsumm.summaryruns import SummaryRun, SystemSummary

HUMAN = "human"


def annotators(topic: SummaryTopic) -> list[str]:
    """Who wrote a summary of the paper."""
    return [reference.annotator for reference in topic.of_kind(HUMAN)]


def as_gold(topic: SummaryTopic, *, without: str) -> SummaryTopic:
    """The topic less what one annotator made of it; the abstract is nobody's."""
    others = tuple(
        reference
        for reference in topic.references
        if reference.kind == "abstract" or reference.annotator != without
    )
    return replace(topic, references=others)


def as_run(topic: SummaryTopic, annotator: str) -> SummaryRun:
    """The summary's sentences, without tags, as a team would hand them in."""
    own = next(summary for summary in topic.of_kind(HUMAN) if summary.annotator == annotator)
    text = "\n".join(own.lines).encode()
    return SummaryRun({topic.name: SystemSummary(topic.name, text, own.file, None)})
