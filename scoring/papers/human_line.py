"""Compute human performance on CL-Summ by scoring each annotator's answers or summary
as a run against the other annotators.

The organisers of the shared task compared each annotator with all annotators, including
the annotator's own answers. The organisers' comparison gives much higher scores, and
the module reports both variants. In task 2, a person's summary is compared with the
abstract, the community summaries and other people's summaries, but not with itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from scoring.offline.evaluate import IntervalSettings, RunScores, evaluate_pairs
from scoring.offline.gold_key import DEFAULT_GOLD_KEY, GoldKey
from scoring.offline.parts import SplitPart, select_pairs
from scoring.tools.baselines.clsumm import (
    TopicOfAnyTask,
    list_annotators,
    select_multiply_annotated_topics,
)
from tasks.types import Options, Pairs, Split, TaskType
from tasks.types.clsumm.citances import has_reference_sentence
from tasks.types.clsumm.runs import CitanceRun
from tasks.types.clsumm.summaries import (
    SummaryTopic,
    SystemSummariesByTopic,
    SystemSummary,
)
from tasks.types.problems import InputRefused, Problem

#: In breakdowns of human performance, the classes of this dimension are annotators.
ANSWERED_BY_FEATURE = "answered_by"
AGAINST_OTHERS_PARAMETER = "against:other-annotators"


@dataclass(frozen=True)
class AnnotatorScores:
    annotator: str
    against_others: RunScores
    against_all: RunScores

    def as_dict(self) -> dict[str, Any]:
        return {
            "annotator": self.annotator or None,
            "others": {
                name: value.as_dict()
                for name, value in self.against_others.metrics.items()
            },
            "all": {
                name: value.as_dict()
                for name, value in self.against_all.metrics.items()
            },
        }


def score_each_annotator(
    task_type: TaskType,
    split: Split,
    *,
    rules: str,
    options: Options,
    resampling: IntervalSettings,
) -> list[AnnotatorScores]:
    """Return the scores of all annotators together, followed by the scores of each
    annotator. The list is empty unless at least one topic has two annotators.

    The scores of an annotator cover only the topics that this person annotated. The
    rule set parses the answers of an annotator like those of a run.
    """
    names = _list_annotators(split)

    def score_annotators(chosen: Sequence[str], *, with_own: bool) -> RunScores:
        by_name = (
            _pair_with_other_annotators(
                task_type, split, name, rules, options, with_own=with_own
            )
            for name in chosen
        )
        parts = list(chain.from_iterable(by_name))
        return evaluate_pairs(
            task_type,
            _join_pairs(parts),
            rules=rules,
            options=options,
            gold=split.digest,
            resampling=resampling,
        )

    if not names:
        return []
    lines = []
    for chosen in (names, *([name] for name in names)):
        name, others = (
            "" if len(chosen) > 1 else chosen[0],
            score_annotators(chosen, with_own=False),
        )
        lines.append(
            AnnotatorScores(name, others, score_annotators(chosen, with_own=True))
        )
    return lines


def score_annotators_as_one_run(
    task_type: TaskType,
    split: Split,
    *,
    rules: str,
    options: Options,
    resampling: IntervalSettings,
    part: SplitPart | None = None,
    key: GoldKey = DEFAULT_GOLD_KEY,
) -> tuple[RunScores, Pairs]:
    """Score each annotator against all other annotators. Return scores in the same form
    as for a run, with one class per annotator.

    If ``part`` is given, only topics in this part of the split are scored. The
    signatures of the scores name the references that were used. Raises InputRefused
    unless at least one topic has two annotators.
    """
    if not (names := _list_annotators(split)):
        raise InputRefused(
            [Problem(message="no topic of this gold has two annotators")]
        )
    by_name = {
        name: _pair_with_other_annotators(
            task_type, split, name, rules, options, with_own=False
        )
        for name in names
    }
    joined = _join_pairs([part for parts in by_name.values() for part in parts])
    answered_by = [
        (name,) for name, parts in by_name.items() for part in parts for _ in part.gold
    ]
    pairs = replace(
        joined, features={**joined.features, ANSWERED_BY_FEATURE: answered_by}
    )
    rows = None
    if part is not None:
        nothing: CitanceRun | SystemSummariesByTopic = (
            {}
            if isinstance(split.content[0], SummaryTopic)
            else CitanceRun((), frozenset())
        )
        whole = task_type.pairs_of(split, nothing, task_type.default_rule_set, options)
        rows = part.rows(task_type, pairs, whole)
    scores = evaluate_pairs(
        task_type,
        pairs,
        rules=rules,
        options=options,
        gold=key.compute_gold_digest(split),
        reading=key.reading,
        resampling=resampling,
        part=str(part or ""),
        rows=rows,
    )
    named = (
        (name, value, f"{value.signature}|{AGAINST_OTHERS_PARAMETER}")
        for name, value in scores.metrics.items()
    )
    signed = {
        name: replace(value, signature=signature) for name, value, signature in named
    }
    return replace(scores, metrics=signed), pairs if rows is None else select_pairs(
        pairs, rows
    )


def _list_annotators(split: Split) -> list[str]:
    return list(
        dict.fromkeys(
            name
            for topic in select_multiply_annotated_topics(split)
            for name in list_annotators(topic)
        )
    )


def _pair_with_other_annotators(
    task_type: TaskType,
    split: Split,
    name: str,
    rules: str,
    options: Options,
    *,
    with_own: bool,
) -> list[Pairs]:
    parts = []
    for topic in select_multiply_annotated_topics(split):
        if name not in list_annotators(topic):
            continue
        gold: TopicOfAnyTask = topic
        run: CitanceRun | SystemSummariesByTopic
        if isinstance(topic, SummaryTopic):
            human = next(
                summary
                for summary in topic.list_reference_texts_of_kind("human")
                if summary.annotator == name
            )
            run = {
                topic.name: SystemSummary(
                    topic.name, "\n".join(human.lines).encode(), human.file, None
                )
            }
            others = tuple(
                reference
                for reference in topic.references
                if reference.kind == "abstract" or reference.annotator != name
            )
            gold = topic if with_own else replace(topic, references=others)
        else:
            file = next(file for file in topic.files if file.annotator == name)
            citances = tuple(
                citance for citance in file.citances if has_reference_sentence(citance)
            )
            run = CitanceRun(citances, frozenset([topic.name]))
            files = tuple(file for file in topic.files if file.annotator != name)
            gold = topic if with_own else replace(topic, files=files)
        parts.append(
            task_type.pair(replace(split, content=(gold,)), run, rules, options)
        )
    return parts


def _join_pairs(parts: Sequence[Pairs]) -> Pairs:
    numbers: dict[tuple[int, int], int] = {}

    def number_file_of_row(row: Any, part: int) -> Any:
        if not hasattr(row, "file"):
            return row
        return replace(row, file=numbers.setdefault((part, row.file), len(numbers)))

    return Pairs(
        gold=[
            number_file_of_row(row, number)
            for number, part in enumerate(parts)
            for row in part.gold
        ],
        answers=[
            number_file_of_row(row, number)
            for number, part in enumerate(parts)
            for row in part.answers
        ],
        units=[str(unit) for part in parts for unit in part.units],
        features={
            name: [row for part in parts for row in part.features[name]]
            for name in parts[0].features
        },
    )
