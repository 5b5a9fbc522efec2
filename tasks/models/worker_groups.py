"""Groups of workers that are there: what each serves, and when it last gave a sign of life."""

from __future__ import annotations

from django.db import models


class WorkerGroup(models.Model):
    """Known by how the names of its processes begin. Its row is locked while one of them claims a job."""

    name = models.CharField(max_length=80, unique=True)
    queues: models.JSONField[list[str]] = models.JSONField(default=list, help_text="Empty: all of them.")
    workers = models.PositiveSmallIntegerField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    def serves(self, queue: str) -> bool:
        return not self.queues or queue in self.queues
