"""Scoring again what a phase has, after a new gold, new rules or new options."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from tasks.jobs.leases import MOVING, create_jobs, options_digest
from tasks.models import Gold, Job, Phase, Registration, Submission

#: Failed and cancelled runs cost nothing and stay so: a score would use up one of their team's tries.
SCORED_AGAIN = (*Submission.MOVING, Submission.Status.SCORED)
#: A baseline whose run is still being computed is scored when it is there.
UNWRITTEN = Q(kind=Submission.Kind.BASELINE, file="")


def rescore(phase: Phase, most: int | None = None) -> list[Job]:
    """Queue what is missing: each run against the gold of this moment, under each of the task's rule sets.

    What is scored stays on the board meanwhile. Once more, it creates nothing. ``most`` limits how many runs
    are seen to at once.
    """
    with transaction.atomic():
        gold = _gold_of_this_moment(phase)
        if gold is None:
            return []
        runs = _runs_without_jobs(phase, gold).select_related("phase__task").order_by("pk")[:most]
        return [job for run in runs for job in create_jobs(run, gold)]


def _runs_without_jobs(phase: Phase, gold: Gold) -> QuerySet[Submission]:
    """Those that lack a job under some of the rule sets."""
    own = Q(
        jobs__gold=gold,
        jobs__rules__in=phase.task.rules,
        jobs__options_digest=options_digest(phase.task.options),
    )
    return _runs(phase).annotate(queued=Count("jobs", filter=own)).filter(queued__lt=len(phase.task.rules))


def _runs(phase: Phase) -> QuerySet[Submission]:
    """Those that are scored, or wait for it; what is still computed or checked is scored after that."""
    checks = Job.objects.filter(submission=OuterRef("pk"), step=Job.Step.CHECK, state__in=MOVING)
    runs = Submission.objects.filter(phase=phase, status__in=SCORED_AGAIN)
    return runs.exclude(UNWRITTEN).filter(~Exists(checks))


def _gold_of_this_moment(phase: Phase) -> Gold | None:
    """To be asked for in a transaction.

    A run that is being sent holds its team's entry: it is waited for, and later ones see the new gold.
    """
    list(Registration.objects.select_for_update().filter(season=phase.task.season_id).order_by("pk"))
    return Gold.objects.current(phase)
