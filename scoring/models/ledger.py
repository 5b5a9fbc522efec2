"""Store the judgement ledger, which has labels by models and people for one season or
all seasons, and the pairs whose labels are still missing.

Rows of the ledger are added and never changed. An import can only be withdrawn as a
whole. Rows of a withdrawn import remain in the table but are no longer used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from django.db import models
from django.utils import timezone
from numpy.typing import NDArray

from citeboard.core.models import build_text_field_with_default
from citeboard.teams.models import User
from scoring.models.evaluations import Evaluation
from scoring.models.receipts import Receipt
from tasks.models import Job, Season
from tasks.types.ledger import (
    ASSIGNS_KIND,
    ENTAILED_LABEL,
    ENTAILS_KIND,
    JUDGEMENT_KINDS_BY_NAME,
    MAX_JUDGE_NAME_CHARACTERS,
    MAX_PERSON_NAME_CHARACTERS,
    MAX_RATIONALE_CHARACTERS,
    NO_VALID_LABEL,
    NOT_ENTAILED_LABEL,
    SUPPORTS_KIND,
)

#: The byte that stands for each label in the stored judgements of an evaluation.
BYTE_BY_LABEL = {
    NOT_ENTAILED_LABEL: 0,
    ENTAILED_LABEL: 1,
    NO_VALID_LABEL: 2,
    **{
        label: 3 + place
        for place, label in enumerate(JUDGEMENT_KINDS_BY_NAME[SUPPORTS_KIND].labels)
    },
    **{
        label: 6 + place
        for place, label in enumerate(JUDGEMENT_KINDS_BY_NAME[ASSIGNS_KIND].labels)
    },
}
#: The length of three hexadecimal SHA-256 digests separated by spaces.
MAX_ITEM_DIGESTS_LENGTH = 3 * 64 + 2


def hash_items_to_eight_bytes(items: Iterable[str]) -> NDArray[np.uint64]:
    """Return the first eight bytes of the SHA-256 digest of each string, by which
    evaluations identify the judgements that they used.
    """
    digests = b"".join(hashlib.sha256(one.encode()).digest()[:8] for one in items)
    return np.frombuffer(digests, np.uint64)


def hash_units_to_four_bytes(units: Iterable[str]) -> NDArray[np.uint32]:
    """Return the first four bytes of the SHA-256 digest of each unit's name, such as a
    topic.
    """
    digests = b"".join(hashlib.sha256(one.encode()).digest()[:4] for one in units)
    return np.frombuffer(digests, np.uint32)


class JudgeQuerySet(models.QuerySet["Judge"]):
    def deciding(
        self, name: str, season: Season | None, kind: str = ENTAILS_KIND
    ) -> JudgeQuerySet:
        """Return the judges with the given name whose labels the runs of a season may
        use. Judges of the season come before judges that all seasons share.

        If a judge has several definitions, the definition that was imported last comes
        first.
        """
        season_own = (
            models.Q(season=None) | models.Q(season=season)
            if season
            else models.Q(season=None)
        )
        return self.filter(season_own, name=name, kind=kind).order_by(
            models.F("season_id").asc(nulls_last=True), "-pk"
        )

    def of_season_or_shared(self, season: Season | None) -> JudgeQuerySet:
        """Return the judges of the season and the judges that all seasons share. If the
        season is None, return only judges that all seasons share.
        """
        return self.filter(models.Q(season=season) | models.Q(season=None))


class Judge(models.Model):
    """A model or a group of people with one definition, whose labels have one kind.

    A judge without a season is shared by all seasons. ``decided`` is the number of the
    judge's labels that are not withdrawn. ``version`` increases with each import and
    each withdrawal of the judge's labels.
    """

    kind = build_text_field_with_default(
        10, choices=[(kind, kind) for kind in JUDGEMENT_KINDS_BY_NAME]
    )
    name = models.CharField(max_length=MAX_JUDGE_NAME_CHARACTERS)
    digest = build_text_field_with_default(
        MAX_JUDGE_NAME_CHARACTERS,
        help_text="Of what defines the judge; of people, the sheet's name.",
    )
    season = models.ForeignKey(
        Season,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="judges",
    )
    decided = models.PositiveBigIntegerField(default=0)
    version = models.PositiveBigIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(default=timezone.now)

    objects = JudgeQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["name", "kind"]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "name", "digest", "season"],
                name="judge_once_a_season",
            ),
            models.UniqueConstraint(
                fields=["kind", "name", "digest"],
                condition=models.Q(season=None),
                name="judge_shared_once",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class JudgementImport(models.Model):
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="imports")
    filename = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    added = models.PositiveBigIntegerField(help_text="Judgements that were new.")
    known = models.PositiveBigIntegerField(
        help_text="Judgements that were there before, and are the same."
    )
    imported_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    imported_at = models.DateTimeField(default=timezone.now)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    reason = build_text_field_with_default(500, help_text="Why it was withdrawn.")

    class Meta:
        ordering: ClassVar[list[str]] = ["-imported_at", "-id"]

    def __str__(self) -> str:
        return f"{self.filename} of {self.judge}"


class JudgementQuerySet(models.QuerySet["Judgement"]):
    def standing(self) -> JudgementQuerySet:
        """Return the judgements from imports that were not withdrawn."""
        return self.filter(is_standing=True)


class Judgement(models.Model):
    """A judge's label for one or more texts. ``by`` is the person who labelled the
    texts, and ``repeat`` numbers repeated labels of the same texts.
    """

    judge = models.ForeignKey(
        Judge, on_delete=models.PROTECT, related_name="judgements", db_index=False
    )
    items = build_text_field_with_default(
        MAX_ITEM_DIGESTS_LENGTH,
        help_text="SHA-256 of each text, or SHA-1 of premises in old logs.",
    )
    label = build_text_field_with_default(20)
    by = build_text_field_with_default(MAX_PERSON_NAME_CHARACTERS)
    repeat = models.PositiveIntegerField(default=0, db_default=0)
    score = models.FloatField(null=True, blank=True)
    rationale = build_text_field_with_default(MAX_RATIONALE_CHARACTERS)
    at = models.DateTimeField(null=True, blank=True)
    cost = models.FloatField(null=True, blank=True)
    source = models.ForeignKey(
        JudgementImport, on_delete=models.PROTECT, related_name="judgements"
    )
    is_standing = models.BooleanField(
        default=True, db_default=True, help_text="Its import is not withdrawn."
    )

    objects = JudgementQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["judge", "items", "by", "repeat"],
                condition=models.Q(is_standing=True),
                name="judgement_once",
            )
        ]
        indexes = [
            models.Index(
                fields=["judge", "items"],
                condition=models.Q(is_standing=True, repeat__gt=0),
                name="judgement_repeated",
            )
        ]

    def __str__(self) -> str:
        return f"{self.judge}: {self.label} of {self.items[:12]}"


class PendingLabels(models.Model):
    """The pairs for which a scoring job waits for labels of one judge. A job can wait
    for labels of several kinds.
    """

    job = models.ForeignKey(
        Job, on_delete=models.CASCADE, related_name="pending_labels"
    )
    judge = models.ForeignKey(
        Judge, on_delete=models.PROTECT, related_name="waited_for"
    )
    pairs = models.PositiveIntegerField(
        help_text="All that the run asks about, decided or not."
    )
    file = models.CharField(
        max_length=200, help_text="The pending pairs, in the statistics storage."
    )
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["job", "judge"], name="pending_labels_once_a_judge"
            )
        ]

    def __str__(self) -> str:
        return f"{self.job} waits for {self.judge}"


class PendingPair(models.Model):
    waits = models.ForeignKey(
        PendingLabels,
        on_delete=models.CASCADE,
        related_name="open_pairs",
        db_index=False,
    )
    items = build_text_field_with_default(MAX_ITEM_DIGESTS_LENGTH)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["waits", "items"], name="open_pair_once_a_job"
            )
        ]
        indexes = [models.Index(fields=["items"], name="open_pair_by_items")]

    def __str__(self) -> str:
        return self.items[:12]


class UsedJudgements(models.Model):
    """The judgements that were used to compute the scores of an evaluation."""

    evaluation = models.ForeignKey(
        Evaluation, on_delete=models.CASCADE, related_name="used_judgements"
    )
    receipt = models.ForeignKey(
        Receipt,
        on_delete=models.CASCADE,
        related_name="used_judgements",
        db_index=False,
    )
    is_current = models.BooleanField(
        default=True, help_text="The evaluation has these numbers now."
    )
    kind = models.CharField(max_length=10)
    name = models.CharField(
        max_length=MAX_JUDGE_NAME_CHARACTERS, help_text="The judge's name."
    )
    digest = models.CharField(max_length=64, help_text="SHA-256 of the rows.")
    rows = models.PositiveIntegerField()
    ties = models.PositiveIntegerField(help_text="Items on which people are divided.")
    items = models.BinaryField(
        help_text="Eight bytes of the SHA-256 of the items of each row, in order."
    )
    labels = models.BinaryField(
        default=b"",
        db_default=b"",
        help_text="A byte for the label of each row, in order; empty for older numbers.",
    )
    units = models.BinaryField(
        default=b"",
        db_default=b"",
        help_text="Four bytes of the SHA-256 of the topic of each row, in order; empty for older numbers.",
    )
    imports: models.ManyToManyField[JudgementImport, models.Model] = (
        models.ManyToManyField(JudgementImport, related_name="used_by")
    )
    outdated_at = models.DateTimeField(
        null=True, blank=True, help_text="When a later judgement of an item came."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["receipt", "kind"], name="used_judgements_once_a_kind"
            )
        ]
        indexes = [models.Index(fields=["kind", "name"], name="used_by_judge")]

    def __str__(self) -> str:
        return f"{self.rows} judgements of {self.name} for {self.evaluation}"
