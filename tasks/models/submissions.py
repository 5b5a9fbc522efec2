from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, ClassVar

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import (
    CASCADE,
    PROTECT,
    SET_NULL,
    CheckConstraint,
    Q,
    UniqueConstraint,
)
from django.utils import timezone
from django.utils.translation import gettext_lazy as _, pgettext_lazy

from citeboard.core.lookalikes import Skeleton
from citeboard.core.models import (
    build_json_field_with_default,
    build_text_field_with_default,
)
from citeboard.teams.models import Team, User
from tasks.models.seasons import Phase, Season


class Bundle(models.Model):
    season = models.ForeignKey(Season, on_delete=PROTECT, related_name="bundles")
    team = models.ForeignKey(Team, on_delete=PROTECT, related_name="bundles")
    filename = models.CharField(
        max_length=200, help_text="What its team called the file."
    )
    sha256 = models.CharField(max_length=64)
    submitted_by = models.ForeignKey(User, on_delete=SET_NULL, null=True, blank=True)
    submitted_at = models.DateTimeField(default=timezone.now)
    idempotency_key = models.CharField(
        max_length=100,
        blank=True,
        help_text="Chosen by the sender: the same key again is the same bundle.",
    )

    class Meta:
        ordering = ["-submitted_at", "-id"]
        constraints = [
            UniqueConstraint(
                fields=["season", "team", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="bundle_idempotency_key_once_a_team",
            )
        ]

    def __str__(self) -> str:
        return f"{self.filename} of {self.team}"


class Submission(models.Model):
    """A submitted run. The answers of the run are in a file in the run storage."""

    class Status(models.TextChoices):
        CHECKING = "checking", pgettext_lazy("status", "checking")
        QUEUED = "queued", pgettext_lazy("status", "queued")
        SCORING = "scoring", pgettext_lazy("status", "scoring")
        WAITING = "waiting", pgettext_lazy("status", "waiting")
        SCORED = "scored", pgettext_lazy("status", "scored")
        FAILED = "failed", pgettext_lazy("status", "failed")
        CANCELLED = "cancelled", pgettext_lazy("status", "cancelled")
        WITHDRAWN = "withdrawn", pgettext_lazy("status", "withdrawn")

    class Kind(models.TextChoices):
        PRIMARY = "primary", _("primary")
        CONTRASTIVE = "contrastive", _("contrastive")
        BASELINE = "baseline", _("baseline")
        HUMAN = "human", _("human line")

    class Exclusion(models.TextChoices):
        """The way in which an organiser has removed a scored run from the boards."""

        DISQUALIFIED = "disqualified", _("disqualified")
        HIDDEN = "hidden", _("hidden")

    COUNTED: ClassVar[tuple[str, ...]] = (
        "checking",
        "queued",
        "scoring",
        "waiting",
        "scored",
        "withdrawn",
    )
    #: A run with a status in MOVING gets another status without an action of a user.
    MOVING: ClassVar[tuple[str, ...]] = ("checking", "queued", "scoring", "waiting")
    TEAMLESS: ClassVar[tuple[str, ...]] = ("baseline", "human")

    phase = models.ForeignKey(Phase, on_delete=PROTECT, related_name="submissions")
    team = models.ForeignKey(
        Team, on_delete=PROTECT, related_name="submissions", null=True, blank=True
    )
    number = models.PositiveIntegerField(
        help_text="Counts the runs of a team in a phase."
    )
    system = models.CharField(max_length=80)
    system_skeleton = Skeleton("system")
    description = models.TextField(blank=True)
    links: models.JSONField[list[str]] = build_json_field_with_default(
        list, "Addresses of what its team says of it: code, a paper, a page."
    )
    card: models.JSONField[dict[str, str]] = build_json_field_with_default(
        dict,
        "How it was made, by the fields of a run card that its team has filled in.",
    )
    kind = models.CharField(max_length=12, choices=Kind, default=Kind.PRIMARY)
    built_in = models.CharField(
        max_length=60,
        blank=True,
        help_text="The built-in baseline that the worker computes it with.",
    )
    file = models.CharField(
        max_length=200,
        blank=True,
        help_text="The run, in the run storage; empty until it is computed.",
    )
    filename = models.CharField(
        max_length=200, blank=True, help_text="What its team called the file."
    )
    sha256 = models.CharField(max_length=64, blank=True)
    size = models.PositiveBigIntegerField(default=0)
    warnings: models.JSONField[list[dict[str, Any]]] = models.JSONField(default=list)
    problems: models.JSONField[list[dict[str, Any]]] = models.JSONField(
        default=list,
        help_text="Why a run that was checked or read in a job was refused.",
    )
    submitted_by = models.ForeignKey(User, on_delete=SET_NULL, null=True, blank=True)
    submitted_at = models.DateTimeField(default=timezone.now)
    begun_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the first byte of its upload came, by which deadlines go.",
    )
    is_late = models.BooleanField(
        default=False,
        db_default=False,
        help_text="It came after the end, and no organiser has accepted it.",
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    status_since = models.DateTimeField(default=timezone.now)
    reason = models.TextField(
        blank=True, help_text="Why it failed or waits, in words a team can act on."
    )
    replace_until = models.DateTimeField(
        null=True,
        blank=True,
        help_text="So long a run that was read in a job and refused may be replaced, after the end too.",
    )
    hit_limit = models.BooleanField(
        default=False,
        help_text="It failed because its scoring needed too much computing time or memory.",
    )
    idempotency_key = models.CharField(
        max_length=100,
        blank=True,
        help_text="Chosen by the sender: the same key again is the same run.",
    )
    bundle = models.ForeignKey(
        Bundle, on_delete=PROTECT, related_name="submissions", null=True, blank=True
    )
    is_selected = models.BooleanField(
        default=False, help_text="The run that counts where teams select."
    )
    priority = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="Its place among the team's runs, where the first few are judged.",
    )
    seeds_of = build_text_field_with_default(
        80,
        help_text="The system of which this run is one seed; empty of a run on its own.",
    )
    exclusion = build_text_field_with_default(
        12,
        choices=Exclusion,
        help_text="Set by organisers: the run stands on no board, whatever its score.",
    )
    exclusion_reason = models.TextField(
        blank=True, default="", db_default="", help_text="Its team reads it."
    )
    is_alike = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Another team sent the same file, or the same answers.",
    )
    # Organisers still need to look at a failed run if `has_failed` is True.
    has_failed = models.BooleanField(
        default=False,
        db_default=False,
        help_text="A job of it failed, and no later run of its team was scored.",
    )

    class Meta:
        ordering = ["-submitted_at", "-id"]
        indexes = [
            models.Index(fields=["phase", "team", "submitted_at"]),
            models.Index(fields=["phase", "status"]),
            models.Index(fields=["submitted_at", "id"], name="submission_newest"),
            models.Index(
                fields=["team", "submitted_at", "id"], name="submission_of_team"
            ),
            # The query that counts runs by day reads only this index and no table rows.
            models.Index(
                fields=["phase", "submitted_at", "id", "status", "team", "size"],
                name="submission_by_day",
            ),
            models.Index(fields=["sha256", "team"], name="submission_same_file"),
            models.Index(
                fields=["phase"], condition=Q(is_alike=True), name="submission_alike"
            ),
            models.Index(
                fields=["phase"], condition=~Q(seeds_of=""), name="submission_seed"
            ),
            models.Index(
                fields=["phase", "status"],
                condition=Q(has_failed=True),
                name="submission_failed",
            ),
        ]
        constraints = [
            UniqueConstraint(
                fields=["phase", "team", "number"], name="submission_number_once_a_team"
            ),
            UniqueConstraint(
                fields=["phase", "number"],
                condition=Q(team=None),
                name="submission_number_once_a_baseline",
            ),
            UniqueConstraint(
                fields=["phase", "team", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="submission_idempotency_key_once_a_team",
            ),
            CheckConstraint(
                condition=Q(kind__in=("baseline", "human"), team=None)
                | (~Q(kind__in=("baseline", "human")) & Q(team__isnull=False)),
                name="submission_has_a_team_unless_baseline",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.system} (run {self.number})"

    @property
    def is_unwritten(self) -> bool:
        return self.kind == self.Kind.BASELINE and not self.file

    @property
    def filename_without_team_details(self) -> str:
        return (
            f"run{PurePosixPath(self.filename).suffix.lower()}" if self.filename else ""
        )

    @property
    def is_moving(self) -> bool:
        return self.status in self.MOVING


class LateReading(models.Model):
    """Data of a submitted run that a process must still read, because all processes
    were busy at the time of the submission. The row is deleted after the run has been
    read.
    """

    submission = models.OneToOneField(
        Submission, on_delete=CASCADE, related_name="late_reading"
    )
    metadata = models.BinaryField(
        blank=True, help_text="The file of ir_metadata that came with it."
    )
    metadata_name = models.CharField(max_length=200, blank=True)
    is_named = models.BooleanField(
        default=True,
        help_text="Its sender has named the task, so that the file is meant for it.",
    )

    def __str__(self) -> str:
        return f"what is to be read of {self.submission}"


class ExtraTries(models.Model):
    """Additional runs that organisers allow a team to submit. The phase's total limit
    increases for the team, and the daily limit increases on the day of this decision.
    """

    phase = models.ForeignKey(Phase, on_delete=CASCADE, related_name="extra_tries")
    team = models.ForeignKey(Team, on_delete=PROTECT, related_name="extra_tries")
    tries = models.PositiveSmallIntegerField(validators=[MinValueValidator(1)])
    reason = models.CharField(max_length=500, help_text="The team reads it.")
    given_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, blank=True, related_name="+"
    )
    given_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "extra tries"
        ordering = ["-given_at", "-id"]
        constraints = [
            CheckConstraint(condition=Q(tries__gt=0), name="extra_tries_are_some")
        ]

    def __str__(self) -> str:
        return f"{self.tries} more for {self.team} in {self.phase}"


class TeamFigure(models.Model):
    """A number that a team reports for its run, such as the run time, in the unit that
    `tasks.submissions.run_card` defines. The site does not verify the reported number.
    """

    submission = models.ForeignKey(
        Submission, on_delete=CASCADE, related_name="team_figures"
    )
    #: The phase is copied here for a query for phases without reported numbers.
    phase = models.ForeignKey(Phase, on_delete=CASCADE, related_name="team_figures")
    name = models.CharField(max_length=40)
    value = models.FloatField()

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(
                fields=["submission", "name"], name="team_figure_once_a_measure"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.value} of {self.submission}"
