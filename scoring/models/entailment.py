"""What entails what, as models have decided it: kept for a season or for all, and what runs wait for."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from citeboard.teams.models import User
from tasks.models import Job, Season

#: Digests of a premise: SHA-256, or SHA-1 as the released evaluation logs have it.
MAX_DIGEST = 64


class EntailmentModelQuerySet(models.QuerySet["EntailmentModel"]):
    def deciding(self, name: str, season: Season | None) -> EntailmentModelQuerySet:
        """Whose labels decide runs of the season: its own, and after them those that all seasons share."""
        season_own = (
            models.Q(season=None) | models.Q(season=season)
            if season
            else models.Q(season=None)
        )
        return self.filter(season_own, name=name).order_by(
            models.F("season_id").asc(nulls_last=True)
        )


class EntailmentModel(models.Model):
    """Without a season all share it; ``decided`` counts the labels, and so tells one state from another."""

    name = models.CharField(max_length=200)
    season = models.ForeignKey(
        Season,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="entailment_models",
    )
    decided = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)

    objects = EntailmentModelQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["name", "season"], name="entailment_model_once_a_season"
            ),
            models.UniqueConstraint(
                fields=["name"],
                condition=models.Q(season=None),
                name="entailment_model_shared_once",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class LabelImport(models.Model):
    model = models.ForeignKey(
        EntailmentModel, on_delete=models.PROTECT, related_name="imports"
    )
    filename = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    added = models.PositiveBigIntegerField(help_text="Labels that were new.")
    known = models.PositiveBigIntegerField(
        help_text="Labels that were there before, and are the same."
    )
    imported_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    imported_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar[list[str]] = ["-imported_at", "-id"]

    def __str__(self) -> str:
        return f"{self.filename} of {self.model}"


class EntailmentLabel(models.Model):
    """Whether a premise entails a hypothesis, as a model says; decided once and never changed."""

    model = models.ForeignKey(
        EntailmentModel, on_delete=models.PROTECT, related_name="entailment_labels"
    )
    premise = models.CharField(
        max_length=MAX_DIGEST, help_text="SHA-256 or SHA-1 of its text."
    )
    hypothesis = models.CharField(max_length=64, help_text="SHA-256 of its text.")
    entailed = models.BooleanField()
    source = models.ForeignKey(
        LabelImport, on_delete=models.PROTECT, related_name="entailment_labels"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["model", "premise", "hypothesis"], name="label_once_a_pair"
            )
        ]

    def __str__(self) -> str:
        return f"{self.model}: {self.premise[:12]} {'entails' if self.entailed else 'does not entail'} \
{self.hypothesis[:12]}"


class PendingLabels(models.Model):
    job = models.OneToOneField(
        Job, on_delete=models.CASCADE, related_name="pending_labels"
    )
    model = models.ForeignKey(
        EntailmentModel, on_delete=models.PROTECT, related_name="waited_for"
    )
    pairs = models.PositiveIntegerField(
        help_text="All that the run asks about, decided or not."
    )
    file = models.CharField(
        max_length=200, help_text="The pending pairs, in the statistics storage."
    )
    since = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.job} waits for {self.model}"


class PendingPair(models.Model):
    waits = models.ForeignKey(
        PendingLabels, on_delete=models.CASCADE, related_name="open_pairs"
    )
    premise = models.CharField(max_length=64)
    hypothesis = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["waits", "premise", "hypothesis"], name="open_pair_once_a_job"
            )
        ]
        indexes = [
            models.Index(fields=["premise", "hypothesis"], name="open_pair_by_text")
        ]

    def __str__(self) -> str:
        return f"{self.premise[:12]}, {self.hypothesis[:12]}"
