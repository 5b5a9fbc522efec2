"""API operations for boards of battles and for sheets of pairs."""

import datetime as dt
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.http import Http404, HttpResponse
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.acts import pairs as acts
from citeboard.acts.human import pair_judge_or_404
from citeboard.api.background import (
    AnnotatorSerializer,
    judged_phase_or_http_error,
    register_job_action,
)
from citeboard.api.boards import UNCACHED_HEADERS
from citeboard.api.operations import (
    get,
    register_action_operation,
    register_creating_action,
    register_deleting_action,
)
from citeboard.api.seasons import organised_phase_or_404, visible_phase_or_404
from citeboard.api.serializers import (
    RejectedRun,
    build_serializer,
    split_comma_separated_names,
)
from citeboard.core.api import FORBIDDEN_RESPONSE
from citeboard.teams.models import User
from scoring.human.pairs import (
    compute_progress_of_judges,
    find_pairs_for_judge,
    load_pairs_of_sheet,
)
from scoring.models import Annotator, Sheet, SheetPair
from scoring.results.board.battles import (
    BattleBoard,
    build_battle_board_from_sheets,
    load_battle_board_for_audience,
)
from scoring.results.board.visibility import determine_audience
from tasks.models import Phase
from tasks.seasons.access import get_organised_season_or_404

JSON_LINES_CONTENT_TYPE = "application/x-ndjson"
BattleRankedSystemSerializer = build_serializer(
    "BattlingSystem",
    "A system on a board of battles; null where a value is undefined or has no interval.",
    system=str,
    rank=int,
    ranks=(list[int], "The first and the last rank that comparisons leave open."),
    strength=float | None,
    strength_low=float | None,
    strength_high=float | None,
    share=float | None,
    share_low=float | None,
    share_high=float | None,
)
BattleShareSerializer = build_serializer(
    "BattleShare",
    "A share of ``n`` with its interval.",
    share=float | None,
    low=float | None,
    high=float | None,
    n=int,
)
BattleBoardSerializer = build_serializer(
    "Battles",
    "A board of battles, as `python -m scoring battles` prints it of the exported judgements.",
    strengths=(dict[str, float | None], "By system; all null if none are finite."),
    shares=(
        dict[str, dict[str, float | None]],
        "By system and other system the share of wins.",
    ),
    left=BattleShareSerializer(help_text="The position bias."),
    ordered_by=serializers.ChoiceField(choices=["strengths", "shares"]),
    board=BattleRankedSystemSerializer(many=True),
    agreement=serializers.JSONField(
        allow_null=True, help_text="Of judges on the same pairs; null without any."
    ),
    battles=int,
    topics=int,
    signature=str,
)
JudgeProgressSerializer = build_serializer(
    "JudgeProgress",
    "A judge and how many pairs they have judged.",
    id=int,
    name=str,
    judged=int,
    pairs=(int, "Pairs of the judge's share."),
)
PairSheetSerializer = build_serializer(
    "PairSheet",
    "A sheet of pairs, or the judgements of a file.",
    id=int,
    created_at=dt.datetime,
    is_open=(
        bool,
        "False if the sheet is published, or closed after it was unpublished.",
    ),
    is_published=bool,
    filename=serializers.CharField(allow_blank=True),
    pairs=(int, "Pairs of the plan; 0 of a file."),
    plan_seed=serializers.CharField(allow_blank=True),
    shares=(
        int,
        "Judges among whom the pairs are divided; 0 if each judges every pair.",
    ),
    judges_of_pair=(int, "Judges who see each pair of a divided sheet."),
    judges=JudgeProgressSerializer(many=True),
)
TextPairSerializer = build_serializer(
    "Pair",
    "Two texts of an instance; the label is empty until you judge.",
    pair=serializers.IntegerField(
        source="position", help_text="Its position on the sheet."
    ),
    instance=serializers.IntegerField(source="instance.position"),
    sources=serializers.ListField(
        source="instance.sources", child=serializers.ListField()
    ),
    left=serializers.CharField(source="left.text"),
    right=serializers.CharField(source="right.text"),
    label=serializers.CharField(allow_blank=True),
)
FILE_REFUSED_RESPONSES = {
    422: OpenApiResponse(RejectedRun, "The file is refused; nothing was stored.")
}


def _battle_board_or_404(request: Request, phase: Phase) -> BattleBoard:
    board = load_battle_board_for_audience(
        phase, determine_audience(phase, request.user)
    )
    if board is None:
        raise Http404("No board of battles is published of this phase.")
    return board


@get(
    "phases/<int:pk>/battles/",
    role=visible_phase_or_404,
    answers=BattleBoardSerializer,
    is_open=True,
    name="battles",
)
def battles(request: Request, phase: Phase) -> Response:
    """Return the board of battles of a phase."""
    return Response(
        _battle_board_or_404(request, phase).facts, headers=UNCACHED_HEADERS
    )


@get(
    "phases/<int:pk>/battles/rows/",
    role=visible_phase_or_404,
    files=[JSON_LINES_CONTENT_TYPE],
    is_open=True,
)
def battle_rows(request: Request, phase: Phase) -> HttpResponse:
    """Return the judgements behind a board of battles, as lines that `python -m scoring
    battles` reads.
    """
    content = _battle_board_or_404(request, phase).battles_as_json_lines()
    return HttpResponse(
        content, content_type=f"{JSON_LINES_CONTENT_TYPE}; charset=utf-8"
    )


