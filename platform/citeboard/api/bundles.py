"""The API operation that creates a draft season from a bundle of Codabench or CodaLab."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.api import operations
from citeboard.api.serializers import RejectedRun, build_serializer
from citeboard.teams.api import require_signed_in_user
from citeboard.teams.models import User
from scoring.exchange.bundles.importing import (
    create_drafted_season,
    draft_season_from_bundle,
)
from scoring.exchange.bundles.report import VERDICTS_BY_SEVERITY
from tasks.seasons.access import require_season_creator
from tasks.submissions.uploads import receive_upload


class CompetitionForm(serializers.Serializer[Any]):
    """A competition bundle, and the slug of the new season."""

    file = serializers.FileField(
        max_length=200, help_text="The zip of a competition, with competition.yaml."
    )
    title = serializers.CharField(
        max_length=120, required=False, default="", help_text="The bundle's, if empty."
    )
    slug = serializers.CharField(
        max_length=60,
        required=False,
        default="",
        help_text="Small letters, digits and single hyphens; made of the title, if empty.",
    )
    gold = serializers.ListField(
        child=serializers.CharField(max_length=500),
        required=False,
        default=list,
        max_length=100,
        help_text="PLACE=FILE for each place of the report where several files could be the gold.",
    )


BundleReportLineSerializer = build_serializer(
    "ReportLine",
    "What was understood of a bundle, left out or is to be decided, or what prevents the import.",
    verdict=serializers.ChoiceField(choices=VERDICTS_BY_SEVERITY),
    place=(str, "A key of competition.yaml, or a file of the bundle."),
    message=str,
)
ImportedBundleSerializer = build_serializer(
    "Imported",
    "The report of a bundle, and the draft that was made of it.",
    season=(str, "The slug of the draft; empty where nothing was made."),
    dry_run=bool,
    report=BundleReportLineSerializer(many=True),
)


@operations.post(
    "new-season-bundle/",
    role=require_season_creator,
    form=CompetitionForm,
    answers=ImportedBundleSerializer,
    responses={
        422: OpenApiResponse(RejectedRun, "The draft was refused; nothing was made.")
    },
    parameters=[operations.DRY_RUN_PARAMETER],
    takes_dry_runs=True,
    is_upload=True,
    operation_id="new-season-bundle",
)
def new_season_from_bundle(
    request: Request, creator: User, form: dict[str, Any]
) -> Response:
    """Create a draft season from a bundle of Codabench or CodaLab, for staff."""
    by, is_dry_run, made = (
        require_signed_in_user(request),
        operations.is_dry_run(request),
        "",
    )
    named = {name: form.get(name, "") for name in ("slug", "title")}
    gold = form.get("gold", [])
    with (
        receive_upload(form["file"]) as upload,
        draft_season_from_bundle(
            upload.path, upload.filename, by=by, gold=gold, **named
        ) as draft,
    ):
        if draft.values is not None and not is_dry_run:
            made = create_drafted_season(
                draft, filename=upload.filename, by=by
            ).season.slug
    return Response(
        {
            "season": made,
            "dry_run": is_dry_run,
            "report": BundleReportLineSerializer(draft.report, many=True).data,
        }
    )
