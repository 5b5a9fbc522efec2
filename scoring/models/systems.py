"""Intervals of the means of systems with several runs, and comparisons of these systems
with other rows of a board.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from tasks.models import Phase


def digest_of_runs(runs: Iterable[tuple[int, str]]) -> str:
    """Return a digest of a system's evaluations. The digest changes if an evaluation is
    rescored.
    """
    return hashlib.sha256(repr(sorted(runs)).encode()).hexdigest()


class SystemMean(models.Model):
    """A mean over seeds. Rows are never deleted, because frozen boards may show a
    system with an earlier set of runs.
    """

    phase = models.ForeignKey(
        Phase, on_delete=models.CASCADE, related_name="system_means"
    )
    system = models.CharField(max_length=64, help_text="A digest of its runs.")
    ends: models.JSONField[dict[str, list[float]]] = models.JSONField(
        default=dict, help_text="By metric the ends of the interval, if it has one."
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["phase", "system"], name="system_mean_once_a_system"
            )
        ]

    def __str__(self) -> str:
        return f"the mean of {self.system[:12]}"


class SystemComparison(models.Model):
    """A comparison of two rows of a board, at least one of which is a mean. ``p`` is
    not corrected, and null if unknown.
    """

    phase = models.ForeignKey(
        Phase, on_delete=models.CASCADE, related_name="system_comparisons"
    )
    metric = models.CharField(max_length=80)
    first = models.CharField(max_length=64, help_text="The smaller digest.")
    second = models.CharField(max_length=64)
    difference = models.FloatField(null=True, help_text="First minus second.")
    error = models.FloatField(null=True)
    df = models.FloatField(null=True, help_text="Satterthwaite's degrees of freedom.")
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    p = models.FloatField(null=True)
    units = models.PositiveIntegerField(default=0)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["phase", "metric", "first", "second"],
                name="system_comparison_once_a_metric",
            ),
            models.CheckConstraint(
                condition=Q(second__gt=F("first")),
                name="system_comparison_smaller_first",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.first[:12]} and {self.second[:12]} by {self.metric}"
