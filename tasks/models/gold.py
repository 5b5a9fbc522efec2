"""Gold: what answers are compared with. A version never changes; a fix is a new one, with a reason."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils import timezone

from tasks.models.seasons import Phase, Task


class GoldQuerySet(models.QuerySet["Gold"]):
    def current(self, phase: Phase) -> Gold | None:
        """The version that a phase scores against now."""
        return self.filter(task_id=phase.task_id, split=phase.split).order_by("-number").first()


class Gold(models.Model):
    """One numbered version of one split's gold, with what follows from it and holds no gold."""

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="gold")
    split = models.CharField(max_length=60)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64, help_text="SHA-256 of the canonical content.")
    instances = models.PositiveIntegerField()
    file = models.CharField(max_length=200, help_text="The archive of gold, in the gold storage.")
    index = models.CharField(max_length=200, help_text="What checks an upload, in the gold storage.")
    public = models.CharField(max_length=200, help_text="The archive of public inputs, in the gold storage.")
    statistics: models.JSONField[list[dict[str, Any]]] = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        editable=False,
        help_text="What it consists of by data set, where its task type says so; empty for gold of before.",
    )
    reason = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)

    objects = GoldQuerySet.as_manager()

    class Meta:
        ordering = ["task", "split", "number"]
        constraints = [
            models.UniqueConstraint(fields=["task", "split", "number"], name="gold_number_once_a_split"),
        ]

    def __str__(self) -> str:
        return f"{self.task} {self.split}, gold v{self.number}"
