"""Choose the queue of a job and the next job of a worker group, and compute positions
of runs in the queue.
"""

import datetime as dt
import time
from collections import Counter
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import (
    BooleanField,
    Count,
    F,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.expressions import RawSQL
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from citeboard.core.database import database_time_expression
from citeboard.core.processes import build_process_group_name
from citeboard.core.writability import is_writable
from tasks.jobs.interruptions import default_on_database_error
from tasks.models import Job, Submission, Task, WorkerGroup

#: Worker groups send a heartbeat every HEARTBEAT_SECONDS seconds.
#: A group without a heartbeat for MAX_SILENCE_SECONDS seconds counts as stopped.
#: A stopped group is deleted GROUP_RETENTION_SECONDS seconds after its last heartbeat.
HEARTBEAT_SECONDS, MAX_SILENCE_SECONDS, GROUP_RETENTION_SECONDS = 5.0, 60, 24 * 60 * 60


class WorkerGroupHeartbeat:
    """The heartbeat of a worker group, which one process of the group writes to the
    database.
    """

    def __init__(self, group: int) -> None:
        self._name = build_process_group_name(group)
        self._next = 0.0

    def record_if_due(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + HEARTBEAT_SECONDS
        message = "the group of workers cannot leave a sign of life"
        default_on_database_error(
            lambda: record_worker_group_heartbeat(self._name), None, message
        )


def record_worker_group_heartbeat(name: str) -> None:
    facts = {
        "queues": settings.QUEUES,
        "workers": settings.WORKERS,
        "seen_at": database_time_expression(),
    }
    WorkerGroup.objects.update_or_create(name=name, defaults=facts)


def list_living_worker_groups() -> list[WorkerGroup]:
    return list(
        WorkerGroup.objects.filter(
            seen_at__gt=database_time_expression(-MAX_SILENCE_SECONDS)
        ).order_by("name")
    )


def delete_worker_group(name: str) -> None:
    WorkerGroup.objects.filter(name=name).delete()


def explain_unserved_queue(queue: str) -> str:
    """Return a clause that explains why no worker group takes jobs of the queue. Return
    an empty text if a worker group serves the queue.
    """
    if not (groups := list_living_worker_groups()):
        return _("no worker is running")
    if any(group.serves_queue(queue) for group in groups):
        return ""
    return _("no worker serves the queue %(queue)s") % {"queue": queue}


WORKER_START_GRACE_SECONDS = (
    15.0  # seconds in which a new worker group need not claim a job
)
MIN_SECONDS_UNTIL_STUCK = (
    5.0  # minimum of seconds after which free workers count as stuck
)


class WorkerGroupWatchdog:
    """Monitors if one worker group still claims jobs. ``owner`` is the common prefix of
    the group's claims.
    """

    def __init__(self, owner: str, *, workers: int) -> None:
        self.owner = owner
        self.workers = workers
        self._last_claim: dt.datetime | None = None
        self._since = time.monotonic() + WORKER_START_GRACE_SECONDS

    def is_stuck(self) -> bool:
        """Return True if free workers of the group leave claimable jobs in the queue.
        Return False while the database is not writable, because workers then cannot
        take jobs.
        """
        now = time.monotonic()
        if not is_writable():
            self._since = max(self._since, now)
            return False
        claims = Job.all_kinds.filter(lease_owner__startswith=self.owner)
        running = claims.filter(state=Job.State.RUNNING).count()
        if running >= self.workers or not list_claimable_jobs(self.owner).exists():
            self._since = max(self._since, now)
        else:
            before = self._last_claim
            self._last_claim = claims.aggregate(last=Max("started_at"))["last"]
            if self._last_claim != before:
                self._since = now
        return now - self._since > max(settings.LEASE_SECONDS, MIN_SECONDS_UNTIL_STUCK)


LIGHT_QUEUE, MODELS_QUEUE, GPU_QUEUE = Job.LIGHT, "models", "gpu"
#: The function in `scoring` has a dotted name, as `tasks` must not import `scoring`.
NEEDS_MODELS_FUNCTION = "scoring.metrics.needs_models"
#: A run is heavy if the median of recent runs of its phase took longer than HEAVY_RUN_DURATION.
HEAVY_RUN_DURATION = dt.timedelta(seconds=20)
RECENT_RUNS_CONSIDERED = 5


def choose_queue_of_task(task: Task) -> str:
    """Return the job queue that organisers have set for the task. By default, tasks
    whose metrics need models use the queue `models`, and all other tasks use the queue
    `light`.
    """
    if task.queue:
        return task.queue
    return (
        MODELS_QUEUE
        if import_string(NEEDS_MODELS_FUNCTION)(
            task.type, tuple(task.rules), task.options
        )
        else LIGHT_QUEUE
    )


def is_heavy_run(submission: Submission, queue: str, kind: Job.Kind) -> bool:
    if queue != LIGHT_QUEUE or submission.size > settings.CHECK_MAX_MB * 1024 * 1024:
        return True
    same = {
        "season": submission.phase.task.season_id,
        "priority": Job.Priority.NEW,
        "kind": kind,
    }
    done = Job.objects.filter(
        submission__phase=submission.phase_id, state=Job.State.DONE, **same
    )
    lately = done.filter(started_at__isnull=False, finished_at__isnull=False).order_by(
        "-started_at"
    )
    took = sorted(
        lately.values_list(F("finished_at") - F("started_at"), flat=True)[
            :RECENT_RUNS_CONSIDERED
        ]
    )
    return bool(took) and took[len(took) // 2] > HEAVY_RUN_DURATION


def compute_scheduling_fields(
    submission: Submission, kind: Job.Kind
) -> dict[str, object]:
    task = submission.phase.task
    queue = LIGHT_QUEUE if kind == Job.Kind.CHECK else choose_queue_of_task(task)
    is_again = submission.status == Submission.Status.SCORED
    facts = {
        "season": task.season_id,
        "priority": Job.Priority.AGAIN if is_again else Job.Priority.NEW,
    }
    before = Job.objects.filter(**facts, team=submission.team_id or 0).exclude(
        submission=submission
    )
    own = before.order_by("-turn").values_list("turn", flat=True).first()
    # The turn follows the team's latest turn, but is at least the current turn.
    turn = max(
        0 if own is None else own + 1, list_turns_of_started_jobs(**facts).first() or 0
    )
    facts |= {"team": submission.team_id or 0, "turn": turn}
    return {"queue": queue, "is_heavy": is_heavy_run(submission, queue, kind), **facts}


def list_turns_of_started_jobs(**of: Any) -> QuerySet[Job, int]:
    """Return the turns of jobs that have started, the latest start first. Jobs of the
    teams of a season alternate by turns.
    """
    begun = Job.objects.filter(started_at__isnull=False, **of).order_by("-started_at")
    return begun.values_list("turn", flat=True)


#: Jobs that started more than SEASON_ORDER_WINDOW_SECONDS seconds ago do not affect the order of seasons.
SEASON_ORDER_WINDOW_SECONDS = 3600
MAX_TURN_NUMBER = 2**31 - 1
NEVER_STARTED_TIME = dt.datetime.min.replace(tzinfo=dt.UTC)
#: The conditions contain no parameters, so that databases use the partial index.
_STATE_CONDITIONS = "state = 'queued'", "state = 'running'"
IS_QUEUED_SQL, IS_RUNNING_SQL = (
    RawSQL(state, (), BooleanField())  # noqa: S611  (texts of our own)
    for state in _STATE_CONDITIONS
)
#: The query finds the first queued job of each group by index look-ups.
#: The `nullif` calls keep SQLite from scanning all rows with equal values.
#: SQLite must be told the index, since it would otherwise sort all waiting jobs.
_GROUP_COLUMNS_SQL, _ORDER_COLUMNS_SQL = (
    ", ".join(names) for names in (Job.GROUP, Job.ORDER)
)
_HEAD_GROUP_COLUMNS_SQL = ", ".join(f"nullif(job.{name}, NULL)" for name in Job.GROUP)
_FIRST_JOB_OF_GROUP_SQL = f"ORDER BY {_GROUP_COLUMNS_SQL}, {_ORDER_COLUMNS_SQL} LIMIT 1"
_IS_BEHIND_HEAD_SQL = (
    f"({_GROUP_COLUMNS_SQL}, turn) > ({_HEAD_GROUP_COLUMNS_SQL}, {MAX_TURN_NUMBER})"
)
FIRST_JOBS_SQL = f"""
    WITH RECURSIVE head (id) AS (
        SELECT (SELECT id FROM tasks_job %(by)s WHERE {_STATE_CONDITIONS[0]} {_FIRST_JOB_OF_GROUP_SQL})
        UNION ALL
        SELECT (SELECT id FROM tasks_job %(by)s
                WHERE {_STATE_CONDITIONS[0]} AND {_IS_BEHIND_HEAD_SQL}
                {_FIRST_JOB_OF_GROUP_SQL})
        FROM head JOIN tasks_job job ON job.id = head.id
    ) SELECT id FROM head
"""  # noqa: S608


def list_jobs_in_served_queues() -> QuerySet[Job]:
    waiting = Job.all_kinds.filter(
        state=Job.State.QUEUED, priority__lt=Job.Priority.POST
    )
    return waiting.filter(queue__in=settings.QUEUES) if settings.QUEUES else waiting


#: A worker group runs at most `CITEBOARD_WORKERS` jobs of each kind in LONG_JOB_CONDITIONS at once.
#: The limit on long jobs leaves workers for short jobs.
LONG_JOB_CONDITIONS = {
    "long": Q(kind=Job.Kind.BACKGROUND) | Q(kind__in=Job.OF_RUNS, is_heavy=True),
    "comparing": Q(kind=Job.Kind.COMPARE),
}


def list_claimable_jobs(group: str) -> QuerySet[Job]:
    """Return the jobs that a worker of the group may claim now. Only the first queued
    job is returned for each group of similar jobs (same queue, kind, weight, priority
    and season).
    """
    jobs = select_first_job_per_group(list_jobs_in_served_queues())
    if not settings.FAST_LANE:
        return jobs
    # A process may claim a run's jobs for all rule sets, so processes are counted.
    at_work = Job.all_kinds.filter(
        IS_RUNNING_SQL, lease_owner__gt="", lease_owner__startswith=group
    ).aggregate(
        **{
            name: Count("lease_owner", filter=which, distinct=True)
            for name, which in LONG_JOB_CONDITIONS.items()
        }
    )
    for name, which in LONG_JOB_CONDITIONS.items():
        if at_work[name] >= settings.WORKERS:
            jobs = jobs.exclude(which)
    return jobs


def select_first_job_per_group(jobs: QuerySet[Job]) -> QuerySet[Job]:
    with connection.cursor() as cursor:
        cursor.execute(
            FIRST_JOBS_SQL
            % {"by": "INDEXED BY job_queued" if connection.vendor == "sqlite" else ""}
        )
        return jobs.filter(pk__in=[number for (number,) in cursor.fetchall() if number])


def sort_by_fair_share(jobs: QuerySet[Job]) -> list[Job]:
    """Sort the jobs in the order in which workers take them."""
    begun = Job.objects.filter(
        season=OuterRef("season"),
        started_at__gt=database_time_expression(-SEASON_ORDER_WINDOW_SECONDS),
    )
    lately = begun.order_by("-started_at").values("started_at")
    new, again = (
        Subquery(lately.filter(priority=priority)[:1])
        for priority in (Job.Priority.NEW, Job.Priority.AGAIN)
    )
    rows: list[Any] = list(jobs.annotate(new=new, again=again).order_by(*Job.ORDER))
    seasons: dict[tuple[int, int], Any] = {}
    for job in rows:
        last = max(job.new or NEVER_STARTED_TIME, job.again or NEVER_STARTED_TIME)
        seasons.setdefault(
            (job.priority, job.season), (job.priority, last, job.created_at, job.pk)
        )
    return sorted(rows, key=lambda job: seasons[job.priority, job.season])


#: Positions after MAX_QUEUE_POSITION are not computed, to limit the computation time.
MAX_QUEUE_POSITION = 100


def compute_position_in_queue(submission: Submission) -> int | None:
    """Return the run's position in the queue of jobs, counted from 1, but at most
    MAX_QUEUE_POSITION + 1. Return None if the run is not queued.
    """
    job = (
        submission.jobs.filter(sets_status=True, state=Job.State.QUEUED)
        .order_by("-id")
        .first()
        if submission.status in (Submission.Status.QUEUED, Submission.Status.CHECKING)
        else None
    )
    if job is None:
        return None
    firsts = sort_by_fair_share(
        select_first_job_per_group(
            Job.objects.filter(queue=job.queue, priority__lte=job.priority)
        )
    )
    order = list(dict.fromkeys((first.priority, first.season) for first in firsts))
    same = Q(turn=job.turn, created_at=job.created_at, pk__lte=job.pk)
    earlier = (
        Q(turn__lt=job.turn) | Q(turn=job.turn, created_at__lt=job.created_at) | same
    )
    own: list[int] = []
    others = Counter[tuple[int, int]]()
    for first in firsts:
        # SQLite uses the index for `IN`, but not for comparisons with booleans.
        group = {f"{name}__in": [getattr(first, name)] for name in Job.GROUP}
        waiting = Job.all_kinds.filter(
            IS_QUEUED_SQL, sets_status=True, **group
        ).order_by(*Job.ORDER)
        if (first.priority, first.season) == (job.priority, job.season):
            own += waiting.filter(earlier, turn__lte=job.turn).values_list(
                "pk", flat=True
            )[: MAX_QUEUE_POSITION + 1]
        else:
            others[first.priority, first.season] += waiting[
                : MAX_QUEUE_POSITION + 1
            ].count()
    if len(own) <= MAX_QUEUE_POSITION and job.pk not in own:
        return None  # A worker has taken the job in the meantime.
    mine, place = order.index((job.priority, job.season)), len(own)
    for position, key in enumerate(order):
        # Seasons with the same priority take turns, so jobs of others come in between.
        turns = (
            MAX_QUEUE_POSITION
            if key[0] < job.priority
            else len(own) - (position > mine)
        )
        place += min(others[key], turns)
    return min(place, MAX_QUEUE_POSITION + 1)


def annotate_progress(submissions: QuerySet[Submission]) -> QuerySet[Submission]:
    running = Job.objects.filter(
        submission=OuterRef("pk"), sets_status=True, state=Job.State.RUNNING
    )
    return submissions.annotate(
        progress=Subquery(running.order_by("-id").values("progress")[:1])
    )
