"""Find runs that have the same answers although their files differ."""

from django.db.models import QuerySet

from scoring.models import Evaluation
from tasks.models import Submission
from tasks.submissions.alike import mark_runs_of_different_teams_as_equal
from tasks.types import Problem


def warn_of_same_answers(evaluation: Evaluation) -> None:
    """Warn a team if an earlier run of the team has the same answers in a different
    file.
    """
    run = evaluation.submission
    earlier = (
        _find_evaluations_with_same_answers(evaluation)
        .filter(
            phase=evaluation.phase_id,
            team=evaluation.team_id,
            submission__number__lt=run.number,
        )
        .exclude(submission__sha256=run.sha256)
    )
    first = (
        earlier.order_by("submission__number")
        .values_list("submission__number", flat=True)
        .first()
    )
    message = f"the same answers were sent before in another file, as run {first}"
    is_told = any(warning["message"] == message for warning in run.warnings)
    if first is not None and not is_told:
        run.warnings = [*run.warnings, Problem(message=message, fatal=False).as_dict()]
        run.save(update_fields=["warnings"])


def mark_runs_with_same_answers(evaluation: Evaluation) -> None:
    """Mark the runs of different teams that have the same answers.

    Runs of different teams with identical files have the same mark. The caller must
    have committed the evaluation before the call, so that concurrent transactions can
    read it.
    """
    same = _find_evaluations_with_same_answers(evaluation)
    mark_runs_of_different_teams_as_equal(
        Submission.objects.filter(pk__in=same.values("submission"))
    )


def _find_evaluations_with_same_answers(evaluation: Evaluation) -> QuerySet[Evaluation]:
    return Evaluation.objects.filter(
        answers_digest=evaluation.answers_digest,
        gold=evaluation.gold_id,
        rules=evaluation.rules,
        team__isnull=False,
    ).exclude(answers_digest="")
