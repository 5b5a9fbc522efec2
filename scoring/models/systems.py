"""Store intervals for the means of systems with several runs, and comparisons of these
systems with other rows of a board.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from tasks.models import Phase


def hash_runs_of_system(runs: Iterable[tuple[int, str]]) -> str:
    """Return a digest that identifies the evaluations of a system's runs. The digest
    changes if one of the runs is scored again.
    """
    return hashlib.sha256(repr(sorted(runs)).encode()).hexdigest()


class SystemMean(models.Model):
    """A mean over seeds. Rows are never deleted, because a frozen board may show an
    older set of the system's runs.
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
    """A significance test between two rows of a board, at least one of which shows the
    mean of several runs. ``p`` is not corrected for multiple tests, and is null if it
    was not computed.
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
