"""What the offline scorer said of a run, put together again from the rows that keep it."""

from typing import Any

from django.db.models import prefetch_related_objects

from scoring.board.differences import hidden_of
from scoring.board.visibility import Audience, frozen_at
from scoring.metrics import Metric, known_metric, names_by
from scoring.models import OF_SMALL_CLASS, ClassNumber, Evaluation, Score
from scoring.runs.results import latest_evaluations
from tasks.models import Submission
from tasks.types.base import printed_options


def printed(submission: Submission, audience: Audience) -> list[dict[str, Any]]:
    """What `score --json` prints, for each rule set that the run was scored under, in the task's order.

    Against the newest gold that it was scored against, as on its page, and with nothing of classes of few
    instances for those who may not see single instances.
    """
    return [found for _, found in printed_evaluations(submission, audience)]


def printed_evaluations(
    submission: Submission, audience: Audience
) -> list[tuple[Evaluation, dict[str, Any]]]:
    """Each with the evaluation that keeps it."""
    found = list(latest_evaluations(submission, frozen_at(submission.phase, audience)).values())
    prefetch_related_objects(found, "breakdowns__classes")
    return [(evaluation, _printed(evaluation, submission, audience)) for evaluation in found]


def _printed(evaluation: Evaluation, submission: Submission, audience: Audience) -> dict[str, Any]:
    task_type = submission.phase.task.task_type
    options = task_type.checked_options(evaluation.options)
    hidden = hidden_of(evaluation.breakdowns.all(), submission.phase, audience)
    breakdowns = {}
    for row in evaluation.breakdowns.all():
        dimension, classes = row.classes.dimension, row.by_class()
        valid = names_by(task_type, dimension, row.classes.metrics, evaluation.rules, options)
        few = hidden.get(dimension, ())
        breakdowns[dimension] = {
            label: {
                name: _class_number(OF_SMALL_CLASS if label in few else numbers[name])
                for name in valid
                if name in numbers
            }
            for label, numbers in classes.items()
        }
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
        "breakdowns": breakdowns,
        "notes": evaluation.notes,
    }


def _value(score: Score, metric: Metric | None) -> dict[str, Any]:
    """Its scale is 1 and not 1.0, as the scorer prints it."""
    scale = float(score.scale or 1)
    return {
        **_number(score),
        "low": score.low,
        "high": score.high,
        "n": score.n,
        "scale": int(scale) if scale.is_integer() else scale,
        **({} if score.scale else {"is_count": True}),
        "higher_is_better": metric.higher_is_better if metric else None,
        "column": score.column,
        "signature": score.signature,
    }


def _class_number(number: ClassNumber) -> dict[str, Any]:
    if number.withheld:
        return {"value": None, "withheld": str(number.withheld), "n": None}
    return {**_number(number), "n": number.n}


def _number(row: Score | ClassNumber) -> dict[str, Any]:
    if isinstance(row, Score) and row.withheld:
        return {"value": None, "withheld": row.get_withheld_display()}
    return {"value": row.value, "infinite": True} if row.is_infinite else {"value": row.value}
