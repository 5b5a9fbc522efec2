"""API operations for seasons, tasks and phases. The responses contain only seasons that
the user may see.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Prefetch, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.acts.declared import build_season_row_lookup
from citeboard.api.operations import EmbargoBreachSerializer, get
from citeboard.api.serializers import (
    RouteAddressField,
    build_absolute_address,
    build_field_for_type,
    build_model_serializer,
    build_serializer,
    build_text_list_field,
)
from scoring.exchange.mounted import (
    MountedArchive,
    find_mounted_archive,
    list_mounted_archives,
)
from scoring.models import Evaluation
from scoring.results.board.exports import overall_ranking_as_json_values
from scoring.results.board.open_gold import build_gold_commitments, may_download_gold
from scoring.results.board.public_results import (
    ABSENCES_COUNT_LAST,
    OVERALL_RANKING_ABSENCE_RULES,
    PublicRankOfRun,
    load_overall_ranking_of_season as overall_table,
    load_public_first_ranks,
)
from scoring.results.publications.published import (
    load_published_results_of_task,
    published_results_as_json_values,
)
from tasks.gold.early import find_embargo_clashes
from tasks.gold.gold_files import has_starting_kit
from tasks.gold.secrecy import (
    annotate_gold_overlaps,
    get_visible_detail_of_own_runs,
    prefetch_phases_with_embargoes,
)
from tasks.models import ExtraTries, Gold, Phase, Season, Task
from tasks.seasons.access import (
    can_download_inputs,
    get_organised_season_or_404,
    get_visible_season_or_404,
    list_own_teams_in_season,
)
from tasks.submissions.submit import compute_remaining_quota


def visible_phase_or_404(user: object, pk: int) -> Phase:
    """Return a phase of a season that the user may see.

    Raises Http404 if the user may not see the phase.
    """
    return get_object_or_404(
        _annotate_has_scores(Phase.objects.visible_to(user)), pk=pk
    )


organised_phase_or_404 = build_season_row_lookup("phase", get_organised_season_or_404)


def visible_task_or_404(user: object, pk: int) -> Task:
    return get_object_or_404(
        _tasks_with_phases().filter(
            season__in=Season.objects.visible_to(user).values("pk")
        ),
        pk=pk,
    )


def _tasks_with_phases() -> QuerySet[Task]:
    return Task.objects.select_related("season").prefetch_related(
        Prefetch("phases", _annotate_has_scores(Phase.objects.all()))
    )


def _annotate_has_scores(phases: QuerySet[Phase]) -> QuerySet[Phase]:
    """Annotate phases with ``has_scores``.

    The API makes no query for the leader of a phase without scores.
    """
    scored = Evaluation.objects.filter(phase=OuterRef("pk"))
    return (
        annotate_gold_overlaps(phases)
        .select_related("task__season")
        .annotate(has_scores=Exists(scored))
    )


BoardLeaderSerializer = build_serializer(
    "Leader",
    "The first row; of several the one that was there first.",
    submission=int,
    system=str,
    team=serializers.SlugField(source="team_slug", allow_null=True),
    metric=build_field_for_type(
        str | None, "Null where ranks alone are shown.", source="column.metric"
    ),
    value=serializers.FloatField(source="cell.value", allow_null=True),
    low=serializers.FloatField(source="cell.low", allow_null=True),
    high=serializers.FloatField(source="cell.high", allow_null=True),
    tied=(
        int | None,
        "Other rows that do not differ significantly; null until it is known.",
    ),
)


def serialize_board_leader(places: Sequence[PublicRankOfRun]) -> dict[str, Any] | None:
    return BoardLeaderSerializer(places[0]).data if places else None


PHASE_END_FIELD = build_field_for_type(
    dt.datetime | None, "Null where it has no end.", source="end"
)


class PhaseSerializer(serializers.ModelSerializer[Phase]):
    """A phase, with the period and the number of accepted runs, and the audience of the
    scores.
    """

    is_open = serializers.BooleanField(read_only=True)
    own_scores = serializers.SerializerMethodField(
        help_text="What a team learns of its own runs now, with what other phases on the same gold keep back."
    )
    kept_back = serializers.SerializerMethodField(
        help_text="What it is set to show, now or when it opens, and other phases on the same gold keep back."
    )
    board = serializers.ChoiceField(
        source="board_now",
        choices=Phase.Audience.choices,
        help_text="Who sees the board now.",
    )
    frozen_from = serializers.DateTimeField(
        allow_null=True,
        help_text="From this instant others than organisers see the board as it stood then.",
    )
    frozen_until = build_field_for_type(
        dt.datetime | None,
        "Until then; where it is null, until an organiser reveals it.",
    )
    closes = build_field_for_type(PHASE_END_FIELD)
    is_frozen = serializers.BooleanField(help_text="Whether it is frozen now.")
    board_then = serializers.CharField(
        help_text="Who sees it from `board_from` on; empty where that is all."
    )
    inputs_from = serializers.DateTimeField(
        source="inputs_released_at",
        help_text="When the inputs are given out, and runs may be checked.",
    )
    gold_from = build_field_for_type(
        dt.datetime | None, "Nobody downloads the gold before; null without an embargo."
    )
    card_required = build_text_list_field(
        "What a run card must say; runs without it are refused."
    )
    page = RouteAddressField(
        "board",
        "task.season.slug",
        "task.slug",
        "slug",
        help_text="The board, for people.",
    )
    leaderboard = RouteAddressField(
        "api:leaderboard", "pk", help_text="The board, for programs."
    )
    leader = serializers.SerializerMethodField(
        help_text="Who has the best value on the board as everybody may see it; null where it shows nobody."
    )

    class Meta:
        model = Phase
        fields = [
            "id",
            "slug",
            *Phase.list_settings_with_flag("in_api"),
            "is_open",
            "is_frozen",
            "kept_back",
            "version",
            "page",
            "leaderboard",
            "leader",
        ]

    @extend_schema_field(serializers.ChoiceField(choices=Phase.OwnRunDetail.choices))
    def get_own_scores(self, phase: Phase) -> str:
        return get_visible_detail_of_own_runs(phase)

    @extend_schema_field(EmbargoBreachSerializer(many=True))
    def get_kept_back(self, phase: Phase) -> list[dict[str, object]]:
        return [early.as_dict() for early in find_embargo_clashes([phase])]

    @extend_schema_field(BoardLeaderSerializer(allow_null=True))
    def get_leader(self, phase: Phase) -> dict[str, Any] | None:
        has_scores = phase.has_scores  # type: ignore[attr-defined]
        return serialize_board_leader(
            load_public_first_ranks(phase) if has_scores else ()
        )


CurrentGoldSerializer = build_model_serializer(
    Gold,
    "The version of the gold that runs are checked against now.",
    "number sha256 instances rows",
    rows=serializers.IntegerField(
        source="public_rows",
        allow_null=True,
        help_text="Number of rows, objects or lines in its files, if known; null until everybody may have "
        "the gold.",
    ),
    sha256=serializers.CharField(
        source="digest",
        help_text="The public key: an HMAC-SHA-256, or the plain SHA-256 of gold from earlier releases.",
    ),
)
GoldCommitmentsSerializer = build_serializer(
    "Commitments",
    "What the site has committed itself to, and with the release of the gold what opens it.",
    gold=(str, "The HMAC-SHA-256 of the gold's plain digest."),
    gold_nonce=(
        str | None,
        "The key of the HMAC; null until everybody may have the gold.",
    ),
    draw=(
        str,
        "The SHA-256 that fixes the draw of the public part; empty without one.",
    ),
    draw_nonce=(
        str | None,
        "The secret of the draw; null until everybody may have the gold.",
    ),
)
ExtraTriesSerializer = build_model_serializer(
    ExtraTries,
    "Tries that organisers have given to one team.",
    "id team tries reason given_at",
    team=serializers.SlugField(source="team.slug"),
)
TeamQuotaSerializer = build_serializer(
    "Quota",
    "What a team may still send; null where there is no limit.",
    team=serializers.SlugField,
    left=serializers.IntegerField(allow_null=True, min_value=0),
    left_today=serializers.IntegerField(allow_null=True, min_value=0),
    left_in_total=serializers.IntegerField(allow_null=True, min_value=0),
    renews_at=dt.datetime | None,
    extra=ExtraTriesSerializer(
        many=True, help_text="Given to this team alone; the limits have them in."
    ),
)


class PhaseDetail(PhaseSerializer):
    """A phase with its task, its gold, and the number of runs that your teams may still
    submit.
    """

    season = serializers.SlugField(source="task.season.slug")
    task = serializers.IntegerField(source="task_id")
    gold = CurrentGoldSerializer(allow_null=True, source="current_gold")
    inputs = serializers.SerializerMethodField(
        help_text="The public inputs, as an archive, once released."
    )
    starting_kit = serializers.SerializerMethodField(
        help_text="The same archive with files of the organisers in the folder `starting-kit`; null "
        "without such files."
    )
    commitments = serializers.SerializerMethodField(
        help_text="What fixes the gold and the draw of its public part before they are released."
    )
    teams = TeamQuotaSerializer(many=True, source="quotas")

    class Meta(PhaseSerializer.Meta):
        fields = [
            *PhaseSerializer.Meta.fields,
            "season",
            "task",
            "gold",
            "inputs",
            "starting_kit",
            "commitments",
            "teams",
        ]

    def get_inputs(self, phase: Phase) -> str:
        # Clients of release 0.3.0 would read the files of a starting kit as inputs.
        return self._build_inputs_address(phase) + (
            "?kit=no" if self._has_kit(phase) else ""
        )

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_starting_kit(self, phase: Phase) -> str | None:
        return self._build_inputs_address(phase) if self._has_kit(phase) else None

    def _build_inputs_address(self, phase: Phase) -> str:
        names = phase.task.season.slug, phase.task.slug, phase.slug
        return build_absolute_address(self.context["request"], "inputs", *names)

    @staticmethod
    def _has_kit(phase: Phase) -> bool:
        gold: Gold | None = phase.current_gold  # type: ignore[attr-defined]
        return gold is not None and has_starting_kit(gold)

    @extend_schema_field(GoldCommitmentsSerializer(allow_null=True))
    def get_commitments(self, phase: Phase) -> dict[str, Any] | None:
        return build_gold_commitments(phase, phase.current_gold)  # type: ignore[attr-defined]


class TaskSerializer(serializers.ModelSerializer[Task]):
    """A task of a season with its rule sets and dates."""

    type = serializers.CharField(
        help_text="The task type, as the offline scorer calls it."
    )
    season = serializers.SlugField(source="season.slug")
    rules = build_text_list_field("Names of rule sets; the first ranks.")
    shown_measures = build_text_list_field(
        "Metrics that boards show before others are asked for."
    )
    metrics = serializers.SerializerMethodField(
        help_text="By rule set; the first ranks."
    )
    dimensions = build_text_list_field(
        "What scores are broken down by.", source="task_type.dimensions", read_only=True
    )
    url = RouteAddressField("api:task", "pk")
    page = RouteAddressField("task", "season.slug", "slug")
    phases = PhaseSerializer(many=True)

    class Meta:
        model = Task
        fields = [
            "id",
            "slug",
            "season",
            *Task.list_settings_with_flag("in_api"),
            "metrics",
            "dimensions",
            "url",
            "page",
            "phases",
        ]

    def get_metrics(self, task: Task) -> dict[str, list[str]]:
        kind = task.task_type
        options = kind.validate_options(task.options)
        return {
            name: [
                metric.name for metric in kind.list_metrics_of_rule_set(name, options)
            ]
            for name in task.rules
        }


class SeasonSerializer(serializers.ModelSerializer[Season]):
    """A season, which is an edition of a shared task."""

    url = RouteAddressField("api:season", "slug")
    page = RouteAddressField("season", "slug")

    class Meta:
        model = Season
        fields = ["slug", *Season.list_settings_with_flag("in_api"), "url", "page"]


class SeasonDetail(SeasonSerializer):
    """A season with its tasks and their phases."""

    tasks = TaskSerializer(many=True)

    class Meta(SeasonSerializer.Meta):
        fields = [*SeasonSerializer.Meta.fields, "tasks"]


@get("seasons/", pages=SeasonSerializer, is_open=True)
def seasons(request: Request) -> QuerySet[Season]:
    """List the seasons, newest first."""
    return Season.objects.visible_to(request.user)


@get("seasons/<slug:slug>/", answers=SeasonDetail, is_open=True)
def season(request: Request, slug: str) -> Season:
    """Return a season with its tasks and phases."""
    visible = Season.objects.visible_to(request.user).prefetch_related(
        Prefetch("tasks", _tasks_with_phases())
    )
    found = get_object_or_404(visible, slug=slug)
    prefetch_phases_with_embargoes(found.tasks.all())
    return found


@get("tasks/<int:pk>/", role=visible_task_or_404, answers=TaskSerializer, is_open=True)
def task(request: Request, task: Task) -> Task:
    """Return a task of a season with the task's phases."""
    return task


