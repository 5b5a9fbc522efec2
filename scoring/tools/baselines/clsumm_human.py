"""The human line of CL-Summ: each annotator's answers, or summary, scored as a run against the others'.

Against all annotators, oneself included, as the shared task's organisers did, the line is much higher; both
are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scoring.offline.evaluate import Resampling, Scores, evaluate
from scoring.tools.baselines import clsumm_human_summaries as summaries
from tasks.types import Options, Pairs, Split, TaskType
from tasks.types.clsumm.citances import has_reference
from tasks.types.clsumm.runs import Run
from tasks.types.clsumm.summaries import SummaryTopic
from tasks.types.clsumm.summaryruns import SummaryRun
from tasks.types.clsumm.topics import Topic
from tasks.types.problems import InputRefused, Problem

TASK_TYPES = ("clsumm-1a", "clsumm-1b", "clsumm-2")
#: The dimension of a human line that says whose answers are scored.
ANSWERED_BY = "answered_by"
AGAINST = "against:other-annotators"

AnyTopic = Topic | SummaryTopic


@dataclass(frozen=True)
class HumanLine:
    """One annotator's scores, or with an empty name those of all together, in the columns of any run."""

    annotator: str
    against_others: Scores
    against_all: Scores

    def as_dict(self) -> dict[str, Any]:
        return {
            "annotator": self.annotator or None,
            "others": {name: value.as_dict() for name, value in self.against_others.metrics.items()},
            "all": {name: value.as_dict() for name, value in self.against_all.metrics.items()},
        }


def human_lines(
    task_type: TaskType, split: Split, *, rules: str, options: Options, resampling: Resampling
) -> list[HumanLine]:
    """All annotators together first, then each one; none where no topic has two annotators.

    Only the topics that somebody annotated enter his line. The rule set decides what an annotator's file says
    as a run, as it does for anybody's.
    """
    topics = annotated_by_several(split)
    names = annotators_of(topics)

    def scored(annotators: Sequence[str], *, with_own: bool) -> Scores:
        pairs = _joined(_parts(task_type, split, annotators, rules, options, with_own=with_own))
        return evaluate(
            task_type, pairs, rules=rules, options=options, gold=split.digest, resampling=resampling
        )

    if not topics:
        return []
    return [
        HumanLine(
            annotator="" if len(annotators) > 1 else annotators[0],
            against_others=scored(annotators, with_own=False),
            against_all=scored(annotators, with_own=True),
        )
        for annotators in (names, *([name] for name in names))
    ]


def as_one_run(
    task_type: TaskType, split: Split, *, rules: str, options: Options, resampling: Resampling
) -> tuple[Scores, Pairs]:
    """All annotators, each against the others, in the form of any run's scores; by annotator besides.

    Raises InputRefused where no topic has two annotators. The signatures say what the answers are held to.
    """
    names = annotators_of(annotated_by_several(split))
    if not names:
        raise InputRefused([Problem(message="no topic of this gold has two annotators")])
    parts = [_parts(task_type, split, [name], rules, options, with_own=False) for name in names]
    joined = _joined([pairs for own in parts for pairs in own])
    answered_by = [
        (name,) for name, own in zip(names, parts, strict=True) for pairs in own for _ in pairs.gold
    ]
    pairs = replace(joined, features={**joined.features, ANSWERED_BY: answered_by})
    scores = evaluate(
        task_type, pairs, rules=rules, options=options, gold=split.digest, resampling=resampling
    )
    signed = {
        name: replace(value, signature=f"{value.signature}|{AGAINST}")
        for name, value in scores.metrics.items()
    }
    return replace(scores, metrics=signed), pairs


def annotated_by_several(split: Split) -> list[AnyTopic]:
    return [topic for topic in split.content if len(annotators_of([topic])) > 1]


def annotators_of(topics: Sequence[AnyTopic]) -> list[str]:
    """Each once, in the order in which they appear."""
    return list(dict.fromkeys(name for topic in topics for name in _annotators(topic)))


def _annotators(topic: AnyTopic) -> list[str]:
    if isinstance(topic, SummaryTopic):
        return summaries.annotators(topic)
    return [file.annotator for file in topic.files]


def _parts(
    task_type: TaskType,
    split: Split,
    annotators: Sequence[str],
    rules: str,
    options: Options,
    *,
    with_own: bool,
) -> list[Pairs]:
    topics = annotated_by_several(split)
    return [
        task_type.pair(gold, run, rules, options)
        for name in annotators
        for gold, run in _as_runs(split, topics, name, with_own=with_own)
    ]


def _as_runs(
    split: Split, topics: Sequence[AnyTopic], annotator: str, *, with_own: bool
) -> Iterator[tuple[Split, Run | SummaryRun]]:
    """For each topic that somebody annotated the gold of the others, or of all, and his file as a run."""
    for topic in topics:
        if annotator in _annotators(topic):
            gold = topic if with_own else _as_gold(topic, without=annotator)
            yield replace(split, content=(gold,)), _as_run(topic, annotator)


def _as_gold(topic: AnyTopic, *, without: str) -> AnyTopic:
    if isinstance(topic, SummaryTopic):
        return summaries.as_gold(topic, without=without)
    return replace(topic, files=tuple(file for file in topic.files if file.annotator != without))


def _as_run(topic: AnyTopic, annotator: str) -> Run | SummaryRun:
    if isinstance(topic, SummaryTopic):
        return summaries.as_run(topic, annotator)
    own = next(file for file in topic.files if file.annotator == annotator)
    return Run(tuple(citance for citance in own.citances if has_reference(citance)), frozenset([topic.name]))


def _joined(parts: Sequence[Pairs]) -> Pairs:
    """The rows of all parts; each part's gold files are files of their own."""
    numbers: dict[tuple[int, int], int] = {}

    def in_own_file(row: Any, part: int) -> Any:
        if not hasattr(row, "file"):
            return row
        return replace(row, file=numbers.setdefault((part, row.file), len(numbers)))

    return Pairs(
        gold=[
            in_own_file(gold_answer, number) for number, part in enumerate(parts) for gold_answer in part.gold
        ],
        answers=[in_own_file(answer, number) for number, part in enumerate(parts) for answer in part.answers],
        units=[str(unit) for part in parts for unit in part.units],
        features={
            name: [labels for part in parts for labels in part.features[name]] for name in parts[0].features
        },
    )
