"""The API operation for the judges of a board."""

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.api.boards import RULE_SET_PARAMETER, UNCACHED_HEADERS
from citeboard.api.operations import get
from citeboard.api.seasons import visible_phase_or_404
from citeboard.api.serializers import build_serializer
from scoring.models import EstimateSheet
from scoring.results.board.judge_facts import judges_as_json_values
from scoring.results.board.judges import (
    KIND_NAMES,
    NO_AGREEMENT_NO_PAIRS,
    NO_AGREEMENT_ONE_LABEL,
    NO_AGREEMENT_PART_WITHHELD,
    NO_AGREEMENT_SEVERAL_KINDS,
    NO_CORRELATION_ALL_TIED,
    NO_CORRELATION_FEW_SYSTEMS,
    OTHER_LABELS,
    find_visible_judges_of_board,
)
from scoring.results.board.query import load_cached_board_or_404
from scoring.results.board.visibility import determine_audience
from scoring.stats.jackknife import NoIntervalReason
from tasks.models import Phase

#: NO_INTERVAL_HELP_TEXT lists the reasons for which a kappa has no interval.
NO_INTERVAL_HELP_TEXT = (
    f"Null, “{NoIntervalReason.FEW_UNITS}”, “{NoIntervalReason.FEW_OF_A_CLASS}”, "
    f"“{NoIntervalReason.UNDEFINED}”"
)