@get("phases/<int:pk>/", role=visible_phase_or_404, answers=PhaseDetail, is_open=True)
def phase(request: Request, phase: Phase) -> Phase:
    """Return a phase, and the number of runs that your teams may still submit."""
    has_inputs = can_download_inputs(request.user, phase)
    gold = Gold.objects.current(phase) if has_inputs else None
    if gold is not None:
        is_open = may_download_gold(phase, AnonymousUser(), gold)
        gold.public_rows = gold.rows if is_open else None  # type: ignore[attr-defined]
    phase.current_gold = gold  # type: ignore[attr-defined]
    phase.quotas = [  # type: ignore[attr-defined]
        {"team": team.slug, "left": now.left, **vars(now)}
        for team in list_own_teams_in_season(request.user, phase.task.season)
        for now in [compute_remaining_quota(phase, team)]
    ]
    return phase


OverallBoardSerializer = build_serializer(
    "OverallBoard",
    "A board that contributes.",
    phase=int,
    task=serializers.SlugField,
    title=str,
    teams=(int, "How many are ranked on it."),
)
OverallBoardRankSerializer = build_serializer(
    "OverallPlace",
    "A rank, and the ranks that the paired tests of the board leave open.",
    phase=int,
    rank=int,
    rank_low=int,
    rank_high=int,
)
OverallRankWithoutTaskSerializer = build_serializer(
    "OverallWithout",
    "The rank that a team would have if the task of this phase were left out.",
    phase=int,
    rank=int,
)
OverallRowSerializer = build_serializer(
    "OverallRow",
    "A team; boards that it is not on are left out, unless absences count as last places.",
    rank=int,
    ranks=(str, "As it is printed: the ranks in the orders that are possible."),
    rank_low=int,
    rank_high=int,
    team=serializers.SlugField,
    team_name=str,
    has_organiser=(bool, "Whether somebody who runs the season is in the team."),
    boards=int,
    absent=(int, "The boards that it is not on."),
    share=(
        float,
        "Of the other teams of a board those behind it, ties by half; the mean.",
    ),
    share_low=float,
    share_high=float,
    mean_rank=float,
    borda=(float, "The teams behind it on all boards, ties by half."),
    borda_low=int,
    borda_high=int,
    places=OverallBoardRankSerializer(many=True),
    without=OverallRankWithoutTaskSerializer(many=True),
)
OverallRankingSerializer = build_serializer(
    "Overall",
    "Best first.",
    absences=serializers.ChoiceField(choices=OVERALL_RANKING_ABSENCE_RULES),
    boards=OverallBoardSerializer(many=True),
    rows=OverallRowSerializer(many=True),
)


