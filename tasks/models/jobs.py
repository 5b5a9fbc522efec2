"""A job is a unit of work for a run or another object. The job's row contains the whole
state of the work, and the queue only wakes workers.
"""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

from django.db import models
from django.db.models import CASCADE, PROTECT, SET_NULL, Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from citeboard.teams.models import User
from tasks.models.seasons import Gold
from tasks.models.submissions import Submission

RUN_JOB_KINDS = ("write", "check", "score")


class RunJobManager(models.Manager["Job"]):
    def get_queryset(self) -> models.QuerySet[Job]:
        return super().get_queryset().filter(kind__in=RUN_JOB_KINDS)


class Job(models.Model):
    class Kind(models.TextChoices):
        WRITE = "write", _("computing the run")
        CHECK = "check", _("checking the run")
        SCORE = "score", _("scoring the run")
        BACKGROUND = "background", "work for a season"
        COMPARE = "compare", "comparing the rows of a board"
        MAIL = "mail", "sending an e-mail"
        INVITATION = "invitation", "sending an invitation"
        WEBHOOK = "webhook", "posting an event"

    OF_RUNS: ClassVar[tuple[Kind, ...]] = (Kind.WRITE, Kind.CHECK, Kind.SCORE)

    class Priority(models.IntegerChoices):
        NEW = 0, "a new run"
        AGAIN = 1, "a run that has a score"
        BACKGROUND = 2, "work for a season"
        COMPARISON = 3, "a board whose rows are not compared"
        CLASSES = 4, "a board whose classes are not compared"
        POST = 5, "an e-mail or an event"

    LIGHT: ClassVar[str] = "light"
    #: Jobs that send requests to judge models are in the queue JUDGES.
    JUDGES: ClassVar[str] = "judges"

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        WAITING = "waiting", _("waiting")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    MOVING: ClassVar[tuple[State, ...]] = (State.QUEUED, State.RUNNING, State.WAITING)

    kind = models.CharField(max_length=10, choices=Kind, default=Kind.SCORE)
    #: A job that does not belong to a run has no submission.
    #: The row to which a job without a run belongs has a column ``job``.
    submission: models.ForeignKey[Submission, Submission] = models.ForeignKey(  # type: ignore[misc]
        Submission, on_delete=CASCADE, null=True, blank=True, related_name="jobs"
    )
    gold: models.ForeignKey[Gold, Gold] = models.ForeignKey(  # type: ignore[misc]
        Gold, on_delete=PROTECT, null=True, blank=True, related_name="jobs"
    )
    rules = models.CharField(
        max_length=60, blank=True, help_text="Empty for a job that scores nothing."
    )
    options: models.JSONField[dict[str, str]] = models.JSONField(default=dict)
    options_digest = models.CharField(max_length=64, blank=True)
    sets_status = models.BooleanField(
        default=False, help_text="The submission's status follows this job."
    )
    queue = models.CharField(
        max_length=60,
        default=LIGHT,
        db_default=LIGHT,
        help_text="Taken by groups of workers that serve this queue.",
    )
    is_heavy = models.BooleanField(
        default=False, db_default=False, help_text="Light ones do not wait behind it."
    )
    priority = models.PositiveSmallIntegerField(
        choices=Priority, default=Priority.NEW, db_default=Priority.NEW
    )
    season = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="Of its run; 0 without one."
    )
    team = models.PositiveBigIntegerField(
        default=0,
        db_default=0,
        help_text="Of its run, when it was made; 0 without one.",
    )
    turn = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="Of its team, among the turns of its season and priority.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    reason = models.TextField(blank=True)
    attempt = models.PositiveIntegerField(
        default=0, help_text="Counted when a worker claims the job."
    )
    leases_lost = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="How often its worker gave no sign of life until the lease ended.",
    )
    lease_owner = models.CharField(max_length=80, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    progress = models.FloatField(
        default=0, help_text="Share of the scoring that is done, 0 to 1."
    )
    trace = models.CharField(
        max_length=64,
        blank=True,
        help_text="The id of the request that made the job; every log line of it says so.",
    )
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(
        null=True, blank=True, help_text="When a sweep posts it."
    )
    woken_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    #: `all_kinds` returns all jobs, and `objects` returns only the jobs of runs.
    all_kinds: ClassVar[models.Manager[Job]] = models.Manager()
    objects: ClassVar[RunJobManager] = RunJobManager()

    #: Queued jobs are grouped by the fields in GROUP, and a group is sorted by ORDER.
    GROUP: ClassVar[tuple[str, ...]] = (
        "queue",
        "kind",
        "is_heavy",
        "priority",
        "season",
    )
    ORDER: ClassVar[tuple[str, ...]] = ("turn", "created_at", "id")

    class Meta:
        ordering = ["created_at", "id"]
        indexes = [
            models.Index(
                fields=[
                    "queue",
                    "kind",
                    "is_heavy",
                    "priority",
                    "season",
                    "turn",
                    "created_at",
                    "id",
                ],
                condition=Q(state="queued"),
                name="job_queued",
            ),
            models.Index(
                fields=["lease_owner", "kind", "is_heavy"],
                condition=Q(state="running"),
                name="job_running",
            ),
            models.Index(fields=["season", "priority", "started_at"], name="job_begun"),
            models.Index(
                fields=["season", "priority", "team", "turn"], name="job_turn"
            ),
            models.Index(fields=["state", "finished_at"], name="job_finished"),
            models.Index(fields=["started_at"]),
            models.Index(fields=["kind", "state", "due_at"], name="job_due"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "gold", "rules", "options_digest"],
                name="job_once_a_scoring",
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | Q(lease_expires_at__isnull=False),
                name="job_running_holds_a_lease",
            ),
            models.CheckConstraint(
                condition=(Q(kind="score") & ~Q(rules=""))
                | (~Q(kind="score") & Q(rules="")),
                name="job_has_rules_where_it_scores",
            ),
            models.CheckConstraint(
                condition=Q(
                    kind__in=RUN_JOB_KINDS, submission__isnull=False, gold__isnull=False
                )
                | (~Q(kind__in=RUN_JOB_KINDS) & Q(submission=None, gold=None)),
                name="job_has_a_run_where_it_is_of_one",
            ),
        ]

    def __str__(self) -> str:
        of_run = (
            f"{self.submission}, {self.kind}"
            if self.kind in self.OF_RUNS
            else f"{self.kind} {self.pk}"
        )
        return f"{self.submission} under {self.rules}" if self.rules else of_run

    @classmethod
    def create_webhook_or_mail_jobs(
        cls, kind: Kind, number: int, at: dt.datetime, due_at: dt.datetime
    ) -> list[Job]:
        facts = {
            "kind": kind,
            "priority": cls.Priority.POST,
            "created_at": at,
            "due_at": due_at,
        }
        return cls.all_kinds.bulk_create(cls(**facts) for _ in range(number))

    @property
    def is_baseline_writing_job(self) -> bool:
        return self.kind == self.Kind.WRITE


