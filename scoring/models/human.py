from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _, gettext_noop

from citeboard.core.models import build_json_field_with_default
from citeboard.teams.models import User
from scoring.models.ledger import JudgementImport
from tasks.models import Gold, Phase, Submission

LOWEST_RATING, HIGHEST_RATING = 1, 5
#: For each criterion, the question to annotators, in the order on the pages.
RATING_CRITERIA = {
    gettext_noop("readability"): gettext_noop("Is the text fluent and easy to follow?"),
    gettext_noop("consistency"): gettext_noop(
        "Does it say nothing that its sources do not bear out?"
    ),
}


class SheetQuerySet(models.QuerySet["Sheet"]):
    def rating_sheets(self) -> SheetQuerySet:
        return self.filter(kind=Sheet.Kind.RATINGS)

    def pairs(self) -> SheetQuerySet:
        return self.filter(kind=Sheet.Kind.PAIRS)

    def open(self) -> SheetQuerySet:
        return self.filter(published_at__isnull=True, closed_at__isnull=True)

    def published(self) -> SheetQuerySet:
        return self.filter(published_at__isnull=False)


class Sheet(models.Model):
    """A human evaluation, which has a sheet of texts to rate, or of pairs of texts to
    compare.

    An open sheet accepts ratings. A published sheet accepts no more ratings, and the
    board shows the results of the ratings. If organisers withdraw the results, the
    sheet stays closed until an organiser reopens it. Preferences between two texts are
    entered by judges or imported from a file, and a sheet that was imported has no
    texts.
    """

    class Kind(models.TextChoices):
        RATINGS = "ratings", _("ratings of texts")
        PAIRS = "pairs", _("pairs of texts")

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="sheets")
    kind = models.CharField(
        max_length=7, choices=Kind, default=Kind.RATINGS, db_default=Kind.RATINGS.value
    )
    seed = models.PositiveIntegerField(help_text="Which instances were drawn.")
    plan_seed = models.CharField(
        max_length=32,
        blank=True,
        default="",
        db_default="",
        help_text="The seed of the plan of pairs, drawn by the site: a known one would tell whose a text is.",
    )
    filename = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="The file that the judgements of pairs come from, if they come from one.",
    )
    has_programs = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The judges of the file are programs, whose names are no secret.",
    )
    created_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    published_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When it was unpublished, unless it was reopened or published since.",
    )
    shares = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="Judges among whom the plan of pairs is divided; 0 if each judges every pair.",
    )
    judges_of_pair = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="Judges who see each pair of a divided plan.",
    )
    ledger_rows = models.ForeignKey(
        JudgementImport,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="sheets",
        help_text="The judgements of a published sheet of pairs as rows of the ledger.",
    )
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
    scales: models.JSONField[dict[str, Any]] = build_json_field_with_default(
        dict,
        "By criterion what is asked, and what each level means, as its annotators read it.",
        blank=True,
    )
    data_sheet: models.JSONField[dict[str, str]] = build_json_field_with_default(
        dict, "What organisers say of the evaluation, by question.", blank=True
    )
    agreement: models.JSONField[dict[str, Any]] = models.JSONField(
        default=dict, blank=True, help_text="By criterion, of the published ratings."
    )

    objects = SheetQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(published_at__isnull=True) | Q(closed_at__isnull=True),
                name="sheet_is_published_or_closed",
            ),
        ]

    def __str__(self) -> str:
        return f"sheet {self.pk} of {self.phase}"

    @property
    def is_published(self) -> bool:
        return self.published_at is not None

    @property
    def is_open(self) -> bool:
        return self.published_at is None and self.closed_at is None

    @property
    def has_pairs(self) -> bool:
        return self.kind == self.Kind.PAIRS

    def question(self, criterion: str) -> str:
        return str(
            self.scales.get(criterion, {}).get("question") or RATING_CRITERIA[criterion]
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
    share = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="The judge's share of a divided plan of pairs, from 1.",
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["sheet", "share"], name="annotator_once_a_share"
            ),
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
                    readability__range=(LOWEST_RATING, HIGHEST_RATING),
                    consistency__range=(LOWEST_RATING, HIGHEST_RATING),
                ),
                name="rating_from_1_to_5",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator} on {self.text}"


