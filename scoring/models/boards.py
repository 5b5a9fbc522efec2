"""Store the results of significance tests between runs on a board, such as ranks and
the best run per class. Workers compute the test results, and pages only read the stored
results.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import zlib
from typing import Any, ClassVar, TypedDict

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from citeboard.core.instants import format_utc_minute
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.models.evaluations import Evaluation
from tasks.models import Gold, Job, Phase, Submission


class ClassLeader(models.Model):
    """The run with the best score on a class of instances. ``p`` is the largest of the
    p-values, after Holm's correction, of the comparisons between this run and the other
    runs. ``among`` is a digest of the runs that were compared.
    """

    phase = models.ForeignKey(
        Phase, on_delete=models.CASCADE, related_name="class_leaders"
    )
    rules = models.CharField(max_length=60)
    gold = models.ForeignKey(
        Gold, on_delete=models.CASCADE, related_name="class_leaders"
    )
    dimension = models.CharField(max_length=60)
    label = models.CharField("class", max_length=200)
    metric = models.CharField(max_length=80)
    best = models.ForeignKey(
        Evaluation, on_delete=models.CASCADE, related_name="leads", null=True
    )
    p = models.FloatField(null=True)
    systems = models.PositiveIntegerField(
        help_text="How many have a value in the class."
    )
    among = models.CharField(max_length=64)
    found_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(
                fields=["phase", "rules", "dimension", "metric"],
                name="class_leader_of_table",
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["phase", "rules", "gold", "dimension", "label", "metric"],
                name="class_leader_once_a_class",
            )
        ]

    def __str__(self) -> str:
        return f"best in {self.label} by {self.metric}"


class Comparison(models.Model):
    """The stored result of a significance test between two evaluations. ``first`` is
    the evaluation that was created first. The stored difference is the score of
    ``first`` minus the score of ``second``, and ``p`` is not corrected for multiple
    tests.
    """

    first = models.ForeignKey(
        Evaluation, on_delete=models.CASCADE, related_name="comparisons_as_first"
    )
    second = models.ForeignKey(
        Evaluation, on_delete=models.CASCADE, related_name="comparisons_as_second"
    )
    metric = models.CharField(max_length=80)
    difference = models.FloatField(null=True)
    error = models.FloatField(
        null=True, help_text="The jackknife's standard error of the difference."
    )
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
            models.UniqueConstraint(
                fields=["first", "second", "metric"], name="comparison_once_a_metric"
            ),
            models.CheckConstraint(
                condition=Q(second__gt=F("first")), name="comparison_older_first"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.first_id} and {self.second_id} by {self.metric}"


class BoardOrder(models.Model):
    """The background job that compares the rows of a board with each other. ``version``
    is the version of the board when the last comparison was complete. Each change of
    the board starts the job again.
    """

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="orders")
    rules = models.CharField(max_length=60)
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="board")
    version = models.PositiveBigIntegerField(default=0)
    revision = models.PositiveIntegerField(
        default=0, help_text="Another where a comparison was made anew."
    )
    classes_at = models.DateTimeField(
        null=True, help_text="When something was last found of its classes."
    )
    settled_at = models.DateTimeField(
        null=True,
        help_text="When a board that was settled before boards had verdicts closed or was frozen; it keeps "
        "its sentences.",
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["phase", "rules"]
        constraints = [
            models.UniqueConstraint(
                fields=["phase", "rules"], name="board_order_once_a_board"
            )
        ]

    def __str__(self) -> str:
        return f"the order of {self.phase_id} under {self.rules}"


class RankRange(TypedDict):
    """The lowest and the highest rank that a run may have, and the adjusted p-value of
    the test that decides the range.
    """

    evaluation: int
    low: int
    high: int
    p: float | None


class BoardRanks(models.Model):
    """The ranks of a board. Ranks are stored because computing the ranks needs a test
    for each pair of rows.
    """

    order = models.ForeignKey(
        BoardOrder, on_delete=models.CASCADE, related_name="ranks"
    )
    gold = models.ForeignKey(Gold, on_delete=models.CASCADE, related_name="+")
    inputs = models.CharField(
        max_length=64,
        help_text="A digest of the rows, their values and the order's revision.",
    )
    version = models.PositiveBigIntegerField(
        help_text="The version of the phase that the ranks were computed at."
    )
    is_complete = models.BooleanField(
        help_text="Whether each two rows had been compared, so that later versions change no rank."
    )
    ranges: models.JSONField[list[RankRange]] = models.JSONField()
    first_two = models.JSONField(
        null=True, help_text="How far the first row differs from the second."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["order", "gold"], name="board_ranks_once_a_board"
            )
        ]

    def __str__(self) -> str:
        return f"the ranks of {self.order} on gold {self.gold_id}"


class ResultConfirmation(models.Model):
    class State(models.TextChoices):
        CONFIRMED = "confirmed", _("confirmed")
        CONTESTED = "contested", _("contested")

    submission = models.OneToOneField(
        Submission, on_delete=models.CASCADE, related_name="confirmation"
    )
    gold = models.ForeignKey(Gold, on_delete=models.PROTECT, related_name="+")
    numbers = models.CharField(
        max_length=64, help_text="A digest of the scores that it was said of."
    )
    state = models.CharField(max_length=10, choices=State)
    message = models.TextField(blank=True, default="", help_text="Why it is contested.")
    by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=~models.Q(state="contested", message=""),
                name="result_is_contested_with_a_message",
            )
        ]

    def __str__(self) -> str:
        return f"{self.submission}, {self.get_state_display()}"


class FrozenBoard(models.Model):
    """The evaluations that a frozen board shows, stored when the board is frozen. If a
    team later withdraws or selects a run, the stored evaluations do not change.
    """

    phase = models.ForeignKey(
        Phase, on_delete=models.CASCADE, related_name="frozen_boards"
    )
    rules = models.CharField(max_length=60)
    gold = models.ForeignKey(Gold, on_delete=models.PROTECT, related_name="+")
    frozen_from = models.DateTimeField()
    evaluations: models.JSONField[list[int]] = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["phase", "rules", "frozen_from"],
                name="frozen_board_once_an_instant",
            )
        ]

    def __str__(self) -> str:
        return f"{self.phase}, frozen at {format_utc_minute(self.frozen_from)}"


class RankedRun(TypedDict):
    run: int
    team: str | None
    rank: int


class MonthlyRanks(models.Model):
    """The ranks of runs on the private part of a split, which are public from the first
    day of a month on.
    """

    phase = models.ForeignKey(
        Phase, on_delete=models.CASCADE, related_name="monthly_ranks"
    )
    rules = models.CharField(max_length=60)
    month = models.DateField()
    runs: models.JSONField[list[RankedRun]] = models.JSONField(
        default=list, help_text="Of each ranked run its number, its team and its rank."
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["phase", "rules", "month"], name="ranks_once_a_month"
            )
        ]

    def __str__(self) -> str:
        return f"{self.phase}, {self.month:%Y-%m}"


#: Maximum number of snapshots per phase and hour that visitors can request.
MAX_SNAPSHOTS_PER_HOUR = 60


class SnapshotLimitReached(ActionRefused):
    """An error about a board of which too many snapshots were requested within an hour.
    The number of snapshots is limited because anybody may cite a board, and snapshots
    are never deleted.
    """

    def __init__(self) -> None:
        super().__init__(
            f"boards of this phase were kept {MAX_SNAPSHOTS_PER_HOUR} times within the hour, "
            "which is as often as they are; please cite it by its own address, or ask again later"
        )


class SnapshotQuerySet(models.QuerySet["Snapshot"]):
    def keep(self, content: str, **facts: Any) -> Snapshot:
        """Store the content of a board as a snapshot, unless an equal snapshot with the
        same occasion and audience exists. Raises SnapshotLimitReached.
        """
        packed = content.encode()
        same = {name: facts.pop(name) for name in ("phase", "audience", "occasion")}
        same["digest"] = hashlib.sha256(packed).hexdigest()
        if same_one := self.filter(**same).first():
            return same_one
        if same["occasion"] == Snapshot.Occasion.CITED:
            since = timezone.now() - dt.timedelta(hours=1)
            cited = self.filter(
                phase=same["phase"], occasion=same["occasion"], created_at__gt=since
            )
            if cited.count() >= MAX_SNAPSHOTS_PER_HOUR:
                raise SnapshotLimitReached
        kept, _ = self.get_or_create(
            **same, defaults={**facts, "packed": zlib.compress(packed, 6)}
        )
        return kept


class Snapshot(models.Model):
    class Occasion(models.TextChoices):
        CITED = "cited", _("somebody cited the board")
        GOLD = "gold", _("a newer version of the gold took its place")
        CLOSE = "close", _("the phase closed")
        FREEZE = "freeze", _("the board was frozen")
        REVEAL = "reveal", _("the frozen board was revealed")

    phase = models.ForeignKey(Phase, on_delete=models.PROTECT, related_name="snapshots")
    audience = models.CharField(max_length=12, help_text="As whom the board was read.")
    occasion = models.CharField(max_length=8, choices=Occasion)
    digest = models.CharField(
        max_length=64, help_text="SHA-256 of the JSON; its beginning is the address."
    )
    packed = models.BinaryField(help_text="The JSON, compressed by zlib.")
    has_scores = models.BooleanField(help_text="False where ranks alone were shown.")
    has_names = models.BooleanField(
        help_text="False where it did not say whose the systems are."
    )
    rules = models.CharField(max_length=60)
    gold = models.ForeignKey(Gold, on_delete=models.PROTECT, related_name="snapshots")
    version = models.PositiveBigIntegerField(
        help_text="The phase's, when the board was kept."
    )
    frozen_at = models.DateTimeField(
        null=True, help_text="The instant at which a frozen board stood so."
    )
    created_at = models.DateTimeField(default=timezone.now)

    objects = SnapshotQuerySet.as_manager()

    #: Number of digits of a snapshot's digest in the address of the snapshot.
    LETTERS: ClassVar[int] = 16

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["phase", "audience", "occasion", "digest"],
                name="snapshot_once_an_occasion",
            )
        ]

    def __str__(self) -> str:
        return f"{self.phase}, version {self.version}"

    @property
    def short(self) -> str:
        return self.digest[: self.LETTERS]

    @property
    def text(self) -> bytes:
        return zlib.decompress(self.packed)

    @property
    def content(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.text)
        return facts


class ManualMeasure(models.Model):
    phase = models.ForeignKey(
        Phase, on_delete=models.CASCADE, related_name="manual_measures"
    )
    name = models.CharField(max_length=60)
    higher_is_better = models.BooleanField(default=True)
    source = models.CharField(
        max_length=400, help_text="Who measured it, how, and where that is written."
    )
    entered_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "scoring_outsidemeasure"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["phase", "name"], name="outside_measure_once_a_phase"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def direction(self) -> str:
        return "higher is better" if self.higher_is_better else "lower is better"

    @property
    def signature(self) -> str:
        way = "up" if self.higher_is_better else "down"
        return f"outside|{self.name}|better:{way}|entered:{self.entered_at:%Y-%m-%d}|source:{self.source}"


class ManualScore(models.Model):
    measure = models.ForeignKey(
        ManualMeasure, on_delete=models.CASCADE, related_name="scores"
    )
    submission = models.ForeignKey(
        Submission, on_delete=models.CASCADE, related_name="manual_scores"
    )
    value = models.FloatField()

    class Meta:
        db_table = "scoring_outsidescore"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["measure", "submission"], name="outside_score_once_a_run"
            )
        ]

    def __str__(self) -> str:
        return f"{self.measure} {self.value} of {self.submission}"
