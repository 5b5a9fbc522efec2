from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from citeboard.core.models import late_json
from citeboard.teams.models import User
from tasks.models import Phase, Submission

LOWEST, HIGHEST = 1, 5
#: What is rated, in the order of the pages, and what is asked.
CRITERIA = {
    gettext_noop("readability"): gettext_noop("Is the text fluent and easy to follow?"),
    gettext_noop("consistency"): gettext_noop(
        "Does it say nothing that its sources do not bear out?"
    ),
}


class SheetQuerySet(models.QuerySet["Sheet"]):
    def open(self) -> SheetQuerySet:
        return self.filter(published_at__isnull=True)

    def published(self) -> SheetQuerySet:
        return self.filter(published_at__isnull=False)


class Sheet(models.Model):
    """While it is open it takes ratings; published, it takes none and its outcome stands on the board."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="sheets")
    seed = models.PositiveIntegerField(help_text="Which instances were drawn.")
    created_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    published_at = models.DateTimeField(null=True, blank=True)
    adjudicated_from = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="Where two ratings differ by so much, an adjudicator decides.",
    )
    has_references = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Annotators read the gold text, and judge against it.",
    )
    scales: models.JSONField[dict[str, Any]] = late_json(
        dict,
        "By criterion what is asked, and what each level means, as its annotators read it.",
        blank=True,
    )
    data_sheet: models.JSONField[dict[str, str]] = late_json(
        dict, "What organisers say of the evaluation, by question.", blank=True
    )
    agreement: models.JSONField[dict[str, Any]] = models.JSONField(
        default=dict, blank=True, help_text="By criterion, of the published ratings."
    )

    objects = SheetQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"sheet {self.pk} of {self.phase}"

    @property
    def is_open(self) -> bool:
        return self.published_at is None

    def question(self, criterion: str) -> str:
        return str(
            self.scales.get(criterion, {}).get("question") or CRITERIA[criterion]
        )

    def levels(self, criterion: str) -> list[str]:
        return list(self.scales.get(criterion, {}).get("levels", []))


class SheetInstance(models.Model):
    sheet = models.ForeignKey(Sheet, on_delete=models.CASCADE, related_name="instances")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=400)
    sources: models.JSONField[list[list[str]]] = models.JSONField()

    class Meta:
        ordering: ClassVar[list[str]] = ["position"]
        constraints = [
            models.UniqueConstraint(
                fields=["sheet", "position"], name="sheet_instance_once_a_place"
            ),
            models.UniqueConstraint(
                fields=["sheet", "name"], name="sheet_instance_once_a_name"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.position}: {self.name}"


class SheetText(models.Model):
    instance = models.ForeignKey(
        SheetInstance, on_delete=models.CASCADE, related_name="texts"
    )
    position = models.PositiveIntegerField(
        help_text="Within its instance, shuffled for each."
    )
    code = models.CharField(max_length=16, unique=True)
    submission = models.ForeignKey(
        Submission, on_delete=models.CASCADE, related_name="sheet_texts"
    )
    text = models.TextField()

    class Meta:
        ordering: ClassVar[list[str]] = ["position"]
        constraints = [
            models.UniqueConstraint(
                fields=["instance", "position"], name="sheet_text_once_a_place"
            ),
            models.UniqueConstraint(
                fields=["instance", "submission"], name="sheet_text_once_a_system"
            ),
        ]

    def __str__(self) -> str:
        return self.code


class Annotator(models.Model):
    sheet = models.ForeignKey(
        Sheet, on_delete=models.CASCADE, related_name="annotators"
    )
    name = models.CharField(max_length=80)
    user = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="annotates"
    )
    is_adjudicator = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Rates what the others differ on, and decides it.",
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["sheet", "name"], name="annotator_once_a_name"
            ),
            models.UniqueConstraint(
                fields=["sheet", "user"], name="annotator_once_a_person"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Rating(models.Model):
    annotator = models.ForeignKey(
        Annotator, on_delete=models.CASCADE, related_name="ratings"
    )
    text = models.ForeignKey(
        SheetText, on_delete=models.CASCADE, related_name="ratings"
    )
    readability = models.PositiveSmallIntegerField()
    consistency = models.PositiveSmallIntegerField()
    rated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "text"], name="rating_once_a_text"
            ),
            models.CheckConstraint(
                condition=Q(
                    readability__range=(LOWEST, HIGHEST),
                    consistency__range=(LOWEST, HIGHEST),
                ),
                name="rating_from_1_to_5",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator} on {self.text}"


class JudgedRunQuerySet(models.QuerySet["JudgedRun"]):
    def published(self) -> JudgedRunQuerySet:
        return self.filter(published_at__isnull=False)


class JudgedRun(models.Model):
    """Published, what it says of whole responses stands on the board."""

    submission = models.OneToOneField(
        Submission, on_delete=models.CASCADE, related_name="judged"
    )
    filename = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    file = models.CharField(
        max_length=200, help_text="The judgements, in the statistics storage."
    )
    imported_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    imported_at = models.DateTimeField(default=timezone.now)
    published_at = models.DateTimeField(null=True, blank=True)

    objects = JudgedRunQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.filename} on {self.submission}"


class HumanScore(models.Model):
    sheet = models.ForeignKey(
        Sheet, on_delete=models.CASCADE, null=True, blank=True, related_name="scores"
    )
    judged = models.ForeignKey(
        JudgedRun,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="scores",
    )
    submission = models.ForeignKey(
        Submission, on_delete=models.CASCADE, related_name="human_scores"
    )
    criterion = models.CharField(max_length=20)
    value = models.FloatField()
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    n = models.PositiveIntegerField(
        help_text="Ratings of a sheet, or judged responses, that it is the mean of."
    )
    signature = models.CharField(max_length=800)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["sheet", "submission", "criterion"],
                name="human_score_once_a_criterion",
            ),
            models.UniqueConstraint(
                fields=["judged", "criterion"], name="human_score_once_a_kind"
            ),
            models.CheckConstraint(
                condition=Q(sheet__isnull=True) ^ Q(judged__isnull=True),
                name="human_score_of_one_source",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.criterion} {self.value}"
