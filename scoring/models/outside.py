"""Scores that organisers enter by hand: what an evaluation outside of this site measured of runs."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from tasks.models import Phase, Submission


class OutsideMeasure(models.Model):
    """What was measured of the runs of a phase, in which direction, and who measured it."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="outside_measures")
    name = models.CharField(max_length=60)
    higher_is_better = models.BooleanField(default=True)
    source = models.CharField(max_length=400, help_text="Who measured it, how, and where that is written.")
    entered_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["phase", "name"], name="outside_measure_once_a_phase")]

    def __str__(self) -> str:
        return self.name

    @property
    def direction(self) -> str:
        return "higher is better" if self.higher_is_better else "lower is better"

    @property
    def signature(self) -> str:
        """What the number is, and that this site has not computed it."""
        way = "up" if self.higher_is_better else "down"
        return f"outside|{self.name}|better:{way}|entered:{self.entered_at:%Y-%m-%d}|source:{self.source}"


class OutsideScore(models.Model):
    """Its value on one run."""

    measure = models.ForeignKey(OutsideMeasure, on_delete=models.CASCADE, related_name="scores")
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="outside_scores")
    value = models.FloatField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["measure", "submission"], name="outside_score_once_a_run"),
        ]

    def __str__(self) -> str:
        return f"{self.measure} {self.value} of {self.submission}"
