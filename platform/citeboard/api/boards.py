"""API operations for the board of a phase, its files, comparisons, manual scores and
errata.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpResponse
from django.utils.cache import patch_vary_headers
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import exceptions, serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.acts.phases import PUBLISH_ERRATUM, SAVE_MANUAL_MEASURE, OutsideForm
from citeboard.api.operations import get, post, register_creating_action
from citeboard.api.seasons import (
    BoardLeaderSerializer,
    organised_phase_or_404,
    serialize_board_leader,
    visible_phase_or_404,
)
from citeboard.api.serializers import (
    build_dataclass_serializer,
    build_field_for_type,
    build_form_serializer,
    build_serializer,
    build_text_list_field,
)
from citeboard.core.api import INVALID_FIELDS_RESPONSE, JSON_CONTENT_TYPE
from citeboard.teams.api import require_signed_in_user
from scoring.exchange import formats
from scoring.exchange.results import BoardRowsForExport, find_content_type
from scoring.metrics.base import finite_or_none
from scoring.models import ManualMeasure
from scoring.results.board.cache import load_or_render_phase_page
from scoring.results.board.comparisons import (
    RANK_BY_VALUE,
    RANKING_METHODS,
    Separation,
    UnreadableStatistics,
)
from scoring.results.board.confirming import (
    MAX_ERRATUM_CHARACTERS as MAX_ERRATUM,
    Confirmation,
    compute_confirmation_of_board,
    list_visible_errata,
)
from scoring.results.board.exports import (
    TeamFiguresByRun,
    row_as_json_values,
    seed_mean_as_json_values,
    verdict_as_json_values,
)
from scoring.results.board.manual_scores import (
    load_manual_scores,
    load_team_figures_by_run,
)
from scoring.results.board.public_results import build_first_ranks
from scoring.results.board.query import (
    BoardQuery,
    LatexTableQuery,
    load_requested_board_with_scores,
    select_and_sort_rows,
)
from scoring.results.board.standings import (
    Board,
    BoardRow,
    UnknownRuleSet,
    load_cached_board,
)
from scoring.results.board.verdict import UntestedReason
from scoring.results.board.visibility import (
    Audience,
    BoardVisibility,
    determine_audience,
)
from scoring.results.comparison.contenders import (
    SeveralRunsQuery,
    TwoRunsInstancesQuery,
)
from scoring.results.comparison.reading import (
    INSTANCES_PER_PAGE,
    MAX_RUNS_COMPARED,
    PAIR_SELECTION_LABELS,
    ComparedScoresRow,
    compare_several_runs as several_runs,
    read_instances_of_two_runs,
)
from tasks.models import Phase, Submission

RULE_SET_PARAMETER = OpenApiParameter(
    "rules", str, description="A rule set; the ranking one unless said."
)
GOLD_VERSION_PARAMETER = OpenApiParameter(
    "gold", int, description="A version of the gold; the present one unless said."
)
UNCACHED_HEADERS = {"Cache-Control": "private, no-store"}


class ColumnSerializer(serializers.Serializer[Any]):
    """A column of scores by which runs can be compared."""

    name = build_field_for_type(
        str, "As in the scores of a row; the metric, where that is unambiguous."
    )
    metric = serializers.CharField()
    key = serializers.CharField(
        help_text="Metric, rules, parameters, gold and version."
    )
    scale = serializers.SerializerMethodField(
        help_text="1, also where it counts, 5 or 100."
    )
    higher_is_better = serializers.BooleanField(allow_null=True)
    ranks = serializers.BooleanField(
        source="is_ranking", help_text="The rows are ranked by this one."
    )

    def get_scale(self, column: Any) -> float:
        return float(column.scale or 1)


WITHHELD_REASON_FIELD = serializers.CharField(
    required=False, help_text="Why it is not told, where it is not."
)
BoardCellSerializer = build_serializer(
    "Cell",
    None,
    value=(float | None, "Null where it is undefined or infinite."),
    infinite=serializers.BooleanField(
        required=False, help_text="Only where the value is infinite."
    ),
    withheld=WITHHELD_REASON_FIELD,
    low=float | None,
    high=float | None,
)
SeedRunSerializer = build_serializer(
    "Seed",
    "A run below the mean over the seeds of its system.",
    submission=int,
    system=str,
    number=(int, "Counts the team's runs in the phase."),
    sent=dt.datetime,
    scores=serializers.DictField(child=BoardCellSerializer()),
    team_reported=dict[str, float],
    card=dict[str, str],
)
BoardRowSerializer = build_serializer(
    "Row",
    "A team's counting run, a contrastive one without a rank, or a baseline without team and rank.",
    rank=int | None,
    ranks=(str, "As it is printed: `1–3`; empty where it is not ranked."),
    rank_low=int | None,
    rank_high=int | None,
    group=(int | None, "As `rank_low`; no longer there from the next release on."),
    team=serializers.SlugField(allow_null=True, source="team_slug"),
    team_name=serializers.CharField(
        allow_null=True,
        source="team",
        help_text="A number in its place while teams are anonymous.",
    ),
    has_organiser=(bool, "Whether somebody who runs the season is in the team."),
    system=str,
    submission=int,
    kind=serializers.ChoiceField(choices=Submission.Kind.choices),
    scores=serializers.DictField(
        child=BoardCellSerializer(), help_text="By the names of columns."
    ),
    team_reported=(
        dict[str, float],
        "Costs and scores that the team reports itself; nobody has checked them, and none ranks.",
    ),
    card=(
        dict[str, str],
        "How it was made, as its team says; what could name a hidden team is left out.",
    ),
    best_of=serializers.IntegerField(
        required=False,
        help_text="On a board with means over seeds, among how many systems of its team it is the best.",
    ),
    runs=SeedRunSerializer(
        many=True,
        required=False,
        help_text="Of a mean over seeds, its runs; `submission` is the first, `scores` are the means.",
    ),
)
RankSeparationSerializer = build_dataclass_serializer(
    Separation,
    "What the test set can show of the ranked rows.",
    unit="What is drawn together, such as a topic.",
    comparisons="Those that a row's p-values are corrected for.",
    smallest_p="That any two rows can have, before the correction.",
    p="Of the test of first and second, uncorrected; null where they differ after the correction, and where "
    "ranks alone are shown.",
    order_chance="That the order of these two holds with as many units again.",
    more_units="Always null: no number of units is foretold.",
    can_differ=serializers.BooleanField(
        help_text="Whether two rows can differ at 5 % after it."
    ),
    words=build_text_list_field("The sentences of the page.", source="sentences"),
)
RankedSystemSerializer = build_serializer(
    "RankedSystem",
    None,
    submission=int,
    system=str,
    p=(
        float | None,
        "The adjusted p against the leader, or against a row that it is behind; null where it is hidden.",
    ),
)
LeaderVerdictSerializer = build_serializer(
    "Verdict",
    "Who leads, who could be tied, who is behind, and by which test.",
    leader=RankedSystemSerializer(
        allow_null=True,
        help_text="Null while runs wait to be rescored, so that not all systems can be compared.",
    ),
    equal=RankedSystemSerializer(
        many=True, help_text="Systems with the same value as the leader."
    ),
    tied=RankedSystemSerializer(
        many=True, help_text="Other systems that could be tied for first place."
    ),
    behind=RankedSystemSerializer(many=True),
    test=(str, "Empty if the board ranks without a test."),
    untested=serializers.ChoiceField(
        choices=[reason.value for reason in UntestedReason],
        allow_null=True,
        help_text="Why the board ranks without a test.",
    ),
    unit=str,
    units=int | None,
    p=(
        float | None,
        "The smallest adjusted p of the tied systems, or the largest of those behind if none is tied.",
    ),
    words=(str, "The sentences of every page that shows the verdict."),
)
ResultConfirmationSerializer = build_dataclass_serializer(
    Confirmation,
    "Results are preliminary until each team has confirmed its own, or organisers end that.",
    official_since="Null while they are preliminary.",
    confirmed="How many teams have; null where the phase hides how many there are.",
    teams="How many have runs that count.",
    words=serializers.CharField(),
)
LeaderboardSerializer = build_serializer(
    "Leaderboard",
    "The board of a phase as the reader may see it, best first.",
    phase=int,
    version=(
        int,
        "Grows with every change of what is shown; 0 where it is hidden or frozen.",
    ),
    rules=str | None,
    shows=serializers.ChoiceField(
        choices=["scores", "ranks", "nothing"],
        help_text="What the phase shows you of its board.",
    ),
    frozen_at=(
        dt.datetime | None,
        "The instant at which it stood so; null where it is the board of now.",
    ),
    confirmation=ResultConfirmationSerializer(
        allow_null=True,
        help_text="Null where no team is asked, before the phase has closed, and while frozen.",
    ),
    ranked_by=serializers.ChoiceField(
        choices=RANKING_METHODS,
        help_text="By value as long as rows are still being compared.",
    ),
    compared=(
        bool,
        "Each two ranked rows have been compared; until then intervals of ranks are too wide.",
    ),
    ranks_of=serializers.DateField(
        required=False,
        help_text="The month whose ranks by the private part of the split these are.",
    ),
    leader=BoardLeaderSerializer(allow_null=True),
    separation=RankSeparationSerializer(
        allow_null=True, help_text="Null until the first two rows have been compared."
    ),
    verdict=LeaderVerdictSerializer(
        allow_null=True,
        help_text="Null if no system is ranked, and for a board that was settled before boards had verdicts.",
    ),
    counting=serializers.ChoiceField(
        choices=Phase.CountedRunsRule.choices,
        help_text="Which runs of a team stand on it.",
    ),
    columns=ColumnSerializer(many=True),
    rows=BoardRowSerializer(many=True),
)
RANKING_METHOD_PARAMETER = OpenApiParameter(
    "rank",
    str,
    enum=RANKING_METHODS,
    description="What ranks go by: the value, or the best rank that the tests leave open.",
)
VIEW_AS_OTHERS_PARAMETER = OpenApiParameter(
    "as", str, enum=["others"], description="As those see it who do not run the season."
)
RUN_CARD_FILTER_PARAMETER = OpenApiParameter(
    "declared",
    str,
    many=True,
    description="Only rows whose run cards say `model:open`, `trained_on:NAME` or, before then, "
    "`knowledge_cutoff:2024-06`.",
)


@get(
    "phases/<int:pk>/leaderboard/",
    role=visible_phase_or_404,
    answers=LeaderboardSerializer,
    responses={400: INVALID_FIELDS_RESPONSE},
    parameters=[
        RULE_SET_PARAMETER,
        RUN_CARD_FILTER_PARAMETER,
        RANKING_METHOD_PARAMETER,
        VIEW_AS_OTHERS_PARAMETER,
    ],
    is_open=True,
)
def leaderboard(request: Request, phase: Phase) -> HttpResponse:
    """Return the board of a phase, with the best run first."""
    audience = determine_audience(phase, request.user)
    others = request.query_params.get("as") == "others"
    declared = BoardQuery.of(request.query_params).declared
    rules, by = (
        request.query_params.get("rules") or None,
        request.query_params.get("rank") or RANK_BY_VALUE,
    )
    chosen = (rules, by, others, declared)

    def render_board_json() -> str:
        viewer, seen_as = (
            (None, Audience.PUBLIC) if others else (request.user, audience)
        )
        board = load_cached_board(phase, viewer, rules, audience=seen_as, by=by)
        rows = select_and_sort_rows(board, BoardQuery(declared=declared))
        return JSONRenderer().render(_serialize_board(board, rows)).decode()

    try:
        response = load_or_render_phase_page(
            request,
            phase,
            audience,
            chosen,
            render_board_json,
            content_type=JSON_CONTENT_TYPE,
        )
    except UnknownRuleSet as unknown:
        raise exceptions.ValidationError({"rules": [f"{unknown}."]}) from unknown
    patch_vary_headers(response, ["Authorization"])
    return response


def _serialize_board(board: Board, rows: Sequence[BoardRow]) -> dict[str, Any]:
    """Serialize the board without REST framework's serializers, which are slow for a
    large board.
    """
    figures = (
        load_team_figures_by_run(rows)
        if board.visibility == BoardVisibility.SCORES
        else {}
    )
    confirmation, verdict = compute_confirmation_of_board(board), board.verdict
    separation: dict[str, Any] | None = None
    if board.separation is not None:
        separation = dict(RankSeparationSerializer(board.separation).data)
        if verdict is not None:
            separation["words"] = verdict.sentences
    return {
        "phase": board.phase.pk,
        "version": board.version,
        "rules": board.rules,
        "shows": str(board.visibility),
        "frozen_at": board.frozen_at
        and board.frozen_at.isoformat().replace("+00:00", "Z"),
        "confirmation": confirmation and confirmation.as_dict(),
        "ranked_by": board.by,
        "compared": board.is_compared,
        **({"ranks_of": board.ranks_of.isoformat()} if board.ranks_of else {}),
        "leader": serialize_board_leader(build_first_ranks(board)),
        "separation": separation,
        "verdict": verdict_as_json_values(verdict),
        "counting": board.phase.counting,
        "columns": ColumnSerializer(board.columns, many=True).data,
        "rows": [_serialize_board_row(board, row, figures) for row in rows],
    }


def _serialize_board_row(
    board: Board, row: BoardRow, figures: TeamFiguresByRun
) -> dict[str, Any]:
    facts = row_as_json_values(board, row)
    del facts["sent"]
    return facts | {
        "team": row.team_slug,
        "team_name": row.team,
        "has_organiser": row.has_organiser,
        "scores": {name: cell.as_dict() for name, cell in row.scores.items()},
        "team_reported": {} if row.runs else figures.get(row.submission, {}),
        "card": row.card,
        **seed_mean_as_json_values(row, figures),
    }


@get(
    "phases/<int:pk>/exports/<str:name>/",
    role=visible_phase_or_404,
    rest=["name"],
    parameters=[
        OpenApiParameter(
            "name",
            str,
            OpenApiParameter.PATH,
            enum=list(formats.BOARD_FILE_WRITERS),
            description="Its format.",
        ),
        RULE_SET_PARAMETER,
        GOLD_VERSION_PARAMETER,
        RUN_CARD_FILTER_PARAMETER,
        RANKING_METHOD_PARAMETER,
        VIEW_AS_OTHERS_PARAMETER,
        OpenApiParameter(
            "column",
            str,
            many=True,
            description="Of `tex`: its columns; all unless said.",
        ),
        OpenApiParameter(
            "caption", str, description="Of `tex`: in the place of the site's own."
        ),
        OpenApiParameter(
            "marks", str, enum=["no"], description="Of `tex`: no marks of significance."
        ),
        OpenApiParameter(
            "intervals", str, enum=["no"], description="Of `tex`: no intervals."
        ),
    ],
    files=sorted(
        {
            find_content_type(name).partition(";")[0]
            for name in formats.BOARD_FILE_WRITERS
        }
    ),
    responses={(200, JSON_CONTENT_TYPE): OpenApiTypes.ANY},
    is_open=True,
)
def export(request: Request, phase: Phase, name: str) -> HttpResponse:
    """Return the board of a phase as a file, if you may see the scores."""
    if name not in formats.BOARD_FILE_WRITERS:
        raise Http404(f"A board is written as {', '.join(formats.BOARD_FILE_WRITERS)}.")
    query = BoardQuery.of(request.query_params)
    board = load_requested_board_with_scores(
        phase, request.user, query, determine_audience(phase, request.user)
    )
    results = BoardRowsForExport(
        board,
        select_and_sort_rows(board, query),
        LatexTableQuery.of(request.query_params),
    )
    return formats.build_board_file_response(results, name)


ComparedRunSerializer = build_serializer(
    "SeveralRun",
    None,
    submission=serializers.IntegerField(source="run"),
    system=str,
    team_name=serializers.CharField(
        source="display_name", help_text="Or what stands in its place."
    ),
)
ComparedValueSerializer = build_serializer(
    "SeveralValue",
    None,
    value=float | None,
    low=float | None,
    high=float | None,
    withheld=WITHHELD_REASON_FIELD,
    difference=(float | None, "To the first run."),
)
ComparedValuesSerializer = build_serializer(
    "SeveralLine",
    "A metric or a class, with a value for each run in their order.",
    name=str,
    n=(int | None, "Of a class, its instances."),
    values=ComparedValueSerializer(many=True),
    mean=(float | None, "Over the runs."),
    deviation=(float | None, "The standard deviation over the runs, as a sample."),
)
RunComparisonSerializer = build_serializer(
    "Several",
    "Runs under one rule set and gold; metrics that were not computed alike for all are left out.",
    rules=str | None,
    runs=ComparedRunSerializer(many=True),
    metrics=ComparedValuesSerializer(many=True),
    dimension=serializers.CharField(allow_blank=True),
    class_metric=serializers.CharField(allow_blank=True),
    classes=ComparedValuesSerializer(many=True),
)


@get(
    "phases/<int:pk>/several/",
    role=visible_phase_or_404,
    answers=RunComparisonSerializer,
    parameters=[
        OpenApiParameter(
            "run",
            int,
            many=True,
            description=f"Submissions, at most {MAX_RUNS_COMPARED}.",
        ),
        RULE_SET_PARAMETER,
        GOLD_VERSION_PARAMETER,
        OpenApiParameter(
            "dimension", str, description="By which classes; the first unless said."
        ),
        OpenApiParameter(
            "metric", str, description="Of the classes; the first unless said."
        ),
    ],
    is_open=True,
)
def several(request: Request, phase: Phase) -> Response:
    """Compare several runs side by side, with the differences of scores to the first
    run.
    """
    page = several_runs(phase, request.user, SeveralRunsQuery.of(request.query_params))
    lines = {
        "metrics": [
            _serialize_compared_values(line, is_class=False) for line in page.metrics
        ],
        "classes": [
            _serialize_compared_values(line, is_class=True) for line in page.classes
        ],
    }
    facts = {**vars(page), "rules": page.board.rules, **lines}
    return Response(RunComparisonSerializer(facts).data, headers=UNCACHED_HEADERS)


def _serialize_compared_values(
    line: ComparedScoresRow, *, is_class: bool
) -> dict[str, Any]:
    return {
        "name": line.name,
        "n": line.n if is_class and not line.is_withheld else None,
        "values": [
            {
                "value": cell.value,
                "low": cell.low,
                "high": cell.high,
                "difference": cell.difference,
            }
            | ({"withheld": cell.withheld} if cell.withheld else {})
            for cell in line.values
        ],
        "mean": line.mean,
        "deviation": line.deviation,
    }


ComparedInstanceSerializer = build_serializer(
    "ReadInstance",
    "One instance; what you may not see is empty.",
    name=(str, "By which participants know it."),
    given=serializers.CharField(allow_blank=True),
    gold=serializers.CharField(allow_blank=True),
    answer_a=serializers.CharField(allow_blank=True),
    answer_b=serializers.CharField(allow_blank=True),
    values_a=(dict[str, float | None], "By metric; null where undefined."),
    values_b=dict[str, float | None],
)
ComparedInstancesSerializer = build_serializer(
    "Instances",
    "A page of the instances of two runs.",
    a=(int, "A submission."),
    b=int,
    rules=str,
    metric=str,
    which=serializers.ChoiceField(choices=list(PAIR_SELECTION_LABELS)),
    shows_gold=bool,
    shows_values=bool,
    classes=(dict[str, list[str]], "By dimension."),
    count=(int, "Instances that are chosen."),
    page=int,
    pages=int,
    instances=ComparedInstanceSerializer(many=True),
)


@get(
    "phases/<int:pk>/instances/",
    role=visible_phase_or_404,
    answers=ComparedInstancesSerializer,
    parameters=[
        OpenApiParameter(
            "a", int, description="A submission; the first of the board unless said."
        ),
        OpenApiParameter(
            "b", int, description="Another one; the row beside the first unless said."
        ),
        RULE_SET_PARAMETER,
        GOLD_VERSION_PARAMETER,
        OpenApiParameter("metric", str, description="By which metric `which` chooses."),
        OpenApiParameter(
            "which",
            str,
            enum=list(PAIR_SELECTION_LABELS),
            description="Which instances.",
        ),
        OpenApiParameter(
            "class",
            str,
            description="Those of a class alone: `DIMENSION:CLASS`, as in `classes`.",
        ),
        OpenApiParameter("instance", str, description="A single one, by its name."),
        OpenApiParameter(
            "page", int, description=f"{INSTANCES_PER_PAGE} instances each, from 1."
        ),
    ],
    is_open=True,
)
def instances(request: Request, phase: Phase) -> Response:
    """Return the answers of two runs to each instance, if you may see the answers."""
    try:
        read = read_instances_of_two_runs(
            phase, request.user, TwoRunsInstancesQuery.of(request.query_params)
        )
    except UnreadableStatistics as unreadable:
        raise Http404(
            "The stored statistics of these runs are missing."
        ) from unreadable
    page, reading = read.page, read.page.reading
    return Response(
        {
            "a": read.chosen[0].run,
            "b": read.chosen[1].run,
            "rules": read.board.rules,
            "metric": (reading.metric or reading.metrics[0]).name,
            "which": page.which,
            "shows_gold": reading.rights.gold,
            "shows_values": reading.rights.values,
            "classes": reading.classes,
            "count": page.count,
            "page": page.number,
            "pages": page.pages,
            "instances": [
                {
                    "name": instance.name,
                    "given": instance.given,
                    "gold": instance.gold,
                    "answer_a": instance.answers[0],
                    "answer_b": instance.answers[1],
                    "values_a": {
                        name: finite_or_none(values[0])
                        for name, values in instance.values.items()
                    },
                    "values_b": {
                        name: finite_or_none(values[1])
                        for name, values in instance.values.items()
                    },
                }
                for instance in page.instances
            ],
        },
        headers=UNCACHED_HEADERS,
    )


ManualMeasureSerializer = build_serializer(
    "Outside",
    "What was measured elsewhere of the runs on the board.",
    name=str,
    higher_is_better=bool,
    source=str,
    entered_at=dt.datetime,
    signature=str,
    values=(dict[str, float], "By the number of the run."),
)


@get(
    "phases/<int:pk>/outside/",
    role=visible_phase_or_404,
    answers=[ManualMeasureSerializer],
    is_open=True,
    name="outside",
)
def outside_scores(request: Request, phase: Phase) -> Sequence[ManualMeasure]:
    """List the manual scores of the runs on a board.

    The list is empty if you may not see scores.
    """
    board = load_cached_board(phase, request.user)
    entered = load_manual_scores(board, board.rows)
    for measure in entered.measures:
        measure.values = entered.values[measure.pk]  # type: ignore[attr-defined]
    return entered.measures


@post(
    "phases/<int:pk>/outside/",
    role=organised_phase_or_404,
    form=build_form_serializer(OutsideForm),
    answers=[ManualMeasureSerializer],
)
def enter_outside_scores(
    request: Request, phase: Phase, form: dict[str, Any]
) -> Sequence[ManualMeasure]:
    """Enter what was measured elsewhere, in the place of a measure of the same name; for organisers."""
    SAVE_MANUAL_MEASURE(phase, require_signed_in_user(request), **form)
    return outside_scores(request, phase)


ErratumSerializer = build_serializer(
    "Erratum",
    "What was wrong, and what holds now.",
    text=serializers.CharField(max_length=MAX_ERRATUM, help_text="Plain text."),
    published_at=serializers.DateTimeField(read_only=True),
)


@get(
    "phases/<int:pk>/errata/",
    role=visible_phase_or_404,
    answers=[ErratumSerializer],
    is_open=True,
    name="errata",
)
def errata(request: Request, phase: Phase) -> Any:
    """List the errata to a phase's results, newest first.

    The list is empty if you may not see the board.
    """
    return list_visible_errata(phase, determine_audience(phase, request.user))


register_creating_action(
    PUBLISH_ERRATUM,
    "phases/<int:pk>/errata/",
    form=ErratumSerializer,
    answers=ErratumSerializer,
)
