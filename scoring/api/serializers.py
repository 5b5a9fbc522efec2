"""Seasons, tasks, phases and runs as the API gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from scoring.board.public_results import FirstPlace, public_first_places
from scoring.runs.team_view import as_told
from tasks.models import ExtraTries, Gold, Phase, Season, Submission, Task


def address(request: Request, name: str, *arguments: object) -> str:
    """The whole address of a page or of a part of the API."""
    return request.build_absolute_uri(reverse(name, args=arguments))


class Addressed(serializers.ModelSerializer[Any]):
    def address(self, name: str, *arguments: object) -> str:
        return address(self.context["request"], name, *arguments)


class LeaderSerializer(serializers.Serializer[Any]):
    """The first row; of several the one that was there first."""

    submission = serializers.IntegerField()
    system = serializers.CharField()
    team = serializers.SlugField(source="team_slug", allow_null=True)
    metric = serializers.CharField(allow_null=True, help_text="Null where ranks alone are shown.")
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    tied = serializers.IntegerField(
        allow_null=True,
        help_text="Other rows that do not differ significantly; null until it is known.",
    )


def leader(places: Sequence[FirstPlace]) -> dict[str, Any] | None:
    return LeaderSerializer(places[0]).data if places else None


class PhaseSerializer(Addressed):
    """When runs are accepted, how many, and who sees their scores."""

    is_open = serializers.SerializerMethodField()
    own_scores = serializers.ChoiceField(
        source="own_runs_show", choices=Phase.OwnRuns.choices, help_text="What a team learns of its own runs."
    )
    board = serializers.ChoiceField(
        source="board_now", choices=Phase.Audience.choices, help_text="Who sees the board now."
    )
    frozen_from = serializers.DateTimeField(
        allow_null=True,
        help_text="From this instant others than organisers see the board as it stood then.",
    )
    frozen_until = serializers.DateTimeField(
        allow_null=True, help_text="Until then; where it is null, until an organiser reveals it."
    )
    is_frozen = serializers.BooleanField(help_text="Whether it is frozen now.")
    board_then = serializers.CharField(help_text="Who sees it from `board_from` on; empty where that is all.")
    inputs_from = serializers.DateTimeField(
        source="inputs_released_at", help_text="When the inputs are given out, and runs may be checked."
    )
    gold_from = serializers.DateTimeField(
        allow_null=True, help_text="Nobody downloads the gold before; null without an embargo."
    )
    card_required = serializers.ListField(
        child=serializers.CharField(), help_text="What a run card must say; runs without it are refused."
    )
    page = serializers.SerializerMethodField(help_text="The board, for people.")
    leaderboard = serializers.SerializerMethodField(help_text="The board, for programs.")
    leader = serializers.SerializerMethodField(
        help_text="Who is first on the board as everybody may see it; null where it shows nobody."
    )

    class Meta:
        model = Phase
        fields = [
            "id", "slug", "title", "split", "opens", "closes", "late_until", "inputs_from", "gold_from",
            "time_zone",
            "is_open", "runs_per_day", "runs_in_total", "board", "board_from",
            "board_then", "frozen_from", "frozen_until", "is_frozen", "own_scores",
            "shows_teams", "shows_run_counts", "counting", "priority_runs", "shows_contrastive",
            "confirms_results",
            "card_required", "version", "page", "leaderboard", "leader",
        ]  # fmt: skip

    def get_is_open(self, phase: Phase) -> bool:
        return phase.is_open()

    def get_page(self, phase: Phase) -> str:
        return self.address("board", phase.task.season.slug, phase.task.slug, phase.slug)

    def get_leaderboard(self, phase: Phase) -> str:
        return self.address("api:leaderboard", phase.pk)

    @extend_schema_field(LeaderSerializer(allow_null=True))
    def get_leader(self, phase: Phase) -> dict[str, Any] | None:
        return leader(public_first_places(phase) if phase.has_scores else ())  # type: ignore[attr-defined]


class GoldSerializer(serializers.ModelSerializer[Gold]):
    """The version of the gold that runs are checked against now."""

    sha256 = serializers.CharField(source="digest")

    class Meta:
        model = Gold
        fields = ["number", "sha256", "instances"]


class ExtraTriesSerializer(serializers.ModelSerializer[ExtraTries]):
    """Tries that organisers have given to one team."""

    team = serializers.SlugField(source="team.slug")

    class Meta:
        model = ExtraTries
        fields = ["id", "team", "tries", "reason", "given_at"]


class QuotaSerializer(serializers.Serializer[Any]):
    """What a team may still send; null where there is no limit."""

    team = serializers.SlugField()
    left = serializers.IntegerField(allow_null=True, min_value=0)
    left_today = serializers.IntegerField(allow_null=True, min_value=0)
    left_in_total = serializers.IntegerField(allow_null=True, min_value=0)
    renews_at = serializers.DateTimeField(allow_null=True)
    extra = ExtraTriesSerializer(many=True, help_text="Given to this team alone; the limits have them in.")


class PhaseDetail(PhaseSerializer):
    """A phase with its task, its gold, and what the reader's own teams may still send."""

    season = serializers.SlugField(source="task.season.slug")
    task = serializers.IntegerField(source="task_id")
    gold = GoldSerializer(allow_null=True, source="current_gold")
    inputs = serializers.SerializerMethodField(help_text="The public inputs, as an archive, once released.")
    teams = QuotaSerializer(many=True, source="quotas")

    class Meta(PhaseSerializer.Meta):
        fields = [*PhaseSerializer.Meta.fields, "season", "task", "gold", "inputs", "teams"]

    def get_inputs(self, phase: Phase) -> str:
        return self.address("inputs", phase.task.season.slug, phase.task.slug, phase.slug)


