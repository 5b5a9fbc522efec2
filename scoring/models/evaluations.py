"""One run scored against one gold under one rule set, and every number that came of it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import models
from django.utils import timezone

from citeboard.teams.models import Team
from scoring.models.shared import SharedRow
from scoring.stats.signature import ENTAILMENT_LABELS, filled
from tasks.models import Gold, Phase, Submission


class EvaluationQuerySet(models.QuerySet["Evaluation"]):
    def known_at(self, instant: dt.datetime | None) -> EvaluationQuerySet:
        """Those whose numbers were there then and are the same now; all without an instant."""
        if instant is None:
            return self
        return self.filter(
            models.Q(replaced_at=None, created_at__lte=instant) | models.Q(replaced_at__lte=instant)
        )


class Evaluation(models.Model):
    """What the offline scorer said of one run; phase, team and ranking value stand here for the board."""

    submission = models.ForeignKey(
        Submission, on_delete=models.CASCADE, related_name="evaluations", db_index=False
    )
    gold = models.ForeignKey(Gold, on_delete=models.PROTECT, related_name="evaluations")
    rules = models.CharField(max_length=60)
    options: models.JSONField[dict[str, str]] = models.JSONField(default=dict)
    options_digest = models.CharField(max_length=64)
    phase = models.ForeignKey(Phase, on_delete=models.PROTECT, related_name="evaluations", db_index=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="evaluations", null=True)
    rank_value = models.FloatField(
        null=True, help_text="The ranking metric, turned so that higher is better; null ranks last."
    )
    submitted_at = models.DateTimeField()
    statistics = models.CharField(
        max_length=200, help_text="The matrix per instance that every number follows from, in its storage."
    )
    run_sha256 = models.CharField(
        max_length=64,
        blank=True,
        help_text="Of the run as the scorer reads it: of an archive, of its members.",
    )
    notes: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)
    missing = models.PositiveIntegerField(
        null=True, help_text="Instances without an answer, as the signatures of its scores say."
    )
    labels_digest = models.CharField(
        max_length=12,
        blank=True,
        default="",
        help_text="Of the entailment labels that decided it, as the signatures of its scores say.",
    )
    seconds = models.FloatField(help_text="Wall time of the scorer.")
    attempt = models.PositiveSmallIntegerField()
    has_class_intervals = models.BooleanField(
        default=False, help_text="The intervals of its classes have been looked for."
    )
    created_at = models.DateTimeField(default=timezone.now)
    replaced_at = models.DateTimeField(
        null=True, blank=True, help_text="When other numbers took the place of those it had."
    )

    objects = EvaluationQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["phase", "rules", "team", "-rank_value", "submitted_at"], name="evaluation_best_run"
            ),
            models.Index(fields=["phase", "rules", "team", "-submitted_at"], name="evaluation_last_run"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "gold", "rules", "options_digest"], name="evaluation_once_a_scoring"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.submission} under {self.rules}, gold v{self.gold.number}"

    @property
    def own_parts(self) -> dict[str, int | str]:
        """What each run has its own of in the signatures of all its scores."""
        missing: dict[str, int | str] = {} if self.missing is None else {"missing": self.missing}
        return missing | ({ENTAILMENT_LABELS: self.labels_digest} if self.labels_digest else {})


class Signature(SharedRow):
    """What scores of one metric share: column key, scale, place in the list, and the words of the signature.

    In ``text`` what one run has of its own is left open, as in `shared_form`.
    """

    metric = models.CharField(max_length=80)
    column = models.CharField(max_length=400, help_text="What may share a column of the board.")
    scale = models.FloatField(default=1)
    position = models.PositiveSmallIntegerField(help_text="The metric's place in the scorer's list.")
    text = models.CharField(max_length=800)

    def __str__(self) -> str:
        return self.text


class ScoreManager(models.Manager["Score"]):
    """Each score comes with what it shares with others."""

    def get_queryset(self) -> models.QuerySet[Score]:
        return super().get_queryset().select_related("shared")


class Score(models.Model):
    """A metric's value on one run with its interval, and the words that let others recompute it."""

    evaluation = models.ForeignKey(
        Evaluation, on_delete=models.CASCADE, related_name="scores", db_index=False
    )
    shared = models.ForeignKey(Signature, on_delete=models.PROTECT, related_name="scores", db_index=False)
    value = models.FloatField(null=True, help_text="Null where it is undefined or infinite.")
    is_infinite = models.BooleanField(default=False)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    n = models.PositiveIntegerField()

    objects = ScoreManager()

    class Meta:
        ordering = ["shared__position"]
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "shared"], name="score_once_a_metric"),
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.value}"

    @property
    def metric(self) -> str:
        return self.shared.metric

    @property
    def column(self) -> str:
        return self.shared.column

    @property
    def scale(self) -> float:
        return self.shared.scale

    @property
    def signature(self) -> str:
        """With the counts and the labels of this run."""
        return filled(self.shared.text, self.evaluation.own_parts | {"n": self.n})
