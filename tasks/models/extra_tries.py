"""Tries that organisers give to one team in one phase, beyond what the phase gives to all."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from citeboard.teams.models import Team, User
from tasks.models.seasons import Phase


class ExtraTries(models.Model):
    """They are added to the phase's limit in total, and to that of the day on which they are given."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="extra_tries")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="extra_tries")
    tries = models.PositiveSmallIntegerField(validators=[MinValueValidator(1)])
    reason = models.CharField(max_length=500, help_text="The team reads it.")
    given_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    given_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "extra tries"
        ordering = ["-given_at", "-id"]
        constraints = [models.CheckConstraint(condition=Q(tries__gt=0), name="extra_tries_are_some")]

    def __str__(self) -> str:
        return f"{self.tries} more for {self.team} in {self.phase}"