@get(
    "seasons/<slug:slug>/overall/",
    role=get_visible_season_or_404,
    answers=OverallRankingSerializer,
    is_open=True,
    parameters=[
        OpenApiParameter(
            "absences",
            str,
            enum=OVERALL_RANKING_ABSENCE_RULES,
            description="`last`: a board that a team is not on counts as a last place.",
        )
    ],
)
def overall(request: Request, season: Season) -> Response:
    """Return the ranking of a season's teams over all tasks, if the organisers enabled
    this ranking.
    """
    if not season.shows_overall:
        raise Http404("This season does not rank teams over its tasks.")
    counts_absences = request.query_params.get("absences") == ABSENCES_COUNT_LAST
    return Response(
        overall_ranking_as_json_values(
            overall_table(season, counts_absences=counts_absences)
        )
    )


PublicationSerializer = build_serializer(
    "Paper",
    "Where figures come from.",
    key=serializers.SlugField,
    authors=list[str],
    year=int,
    title=str,
    venue=str,
    doi=str | None,
)


PublishedFigureSerializer = build_serializer(
    "Figure",
    "One printed number; it has no run and no signature, and is never ranked.",
    paper=serializers.SlugField,
    table=str,
    line=(int, "The printed line of the table, from 1."),
    system=serializers.CharField(allow_blank=True),
    # A mapping passes the field `class`, which Python refuses as a keyword argument.
    **{"class": str | None},
    metric=str,
    value=(float | None, "Null where no exact number is printed."),
    printed=str,
    deviation=float | None,
    scale=str,
    doubt=(
        str | None,
        "Why the figure is doubted, as when its row cannot be; null otherwise.",
    ),
)
PublishedResultsSerializer = build_serializer(
    "Published",
    "List the results that publications report for a task.",
    papers=PublicationSerializer(many=True),
    figures=PublishedFigureSerializer(many=True),
)


