"""API operations for estimated scores and for sheets of samples."""

import datetime as dt
from typing import Any

from django.http import Http404, HttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.acts import estimates as acts
from citeboard.acts.declared import build_season_row_lookup
from citeboard.api.background import register_job_action
from citeboard.api.boards import UNCACHED_HEADERS
from citeboard.api.operations import get, register_action_operation
from citeboard.api.seasons import organised_phase_or_404, visible_phase_or_404
from citeboard.api.serializers import build_serializer
from citeboard.core import storage
from scoring.models import EstimateSheet
from scoring.results.board.estimates import (
    find_published_estimates_of_board,
    get_kind_of_labels,
)
from scoring.results.board.judges import KIND_NAMES
from scoring.results.board.standings import compute_board
from scoring.results.board.visibility import BoardVisibility, determine_audience
from tasks.models import Phase
from tasks.seasons.access import get_organised_season_or_404

JSON_LINES_CONTENT_TYPE = "application/x-ndjson"
ScoreEstimateSerializer = build_serializer(
    "Estimate",
    "The estimated score of a run, or its difference from another run's; null where it is not estimated.",
    measure=str,
    run=int,
    minus=(int | None, "The run whose score is subtracted; null for a score."),
    judge=(float, "The number by the judge's labels alone."),
    estimated=float | None,
    low=float | None,
    high=float | None,
    labels=int,
    worth_in_labels=(
        float | None,
        "Labels by people alone that would give the same interval.",
    ),
    judge_weight=(float | None, "From 0, people alone, to 1."),
    agreement=(
        float | None,
        "Share of labels on which the judge and people agree; null for a difference.",
    ),
    too_few=(
        str | None,
        "Why there is no estimate: too few topics, labels, or labels of one kind.",
    ),
)
ESTIMATES_OF_KIND_FIELDS: dict[str, Any] = {
    "of": serializers.ChoiceField(choices=EstimateSheet.UnitKind.choices),
    "labels_a_run": int,
    "seed": (
        str | None,
        "The seed of the sample; null until everybody may have the gold.",
    ),
    "rules": str,
    "estimates": ScoreEstimateSerializer(many=True),
}
EstimatesOfKindSerializer = build_serializer(
    "EstimatesOfKind",
    "The estimated scores from people's labels of one kind.",
    **ESTIMATES_OF_KIND_FIELDS,
)
BoardEstimatesSerializer = build_serializer(
    "Estimates",
    "The estimated scores of a board: those that were published last, and those of each kind.",
    method=str,
    **ESTIMATES_OF_KIND_FIELDS,
    by_kind=EstimatesOfKindSerializer(
        many=True, help_text="The estimates of each kind, each from its newest sheet."
    ),
)
EstimateSheetSerializer = build_serializer(
    "EstimateSheet",
    "A sample of units that people label.",
    id=int,
    of=serializers.ChoiceField(choices=EstimateSheet.UnitKind.choices),
    kind=(str, f"Of its labels: {', '.join(KIND_NAMES)}."),
    labels=int,
    seed=str,
    rules=str,
    runs=list[int],
    judgements=(int, "Lines of the sheet."),
    pairs_compared=(
        int | None,
        "Of a sheet of disagreements: pairs with labels of both judges.",
    ),
    pairs_differing=(int | None, "Pairs on which both judges disagree."),
    created_at=dt.datetime,
    is_open=bool,
    has_labels=bool,
)
estimate_sheet_to_organise_or_404 = build_season_row_lookup(
    "estimates", get_organised_season_or_404
)


@get(
    "phases/<int:pk>/estimates/",
    role=visible_phase_or_404,
    answers=BoardEstimatesSerializer,
    is_open=True,
    name="estimates",
)
def estimates(request: Request, phase: Phase) -> Response:
    """Return the estimated scores of a phase's board."""
    audience = determine_audience(phase, request.user)
    board = compute_board(phase, request.user, audience=audience)
    is_shown = board.visibility == BoardVisibility.SCORES
    found = find_published_estimates_of_board(board) if is_shown else None
    if found is None:
        raise Http404("No estimated scores are published of this phase.")
    return Response(found.facts, headers=UNCACHED_HEADERS)


register_job_action(
    acts.CREATE_ESTIMATE_SHEET,
    "phases/<int:pk>/estimate-sheets/",
    "make_estimates",
    role=organised_phase_or_404,
    name="estimate-sheets",
    lets_out=False,
)


register_job_action(
    acts.CREATE_DISAGREEMENT_SHEET,
    "phases/<int:pk>/disagreements/",
    "make_disagreements",
    role=organised_phase_or_404,
    name="disagreements",
    lets_out=False,
)


@get(
    "phases/<int:pk>/estimate-sheets/",
    role=organised_phase_or_404,
    answers=[EstimateSheetSerializer],
    name="estimate-sheets",
)
def estimate_sheets(request: Request, phase: Phase) -> Any:
    """List the samples of a phase that people label, for organisers."""
    names = ("of", "labels", "seed", "rules", "runs", "judgements", "created_at")
    return [
        {name: getattr(sheet, name) for name in (*names, "is_open")}
        | {
            "id": sheet.pk,
            "kind": get_kind_of_labels(sheet),
            "has_labels": bool(sheet.people),
            "pairs_compared": sheet.result.get("common"),
            "pairs_differing": sheet.result.get("differing"),
        }
        for sheet in EstimateSheet.objects.filter(phase=phase).order_by("pk")
    ]


@get(
    "estimate-sheets/<int:pk>/rows/",
    role=estimate_sheet_to_organise_or_404,
    files=[JSON_LINES_CONTENT_TYPE],
)
def estimate_sheet_rows(request: Request, sheet: EstimateSheet) -> HttpResponse:
    """Return the unlabelled lines of a sheet, whose texts may be secret, for
    organisers.
    """
    with storage.statistics_file_storage.open(sheet.file) as kept:
        content = kept.read()
    return HttpResponse(
        content, content_type=f"{JSON_LINES_CONTENT_TYPE}; charset=utf-8"
    )


register_job_action(
    acts.IMPORT_PEOPLE_LABELS,
    "estimate-sheets/<int:pk>/labels/",
    "bring_labels",
    role=estimate_sheet_to_organise_or_404,
    is_upload=True,
    lets_out=False,
)
register_action_operation(
    acts.PUBLISH_ESTIMATED_SCORES,
    "estimate-sheets/<int:pk>/publish/",
    "publish_estimates",
    role=estimate_sheet_to_organise_or_404,
)
register_action_operation(
    acts.UNPUBLISH_ESTIMATED_SCORES,
    "estimate-sheets/<int:pk>/take-back/",
    "take_estimates_back",
    role=estimate_sheet_to_organise_or_404,
)
