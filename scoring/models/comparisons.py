"""What is known of whether runs differ: one row a pair and metric, and how far a board has come with it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from scoring.models.evaluations import Evaluation
from tasks.models import Phase


class Comparison(models.Model):
    """Two evaluations of one phase, rule set and gold by one metric.

    ``first`` is the older evaluation. The difference is first minus second, on the metric's scale; what is
    undefined is null. The p-value stands as it was found: a board corrects for all that it asks at once.
    """

    first = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="comparisons_as_first")
    second = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="comparisons_as_second")
    metric = models.CharField(max_length=80)
    difference = models.FloatField(null=True)
    error = models.FloatField(null=True, help_text="The jackknife's standard error of the difference.")
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    p = models.FloatField(null=True)
    test = models.CharField(max_length=40)
    trials = models.PositiveIntegerField()
    units = models.PositiveIntegerField()
    seed = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second", "metric"], name="comparison_once_a_metric"),
            models.CheckConstraint(condition=Q(second__gt=F("first")), name="comparison_older_first"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id} and {self.second_id} by {self.metric}"


class BoardOrder(models.Model):
    """How far the rows of a board have been compared with one another, and which worker is at it.

    At ``version`` of the phase nothing was missing. A worker holds the board by a lease, so that no pair is
    compared twice at the same time; ``asked_at`` says that the queue holds a wake for it.
    """

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="orders")
    rules = models.CharField(max_length=60)
    version = models.PositiveBigIntegerField(default=0)
    asked_at = models.DateTimeField(null=True)
    classes_at = models.DateTimeField(null=True, help_text="When something was last found of its classes.")
    lease_owner = models.CharField(max_length=80, blank=True)
    lease_expires_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["phase", "rules"]
        constraints = [
            models.UniqueConstraint(fields=["phase", "rules"], name="board_order_once_a_board"),
        ]

    def __str__(self) -> str:
        return f"the order of {self.phase_id} under {self.rules}"
