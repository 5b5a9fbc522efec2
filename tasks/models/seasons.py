"""The models of a season (an edition of a shared task) with its organisers, tasks,
phases and gold.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Case, Count, Exists, F, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Cast, Concat, Right
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from citeboard.core.instants import ENDLESS_PHASE_END, parse_time_zone
from citeboard.core.models import (
    build_json_field_with_default,
    build_text_field_with_default,
)
from citeboard.teams.models import FIELDS_ASKED_BY_TERMS, User
from tasks.models.declarations import Declaration, load_declared_type
from tasks.types import TaskType, task_type
from tasks.types.digests import (
    DISPLAYED_COMMITMENT_DIGITS,
    PLAIN_DIGEST_ALGORITHM,
    SALTED_DIGEST_ALGORITHM,
    compute_draw_commitment,
    compute_salted_digest,
)

#: The score of a class with fewer than MIN_DISPLAYED_CLASS_SIZE instances can reveal instances.
MIN_DISPLAYED_CLASS_SIZE = 5
#: The Ladder shows a team's new score only if it is better by a standard error.
LADDER_RESTRICTION_NAME = "ladder"
#: PUBLIC_AND_PRIVATE_PART_NAMES names the two parts of a split for the site and the offline scorer.
PUBLIC_AND_PRIVATE_PART_NAMES = ("public", "private")
SEASON_DATE_FIELDS = ("results_at", "papers_until", "camera_ready_until", "workshop_at")
ASKED_DATA_HELP_TEXT = _(
    "Organisers alone export it. Of those who have accepted already another version asks it."
)
#: A scoring process cannot start with less memory than MIN_MEMORY_LIMIT_MB.
MIN_MEMORY_LIMIT_MB = 256


def validate_zone(name: str) -> None:
    try:
        parse_time_zone(name)
    except ValueError as unknown:
        raise ValidationError(str(unknown)) from unknown


class SeasonQuerySet(models.QuerySet["Season"]):
    def organised_by_user(self, user: object) -> SeasonQuerySet:
        if not isinstance(user, User):
            return self.none()
        own = Organiser.objects.filter(user=user, role=Organiser.Role.ORGANISER)
        return self if user.is_staff else self.filter(pk__in=own.values("season"))

    def helped_by_user(self, user: object) -> SeasonQuerySet:
        if not isinstance(user, User):
            return self.none()
        return self if user.is_staff else self.filter(organisers__user=user)

    def visible_to(self, user: object) -> SeasonQuerySet:
        helped = Season.objects.helped_by_user(user).order_by().values("pk")
        return self.filter(Q(is_public=True) | Q(pk__in=helped))

    def annotate_team_count(self) -> SeasonQuerySet:
        return self.annotate(
            teams=Count("registrations", filter=Q(registrations__is_approved=True))
        )

    def order_by_current_first(self) -> SeasonQuerySet:
        """Order open seasons by next deadline, followed by future seasons, past
        seasons, and seasons with published results only.
        """
        now = timezone.now()
        phases = Phase.objects.filter(task__season=OuterRef("pk")).order_by()
        tasks = Task.objects.filter(season=OuterRef("pk")).order_by()
        place = Case(
            When(Exists(phases.open(now)), then=Value(0)),
            When(Exists(phases.filter(opens__gt=now)), then=Value(1)),
            When(Exists(phases), then=Value(2)),
            When(
                Exists(tasks) & ~Exists(tasks.filter(is_reported_only=False)),
                then=Value(3),
            ),
            default=Value(1),
        )
        deadline = phases.open(now).order_by("closes").values("closes")[:1]
        return self.alias(place=place, deadline=Subquery(deadline)).order_by(
            "place", F("deadline").asc(nulls_last=True), "-created_at", "slug"
        )


#: HUB_DATASET_PATTERN matches `OWNER/NAME`, the name of a data set on the Hugging Face Hub.
HUB_DATASET_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}"


@dataclass(frozen=True, kw_only=True)
class SettingProperties:
    """The properties of a model field that organisers can set. Season files, forms, the
    API and cached pages use these properties of the field.
    """

    label: str | Promise = ""
    key: str = ""
    is_slug: bool = False
    at_most: str = ""
    most: int | None = None
    page: str = "settings"
    in_api: bool = False
    #: `on_board` is True if boards, and thus cache keys of boards, depend on the field.
    on_board: bool = True
    is_cloned: bool = True
    #: `changes_numbers` is True if runs are rescored after a change of the field.
    changes_numbers: bool = False


_SETTING_IN_API = SettingProperties(in_api=True)


def _optional_date_time_field(
    words: Any, help_text: Any = ""
) -> models.DateTimeField[dt.datetime | None, dt.datetime | None]:
    return models.DateTimeField(words, null=True, blank=True, help_text=help_text)


def _boolean_setting_field(
    words: Any, help_text: Any, *, default: bool = False
) -> models.BooleanField[bool, bool]:
    return models.BooleanField(
        words, default=default, db_default=default, help_text=help_text
    )


def _optional_limit_field(
    words: Any, help_text: Any = "", least: int = 1
) -> models.PositiveIntegerField[int | None, int | None]:
    bounds = [MinValueValidator(least)]
    return models.PositiveIntegerField(
        words, null=True, blank=True, validators=bounds, help_text=help_text
    )


class ModelWithSettings(models.Model):
    """A row with settings. ``SETTINGS`` maps the name of each model field that
    organisers can set to the properties of the field. The fields have the order of the
    season file.
    """

    SETTINGS: ClassVar[dict[str, SettingProperties]]

    class Meta:
        abstract = True

    @classmethod
    def field(cls, name: str) -> models.Field[Any, Any]:
        field = cls._meta.get_field(name)
        assert isinstance(field, models.Field)
        return field

    @classmethod
    def key(cls, name: str) -> str:
        return (name in cls.SETTINGS and cls.SETTINGS[name].key) or name.removeprefix(
            "is_"
        )

    @classmethod
    def is_required(cls, name: str) -> bool:
        field = cls.field(name)
        return not (field.null or field.blank or field.has_default())

    @classmethod
    def list_settings_with_flag(cls, flag: str) -> list[str]:
        return [
            name for name, setting in cls.SETTINGS.items() if getattr(setting, flag)
        ]

    def board_cache_key_values(self, at: dt.datetime) -> list[object]:
        """Return the values of all settings that boards of the season depend on. For
        each setting that is a date, the list also contains True if the date has passed.
        """
        values = [
            getattr(self, name) for name in self.list_settings_with_flag("on_board")
        ]
        return [
            *values,
            *(value <= at for value in values if isinstance(value, dt.datetime)),
        ]


class Season(ModelWithSettings):
    class EntryPolicy(models.TextChoices):
        OPEN = "open", _("open to every team")
        APPROVAL = "approval", _("by approval of an organiser")
        LIST = "list", _("open to the addresses on a list")
        CLOSED = "closed", _("closed")

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    summary = models.TextField(blank=True, help_text=_("Markdown."))
    licence = models.CharField(max_length=200, blank=True)
    is_public = models.BooleanField(default=False)
    was_public = models.BooleanField(
        default=False,
        db_default=False,
        help_text="It is, or has been, public: then it is not deleted.",
    )
    registration = models.CharField(
        _("how teams enter"),
        max_length=10,
        choices=EntryPolicy,
        default=EntryPolicy.OPEN,
    )
    entry_list = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text=_(
            "Who may enter by list: an address, or @ and a domain, on each line."
        ),
    )
    max_team_size = _optional_limit_field(_("members of a team at most"))
    members_until = _optional_date_time_field(
        _("members may change until"),
        _("From then on nobody joins a team of the season or is removed from one."),
    )
    merge_until = _optional_date_time_field(
        _("teams may merge until"),
        _(
            "Until then a team may ask to go into another, whose lead accepts. Empty: organisers alone "
            "merge teams."
        ),
    )
    anonymous_until = _optional_date_time_field(
        _("teams are anonymous until"),
        _(
            "Until then others than organisers read “Team 41” in the place of a team's name: a number "
            "drawn when the team entered."
        ),
    )
    results_at = _optional_date_time_field(_("results are announced"))
    papers_until = _optional_date_time_field(_("papers are due"))
    camera_ready_until = _optional_date_time_field(_("camera-ready papers are due"))
    workshop_at = _optional_date_time_field(_("workshop"))
    time_zone = models.CharField(
        _("time zone"),
        max_length=60,
        default="UTC",
        db_default="UTC",
        validators=[validate_zone],
        help_text=_(
            "In which organisers write the season's times, such as Europe/Rome or AoE. Phases have "
            "zones of their own."
        ),
    )
    allows_several_teams = models.BooleanField(
        default=False,
        help_text=_("Whether a person may take part with more than one team."),
    )
    shows_overall = _boolean_setting_field(
        _("overall table"),
        _(
            "Whether teams are ranked over the tasks too, by the boards that everybody sees."
        ),
    )
    allows_frames = _boolean_setting_field(
        _("boards in frames"),
        _(
            "Whether pages elsewhere may show the boards in a frame, by their addresses under /embed/."
        ),
    )
    asks_affiliation = _boolean_setting_field(
        _("who accepts the terms gives an affiliation"), ASKED_DATA_HELP_TEXT
    )
    asks_country = _boolean_setting_field(
        _("who accepts the terms gives a country"), ASKED_DATA_HELP_TEXT
    )
    asks_legal_name = _boolean_setting_field(
        _("who accepts the terms gives a legal name"), ASKED_DATA_HELP_TEXT
    )
    planned_phases: models.JSONField[list[dict[str, Any]]] = (
        build_json_field_with_default(
            list,
            "Phases that a task made from its gold gets while the season has no task: tables of the file.",
            blank=True,
        )
    )
    announcement = models.TextField(
        blank=True, help_text=_("Markdown, at the top of the season's page.")
    )
    announced_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    SETTINGS: ClassVar = {
        "title": SettingProperties(label=_("Title"), in_api=True),
        "summary": SettingProperties(label=_("Summary"), in_api=True, on_board=False),
        "licence": SettingProperties(label=_("Licence"), in_api=True, on_board=False),
        "is_public": SettingProperties(
            label=_("Public: everybody sees the season"), in_api=True
        ),
        "registration": SettingProperties(page="teams", on_board=False),
        "entry_list": SettingProperties(page="teams", on_board=False, is_cloned=False),
        "max_team_size": SettingProperties(page="teams", on_board=False),
        "members_until": SettingProperties(page="teams", on_board=False),
        "merge_until": SettingProperties(on_board=False),
        "anonymous_until": SettingProperties(in_api=True),
        **{
            name: SettingProperties(in_api=True, on_board=False)
            for name in SEASON_DATE_FIELDS
        },
        "time_zone": SettingProperties(label=_("Time zone"), on_board=False),
        "allows_several_teams": SettingProperties(
            label=_("A person may take part with more than one team"),
            key="several_teams",
            on_board=False,
        ),
        "planned_phases": SettingProperties(page="preset", on_board=False),
        "shows_overall": SettingProperties(key="overall", on_board=False),
        "allows_frames": SettingProperties(key="frames", on_board=False),
        **{
            f"asks_{name}": SettingProperties(on_board=False)
            for name in FIELDS_ASKED_BY_TERMS
        },
    }

    objects = SeasonQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "slug"]

    def __str__(self) -> str:
        return self.title

    def is_anonymous(self, at: dt.datetime | None = None) -> bool:
        return (
            self.anonymous_until is not None
            and (at or timezone.now()) < self.anonymous_until
        )

    def shows_team_names(self) -> bool:
        return not (
            self.is_anonymous() or self.tasks.filter(phases__shows_teams=False).exists()
        )

    @property
    def zone(self) -> ZoneInfo:
        return parse_time_zone(self.time_zone)

    @property
    def asks(self) -> list[str]:
        """Return the names of the personal data that people must give when they accept
        the terms.
        """
        return [name for name in FIELDS_ASKED_BY_TERMS if getattr(self, f"asks_{name}")]

    @property
    def dates(self) -> dict[str, dt.datetime]:
        return {name: at for name in SEASON_DATE_FIELDS if (at := getattr(self, name))}

    @classmethod
    def get_date_field_label(cls, name: str) -> str:
        return capfirst(str(cls.field(name).verbose_name))


class Organiser(models.Model):
    class Role(models.TextChoices):
        ORGANISER = "organiser", _("organiser")
        HELPER = "helper", _("helper")

    season = models.ForeignKey(
        Season, on_delete=models.CASCADE, related_name="organisers"
    )
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="organises")
    role = models.CharField(
        max_length=10,
        choices=Role,
        default=Role.ORGANISER,
        db_default=Role.ORGANISER.value,
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["season", "user"], name="organiser_once")
        ]

    def __str__(self) -> str:
        return f"{self.user}, {self.get_role_display()} of {self.season}"


class Task(ModelWithSettings):
    """A task of a season, which combines a task type with rule sets and settings."""

    class SeedRunPolicy(models.TextChoices):
        ALLOWED = "allowed", _("allowed")
        NEEDED = "needed", _("needed")
        REFUSED = "refused", _("refused")

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="tasks")
    slug = models.SlugField(max_length=60)
    title = models.CharField(max_length=120)
    type = models.CharField(_("task type"), max_length=120)
    declaration = models.ForeignKey(
        Declaration,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        editable=False,
    )
    sentence = build_text_field_with_default(
        200,
        _("task in one sentence"),
        help_text=_(
            "What a system has to do, for the first page; empty: as the task type or its card says it."
        ),
    )
    summary = models.TextField(
        blank=True, help_text=_("Markdown, shown above the type's own card.")
    )
    rules: models.JSONField[list[str]] = models.JSONField(
        default=list, help_text=_("Names of rule sets; the first one ranks.")
    )
    options: models.JSONField[dict[str, str]] = models.JSONField(
        default=dict,
        blank=True,
        help_text=_("Options of the task type, as the offline scorer takes them."),
    )
    is_reported_only = models.BooleanField(
        default=False, help_text=_("No gold: published results only.")
    )
    published: models.JSONField[list[dict[str, Any]]] = models.JSONField(
        default=list,
        blank=True,
        help_text="Tables of publications that stand on its board, the first leading.",
    )
    min_class_size = models.PositiveIntegerField(
        _("smallest class shown"),
        default=MIN_DISPLAYED_CLASS_SIZE,
        validators=[MinValueValidator(1)],
        help_text=_(
            "Classes of fewer instances are shown only to those who may see single instances."
        ),
    )
    rank_by = build_text_field_with_default(
        80,
        _("ranked by"),
        help_text=_(
            "A metric of the first rule set, such as mrr@10; empty: its first. Nothing is rescored."
        ),
    )
    shown_measures = build_json_field_with_default(
        list,
        _("One a line; readers open the others. Empty: as the task type has it."),
        _("metrics shown first"),
        blank=True,
    )
    queue = models.SlugField(
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text=_(
            "Where its runs wait, such as gpu; empty: by what its metrics need, light or models."
        ),
    )
    max_seconds = _optional_limit_field(
        _("computing time of a scoring"),
        _("Seconds; what the site allows where it is empty or more."),
    )
    max_memory_mb = _optional_limit_field(
        _("memory of a scoring"),
        _("Megabytes; what the site allows where it is empty or more."),
        least=MIN_MEMORY_LIMIT_MB,
    )
    hub_dataset = models.CharField(
        _("data set on the Hub"),
        max_length=200,
        blank=True,
        default="",
        db_default="",
        validators=[
            RegexValidator(
                rf"\A{HUB_DATASET_PATTERN}\Z",
                _("Its owner and its name, such as owner/name."),
            )
        ],
        help_text=_(
            "Of Hugging Face, such as owner/name: results for its leaderboards name it."
        ),
    )
    seeds = models.CharField(
        _("runs as seeds of a system"),
        max_length=10,
        choices=SeedRunPolicy,
        default=SeedRunPolicy.ALLOWED,
        db_default=SeedRunPolicy.ALLOWED,
        help_text=_(
            "Whether a run may, must or cannot be declared a seed of a system, whose mean ranks. A change is "
            "for later runs."
        ),
    )
    position = models.PositiveSmallIntegerField(default=0)

    SETTINGS: ClassVar = {
        "title": SettingProperties(label=_("Title"), in_api=True),
        "type": SettingProperties(label=_("Task type"), in_api=True),
        "sentence": SettingProperties(in_api=True, on_board=False),
        "summary": SettingProperties(label=_("Summary"), in_api=True),
        "rules": SettingProperties(
            label=_("Rule sets, one a line; the first ranks"),
            in_api=True,
            changes_numbers=True,
        ),
        "options": SettingProperties(on_board=False, changes_numbers=True),
        "is_reported_only": SettingProperties(
            label=_("Shows published results only, without gold"),
            in_api=True,
            on_board=False,
        ),
        "rank_by": _SETTING_IN_API,
        "shown_measures": _SETTING_IN_API,
        "min_class_size": _SETTING_IN_API,
        "queue": SettingProperties(label=_("Queue"), is_slug=True, on_board=False),
        "max_seconds": SettingProperties(at_most="SCORING_TIMEOUT", on_board=False),
        "max_memory_mb": SettingProperties(at_most="SCORING_MEMORY_MB", on_board=False),
        "hub_dataset": SettingProperties(in_api=True, on_board=False),
        "seeds": SettingProperties(in_api=True, on_board=False),
    }

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["season", "slug"], name="task_slug_once_a_season"
            )
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def task_type(self) -> TaskType:
        own = (
            load_declared_type(self.declaration_id)
            if self.declaration_id
            else task_type(self.type)
        )
        return own.with_ranking_and_main_metrics(self.rank_by, self.shown_measures)

    @property
    def unit(self) -> str:
        return self.task_type.get_resampling_unit_name(self.options)

    @property
    def ranking_rules(self) -> str:
        return str(self.rules[0])


class PhaseQuerySet(models.QuerySet["Phase"]):
    def open(self, at: dt.datetime | None = None) -> PhaseQuerySet:
        now = at or timezone.now()
        return self.filter(opens__lte=now, closes__gt=now)

    def visible_to(self, user: object) -> PhaseQuerySet:
        return self.filter(
            task__season__in=Season.objects.visible_to(user).values("pk")
        )

    def sharing_gold_with(self, phase: Phase) -> PhaseQuerySet:
        """Return phases on the same split as ``phase``, or on a split of the same
        organisers whose gold has ever contained an instance of this split's gold.
        """
        same = GoldOverlap.objects.filter(
            gold__task=phase.task_id,
            gold__split=phase.split,
            held__gt=0,
            binds=True,
            other__task=OuterRef("task"),
            other__split=OuterRef("split"),
        )
        return self.filter(Q(task=phase.task_id, split=phase.split) | Exists(same))

    def sharing_instances_with(self, phase: Phase) -> PhaseQuerySet:
        """Return phases on the same split as ``phase``, or on a split of the same
        organisers whose gold has contained an instance with the same public text.

        The answers of the instances may differ.
        """
        same = GoldOverlap.objects.filter(
            Q(held__gt=0) | Q(shown__gt=0),
            gold__task=phase.task_id,
            gold__split=phase.split,
            binds=True,
            other__task=OuterRef("task"),
            other__split=OuterRef("split"),
        )
        return self.filter(Q(task=phase.task_id, split=phase.split) | Exists(same))


#: MAX_CHANGED_VERSIONS_CHARACTERS limits the length of `changed`, which then has about fifty versions.
MAX_CHANGED_VERSIONS_CHARACTERS = 400


class Phase(ModelWithSettings):
    """A period of a task in which teams can submit runs on one split. The settings of a
    phase determine who sees the scores of the runs.
    """

    class Audience(models.TextChoices):
        NOBODY = "nobody", _("nobody")
        ORGANISERS = "organisers", _("organisers only")
        RANKS = "ranks", _("ranks only")
        EVERYONE = "everyone", _("everyone")

    class OwnRunDetail(models.TextChoices):
        """The kind of information that a team gets about its own runs. The kinds are
        ordered, and each kind includes the previous kind.
        """

        NOTHING = "nothing", _("nothing")
        SCORED = "scored", _("that they were scored")
        SCORES = "scores", _("their scores")

    class CountedRunsRule(models.TextChoices):
        BEST = "best", _("best run of a team")
        LAST = "last", _("last run of a team")
        SELECTED = "selected", _("the run a team selects")
        ALL = "all", _("every run of a team")
        PRIORITY = "priority", _("the first runs by the priority that a team gives")

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="phases")
    slug = models.SlugField(max_length=60)
    title = models.CharField(max_length=120)
    split = models.CharField(max_length=60, default="test")
    opens = models.DateTimeField()
    closes = models.DateTimeField(default=ENDLESS_PHASE_END)
    late_until = _optional_date_time_field(
        _("late runs until"),
        _(
            "Until then runs are taken after the end too: they are marked as late, scored, and stand "
            "on no board unless an organiser accepts them."
        ),
    )
    inputs_from = _optional_date_time_field(
        _("inputs from"),
        _(
            "When participants get the inputs and may check runs, if before the phase opens."
        ),
    )
    time_zone = models.CharField(
        max_length=60, default="UTC", validators=[validate_zone]
    )
    runs_per_day = models.PositiveIntegerField(null=True, blank=True)
    runs_in_total = models.PositiveIntegerField(null=True, blank=True)
    board = models.CharField(
        _("who sees the board"),
        max_length=12,
        choices=Audience,
        default=Audience.EVERYONE,
    )
    board_from = _optional_date_time_field(
        _("that changes at"),
        _("At this instant who sees the board becomes another, by the clock alone."),
    )
    board_then = build_text_field_with_default(
        12, _("who sees the board from then on"), choices=Audience
    )
    frozen_from = _optional_date_time_field(
        _("board frozen from"),
        _(
            "From this instant others than organisers see the board, and all that follows from it, "
            "as it stood then; runs are scored on."
        ),
    )
    frozen_until = _optional_date_time_field(
        _("frozen until"),
        _(
            "When everybody sees what organisers see again; empty: when an organiser reveals it."
        ),
    )
    own_scores = build_text_field_with_default(
        8,
        _("what a team learns of its own runs"),
        choices=OwnRunDetail,
        help_text=_(
            "Never less than the board shows to everyone. Empty: what the board shows, and otherwise "
            "that they were scored."
        ),
    )
    battles_alone = _boolean_setting_field(
        _("shows battles alone"),
        _(
            "Others than organisers see the board of battles in the place of the board of measures. Runs "
            "that wait for their scores can be compared too."
        ),
    )
    shows_teams = _boolean_setting_field(
        _("shows the names of teams"),
        _("Whether others than organisers read on the board whose a system is."),
        default=True,
    )
    shows_run_counts = _boolean_setting_field(
        _("shows how many runs there are"),
        _(
            "Whether others than organisers read how many teams have sent runs, and how many."
        ),
        default=True,
    )
    counting = models.CharField(
        _("which run counts"),
        max_length=10,
        choices=CountedRunsRule,
        default=CountedRunsRule.BEST,
    )
    priority_runs = _optional_limit_field(
        _("how many runs count by priority"),
        _("Where the first runs by priority count: so many of each team. Empty: one."),
    )
    shows_contrastive = _boolean_setting_field(
        _("shows contrastive runs"),
        _(
            "Whether contrastive runs stand on the board too: marked, and without a rank."
        ),
    )
    confirms_results = _boolean_setting_field(
        _("teams confirm their results"),
        _(
            "Once it has closed the lead of each team confirms the result of every run that counts, or "
            "contests it; until all have, the board says that it is preliminary."
        ),
    )
    confirmation_ended_at = models.DateTimeField(null=True, editable=False)
    confirmation_ended_because = models.TextField(
        default="", db_default="", editable=False
    )
    confirmation_reopened = models.PositiveIntegerField(
        default=0,
        db_default=0,
        editable=False,
        help_text="How often the confirmation was begun anew.",
    )
    confirmation_told = models.PositiveBigIntegerField(
        null=True,
        editable=False,
        help_text="The version at which leads were told last whose results wait to be confirmed.",
    )
    shows_instances = models.BooleanField(
        _("shows single instances"),
        default=False,
        help_text=_(
            "Whoever sees the scores of two runs may also see on which instances they differ, by name "
            "and class. That tells something of the gold: for splits that are done with, or for practice."
        ),
    )
    gold_is_public = _boolean_setting_field(
        _("gives out the gold"),
        _(
            "Whoever sees the board may download the gold and the runs that stand on it, once every "
            "phase on this gold is over; while they show single instances, at once."
        ),
    )
    gold_from = _optional_date_time_field(
        _("gold from"),
        _(
            "Before this instant nobody downloads the gold, by no phase on it. Empty: no embargo."
        ),
    )
    public_part = _optional_limit_field(
        _("public part of the split, per cent"),
        _(
            "Own scores and the board come from this share of the units (30 is usual), drawn once by a "
            "secret and with every class that participants are shown in its proportion; the rest ranks at "
            "the end, or at most once a month where there is no end. Empty: no parts."
        ),
    )
    part_seed = _optional_limit_field(
        _("seed of the draw"),
        _(
            "Of a public part of an earlier release. Such a part can be guessed and reveals answers. "
            "Empty: the site draws by a secret."
        ),
    )
    part_nonce = build_text_field_with_default(
        64,
        editable=False,
        help_text="The secret nonce of the draw; empty before the draw, and if a seed draws.",
    )
    ladder = _boolean_setting_field(
        _("scores by the Ladder"),
        _(
            "While runs are taken a team gets a new number only where its run is better than its best one "
            "by more than a standard error, rounded to that; no other metric and no classes. Afterwards "
            "everything is shown."
        ),
    )
    min_answered = _optional_limit_field(
        _("answers that a number by class needs"),
        _(
            "Of a class in which a run answers fewer instances no number of it is told; of a run that "
            "answers fewer in all, no class and no single instance."
        ),
    )
    min_answered_share = _optional_limit_field(
        _("share of answers that scores need, per cent"),
        _(
            "A run that answers a smaller share of the instances is told no number at all."
        ),
    )
    shares_tries = _boolean_setting_field(
        _("tries count on all phases with its gold"),
        _(
            "Runs to other phases on the same gold, of any task, use up tries of this one too."
        ),
    )
    card_required: models.JSONField[list[str]] = build_json_field_with_default(
        list,
        _("A run that is sent without it is refused."),
        _("what a run card must say"),
        blank=True,
    )
    let_out: models.JSONField[list[list[Any]]] = build_json_field_with_default(
        list,
        "What it shows although others keep it back: the kind, and the task and split of those.",
        editable=False,
    )
    errata: models.JSONField[list[dict[str, str]]] = build_json_field_with_default(
        list,
        "What organisers have corrected of its results, each with the instant; only ever added to.",
        editable=False,
    )
    version = models.PositiveBigIntegerField(default=1, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    #: ``changed`` lists new versions of the board with teams, such as ` 41:7 42:0`.
    #: In `changed`, each version has the team whose runs changed, or 0 for no team.
    changed = models.CharField(
        max_length=MAX_CHANGED_VERSIONS_CHARACTERS,
        default="",
        db_default="",
        editable=False,
    )
    position = models.PositiveSmallIntegerField(default=0)

    SETTINGS: ClassVar = {
        "title": SettingProperties(label=_("Title"), in_api=True),
        "split": replace(
            _SETTING_IN_API,
            label=_("Split: the gold that its runs are scored with"),
            is_slug=True,
            on_board=False,
        ),
        "opens": SettingProperties(label=_("Opens"), in_api=True),
        "closes": SettingProperties(label=_("Closes"), in_api=True),
        "inputs_from": _SETTING_IN_API,
        "late_until": _SETTING_IN_API,
        "time_zone": SettingProperties(label=_("Time zone"), in_api=True),
        "runs_per_day": SettingProperties(label=_("Runs per day"), in_api=True),
        "runs_in_total": SettingProperties(label=_("Runs in total"), in_api=True),
        "board": _SETTING_IN_API,
        "board_from": _SETTING_IN_API,
        "board_then": _SETTING_IN_API,
        "frozen_from": SettingProperties(in_api=True, is_cloned=False),
        "frozen_until": SettingProperties(in_api=True, is_cloned=False),
        "own_scores": _SETTING_IN_API,
        "battles_alone": _SETTING_IN_API,
        "shows_teams": _SETTING_IN_API,
        "shows_run_counts": _SETTING_IN_API,
        "counting": _SETTING_IN_API,
        "priority_runs": _SETTING_IN_API,
        "shows_contrastive": _SETTING_IN_API,
        "confirms_results": _SETTING_IN_API,
        "shows_instances": SettingProperties(),
        "gold_is_public": SettingProperties(key="gold_public"),
        "gold_from": SettingProperties(in_api=True),
        "public_part": SettingProperties(in_api=True, most=99),
        "part_seed": SettingProperties(is_cloned=False),
        "ladder": _SETTING_IN_API,
        "min_answered": _SETTING_IN_API,
        "min_answered_share": SettingProperties(in_api=True, most=100),
        "shares_tries": SettingProperties(in_api=True, on_board=False),
        "card_required": SettingProperties(in_api=True),
    }

    objects = PhaseQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["position", "opens", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "slug"], name="phase_slug_once_a_task"
            ),
            models.CheckConstraint(
                condition=Q(closes__gt=F("opens")), name="phase_closes_after_it_opens"
            ),
            models.CheckConstraint(
                condition=Q(board_from=None, board_then="")
                | (Q(board_from__isnull=False) & ~Q(board_then="")),
                name="phase_board_changes_to_something_at_an_instant",
            ),
            models.CheckConstraint(
                condition=Q(frozen_until=None)
                | Q(frozen_from__isnull=False, frozen_until__gt=F("frozen_from")),
                name="phase_is_revealed_after_it_is_frozen",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def list_teams_changed_since(self, version: int) -> set[int] | None:
        """Return the ids of teams whose runs changed after the version ``version`` of
        the board. Return None if more than the runs of some teams may have changed.
        """
        known = {
            int(at): int(team) for at, team in re.findall(r"(\d+):(\d+)", self.changed)
        }
        since = range(version + 1, self.version + 1)
        return {known[at] for at in since} - {0} if known.keys() >= set(since) else None

    def is_open(self, at: dt.datetime | None = None) -> bool:
        return self.opens <= (at or timezone.now()) < self.closes

    def is_late(self, begun: dt.datetime) -> bool:
        return begun >= self.closes

    def accepts_upload(self, at: dt.datetime, begun: dt.datetime) -> bool:
        return self.opens <= at and begun < self.accepts_runs_until

    @property
    def accepts_runs_until(self) -> dt.datetime:
        return max(self.closes, self.late_until or self.closes)

    def get_scored_part_at(self, at: dt.datetime) -> str:
        """Return the part of the split whose instances determine scores at the time
        ``at``, such as `public-30-c5f0a1b2c3d4e`, or an empty text for the whole split.
        """
        if not self.public_part:
            return ""
        name = (
            PUBLIC_AND_PRIVATE_PART_NAMES[1]
            if self.accepts_runs_until <= at
            else PUBLIC_AND_PRIVATE_PART_NAMES[0]
        )
        return f"{name}-{self.public_part}-{self.draw}"

    @property
    def draw(self) -> str:
        """Return the public name of the random sample that divides a split into a
        public and a private part. The name is the beginning of a cryptographic
        commitment, or a seed in earlier releases.

        The name is empty before the first run of the phase, when the sample does not
        exist yet.
        """
        if self.part_nonce:
            return f"c{self.draw_commitment[:DISPLAYED_COMMITMENT_DIGITS]}"
        return "" if self.part_seed is None else str(self.part_seed)

    @property
    def draw_commitment(self) -> str:
        """Return the cryptographic commitment to the secret nonce of the random sample,
        or an empty text before the sample exists.
        """
        return compute_draw_commitment(self.part_nonce) if self.part_nonce else ""

    @property
    def has_guessable_part(self) -> bool:
        """Return True if the public part of the split can be guessed, because a public
        seed and the classes of the gold determine the sample.
        """
        return (
            bool(self.public_part)
            and not self.part_nonce
            and self.part_seed is not None
        )

    def get_score_restrictions_at(self, at: dt.datetime) -> str:
        """Return the restrictions on scores at the time ``at``, such as `public-30-7
        ladder` for the public part and the Ladder. Return an empty text if scores are
        not restricted.
        """
        words = {
            self.get_scored_part_at(at): self.public_part,
            LADDER_RESTRICTION_NAME: self.ladder and at < self.accepts_runs_until,
            f"answered-{self.min_answered}": self.min_answered,
            f"share-{self.min_answered_share}": self.min_answered_share,
        }
        return " ".join(word for word, holds in words.items() if holds)

    @property
    def can_have_seed_runs(self) -> bool:
        """Return True if teams may declare runs of the phase as seeds (repetitions of
        one system). Seeds are not possible in phases with the Ladder mechanism or
        monthly ranks.
        """
        return not (self.ladder or self.has_monthly_ranks)

    @property
    def seeds(self) -> str:
        """Return the setting that determines if runs may, must or must not be seeds
        (repetitions) of a system.
        """
        return (
            self.task.seeds if self.can_have_seed_runs else Task.SeedRunPolicy.REFUSED
        )

    @property
    def has_monthly_ranks(self) -> bool:
        """Return True if the board ranks runs by the private part of the split on the
        first day of each month. Only phases with a public part and without an end have
        monthly ranks.
        """
        return bool(self.public_part) and not self.has_end

    @property
    def has_end(self) -> bool:
        return self.closes < ENDLESS_PHASE_END

    @property
    def end(self) -> dt.datetime | None:
        return self.closes if self.has_end else None

    @property
    def inputs_released_at(self) -> dt.datetime:
        return min(self.inputs_from or self.opens, self.opens)

    def has_board_audience_changed(self, at: dt.datetime | None = None) -> bool:
        return self.board_from is not None and self.board_from <= (at or timezone.now())

    @property
    def board_now(self) -> str:
        return self.board_then if self.has_board_audience_changed() else self.board

    def is_frozen(self, at: dt.datetime | None = None) -> bool:
        now = at or timezone.now()
        is_begun = self.frozen_from is not None and self.frozen_from <= now
        return is_begun and (self.frozen_until is None or now < self.frozen_until)

    @property
    def is_shown_later(self) -> bool:
        open_boards = (self.Audience.RANKS, self.Audience.EVERYONE)
        return (
            self.board_from is not None
            and not self.has_board_audience_changed()
            and self.board_then in open_boards
        )

    @property
    def shows_board_scores_to_everyone(self) -> bool:
        """Return True if the settings of the phase show the board with scores to
        everybody.
        """
        return self.board_now == self.Audience.EVERYONE and not self.battles_alone

    @property
    def visible_detail_of_own_runs(self) -> str:
        """Return the kind of information that a team gets about its own runs. If
        everybody sees more on the board than the setting allows, the team gets this
        information too.
        """
        if self.shows_board_scores_to_everyone:
            return self.OwnRunDetail.SCORES
        chosen = self.OwnRunDetail(self.own_scores or self.OwnRunDetail.SCORED)
        is_listed = self.board_now in (self.Audience.RANKS, self.Audience.EVERYONE)
        return (
            self.OwnRunDetail.SCORED
            if is_listed and chosen == self.OwnRunDetail.NOTHING
            else chosen
        )

    @property
    def shows_scores(self) -> bool:
        return self.visible_detail_of_own_runs == self.OwnRunDetail.SCORES

    @property
    def judged_runs(self) -> int:
        return self.priority_runs or 1

    @property
    def zone(self) -> ZoneInfo:
        return parse_time_zone(self.time_zone)


def increment_board_version(phase_id: int, team_id: int | None = None) -> None:
    """Increment the version of the phase's board, in the transaction that changes the
    board.

    ``team_id`` is the only team whose scored runs changed, 0 if no team's runs changed,
    or None if the change may affect everything.
    """
    changes: dict[str, Any] = {
        "version": F("version") + 1,
        "updated_at": timezone.now(),
    }
    if team_id is not None:
        version = Cast(F("version") + 1, models.CharField())
        changes["changed"] = Right(
            Concat("changed", Value(" "), version, Value(f":{team_id}")),
            MAX_CHANGED_VERSIONS_CHARACTERS,
        )
    Phase.objects.filter(pk=phase_id).update(**changes)


def increment_board_versions(season: Season) -> None:
    for phase in Phase.objects.filter(task__season=season).order_by("pk"):
        increment_board_version(phase.pk)


class GoldQuerySet(models.QuerySet["Gold"]):
    def current(self, phase: Phase) -> Gold | None:
        return (
            self.filter(task_id=phase.task_id, split=phase.split)
            .order_by("-number")
            .first()
        )


class Gold(models.Model):
    """A numbered version of a split's gold (reference answers), with derived data that
    do not reveal the gold.
    """

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="gold")
    split = models.CharField(max_length=60)
    number = models.PositiveIntegerField()
    digest = models.CharField(
        max_length=64,
        help_text="The public key: the HMAC of the plain digest, or the plain digest of earlier gold.",
    )
    digests: models.JSONField[dict[str, str]] = build_json_field_with_default(
        dict,
        "The secret SHA-256 of the canonical content, by rule; empty for gold from an earlier release.",
        editable=False,
    )
    digest_rule = models.PositiveSmallIntegerField(
        default=1,
        db_default=1,
        editable=False,
        help_text="The rule of the plain digest behind the public key.",
    )
    nonce = build_text_field_with_default(
        64,
        editable=False,
        help_text="The nonce of the HMAC; secret until the gold is released.",
    )
    rows = models.PositiveIntegerField(
        null=True,
        editable=False,
        help_text="How many rows, objects or lines its files have; empty where nobody counted.",
    )
    reading_version = models.PositiveSmallIntegerField(
        default=1,
        db_default=1,
        editable=False,
        help_text="The version by which the site reads all runs on this gold.",
    )
    instances = models.PositiveIntegerField()
    file = models.CharField(
        max_length=200, help_text="The archive of gold, in the gold storage."
    )
    index = models.CharField(
        max_length=200, help_text="What checks an upload, in the gold storage."
    )
    public = models.CharField(
        max_length=200, help_text="The archive of public inputs, in the gold storage."
    )
    statistics: models.JSONField[list[dict[str, Any]]] = build_json_field_with_default(
        list,
        "What it consists of by data set, where its task type says so; empty for gold of before.",
        editable=False,
    )
    findings: models.JSONField[list[dict[str, Any]]] = build_json_field_with_default(
        list,
        "What is odd about it, for organisers; empty for gold of before.",
        editable=False,
    )
    trivial: models.JSONField[dict[str, Any]] = build_json_field_with_default(
        dict,
        "Scores of runs that know nothing, for organisers until it is released; empty for earlier gold.",
        editable=False,
    )
    reason = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)
    sealed_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="From then on it is given out to nobody, whatever a phase says.",
    )

    objects = GoldQuerySet.as_manager()

    class Meta:
        ordering = ["task", "split", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "split", "number"], name="gold_number_once_a_split"
            )
        ]

    def __str__(self) -> str:
        return f"{self.task} {self.split}, gold v{self.number}"

    @property
    def plain_digest(self) -> str:
        """Return the SHA-256 of the gold's content. The digest must be secret as long
        as the gold is secret, because guessed gold could be compared with it.
        """
        digest: str = self.digests.get(str(self.digest_rule), self.digest)
        return digest

    @property
    def is_salted(self) -> bool:
        """Return False for gold of early releases, whose public digest is the SHA-256
        of the content without a nonce.
        """
        return self.digest != self.plain_digest

    @property
    def salted_digest(self) -> str:
        return (
            compute_salted_digest(self.plain_digest, self.nonce) if self.nonce else ""
        )

    @property
    def digest_name(self) -> str:
        return SALTED_DIGEST_ALGORITHM if self.is_salted else PLAIN_DIGEST_ALGORITHM

    @property
    def public_digest_algorithm_slug(self) -> str:
        """Return the name of the hash algorithm of the public digest in lower case."""
        return self.digest_name.replace("SHA-256", "SHA256").lower()

    def holds(self, digests: Mapping[str, str]) -> bool:
        """Return True if ``digests`` are the digests of this version's content."""
        return digests[str(self.digest_rule)] == self.plain_digest

    def has_same_order_as(self, digests: Mapping[str, str]) -> bool:
        """Return True if ``digests`` belong to this version's content with the same
        order of lines.
        """
        return bool(self.digests.get("1", digests["1"]) == digests["1"])


