"""Work for a season that takes longer than a request should, and orders to score its runs again."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from tasks.models import Phase, Season, Submission


class BackgroundJob(models.Model):
    """The row is the truth, the queue only wakes, and a lease says who works on it."""

    class Kind(models.TextChoices):
        SHEET = "sheet", _("Make a sheet for human evaluation")
        LABELS = "labels", _("Import entailment labels")
        JUDGEMENTS = "judgements", _("Import people's judgements")
        PAPER = "paper", _("Make the zip for the overview paper")

    class State(models.TextChoices):
        QUEUED = "queued", _("waiting for a worker")
        RUNNING = "running", _("under way")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    MOVING: ClassVar[tuple[State, ...]] = (State.QUEUED, State.RUNNING)

    kind = models.CharField(max_length=10, choices=Kind)
    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="background_jobs")
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    submission = models.ForeignKey(
        Submission, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    given: models.JSONField[dict[str, Any]] = models.JSONField(
        default=dict, blank=True, help_text="What is asked for."
    )
    digest = models.CharField(max_length=64, help_text="SHA-256 of what is asked for, and by whom.")
    filename = models.CharField(max_length=200, blank=True, help_text="What its sender called the file.")
    file = models.CharField(
        max_length=200, blank=True, help_text="What was sent, or what came out, in the statistics storage."
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    progress = models.FloatField(default=0, help_text="Share that is done, 0 to 1.")
    doing = models.CharField(max_length=200, blank=True, help_text="The step that is under way.")
    reason = models.TextField(blank=True, help_text="Why it failed.")
    problems: models.JSONField[list[dict[str, Any]]] = models.JSONField(default=list, blank=True)
    more = models.PositiveIntegerField(default=0, help_text="Problems beyond those listed.")
    result: models.JSONField[dict[str, Any]] = models.JSONField(default=dict, blank=True)
    attempt = models.PositiveSmallIntegerField(default=0, help_text="Counted when a worker claims it.")
    lease_owner = models.CharField(max_length=80, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="background_jobs",
        help_text="Nobody, where everybody gets the same.",
    )
    created_at = models.DateTimeField(default=timezone.now)
    woken_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "-id"]
        indexes = [models.Index(fields=["state", "lease_expires_at"], name="background_job_by_lease")]
        constraints = [
            models.UniqueConstraint(
                fields=["season", "kind", "digest"],
                condition=Q(state__in=("queued", "running")),
                name="background_job_once_at_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | Q(lease_expires_at__isnull=False),
                name="background_job_running_holds_a_lease",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} for {self.season}"

    @property
    def is_moving(self) -> bool:
        return self.state in self.MOVING

    @property
    def per_cent(self) -> int:
        return int(100 * self.progress)


class Rescore(models.Model):
    """Jobs are queued some at a time, so that new runs need not wait; it ends when every run has its job."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="rescores")
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_at = models.DateTimeField(default=timezone.now)
    stopped_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-asked_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["phase"], condition=Q(ended_at=None), name="rescore_once_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"scoring {self.phase} again"
