"""Define the tables of background jobs and of requests to score runs again."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from citeboard.teams.models import User
from tasks.models import Job, Phase, Season, Submission


class BackgroundJob(models.Model):
    """A background task that a user requested, and the result of the task. The related
    row of the job queue stores the worker and the progress of the task.
    """

    class Kind(models.TextChoices):
        SHEET = "sheet", _("Make a sheet for human evaluation")
        LABELS = "labels", _("Import labels of a judge")
        LEDGER = "ledger", _("Import judgements into the ledger")
        JUDGE = "judge", _("Ask a judge")
        JUDGEMENTS = "judgements", _("Import people's judgements")
        OLD_RUNS = "old-runs", _("Score runs of another site again")
        DRY_RUN = "dry-run", _("Score runs as they would be scored")
        PAPER = "paper", _("Make the zip for the overview paper")
        ARCHIVE = "archive", _("Make the archive of the season")

    class State(models.TextChoices):
        QUEUED = "queued", _("waiting for a worker")
        RUNNING = "running", _("under way")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="background")
    kind = models.CharField(max_length=10, choices=Kind)
    season = models.ForeignKey(
        Season, on_delete=models.CASCADE, related_name="background_jobs"
    )
    phase = models.ForeignKey(
        Phase, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    submission = models.ForeignKey(
        Submission, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    given: models.JSONField[dict[str, Any]] = models.JSONField(
        default=dict, blank=True, help_text="What is asked for."
    )
    digest = models.CharField(
        max_length=64, help_text="SHA-256 of what is asked for, and by whom."
    )
    filename = models.CharField(
        max_length=200, blank=True, help_text="What its sender called the file."
    )
    file = models.CharField(
        max_length=200,
        blank=True,
        help_text="What was sent, or what came out, in the statistics storage.",
    )
    doing = models.CharField(
        max_length=200, blank=True, help_text="The step that is under way."
    )
    problems: models.JSONField[list[dict[str, Any]]] = models.JSONField(
        default=list, blank=True
    )
    more = models.PositiveIntegerField(
        default=0, help_text="Problems beyond those listed."
    )
    result: models.JSONField[dict[str, Any]] = models.JSONField(
        default=dict, blank=True
    )
    asked_by = models.ForeignKey(
        User,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="background_jobs",
        help_text="Nobody, where everybody gets the same.",
    )
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["season", "kind", "digest"],
                condition=Q(finished_at=None),
                name="background_job_once_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} for {self.season}"

    @property
    def state(self) -> BackgroundJob.State:
        return (
            self.State.QUEUED
            if self.job.state == Job.State.WAITING
            else self.State(self.job.state)
        )

    @property
    def is_moving(self) -> bool:
        return self.job.state in Job.MOVING

    @property
    def reason(self) -> str:
        return self.job.reason

    @property
    def per_cent(self) -> int:
        return int(100 * self.job.progress)


class Rescore(models.Model):
    """An organiser's request to score the runs of a phase again. Only a few rescoring
    jobs are queued at a time, so that new runs are not delayed. The request ends when a
    job exists for each run of the phase.
    """

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="rescores")
    asked_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_at = models.DateTimeField(default=timezone.now)
    stopped_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-asked_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["phase"],
                condition=Q(ended_at=None),
                name="rescore_once_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"scoring {self.phase} again"
