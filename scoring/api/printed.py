"""What the offline scorer said of a run, put together again from the rows that keep it."""

from __future__ import annotations

from typing import Any

from scoring.board.differences import HiddenClasses, hidden_classes
from scoring.board.visibility import Audience, frozen_at
from scoring.metrics import Metric, known_metric
from scoring.models import ClassNumber, Evaluation, Score
from scoring.runs.results import latest_evaluations
from tasks.models import Submission
from tasks.types.base import printed_options


def printed(submission: Submission, audience: Audience) -> list[dict[str, Any]]:
    """What `score --json` prints, for each rule set that the run was scored under, in the task's order.

    Against the newest gold that it was scored against, as on its page, and without classes of few instances
    for those who may not see single instances.
    """
    return [found for _, found in printed_evaluations(submission, audience)]


def printed_evaluations(
    submission: Submission, audience: Audience
) -> list[tuple[Evaluation, dict[str, Any]]]:
    """Each with the evaluation that keeps it."""
    found = latest_evaluations(submission, frozen_at(submission.phase, audience)).values()
    return [(evaluation, _printed(evaluation, submission, audience)) for evaluation in found]


def _printed(evaluation: Evaluation, submission: Submission, audience: Audience) -> dict[str, Any]:
    task_type = submission.phase.task.task_type
    options = task_type.checked_options(evaluation.options)
    return {
        "task_type": task_type.slug,
        "rules": evaluation.rules,
        "options": printed_options(options),
        "gold": {"sha256": evaluation.gold.digest, "instances": evaluation.gold.instances},
        "run": {"sha256": evaluation.run_sha256},
        "metrics": {
            score.metric: _value(score, known_metric(task_type, score.metric, evaluation.rules, options))
            for score in evaluation.scores.all()
        },
        "breakdowns": _breakdowns(evaluation, hidden_classes([evaluation.pk], submission.phase, audience)),
        "notes": evaluation.notes,
    }


def _value(score: Score, metric: Metric | None) -> dict[str, Any]:
    return {
        **_number(score),
        "low": score.low,
        "high": score.high,
        "n": score.n,
        "scale": _plain(score.scale or 1.0),
        **({} if score.scale else {"is_count": True}),
        "higher_is_better": metric.higher_is_better if metric else None,
        "column": score.column,
        "signature": score.signature,
    }


def _breakdowns(evaluation: Evaluation, hidden: HiddenClasses) -> dict[str, dict[str, dict[str, Any]]]:
    """Classes in the gold's order, and in each the metrics in the scorer's."""
    return {
        row.classes.dimension: {
            label: {metric: {**_number(number), "n": number.n} for metric, number in own.items()}
            for label, own in row.by_class().items()
            if label not in hidden.get(row.classes.dimension, ())
        }
        for row in evaluation.breakdowns.select_related("classes")
    }


def _number(row: Score | ClassNumber) -> dict[str, Any]:
    return {"value": row.value, "infinite": True} if row.is_infinite else {"value": row.value}


def _plain(scale: float) -> float | int:
    """1 and not 1.0, as the scorer prints it."""
    return int(scale) if float(scale).is_integer() else scale
