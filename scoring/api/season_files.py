"""Loading a season from its file: what it would change, and the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT
from citeboard.core.refusals import Refused
from citeboard.teams.api import person
from scoring.api.forms import RejectedRun
from scoring.api.teams import CHANGES, CONFLICT
from tasks.models import Season
from tasks.seasons.access import may_create_seasons, season_to_organise
from tasks.seasons.file.load import Loaded, load_season_text
from tasks.seasons.file.plan import Decisions
from tasks.seasons.presets import A_YEAR, MAX_DAYS, clone_season
from tasks.submissions.refusals import RunUnusable
from tasks.types import InputRefused, Problem
from tasks.types.problems import capped


class SeasonFileForm(serializers.Serializer[Any]):
    """A season file alone: gold and other files that it names stay as the site has them."""

    file = serializers.FileField(max_length=200, help_text="season.toml, at most 1 MB.")
    apply = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Keys that were changed in the site and take what the file says; all for every key.",
    )
    keep = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Keys that stay as the site has them."
    )
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="Say what would be changed, and change nothing."
    )

    def validate_file(self, file: Any) -> Any:
        if file.size > 1 << 20:
            raise serializers.ValidationError("The file is larger than 1 MB.")
        return file


class DifferenceSerializer(serializers.Serializer[Any]):
    """A setting in which the file differs from the site."""

    key = serializers.CharField(help_text="Such as tasks.1a.phases.final.closes.")
    site = serializers.JSONField(help_text="What the site has, before it is changed.")
    file = serializers.JSONField(help_text="What the file says.")
    last = serializers.JSONField(
        required=False, help_text="What the file said when it was last loaded; left out where it never was."
    )


class LoadedSerializer(serializers.Serializer[Any]):
    """What was changed, or of a dry run what would be."""

    season = serializers.CharField()
    dry_run = serializers.BooleanField()
    changes = serializers.ListField(child=serializers.CharField())
    differences = DifferenceSerializer(many=True)
    conflicts = DifferenceSerializer(
        many=True, help_text="Of a dry run: what was changed in the site since the file was last loaded."
    )
    notices = serializers.ListField(child=serializers.CharField())


class ConflictsSerializer(serializers.Serializer[Any]):
    """Nothing was loaded, since it would undo what was changed in the site."""

    detail = serializers.CharField()
    conflicts = DifferenceSerializer(many=True)


ANSWERS = {
    200: LoadedSerializer,
    **CHANGES,
    404: ABSENT,
    409: ConflictsSerializer,
    422: OpenApiResponse(RejectedRun, "The file was refused; nothing has changed."),
}


@extend_schema(
    operation_id="season-file",
    summary="Load a season from its file; for its organisers",
    request={"multipart/form-data": SeasonFileForm},
    responses=ANSWERS,
)
@api_view(["POST"])
def season_file(request: Request, slug: str) -> Response:
    season = season_to_organise(request.user, slug)
    return _loaded(request, season.slug)


class CloneForm(serializers.Serializer[Any]):
    """What next year's season is called."""

    slug = serializers.CharField(max_length=60, help_text="Small letters, digits and single hyphens.")
    title = serializers.CharField(max_length=120)
    days = serializers.IntegerField(
        required=False,
        default=A_YEAR,
        min_value=0,
        max_value=MAX_DAYS,
        help_text="By how many phases are later.",
    )


class ClonedSerializer(serializers.ModelSerializer[Season]):
    """The draft."""

    class Meta:
        model = Season
        fields = ["slug", "title"]


@extend_schema(
    operation_id="clone",
    summary="Make next year's season: its tasks and phases, later, without people, gold and runs",
    request={"multipart/form-data": CloneForm},
    responses={
        201: ClonedSerializer,
        **CHANGES,
        404: ABSENT,
        409: CONFLICT,
        422: OpenApiResponse(RejectedRun, "The name or the title was refused; nothing was made."),
    },
)
@api_view(["POST"])
def clone(request: Request, slug: str) -> Response:
    season = season_to_organise(request.user, slug)
    form = CloneForm(data=request.data)
    form.is_valid(raise_exception=True)
    named = form.validated_data["slug"]
    if Season.objects.filter(slug=named).exists():
        raise Refused(f"There is a season “{named}” already.")
    try:
        made = clone_season(season=season, by=person(request), **form.validated_data)
    except InputRefused as refused:
        raise FileRefused(refused.problems) from refused
    return Response(ClonedSerializer(made).data, status=201)


@extend_schema(
    operation_id="new-season",
    summary="Create a season from its file; for staff",
    request={"multipart/form-data": SeasonFileForm},
    responses=ANSWERS,
)
@api_view(["POST"])
def new_season(request: Request) -> Response:
    if not may_create_seasons(request.user):
        raise Http404("Seasons are created by staff of the site.")
    return _loaded(request, "")


def _loaded(request: Request, slug: str) -> Response:
    form = SeasonFileForm(data=request.data)
    form.is_valid(raise_exception=True)
    given = form.validated_data
    try:
        loaded = load_season_text(
            given["file"].read(),
            by=person(request),
            slug=slug,
            decisions=Decisions(frozenset(given.get("apply", ())), frozenset(given.get("keep", ()))),
            dry_run=given["dry_run"],
        )
    except InputRefused as refused:
        raise FileRefused(refused.problems) from refused
    return Response(_answer(loaded, dry_run=given["dry_run"]))


class FileRefused(RunUnusable):
    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("the file is refused")
        self.problems, self.more = capped(problems)


def _answer(loaded: Loaded, *, dry_run: bool) -> dict[str, Any]:
    return {
        "season": loaded.season.slug,
        "dry_run": dry_run,
        "changes": loaded.changes,
        "differences": [row.as_json() for row in loaded.differences],
        "conflicts": [row.as_json() for row in loaded.conflicts],
        "notices": loaded.notices,
    }