RankByJudgeSerializer = build_serializer(
    "RankByJudge",
    "The rank of a run by the first judge and by a further judge.",
    run=int,
    first_rank=int,
    rank=(int | None, "Null if the judge has not judged the run."),
)
LabelAgreementSerializer = build_serializer(
    "LabelByJudge",
    "How a judge treats a label; a number is null where people gave no such label.",
    label=str,
    by_people=(int, "Judgements to which people gave the label."),
    sensitivity=(float | None, "Share of these to which the judge gave it."),
    specificity=(
        float | None,
        "Share of judgements with another label by people to which the judge gave another label.",
    ),
)
ConfusionCellSerializer = build_serializer(
    "ConfusedLabels",
    "Judgements with one label by people and one by the judge.",
    people=str,
    judge=str,
    judgements=int,
)
SystemLabelAgreementSerializer = build_serializer(
    "SystemWithPeople",
    "The labels of a run by people and by a judge.",
    run=int,
    judgements=int,
    by_label=LabelAgreementSerializer(many=True),
)
JudgeAgreementSerializer = build_serializer(
    "JudgeWithPeople",
    "People's labels beside a judge's, counted on the sample of the published estimates.",
    of=serializers.ChoiceField(choices=EstimateSheet.UnitKind.choices),
    judgements=(
        int,
        "Judgements that both labelled, once for each run that they concern.",
    ),
    same_label=int,
    kappa=(float | None, "Cohen's kappa."),
    low=(float | None, "Of the 95 % interval by the jackknife over topics."),
    high=float | None,
    why_no_kappa=(str | None, f"Null or “{NO_AGREEMENT_ONE_LABEL}”."),
    why_no_interval=(
        str | None,
        f"{NO_INTERVAL_HELP_TEXT}.",
    ),
    confusion=ConfusionCellSerializer(many=True),
    by_label=LabelAgreementSerializer(many=True),
    systems=SystemLabelAgreementSerializer(many=True),
)
RepeatedJudgementsSerializer = build_serializer(
    "JudgeRepeats",
    "Pairs behind the numbers that a judge labelled more than once.",
    pairs=int,
    same_label=(int, "Pairs with equal labels each time."),
)
KINDS_OF_LABELS = ", ".join(KIND_NAMES)
#: JUDGE_QUALITY_FIELDS contains an LLM judge's fields for agreement with people and consistency.
JUDGE_QUALITY_FIELDS: dict[str, Any] = {
    "kinds": (list[str], f"Labels that the scores take from it: {KINDS_OF_LABELS}."),
    "with_people": JudgeAgreementSerializer(
        allow_null=True,
        help_text="On the sample that was published last; null without published estimates of its board.",
    ),
    "with_people_by_kind": JudgeAgreementSerializer(
        many=True,
        help_text="On the newest published sample of each kind of the judge's labels.",
    ),
    "repeats": RepeatedJudgementsSerializer(
        allow_null=True, help_text="Null without repeated pairs."
    ),
}
#: AGREEMENT_FIELDS contains the fields for the agreement of two judges on pairs.
AGREEMENT_FIELDS: dict[str, Any] = {
    "pairs": (
        int | None,
        "Distinct pairs behind the numbers with labels of both judges.",
    ),
    "same_label": int | None,
    "kappa": (float | None, "Cohen's kappa over these pairs."),
    "why_no_kappa": (
        str | None,
        (
            f"Null, “{NO_AGREEMENT_PART_WITHHELD}”, “{NO_AGREEMENT_NO_PAIRS}”, "
            f"“{NO_AGREEMENT_ONE_LABEL}” or “{NO_AGREEMENT_SEVERAL_KINDS}”."
        ),
    ),
    "kappa_low": (
        float | None,
        "Of the 95 % interval of kappa by the jackknife over topics.",
    ),
    "kappa_high": float | None,
    "why_no_kappa_interval": (
        str | None,
        f"{NO_INTERVAL_HELP_TEXT} or “{NoIntervalReason.NO_TOPICS}”.",
    ),
}
AgreementByKindSerializer = build_serializer(
    "JudgeAgreementByKind",
    "The agreement of two judges on pairs with labels of one kind.",
    kind=(str, f"Of {KINDS_OF_LABELS}."),
    **AGREEMENT_FIELDS,
)
FurtherJudgeSerializer = build_serializer(
    "JudgeView",
    "A further judge beside the judge of a board that it replaces.",
    judge=str,
    compared_with=(str, "The judge of the task's options that the view replaces."),
    rules=(str, "The rule set of the view: `GET …/leaderboard/?rules=…`."),
    tau_b=(
        float | None,
        "Kendall's tau-b of both judges' orders of the ranked systems.",
    ),
    low=(float | None, "Of the 95 % interval by Bonett and Wright, from five systems."),
    high=float | None,
    systems=(int, "Ranked systems with a value by both judges."),
    why_no_tau_b=(
        str | None,
        f"Null, “{NO_CORRELATION_FEW_SYSTEMS}”, “{NO_CORRELATION_ALL_TIED}” or “{OTHER_LABELS}”.",
    ),
    **AGREEMENT_FIELDS,
    by_kind=AgreementByKindSerializer(many=True),
    ranks=RankByJudgeSerializer(many=True),
    **JUDGE_QUALITY_FIELDS,
)
OtherJudgeSerializer = build_serializer(
    "OtherJudgeOfBoard",
    "A judge of the task's options beside the first one, which decides another kind.",
    judge=str,
    **JUDGE_QUALITY_FIELDS,
)
BoardJudgesSerializer = build_serializer(
    "JudgesOfBoard",
    "The judges of a board: those of the task's options decide its scores, the others have views.",
    first_judge=str,
    rules=str,
    others=OtherJudgeSerializer(many=True),
    views=FurtherJudgeSerializer(many=True),
    **JUDGE_QUALITY_FIELDS,
)


@get(
    "phases/<int:pk>/judges/",
    role=visible_phase_or_404,
    answers=BoardJudgesSerializer,
    parameters=[RULE_SET_PARAMETER],
    is_open=True,
    name="judges",
)
def judges(request: Request, phase: Phase) -> Response:
    """List the LLM judges of a phase's board, the correlations of their rankings, and
    their agreement on pairs.
    """
    audience = determine_audience(phase, request.user)
    rules = request.query_params.get("rules") or None
    board = load_cached_board_or_404(
        phase, request.user, rules, None, audience=audience
    )
    found = find_visible_judges_of_board(board, request.user)
    if found is None:
        raise Http404("This board has one judge, or shows no scores.")
    return Response(
        judges_as_json_values(found, request.user), headers=UNCACHED_HEADERS
    )