class GoldContent(models.Model):
    """Digests of the instances of a version of gold, keyed with a secret of the site.
    The site compares the digests to find the same instances in other gold.
    """

    gold = models.OneToOneField(
        Gold, on_delete=models.CASCADE, primary_key=True, related_name="content"
    )
    key = models.CharField(
        max_length=16, help_text="Which key of the site they were blinded by."
    )
    digests = models.BinaryField(help_text="Of the instances that are scored.")
    held = models.BinaryField(help_text="Of all that its files hold.")
    papers = models.BinaryField(
        null=True, help_text="Of its papers; none of gold of before."
    )
    organisers: models.JSONField[list[int]] = build_json_field_with_default(
        list, "Who organised its season when it came, by number.", editable=False
    )

    def __str__(self) -> str:
        return f"the content of {self.gold}"


class GoldOverlap(models.Model):
    """The numbers of instances that the gold ``gold`` shares with the gold ``other``.
    Each pair of versions of gold has one row per direction.
    """

    gold = models.ForeignKey(Gold, on_delete=models.CASCADE, related_name="overlaps")
    other = models.ForeignKey(Gold, on_delete=models.CASCADE, related_name="+")
    same = models.PositiveIntegerField(
        help_text="Instances that are the same in both, and scored."
    )
    held = models.PositiveIntegerField(
        help_text="Those that the files of both hold, scored or not."
    )
    alike = models.PositiveIntegerField(
        help_text="Those that show the same and have another gold answer."
    )
    shown = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="Those that show the same, whatever they answer; scored in both.",
    )
    papers = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="Papers of both, in one season, whatever is asked of them.",
    )
    binds = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Both are of one season, or were always of the same organisers: each follows the other.",
    )
    is_claimed = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The second claims texts of the first, which follows it.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["gold", "other"], name="gold_overlap_once_a_pair"
            )
        ]

    def __str__(self) -> str:
        return f"what {self.gold} and {self.other} have in common"


class GoldPublication(models.Model):
    """The times at which a version of gold was published in a public season and
    compared with other gold.
    """

    gold = models.OneToOneField(
        Gold, on_delete=models.CASCADE, primary_key=True, related_name="publication"
    )
    at = models.DateTimeField(default=timezone.now)
    first_at = models.DateTimeField(
        default=timezone.now,
        help_text="When the first gold of its season was, also one that is deleted.",
    )
    compared_at = models.DateTimeField(null=True)
    is_of_before = models.BooleanField(
        default=False, db_default=False, help_text="Published before there were claims."
    )

    def __str__(self) -> str:
        return f"the publication of {self.gold}"


class SeasonFile(models.Model):
    """The values of the season file that was loaded last. A comparison with the site
    shows which settings were changed on the site after the load.
    """

    season = models.OneToOneField(Season, on_delete=models.CASCADE, related_name="file")
    values: models.JSONField[dict[str, Any]] = models.JSONField(
        default=dict,
        help_text="What it said, by key, such as tasks.1a.phases.final.closes.",
    )
    loaded_at = models.DateTimeField(default=timezone.now)
    loaded_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    def __str__(self) -> str:
        return f"the file of {self.season}"
