"""Compute marks, which grade the parts of answers and gold, for each metric that counts
parts. Scores store the marks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from scoring.metrics import Metric, SoftwareUnavailable
from tasks.types import InputRefused, Pairs, TaskType
from tasks.types.base import (
    AnswerPart,
    MeasureCredits,
    PartCredits,
    ShownInstance,
    group_row_numbers_by_instance,
)

#: Credits of parts are stored with CREDIT_DECIMALS decimals.
CREDIT_DECIMALS = 4


def iterate_instances_with_marks(
    kind: TaskType,
    shown: Iterable[ShownInstance],
    metrics: Sequence[Metric],
    pairs: Pairs,
) -> Iterator[ShownInstance]:
    """Yield the instances with marks, which grade the parts of answers and gold.
    Instances of task types without parts of answers are yielded unchanged.
    """
    if not kind.has_answer_parts:
        yield from shown
        return
    rows = group_row_numbers_by_instance(pairs.names)
    last = max((row[-1] for row in rows.values()), default=-1)
    by_metric = {
        metric.name: marks
        for metric in metrics
        if (marks := _compute_marks_of_rows(metric, pairs, last + 1))
    }
    for instance in shown:
        own_rows = rows.get(instance.name, [])
        found: dict[MeasureCredits, list[str]] = {}
        for name, marks in by_metric.items():
            if kind.part_of_row is None:
                own = next((marks[row] for row in own_rows), None)
            else:
                own = _join_marks_of_rows(
                    instance, own_rows, marks, pairs, kind.part_of_row
                )
            if (
                own is not None
                and (own := _select_marks_of_stored_parts(own, instance)) is not None
            ):
                found.setdefault(own, []).append(name)
        yield replace(
            instance,
            marks=tuple(
                own._replace(metrics=tuple(names)) for own, names in found.items()
            ),
        )


def _compute_marks_of_rows(
    metric: Metric, pairs: Pairs, count: int
) -> Sequence[MeasureCredits | None] | None:
    """Return a metric's marks (grades of parts) for the first ``count`` rows.

    The result is None if the metric has no marks, is disabled, or cannot be computed.
    """
    if metric.unseen(pairs.gold):
        return None
    try:
        marks = metric.marks(pairs.gold[:count], pairs.answers[:count])
    except (InputRefused, SoftwareUnavailable):
        return None
    return marks if any(mark is not None for mark in marks) else None


def _join_marks_of_rows(
    instance: ShownInstance,
    rows: Sequence[int],
    marks: Sequence[MeasureCredits | None],
    pairs: Pairs,
    part_of_row: Callable[[Any], str],
) -> MeasureCredits:
    """Combine the marks (grades of parts) of an instance's rows, which have one part
    each.

    If rows of several annotators have the same part, the credit of the part is the mean
    over these rows.
    """
    gold: dict[str, list[float]] = {}
    answer: dict[str, list[float]] = {}
    for row in rows:
        own = marks[row] or MeasureCredits((), ())
        sides = (
            (gold, pairs.gold[row], own.gold),
            (answer, pairs.answers[row], own.answer),
        )
        for side, value, credits_ in sides:
            counted = [credit for credit in credits_ if credit is not None]
            side.setdefault(part_of_row(value), []).extend(counted)
    return MeasureCredits(
        _compute_mean_credits(gold, instance.gold_parts),
        _compute_mean_credits(answer, instance.answer_parts),
    )


def _compute_mean_credits(
    credits_by_name: Mapping[str, list[float]], parts: Sequence[AnswerPart]
) -> PartCredits:
    every = (credits_by_name.get(part.name) for part in parts)
    return tuple(fmean(own) if own else None for own in every)


def _select_marks_of_stored_parts(
    marks: MeasureCredits, instance: ShownInstance
) -> MeasureCredits | None:
    """Return the marks (grades) of the stored parts of an instance's gold and answer. A
    side with another number of marks than parts gets no marks. The mark of a part
    without credit is None.
    """
    gold = _select_credits_by_part(marks.gold, instance.gold_parts)
    answer = _select_credits_by_part(marks.answer, instance.answer_parts)
    is_empty = all(credit is None for credit in (*gold, *answer))
    return None if is_empty else MeasureCredits(gold, answer)


def _select_credits_by_part(
    side: PartCredits, parts: Sequence[AnswerPart]
) -> PartCredits:
    if any(part.number >= 0 for part in parts):
        chosen = [
            side[part.number] if part.number < len(side) else None for part in parts
        ]
    elif len(side) >= len(parts) and all(
        credit is None for credit in side[len(parts) :]
    ):
        # A metric from `measures.py` has a column for each part of the longest answer.
        chosen = list(side[: len(parts)])
    else:
        return ()
    return tuple(
        None if credit is None else round(credit, CREDIT_DECIMALS) for credit in chosen
    )