MAX_ACKNOWLEDGEMENT_CHARACTERS = 500


class AcknowledgementQuerySet(models.QuerySet["Acknowledgement"]):
    def of_current_failures(self) -> AcknowledgementQuerySet:
        run = Q(
            job=None,
            submission__status=Submission.Status.FAILED,
            submission__status_since=F("failed_at"),
        )
        return self.filter(
            run | Q(job__state=Job.State.FAILED, job__finished_at=F("failed_at"))
        )

    def of_run(self) -> Exists:
        of_runs = self.filter(
            job=None, submission=OuterRef("pk"), failed_at=OuterRef("status_since")
        )
        return Exists(of_runs.order_by())

    def exists_for_job_failure(self) -> Exists:
        return Exists(
            self.filter(
                job=OuterRef("pk"), failed_at=OuterRef("finished_at")
            ).order_by()
        )


class Acknowledgement(models.Model):
    """The acknowledgement by an organiser that one failure of a run was noticed. If the
    run fails again, the new failure needs another acknowledgement.
    """

    submission = models.ForeignKey(
        Submission, on_delete=CASCADE, related_name="acknowledgements"
    )
    job = models.ForeignKey(
        Job, on_delete=CASCADE, null=True, blank=True, related_name="acknowledgements"
    )
    failed_at = models.DateTimeField()
    note = models.CharField(max_length=MAX_ACKNOWLEDGEMENT_CHARACTERS, blank=True)
    by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField(default=timezone.now)

    objects = AcknowledgementQuerySet.as_manager()

    class Meta:
        ordering = ["-at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "failed_at"],
                condition=Q(job=None),
                name="acknowledged_once_a_failed_run",
            ),
            models.UniqueConstraint(
                fields=["job", "failed_at"], name="acknowledged_once_a_failed_job"
            ),
        ]

    def __str__(self) -> str:
        return f"failure of {self.submission}"


class Tally(models.Model):
    name = models.CharField(max_length=40)
    label = models.CharField(max_length=60, blank=True)
    place = models.PositiveSmallIntegerField(default=0)
    number = models.PositiveBigIntegerField(default=0)
    total = models.FloatField(default=0)

    class Meta:
        ordering = ["name", "label", "place"]
        constraints = [
            models.UniqueConstraint(
                fields=["name", "label", "place"], name="tally_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.label} {self.place}"


class Tallied(models.Model):
    """A positive or negative change in the number of runs or jobs with a key, such as
    phase and status. The sum of all rows with the same key is the present number of
    runs or jobs.

    Database triggers insert rows, and a regular job merges rows with the same key. The
    table is unmanaged, so backups and moves omit the table, and runs are counted again
    after a restore.
    """

    what = models.CharField(max_length=3)
    phase = models.BigIntegerField()
    team = models.BigIntegerField()
    day = models.DateField(null=True)
    queue = models.CharField(max_length=60)
    state = models.CharField(max_length=10)
    number = models.BigIntegerField()
    size = models.BigIntegerField()

    class Meta:
        managed = False

    def __str__(self) -> str:
        return f"{self.number:+} {self.what} {self.state}"


class WorkerGroup(models.Model):
    name = models.CharField(max_length=80, unique=True)
    queues: models.JSONField[list[str]] = models.JSONField(
        default=list, help_text="Empty: all of them."
    )
    workers = models.PositiveSmallIntegerField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    def serves_queue(self, queue: str) -> bool:
        return not self.queues or queue in self.queues
