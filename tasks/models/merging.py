"""Teams that would merge in a season."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from citeboard.teams.models import Team, User
from tasks.models.seasons import Season


class MergeProposal(models.Model):
    """A team would go into another, whose lead answers; then, or withdrawn, it has no row any more."""

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="merge_proposals")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="merges_proposed")
    into = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="merges_asked")
    proposed_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    proposed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar[list[str]] = ["proposed_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["season", "team"], name="merge_proposal_once_a_team"),
            models.CheckConstraint(condition=~models.Q(team=models.F("into")), name="merge_of_two_teams"),
        ]

    def __str__(self) -> str:
        return f"{self.team} into {self.into}"
