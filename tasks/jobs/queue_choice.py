"""Which groups serve which queues, which queue a job waits in, whose turn it is, and its place until then."""

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from citeboard.core.database import from_now
from citeboard.core.processes import group_name
from tasks.jobs.interruptions import default_on_database_error
from tasks.models import Job, Submission, Task, WorkerGroup

#: Seconds between two signs of life, and without one after which a group counts as gone, or is forgotten.
PACE, MAX_SILENCE, FORGOTTEN = 5.0, 60, 24 * 60 * 60


class SignOfLife:
    """Of a group, given by the process of it that fetches wakes: while it does, the group takes jobs."""

    def __init__(self, group: int) -> None:
        self._name = group_name(group)
        self._next = 0.0

    def give(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PACE
        words = "the group of workers cannot leave a sign of life"
        default_on_database_error(lambda: note_group(self._name), None, words)


def note_group(name: str) -> None:
    facts = {"queues": settings.QUEUES, "workers": settings.WORKERS, "seen_at": from_now()}
    WorkerGroup.objects.update_or_create(name=name, defaults=facts)


def living_groups() -> list[WorkerGroup]:
    return list(WorkerGroup.objects.filter(seen_at__gt=from_now(-MAX_SILENCE)).order_by("name"))


def forget_group(name: str) -> None:
    WorkerGroup.objects.filter(name=name).delete()


def why_unserved(queue: str) -> str:
    """Why nothing takes jobs of the queue, as a clause; empty where some group does."""
    groups = living_groups()
    if not groups:
        return _("no worker is running")
    if any(group.serves(queue) for group in groups):
        return ""
    return _("no worker serves the queue %(queue)s") % {"queue": queue}


START = 15.0  # seconds that a group may take until it takes jobs
SHORTEST = 5.0  # seconds that a busy machine may let a free worker wait, however short leases are


class Watchdog:
    """Watches one group of workers, known by how its claims begin."""

    def __init__(self, owner: str, *, workers: int) -> None:
        self.owner = owner
        self.workers = workers
        self._last_claim: dt.datetime | None = None
        self._since = time.monotonic() + START

    def is_stuck(self) -> bool:
        now = time.monotonic()
        claims = Job.all_kinds.filter(lease_owner__startswith=self.owner)
        running = claims.filter(state=Job.State.RUNNING).count()
        if running >= self.workers or not claimable(self.owner).exists():
            self._since = max(self._since, now)
        else:
            before = self._last_claim
            self._last_claim = claims.aggregate(last=Max("started_at"))["last"]
            if self._last_claim != before:
                self._since = now
        return now - self._since > max(settings.LEASE_SECONDS, SHORTEST)


LIGHT, MODELS, GPU = Job.LIGHT, "models", "gpu"
#: Named and not imported: what metrics need is known to scoring, which stands to the right of tasks.
NEEDS_MODELS = "scoring.metrics.needs_models"
#: A run is heavy where runs of its phase have lately taken so long.
HEAVY = dt.timedelta(seconds=20)
RECENT = 5


def queue_of(task: Task) -> str:
    """The one its organisers have named, or by what its metrics need under its options."""
    if task.queue:
        return task.queue
    return MODELS if import_string(NEEDS_MODELS)(task.type, tuple(task.rules), task.options) else LIGHT


def is_heavy(submission: Submission, queue: str, kind: Job.Kind) -> bool:
    if queue != LIGHT or submission.size > settings.CHECK_MAX_MB * 1024 * 1024:
        return True
    done = Job.objects.filter(submission__phase=submission.phase_id, state=Job.State.DONE, kind=kind)
    lately = done.filter(started_at__isnull=False, finished_at__isnull=False).order_by("-pk")
    took = sorted(lately.values_list(F("finished_at") - F("started_at"), flat=True)[:RECENT])
    return bool(took) and took[len(took) // 2] > HEAVY


def facts_of(submission: Submission, kind: Job.Kind) -> dict[str, object]:
    queue = LIGHT if kind == Job.Kind.CHECK else queue_of(submission.phase.task)
    is_again = submission.status == Submission.Status.SCORED
    priority = Job.Priority.AGAIN if is_again else Job.Priority.NEW
    return {"queue": queue, "is_heavy": is_heavy(submission, queue, kind), "priority": priority}


#: Seconds after which a team's last turn is forgotten.
MEMORY = 3600
NEVER = dt.datetime.min.replace(tzinfo=dt.UTC)
SEASON, TEAM = "submission__phase__task__season", "submission__team"

#: Season and team; what organisers set beside the runs of teams has no team, and what is of no run neither.
Sender = tuple[int | None, int | None]


@dataclass(frozen=True, kw_only=True)
class Share:
    priority: int
    sender: Sender
    jobs: int
    oldest: dt.datetime


class Turns:
    def __init__(self, last: Mapping[Sender, dt.datetime]) -> None:
        self._teams = last
        self._seasons: dict[int | None, dt.datetime] = {}
        for (season, _team), began in last.items():
            self._seasons[season] = max(began, self._seasons.get(season, NEVER))

    def first(self, shares: Sequence[Share]) -> Share:
        return min(
            shares,
            key=lambda share: (
                share.priority,
                self._seasons.get(share.sender[0], NEVER),
                self._teams.get(share.sender, NEVER),
                share.oldest,
            ),
        )


def served() -> QuerySet[Job]:
    waiting = Job.all_kinds.filter(state=Job.State.QUEUED, priority__lt=Job.Priority.POST)
    return waiting.filter(queue__in=settings.QUEUES) if settings.QUEUES else waiting


#: What a light run never waits behind: of each a group does at most `CITEBOARD_WORKERS` at a time.
LONG = {
    "long": Q(kind=Job.Kind.BACKGROUND) | Q(kind__in=Job.OF_RUNS, is_heavy=True),
    "comparing": Q(kind=Job.Kind.COMPARE),
}


def claimable(group: str) -> QuerySet[Job]:
    """What a worker of this group may take now."""
    jobs = served()
    if not settings.FAST_LANE:
        return jobs
    running = Job.all_kinds.filter(state=Job.State.RUNNING, lease_owner__startswith=group)
    # One process may have all rule sets of a run.
    at_work = running.aggregate(
        **{name: Count("lease_owner", filter=which, distinct=True) for name, which in LONG.items()}
    )
    for name, which in LONG.items():
        if at_work[name] >= settings.WORKERS:
            jobs = jobs.exclude(which)
    return jobs


def shares_of(jobs: QuerySet[Job]) -> list[Share]:
    rows = jobs.order_by().values_list("priority", SEASON, TEAM).annotate(Count("pk"), Min("created_at"))
    return [
        Share(priority=priority, sender=(season, team), jobs=count, oldest=oldest)
        for priority, season, team, count, oldest in rows
    ]


def turns() -> Turns:
    recent = Job.objects.filter(started_at__gt=from_now(-MEMORY)).order_by()
    rows = recent.values_list(SEASON, TEAM).annotate(Max("started_at"))
    return Turns({(season, team): began for season, team, began in rows})


def next_job(jobs: QuerySet[Job]) -> int | None:
    shares = shares_of(jobs)
    if not shares:
        return None
    chosen = turns().first(shares)
    season, team = chosen.sender
    own = jobs.filter(priority=chosen.priority, submission__phase__task__season=season, submission__team=team)
    return own.order_by("created_at", "pk").values_list("pk", flat=True).first()


def place_in_queue(submission: Submission) -> int | None:
    """1 for the run that is next in its queue; None for one that does not wait for a worker."""
    job = (
        submission.jobs.filter(sets_status=True, state=Job.State.QUEUED).order_by("-id").first()
        if submission.status in (Submission.Status.QUEUED, Submission.Status.CHECKING)
        else None
    )
    if job is None:
        return None
    queue = Job.objects.filter(sets_status=True, state=Job.State.QUEUED, queue=job.queue)
    season, team = submission.phase.task.season_id, submission.team_id
    own = queue.filter(priority=job.priority, submission__phase__task__season=season, submission__team=team)
    earlier = Q(created_at__lt=job.created_at) | Q(created_at=job.created_at, pk__lt=job.pk)
    shares = shares_of(queue)
    before = sum(share.jobs for share in shares if share.priority < job.priority)
    equal = [share for share in shares if share.priority == job.priority]
    if (season, team) not in [share.sender for share in equal]:
        return None  # A worker has taken it meanwhile.
    return before + _round(equal, turns(), (season, team), own.filter(earlier).count())


def _round(shares: Sequence[Share], turns: Turns, sender: Sender, earlier: int) -> int:
    seasons: dict[int | None, list[Share]] = {}
    for share in shares:
        seasons.setdefault(share.sender[0], []).append(share)
    own = seasons.pop(sender[0])
    [mine] = [share for share in own if share.sender == sender]
    place = 1 + earlier
    for share in own:
        if share is not mine:
            is_first = turns.first([share, mine]) is share
            place += min(share.jobs, earlier + is_first)
    own_first = turns.first(own)
    among_own = place
    for others in seasons.values():
        is_first = turns.first([turns.first(others), own_first]) is not own_first
        place += min(sum(share.jobs for share in others), among_own - 1 + is_first)
    return place


def with_progress(submissions: QuerySet[Submission]) -> QuerySet[Submission]:
    running = Job.objects.filter(submission=OuterRef("pk"), sets_status=True, state=Job.State.RUNNING)
    return submissions.annotate(progress=Subquery(running.order_by("-id").values("progress")[:1]))
