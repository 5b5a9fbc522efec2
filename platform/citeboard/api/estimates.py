"""API operations for estimated scores and for sheets of samples."""

import datetime as dt
from typing import Any

from django.http import Http404, HttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.acts import estimates as acts
from citeboard.acts.declared import numbered
from citeboard.api.background import begins
from citeboard.api.boards import UNCACHED_HEADERS
from citeboard.api.operations import get, register_act_operation
from citeboard.api.seasons import phase_for_reader, phase_to_organise
from citeboard.api.serializers import build_serializer
from citeboard.core import storage
from scoring.models import EstimateSheet
from scoring.results.board.estimates import published_estimates_for
from scoring.results.board.standings import compute_board
from scoring.results.board.visibility import Visibility, audience_of
from tasks.models import Phase
from tasks.seasons.access import season_to_organise

JSON_LINES_CONTENT_TYPE = "application/x-ndjson"
EstimateSerializer = build_serializer(
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
EstimatesSerializer = build_serializer(
    "Estimates",
    "The estimated scores of a board.",
    method=str,
    of=serializers.ChoiceField(choices=EstimateSheet.Of.choices),
    labels_a_run=int,
    seed=(
        str | None,
        "The seed of the sample; null until everybody may have the gold.",
    ),
    rules=str,
    estimates=EstimateSerializer(many=True),
)
EstimateSheetSerializer = build_serializer(
    "EstimateSheet",
    "A sample of units that people label.",
    id=int,
    of=serializers.ChoiceField(choices=EstimateSheet.Of.choices),
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
sheet_to_organise = numbered("estimates", season_to_organise)


@get(
    "phases/<int:pk>/estimates/",
    role=phase_for_reader,
    answers=EstimatesSerializer,
    is_open=True,
    name="estimates",
)
def estimates(request: Request, phase: Phase) -> Response:
    """Return the estimated scores of a phase's board."""
    audience = audience_of(phase, request.user)
    board = compute_board(phase, request.user, audience=audience)
    is_shown = board.visibility == Visibility.SCORES
    found = published_estimates_for(board) if is_shown else None
    if found is None:
        raise Http404("No estimated scores are published of this phase.")
    return Response(found.facts, headers=UNCACHED_HEADERS)


begins(
    acts.MAKE_ESTIMATES,
    "phases/<int:pk>/estimate-sheets/",
    "make_estimates",
    role=phase_to_organise,
    name="estimate-sheets",
    lets_out=False,
)


begins(
    acts.MAKE_DISAGREEMENTS,
    "phases/<int:pk>/disagreements/",
    "make_disagreements",
    role=phase_to_organise,
    name="disagreements",
    lets_out=False,
)


@get(
    "phases/<int:pk>/estimate-sheets/",
    role=phase_to_organise,
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
            "has_labels": bool(sheet.people),
            "pairs_compared": sheet.result.get("common"),
            "pairs_differing": sheet.result.get("differing"),
        }
        for sheet in EstimateSheet.objects.filter(phase=phase).order_by("pk")
    ]


@get(
    "estimate-sheets/<int:pk>/rows/",
    role=sheet_to_organise,
    files=[JSON_LINES_CONTENT_TYPE],
)
def estimate_sheet_rows(request: Request, sheet: EstimateSheet) -> HttpResponse:
    """Return the unlabelled lines of a sheet, whose texts may be secret, for
    organisers.
    """
    with storage.statistics.open(sheet.file) as kept:
        content = kept.read()
    return HttpResponse(
        content, content_type=f"{JSON_LINES_CONTENT_TYPE}; charset=utf-8"
    )


begins(
    acts.BRING_LABELS,
    "estimate-sheets/<int:pk>/labels/",
    "bring_labels",
    role=sheet_to_organise,
    is_upload=True,
    lets_out=False,
)
register_act_operation(
    acts.PUBLISH_ESTIMATES,
    "estimate-sheets/<int:pk>/publish/",
    "publish_estimates",
    role=sheet_to_organise,
)
register_act_operation(
    acts.TAKE_ESTIMATES_BACK,
    "estimate-sheets/<int:pk>/take-back/",
    "take_estimates_back",
    role=sheet_to_organise,
)
