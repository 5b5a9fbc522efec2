"""People who ask to join a team."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from citeboard.teams.models import Team, User
from tasks.models.seasons import Season


class JoinRequest(models.Model):
    """Somebody asks to join a team that they found in a season; any member answers.

    Who is taken in has no row any more. One that was declined stays: nobody asks the same team twice.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="join_requests")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="join_requests")
    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="+")
    message = models.TextField(blank=True, default="")
    asked_at = models.DateTimeField(default=timezone.now)
    declined_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["asked_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="join_request_once_a_person_and_team"),
        ]

    def __str__(self) -> str:
        return f"{self.user} asks to join {self.team}"
