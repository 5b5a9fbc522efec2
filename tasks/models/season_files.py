"""What the season file said when it was last loaded."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils import timezone

from citeboard.teams.models import User
from tasks.models.seasons import Season


class SeasonFile(models.Model):
    """By it a change in the file is told from one that was made in the site since."""

    season = models.OneToOneField(Season, on_delete=models.CASCADE, related_name="file")
    values: models.JSONField[dict[str, Any]] = models.JSONField(
        default=dict, help_text="What it said, by key, such as tasks.1a.phases.final.closes."
    )
    loaded_at = models.DateTimeField(default=timezone.now)
    loaded_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    def __str__(self) -> str:
        return f"the file of {self.season}"