class TaskSerializer(Addressed):
    """What is asked in a season, under which rules, and when."""

    type = serializers.CharField(help_text="The task type, as the offline scorer calls it.")
    season = serializers.SlugField(source="season.slug")
    rules = serializers.ListField(
        child=serializers.CharField(), help_text="Names of rule sets; the first ranks."
    )
    metrics = serializers.SerializerMethodField(help_text="By rule set; the first ranks.")
    dimensions = serializers.SerializerMethodField(help_text="What scores are broken down by.")
    url = serializers.SerializerMethodField()
    page = serializers.SerializerMethodField()
    phases = PhaseSerializer(many=True)

    class Meta:
        model = Task
        fields = [
            "id", "slug", "title", "season", "type", "summary", "rules", "metrics", "dimensions",
            "is_reported_only", "min_class_size", "url", "page", "phases",
        ]  # fmt: skip

    def get_metrics(self, task: Task) -> dict[str, list[str]]:
        kind = task.task_type
        options = kind.checked_options(task.options)
        return {name: [metric.name for metric in kind.metrics_of(name, options)] for name in task.rules}

    def get_dimensions(self, task: Task) -> list[str]:
        return list(task.task_type.dimensions)

    def get_url(self, task: Task) -> str:
        return self.address("api:task", task.pk)

    def get_page(self, task: Task) -> str:
        return self.address("task", task.season.slug, task.slug)


class SeasonSerializer(Addressed):
    """One edition."""

    url = serializers.SerializerMethodField()
    page = serializers.SerializerMethodField()

    class Meta:
        model = Season
        fields = ["slug", "title", "summary", "licence", "is_public", "anonymous_until", "url", "page"]

    def get_url(self, season: Season) -> str:
        return self.address("api:season", season.slug)

    def get_page(self, season: Season) -> str:
        return self.address("season", season.slug)


class SeasonDetail(SeasonSerializer):
    """One edition with its tasks and their phases."""

    tasks = TaskSerializer(many=True)

    class Meta(SeasonSerializer.Meta):
        fields = [*SeasonSerializer.Meta.fields, "tasks"]


class ProblemSerializer(serializers.Serializer[Any]):
    """One finding in a file: what was found, what was expected, and where."""

    file = serializers.CharField(allow_blank=True)
    line = serializers.IntegerField(allow_null=True)
    message = serializers.CharField()
    expected = serializers.CharField(allow_blank=True)
    quote = serializers.CharField(allow_blank=True, help_text="The beginning of the line, as it was sent.")
    fatal = serializers.BooleanField(help_text="A run with a fatal problem is refused.")


class SubmissionSerializer(Addressed):
    """A run: who sent it, what became of it, and why."""

    phase = serializers.IntegerField(source="phase_id")
    team = serializers.SlugField(source="team.slug", allow_null=True, default=None)
    since = serializers.DateTimeField(source="status_since")
    reason = serializers.CharField(allow_blank=True, help_text="Why it failed or waits.")
    card = serializers.DictField(
        child=serializers.CharField(), help_text="How it was made, by the fields of a run card."
    )
    team_reported = serializers.SerializerMethodField(
        help_text="Costs and scores that the team reports itself, by name; nobody has checked them."
    )
    progress = serializers.FloatField(
        allow_null=True,
        help_text="Share of the check or the scoring that is done; null where none is under way.",
    )
    url = serializers.SerializerMethodField()
    page = serializers.SerializerMethodField()

    class Meta:
        model = Submission
        fields = [
            "id", "number", "phase", "team", "bundle", "system", "description", "card", "links", "kind",
            "filename", "sha256", "size", "submitted_at", "begun_at", "is_late", "exclusion",
            "exclusion_reason", "priority", "status",
            "since", "reason", "team_reported", "progress", "url", "page",
        ]  # fmt: skip

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """With the state that the reader may know."""
        return super().to_representation(as_told(instance, self.context["request"].user))

    def get_team_reported(self, submission: Submission) -> dict[str, float]:
        return {figure.name: figure.value for figure in submission.team_figures.all()}

    def get_url(self, submission: Submission) -> str:
        return self.address("api:submission", submission.pk)

    def get_page(self, submission: Submission) -> str:
        return self.address("submission", submission.pk)
