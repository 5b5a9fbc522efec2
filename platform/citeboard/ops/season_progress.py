"""Runs per day, waiting times and disk space of a season, for its organisers."""

import datetime as dt
from dataclasses import dataclass
from statistics import median

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Sum
from django.utils.dateformat import format as date_format
from django.utils.translation import gettext as _

from citeboard.core.database import fetch_database_time
from scoring.figures import Axis, BarChart, FigureValue, ValueSeries
from tasks.jobs import tallies
from tasks.jobs.leases import make_admin_wait_filter
from tasks.models import Acknowledgement, Gold, Job, Phase, Season, Submission, Tallied

RunStatus = Submission.Status

PROGRESS_DAYS_SHOWN = 30
#: The waiting times on pages come from at most MAX_TIMED_JOBS jobs of the period TIMED_JOBS_PERIOD.
MAX_TIMED_JOBS, TIMED_JOBS_PERIOD = 1000, dt.timedelta(days=7)


@dataclass(frozen=True, kw_only=True)
class Day:
    day: dt.date
    scored: int
    not_scored: int
    moving: int

    @property
    def sent(self) -> int:
        return self.scored + self.not_scored + self.moving


@dataclass(frozen=True, kw_only=True)
class Waiting:
    queue: str
    queued: int
    running: int
    oldest: dt.datetime | None


@dataclass(frozen=True, kw_only=True)
class Times:
    jobs: int
    waited: float
    took: float
    longest: float


@dataclass(frozen=True, kw_only=True)
class Progress:
    days: list[Day]
    queues: list[Waiting]
    times: Times | None
    runs: int
    run_bytes: int

    @property
    def figure(self) -> BarChart:
        kinds = (
            (_("scored"), "scored"),
            (_("on the way"), "moving"),
            (_("not scored"), "not_scored"),
        )
        return BarChart(
            title=_("Runs by day"),
            labels=[date_format(day.day, _("d M")) for day in self.days],
            series=[
                ValueSeries(
                    name=name,
                    values=[
                        FigureValue(value=getattr(day, field)) for day in self.days
                    ],
                )
                for name, field in kinds
            ],
            axis=Axis(title=_("runs"), decimals=0, has_zero=True),
        )


def compute_season_progress(season: Season) -> Progress:
    is_queued = Q(state=Job.State.QUEUED)
    unended = Job.objects.filter(submission__phase__task__season=season)
    unended = unended.filter(state__in=(Job.State.QUEUED, Job.State.RUNNING)).order_by()
    queues = unended.values("queue").annotate(
        queued=Count("pk", filter=is_queued),
        running=Count("pk", filter=~is_queued),
        oldest=Min("created_at", filter=is_queued),
    )
    is_scored, is_moving = Q(state=RunStatus.SCORED), Q(state__in=Submission.MOVING)
    tallied = Tallied.objects.filter(
        phase__in=Phase.objects.filter(task__season=season).values("pk")
    )
    days = tallied.filter(what=tallies.DAILY_RUN_COUNT_KIND).values("day")
    days = days.annotate(
        scored=Sum("number", filter=is_scored, default=0),
        moving=Sum("number", filter=is_moving, default=0),
        not_scored=Sum("number", filter=~is_scored & ~is_moving, default=0),
    )
    last = list(
        days.alias(sent=Sum("number"))
        .filter(sent__gt=0)
        .order_by("-day")[:PROGRESS_DAYS_SHOWN]
    )
    runs = tallied.filter(what=tallies.RUN_COUNT_KIND)
    return Progress(
        days=[Day(**row) for row in reversed(last)],
        queues=[Waiting(**row) for row in queues.order_by("queue")],
        times=_compute_job_durations(season),
        **runs.aggregate(
            runs=Sum("number", default=0), run_bytes=Sum("size", default=0)
        ),
    )


def _compute_job_durations(season: Season) -> Times | None:
    done = Job.objects.filter(
        season=season.pk,
        priority__in=(Job.Priority.NEW, Job.Priority.AGAIN),
        kind=Job.Kind.SCORE,
        state=Job.State.DONE,
        started_at__gt=fetch_database_time() - TIMED_JOBS_PERIOD,
    ).order_by("-started_at")
    times = [
        (made, begun, ended)
        for made, begun, ended in done.values_list(
            "created_at", "started_at", "finished_at"
        )[:MAX_TIMED_JOBS]
        if begun and ended
    ]
    if not times:
        return None
    waited = [(begun - made).total_seconds() for made, begun, _ in times]
    took = [(ended - begun).total_seconds() for _, begun, ended in times]
    longest = max((ended - made).total_seconds() for made, _, ended in times)
    return Times(
        jobs=len(times), waited=median(waited), took=median(took), longest=longest
    )


def find_failed_runs(season: Season) -> QuerySet[Submission]:
    later = Submission.objects.filter(
        phase=OuterRef("phase"),
        team=OuterRef("team"),
        number__gt=OuterRef("number"),
        status=RunStatus.SCORED,
    )
    runs = Submission.objects.filter(
        ~Exists(later),
        phase__task__season=season,
        has_failed=True,
        status=RunStatus.FAILED,
    )
    return runs.select_related("phase__task", "team").order_by("-status_since", "-pk")


def find_runs_lacking_software(season: Season) -> QuerySet[Submission]:
    """Return the season's runs that wait for a package or model, longest wait first."""
    shown = (RunStatus.WAITING, RunStatus.SCORED)
    runs = Submission.objects.filter(
        make_admin_wait_filter(), phase__task__season=season, status__in=shown
    )
    return runs.select_related("phase__task", "team").order_by("submitted_at", "pk")


def describe_why_run_waits(run: Submission) -> str:
    if run.reason:
        return run.reason
    waiting = run.jobs.filter(state=Job.State.WAITING).order_by("pk").first()
    return waiting.reason if waiting else ""


def find_failed_rescoring_jobs(season: Season) -> QuerySet[Job]:
    newest = Gold.objects.filter(
        task=OuterRef("gold__task"), split=OuterRef("gold__split")
    )
    jobs = Job.all_kinds.filter(
        ~Exists(newest.filter(number__gt=OuterRef("gold__number"))),
        submission__phase__task__season=season,
        submission__has_failed=True,
        submission__status=RunStatus.SCORED,
        # With an equality instead of `contains`, SQLite would scan all failed jobs.
        state__contains=Job.State.FAILED,
    ).select_related("submission__phase__task", "submission__team", "gold")
    return jobs.order_by("-finished_at", "-pk")


def find_acknowledged_failures(season: Season) -> QuerySet[Acknowledgement]:
    runs = Submission.objects.filter(
        pk=OuterRef("submission"), phase__task__season=season
    )
    own = Acknowledgement.objects.of_current_failures().filter(Exists(runs))
    return own.select_related(
        "submission__phase__task", "submission__team", "job__gold", "by"
    )