@get("tasks/<int:pk>/published/", answers=PublishedResultsSerializer, is_open=True)
def published(request: Request, pk: int) -> Response:
    """Return the published results of a task."""
    visible = Task.objects.filter(
        season__in=Season.objects.visible_to(request.user).values("pk")
    )
    results = load_published_results_of_task(get_object_or_404(visible, pk=pk))
    if results.is_empty:
        raise NotFound("No published results are known of this task.")
    return Response(published_results_as_json_values(results))


class ArchiveSerializer(serializers.Serializer[Any]):
    """A season of another site, as read from an archive. The archive of a season never
    changes.
    """

    slug = serializers.CharField()
    title = serializers.CharField()
    licence = serializers.CharField(allow_blank=True)
    verified = serializers.CharField(
        source="mount.verified",
        help_text="What verifying it said, when it was mounted.",
    )
    sha256 = serializers.CharField(
        source="mount.sha256", help_text="Of the file with its checksums."
    )
    page = RouteAddressField("archive", "slug")
    boards = serializers.SerializerMethodField(help_text="Addresses of boards as JSON.")

    def get_boards(self, mounted: MountedArchive) -> list[str]:
        files = [f"boards/{name}.json" for name, _ in mounted.boards]
        return [
            build_absolute_address(
                self.context["request"], "archive-file", mounted.slug, file
            )
            for file in files
        ]


@get("archives/", pages=ArchiveSerializer, is_open=True)
def archives(request: Request) -> list[MountedArchive]:
    """List the mounted archives of other sites' seasons."""
    return list_mounted_archives()


@get("archives/<slug:slug>/", answers=ArchiveSerializer, is_open=True)
def archive(request: Request, slug: str) -> MountedArchive:
    """Return a mounted archive."""
    if (mounted := find_mounted_archive(slug)) is None:
        raise Http404("No archive is mounted here.")
    return mounted
