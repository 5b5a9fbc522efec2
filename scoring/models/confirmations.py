"""What teams say of the results of their runs before these are called official."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from citeboard.teams.models import User
from tasks.models import Gold, Submission


class ResultConfirmation(models.Model):
    """What the lead of a team said of a run's result; it holds as long as the run has these numbers."""

    class State(models.TextChoices):
        CONFIRMED = "confirmed", _("confirmed")
        CONTESTED = "contested", _("contested")

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="confirmation")
    gold = models.ForeignKey(Gold, on_delete=models.PROTECT, related_name="+")
    numbers = models.CharField(max_length=64, help_text="A digest of the scores that it was said of.")
    state = models.CharField(max_length=10, choices=State)
    message = models.TextField(blank=True, default="", help_text="Why it is contested.")
    by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=~models.Q(state="contested", message=""), name="result_is_contested_with_a_message"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.submission}, {self.get_state_display()}"
