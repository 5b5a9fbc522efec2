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
from citeboard.acts.human import judge_of
from citeboard.api.background import AnnotatorSerializer, begins, judged_phase_or_error
from citeboard.api.boards import UNCACHED_HEADERS
from citeboard.api.operations import deletes, get, makes, register_act_operation
from citeboard.api.seasons import phase_for_reader, phase_to_organise
from citeboard.api.serializers import RejectedRun, build_serializer, split_names
from citeboard.core.api import FORBIDDEN_RESPONSE
from citeboard.teams.models import User
from scoring.human.pairs import pairs_for_judge, pairs_of, progress_of_judges
from scoring.models import Annotator, Sheet, SheetPair
from scoring.results.board.battles import (
    BattleBoard,
    battle_board_for,
    battle_board_from_sheets,
)
from scoring.results.board.visibility import audience_of
from tasks.models import Phase
from tasks.seasons.access import season_to_organise

JSON_LINES_CONTENT_TYPE = "application/x-ndjson"
RankedSystem = build_serializer(
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
ShareSerializer = build_serializer(
    "BattleShare",
    "A share of ``n`` with its interval.",
    share=float | None,
    low=float | None,
    high=float | None,
    n=int,
)
BattlesSerializer = build_serializer(
    "Battles",
    "A board of battles, as `python -m scoring battles` prints it of the exported judgements.",
    strengths=(dict[str, float | None], "By system; all null if none are finite."),
    shares=(
        dict[str, dict[str, float | None]],
        "By system and other system the share of wins.",
    ),
    left=ShareSerializer(help_text="The position bias."),
    ordered_by=serializers.ChoiceField(choices=["strengths", "shares"]),
    board=RankedSystem(many=True),
    agreement=serializers.JSONField(
        allow_null=True, help_text="Of judges on the same pairs; null without any."
    ),
    battles=int,
    topics=int,
    signature=str,
)
ProgressSerializer = build_serializer(
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
    judges=ProgressSerializer(many=True),
)
PairSerializer = build_serializer(
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
    board = battle_board_for(phase, audience_of(phase, request.user))
    if board is None:
        raise Http404("No board of battles is published of this phase.")
    return board


@get(
    "phases/<int:pk>/battles/",
    role=phase_for_reader,
    answers=BattlesSerializer,
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
    role=phase_for_reader,
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


register_act_operation(
    acts.BRING_BATTLES,
    "phases/<int:pk>/battles/",
    "bring_battles",
    role=judged_phase_or_error,
    gives=lambda request, sheet: _sheet_members(sheet),
    answers=PairSheetSerializer,
    status=201,
    responses=FILE_REFUSED_RESPONSES,
    is_upload=True,
    lets_out=False,
    name="battles",
)
begins(
    acts.MAKE_PAIRS,
    "phases/<int:pk>/pair-sheets/",
    "make_pairs",
    role=judged_phase_or_error,
    takes=lambda request, phase, sent: {**sent, "runs": split_names(sent["runs"])},
    name="pair-sheets",
    lets_out=False,
)


@get(
    "phases/<int:pk>/pair-sheets/",
    role=phase_to_organise,
    answers=[PairSheetSerializer],
    name="pair-sheets",
)
def pair_sheets(request: Request, phase: Phase) -> Any:
    """List the sheets of pairs of a phase with their judges, for organisers."""
    sheets = Sheet.objects.pairs().filter(phase=phase).order_by("pk")
    return [_sheet_members(sheet) for sheet in sheets]


def _sheet_members(sheet: Sheet) -> dict[str, Any]:
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
        "pairs": pairs_of(sheet).count(),
        "judges": [
            {
                "id": own.annotator.pk,
                "name": own.annotator.name,
                "judged": own.judged,
                "pairs": own.pairs,
            }
            for own in progress_of_judges(sheet)
        ],
    }


def sheet_to_organise(user: User, pk: int) -> Sheet:
    sheet = Sheet.objects.pairs().filter(pk=pk).select_related("phase__task__season")
    found = sheet.first()
    if found is None:
        raise Http404("There is no sheet of pairs at this address.")
    season_to_organise(user, found.phase.task.season.slug)
    return found


@get(
    "pair-sheets/<int:pk>/rows/",
    role=sheet_to_organise,
    files=[JSON_LINES_CONTENT_TYPE],
)
def pair_sheet_rows(request: Request, sheet: Sheet) -> HttpResponse:
    """Return the judgements of a sheet, published or not, with pseudonyms of judges,
    for organisers.
    """
    own = Sheet.objects.filter(pk=sheet.pk)
    board = battle_board_from_sheets(sheet.phase, own, has_teams=True)
    content = board.battles_as_json_lines() if board else ""
    return HttpResponse(
        content, content_type=f"{JSON_LINES_CONTENT_TYPE}; charset=utf-8"
    )


makes(
    acts.ADD_JUDGE,
    "pair-sheets/<int:pk>/judges/",
    "add_judge",
    role=sheet_to_organise,
    answers=AnnotatorSerializer,
)
deletes(acts.REMOVE_JUDGE, "judges/<int:pk>/", "remove_judge")
register_act_operation(
    acts.PUBLISH_PAIRS,
    "pair-sheets/<int:pk>/publish/",
    "publish_pairs",
    role=sheet_to_organise,
)
register_act_operation(
    acts.TAKE_PAIRS_BACK,
    "pair-sheets/<int:pk>/take-back/",
    "take_pairs_back",
    role=sheet_to_organise,
)
register_act_operation(
    acts.REOPEN_PAIRS,
    "pair-sheets/<int:pk>/reopen/",
    "reopen_pairs",
    role=sheet_to_organise,
)


@get(
    "judge/<int:sheet>/",
    role=judge_of,
    pages=PairSerializer,
    responses={403: FORBIDDEN_RESPONSE},
    name="judge",
)
def pairs_to_judge(request: Request, annotator: Annotator) -> QuerySet[SheetPair]:
    """List the pairs that the user must judge, in the planned order, with the labels so
    far.
    """
    own = annotator.preferences.filter(pair=OuterRef("pk")).values("label")
    return (
        pairs_for_judge(annotator)
        .select_related("instance", "left", "right")
        .annotate(label=Coalesce(Subquery(own), Value("")))
    )


register_act_operation(
    acts.JUDGE,
    "judge/<int:sheet>/",
    "judge_pair",
    gives=lambda request, made: {"judged": made.annotator.preferences.count()},
    answers=build_serializer("Judged", "How many pairs you have judged.", judged=int),
    responses={403: FORBIDDEN_RESPONSE},
    lets_out=False,
    name="judge",
)
