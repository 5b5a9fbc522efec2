"""The failures of a season: runs that failed, and scored runs that could not be scored again."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from tasks.models import Acknowledgement, Gold, Job, Season, Submission

Status = Submission.Status


def failed_runs(season: Season) -> QuerySet[Submission]:
    """Those that no later run of the team in the phase has made good, newest first."""
    made_good = Submission.objects.filter(
        phase=OuterRef("phase"), team=OuterRef("team"), number__gt=OuterRef("number"), status=Status.SCORED
    )
    runs = Submission.objects.filter(phase__task__season=season, status=Status.FAILED)
    return (
        runs.exclude(Exists(made_good)).select_related("phase__task", "team").order_by("-status_since", "-pk")
    )


def failed_rescorings(season: Season) -> QuerySet[Job]:
    """Against the newest gold of their split, newest first."""
    newest = Gold.objects.filter(task=OuterRef("gold__task"), split=OuterRef("gold__split"))
    jobs = Job.objects.filter(
        submission__phase__task__season=season, submission__status=Status.SCORED, state=Job.State.FAILED
    )
    return (
        jobs.exclude(Exists(newest.filter(number__gt=OuterRef("gold__number"))))
        .select_related("submission__phase__task", "submission__team", "gold")
        .order_by("-finished_at", "-pk")
    )


def acknowledged(season: Season) -> QuerySet[Acknowledgement]:
    """What was acknowledged and has not failed again, newest first."""
    own = Acknowledgement.objects.holding().filter(submission__phase__task__season=season)
    return own.select_related("submission__phase__task", "submission__team", "job__gold", "by")
