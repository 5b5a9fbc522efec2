"""That the runs of a phase are to be scored again, as far as their scores are not those of today."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from tasks.models import Phase


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