class SheetPair(models.Model):
    """Two texts for the same instance that judges compare."""

    instance = models.ForeignKey(
        SheetInstance, on_delete=models.CASCADE, related_name="pairs"
    )
    position = models.PositiveIntegerField(help_text="Within its sheet, from 1.")
    left = models.ForeignKey(SheetText, on_delete=models.CASCADE, related_name="+")
    right = models.ForeignKey(SheetText, on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["position"]
        constraints = [
            models.UniqueConstraint(
                fields=["instance", "left", "right"], name="sheet_pair_once"
            ),
            models.CheckConstraint(
                condition=~Q(left=models.F("right")), name="sheet_pair_of_two_texts"
            ),
        ]

    def __str__(self) -> str:
        return f"pair {self.position}"


class PairShare(models.Model):
    """Assigns a pair of texts to one judge, if the judges of a sheet label different
    pairs.
    """

    pair = models.ForeignKey(
        SheetPair, on_delete=models.CASCADE, related_name="pair_shares", db_index=False
    )
    share = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pair", "share"], name="pair_once_a_share"),
        ]

    def __str__(self) -> str:
        return f"{self.pair} in share {self.share}"


class Preference(models.Model):
    """The preference of a human judge between the texts of two systems for an instance.
    ``pair`` is None if the preference was imported from a file.
    """

    class Label(models.TextChoices):
        LEFT = "left", "left"
        TIE = "tie", "tie"
        RIGHT = "right", "right"

    annotator = models.ForeignKey(
        Annotator, on_delete=models.CASCADE, related_name="preferences"
    )
    instance = models.ForeignKey(
        SheetInstance, on_delete=models.CASCADE, related_name="preferences"
    )
    pair = models.ForeignKey(
        SheetPair,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="preferences",
    )
    left = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    right = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    label = models.CharField(max_length=5, choices=Label)
    judged_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "pair"], name="preference_once_a_pair"
            ),
            models.CheckConstraint(
                condition=~Q(left=models.F("right")), name="preference_of_two_systems"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.label}"


class JudgedRunQuerySet(models.QuerySet["JudgedRun"]):
    def published(self) -> JudgedRunQuerySet:
        return self.filter(published_at__isnull=False)


class JudgedRun(models.Model):
    """People's judgements of a run's responses. After publication, the board shows
    people's ratings of whole responses.
    """

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


class EstimateSheetQuerySet(models.QuerySet["EstimateSheet"]):
    def published(self) -> EstimateSheetQuerySet:
        return self.filter(published_at__isnull=False)


class EstimateSheet(models.Model):
    """A sample of units that people label, from which scores of an automatic judge are
    corrected.

    The sample depends only on the seed, the number of labels, the gold and the runs.
    ``result`` is the output of `python -m scoring estimates scores`, with ids of runs
    in place of system names. A sheet with pairs on which two judges disagree does not
    correct scores, because the pairs are not a random sample. For a sheet with pairs on
    which two judges disagree, the judgement ledger stores the labels, ``rules`` is the
    rule set of the second judge, and ``result`` has numbers of pairs.
    """

    class UnitKind(models.TextChoices):
        NUGGETS = "nuggets", _("nuggets that a report has")
        CITATIONS = "citations", _("documents that support a sentence")
        CLAIMS = "claims", _("passages that entail a claim")
        DISAGREEMENTS = "disagreements", _("pairs on which two judges disagree")

    phase = models.ForeignKey(
        Phase, on_delete=models.CASCADE, related_name="estimate_sheets"
    )
    of = models.CharField(max_length=13, choices=UnitKind)
    labels = models.PositiveIntegerField(
        help_text="Units of each run in the sample, or pairs that were asked for."
    )
    seed = models.CharField(max_length=32, help_text="Drawn by the site.")
    gold = models.ForeignKey(Gold, on_delete=models.CASCADE, related_name="+")
    rules = models.CharField(max_length=80)
    runs: models.JSONField[list[int]] = models.JSONField(
        help_text="The ids of the runs."
    )
    judgements = models.PositiveIntegerField(help_text="Lines of the sheet.")
    file = models.CharField(
        max_length=200, help_text="The sheet, in the statistics storage."
    )
    people = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="People's labels under pseudonyms, without texts, in the statistics storage.",
    )
    people_sha256 = models.CharField(max_length=64, blank=True, default="")
    result: models.JSONField[dict[str, Any]] = models.JSONField(
        default=dict, blank=True
    )
    created_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    published_at = models.DateTimeField(null=True, blank=True)

    objects = EstimateSheetQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"estimate sheet {self.pk} of {self.phase}"

    @property
    def has_random_sample_of_units(self) -> bool:
        """Return True if the units are a random sample, which pairs on which two judges
        disagree are not.
        """
        return self.of != self.UnitKind.DISAGREEMENTS

    @property
    def is_open(self) -> bool:
        return self.published_at is None