register_action_operation(
    acts.IMPORT_PAIR_JUDGEMENTS,
    "phases/<int:pk>/battles/",
    "bring_battles",
    role=judged_phase_or_http_error,
    gives=lambda request, sheet: _serialize_pair_sheet(sheet),
    answers=PairSheetSerializer,
    status=201,
    responses=FILE_REFUSED_RESPONSES,
    is_upload=True,
    lets_out=False,
    name="battles",
)
register_job_action(
    acts.CREATE_PAIR_SHEET,
    "phases/<int:pk>/pair-sheets/",
    "make_pairs",
    role=judged_phase_or_http_error,
    takes=lambda request, phase, sent: {
        **sent,
        "runs": split_comma_separated_names(sent["runs"]),
    },
    name="pair-sheets",
    lets_out=False,
)


@get(
    "phases/<int:pk>/pair-sheets/",
    role=organised_phase_or_404,
    answers=[PairSheetSerializer],
    name="pair-sheets",
)
def pair_sheets(request: Request, phase: Phase) -> Any:
    """List the sheets of pairs of a phase with their judges, for organisers."""
    sheets = Sheet.objects.pairs().filter(phase=phase).order_by("pk")
    return [_serialize_pair_sheet(sheet) for sheet in sheets]


def _serialize_pair_sheet(sheet: Sheet) -> dict[str, Any]:
    own = (
        "created_at",
        "is_open",
        "is_published",
        "filename",
        "plan_seed",
        "shares",
        "judges_of_pair",
    )
    return {name: getattr(sheet, name) for name in own} | {
        "id": sheet.pk,
        "pairs": load_pairs_of_sheet(sheet).count(),
        "judges": [
            {
                "id": own.annotator.pk,
                "name": own.annotator.name,
                "judged": own.judged,
                "pairs": own.pairs,
            }
            for own in compute_progress_of_judges(sheet)
        ],
    }


def pair_sheet_to_organise_or_404(user: User, pk: int) -> Sheet:
    sheet = Sheet.objects.pairs().filter(pk=pk).select_related("phase__task__season")
    found = sheet.first()
    if found is None:
        raise Http404("There is no sheet of pairs at this address.")
    get_organised_season_or_404(user, found.phase.task.season.slug)
    return found


@get(
    "pair-sheets/<int:pk>/rows/",
    role=pair_sheet_to_organise_or_404,
    files=[JSON_LINES_CONTENT_TYPE],
)
def pair_sheet_rows(request: Request, sheet: Sheet) -> HttpResponse:
    """Return the judgements of a sheet, published or not, with pseudonyms of judges,
    for organisers.
    """
    own = Sheet.objects.filter(pk=sheet.pk)
    board = build_battle_board_from_sheets(sheet.phase, own, has_teams=True)
    content = board.battles_as_json_lines() if board else ""
    return HttpResponse(
        content, content_type=f"{JSON_LINES_CONTENT_TYPE}; charset=utf-8"
    )


register_creating_action(
    acts.ADD_PAIR_JUDGE,
    "pair-sheets/<int:pk>/judges/",
    "add_judge",
    role=pair_sheet_to_organise_or_404,
    answers=AnnotatorSerializer,
)
register_deleting_action(acts.REMOVE_PAIR_JUDGE, "judges/<int:pk>/", "remove_judge")
register_action_operation(
    acts.PUBLISH_PAIR_JUDGEMENTS,
    "pair-sheets/<int:pk>/publish/",
    "publish_pairs",
    role=pair_sheet_to_organise_or_404,
)
register_action_operation(
    acts.UNPUBLISH_PAIR_JUDGEMENTS,
    "pair-sheets/<int:pk>/take-back/",
    "take_pairs_back",
    role=pair_sheet_to_organise_or_404,
)
register_action_operation(
    acts.REOPEN_PAIR_SHEET,
    "pair-sheets/<int:pk>/reopen/",
    "reopen_pairs",
    role=pair_sheet_to_organise_or_404,
)


@get(
    "judge/<int:sheet>/",
    role=pair_judge_or_404,
    pages=TextPairSerializer,
    responses={403: FORBIDDEN_RESPONSE},
    name="judge",
)
def pairs_to_judge(request: Request, annotator: Annotator) -> QuerySet[SheetPair]:
    """List the pairs that the user must judge, in the planned order, with the labels so
    far.
    """
    own = annotator.preferences.filter(pair=OuterRef("pk")).values("label")
    return (
        find_pairs_for_judge(annotator)
        .select_related("instance", "left", "right")
        .annotate(label=Coalesce(Subquery(own), Value("")))
    )


register_action_operation(
    acts.JUDGE_PAIR,
    "judge/<int:sheet>/",
    "judge_pair",
    gives=lambda request, made: {"judged": made.annotator.preferences.count()},
    answers=build_serializer("Judged", "How many pairs you have judged.", judged=int),
    responses={403: FORBIDDEN_RESPONSE},
    lets_out=False,
    name="judge",
)
