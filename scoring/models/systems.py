"""Systems of several runs: the intervals of their means, and how they compare with other rows of a board."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from tasks.models import Phase


def digest_of_runs(runs: Iterable[tuple[int, str]]) -> str:
    """Return the name of a system of evaluations, each with its scoring: another once one is rescored."""
    return hashlib.sha256(repr(sorted(runs)).encode()).hexdigest()


class SystemMean(models.Model):
    """Rows are kept: a frozen board may have a system with the runs that it had then."""

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
    """Two rows of a board of which one is a mean at least; p stands uncorrected, null where it is unknown."""

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
