"""What a team itself says of a run in numbers: what it cost, and scores that are computed elsewhere."""

from __future__ import annotations

from django.db import models

from tasks.models.seasons import Phase
from tasks.models.submissions import Submission


class TeamFigure(models.Model):
    """One such number, in the unit that `tasks.submissions.team_figures` gives. Nobody has checked it."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="team_figures")
    #: Stands here too, so that a board without any is told in one look.
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="team_figures")
    name = models.CharField(max_length=40)
    value = models.FloatField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["submission", "name"], name="team_figure_once_a_measure"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.value} of {self.submission}"
