"""Failures that an organiser has seen to, or that need nothing more."""

from __future__ import annotations

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from citeboard.teams.models import User
from tasks.models.jobs import Job
from tasks.models.submissions import Submission

MAX_NOTE = 500


class AcknowledgementQuerySet(models.QuerySet["Acknowledgement"]):
    def holding(self) -> AcknowledgementQuerySet:
        """Those whose failure is still the last that happened there."""
        run = Q(
            job=None, submission__status=Submission.Status.FAILED, submission__status_since=F("failed_at")
        )
        return self.filter(run | Q(job__state=Job.State.FAILED, job__finished_at=F("failed_at")))

    def of_run(self) -> Exists:
        """Whether a run's failure, in a query of runs, is acknowledged."""
        return Exists(
            self.filter(job=None, submission=OuterRef("pk"), failed_at=OuterRef("status_since")).order_by()
        )

    def of_job(self) -> Exists:
        """The same of a failed job, in a query of jobs."""
        return Exists(self.filter(job=OuterRef("pk"), failed_at=OuterRef("finished_at")).order_by())


class Acknowledgement(models.Model):
    """It holds for the failure of one instant: what fails again comes back.

    ``job`` is empty where the run itself failed; otherwise a scored run could not be scored again.
    """

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="acknowledgements")
    job = models.ForeignKey(
        Job, on_delete=models.CASCADE, null=True, blank=True, related_name="acknowledgements"
    )
    failed_at = models.DateTimeField()
    note = models.CharField(max_length=MAX_NOTE, blank=True)
    by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
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
            models.UniqueConstraint(fields=["job", "failed_at"], name="acknowledged_once_a_failed_job"),
        ]

    def __str__(self) -> str:
        return f"failure of {self.submission}"
