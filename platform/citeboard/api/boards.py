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

from citeboard.acts.phases import ENTER_MEASURE, PUBLISH_ERRATUM, OutsideForm
from citeboard.api.operations import get, makes, post
from citeboard.api.seasons import (
    LeaderSerializer,
    leader,
    phase_for_reader,
    phase_to_organise,
)
from citeboard.api.serializers import (
    build_serializer,
    serializer_for_dataclass,
    serializer_for_form,
    text_list_field,
    typed_field,
)
from citeboard.core.api import INVALID_FIELDS_RESPONSE, JSON_CONTENT_TYPE
from citeboard.teams.api import signed_in_user
from scoring.exchange import formats
from scoring.exchange.results import ExportedResults, content_type_of
from scoring.metrics.base import finite
from scoring.models import ManualMeasure
from scoring.results.board.cache import cached_phase_page
from scoring.results.board.comparisons import (
    RANKING_METHODS,
    VALUE,
    Separation,
    UnreadableStatistics,
)
from scoring.results.board.confirming import (
    MAX_ERRATUM_CHARACTERS as MAX_ERRATUM,
    Confirmation,
    confirmation_of,
    visible_errata,
)
from scoring.results.board.exports import (
    TeamFigures,
    row_values,
    seed_values,
    verdict_values,
)
from scoring.results.board.manual_scores import manual_scores_of, team_figures_by_run
from scoring.results.board.public_results import first_placings
from scoring.results.board.query import (
    BoardQuery,
    LatexTableQuery,
    requested_board_with_scores,
    select_and_sort_rows,
)
from scoring.results.board.standings import (
    Board,
    Row,
    UnknownRules,
    cached_board,
)
from scoring.results.board.verdict import UntestedReason
from scoring.results.board.visibility import Audience, Visibility, audience_of
from scoring.results.comparison.contenders import (
    SeveralRunsQuery,
    TwoRunsInstancesQuery,
)
from scoring.results.comparison.reading import (
    INSTANCES_PER_PAGE,
    MAX_RUNS_COMPARED,
    PAIR_SELECTION_LABELS,
    ComparedValuesLine,
    compare_several_runs as several_runs,
    read_instances_of_two_runs,
)
from tasks.models import Phase, Submission

RULES_PARAMETER = OpenApiParameter(
    "rules", str, description="A rule set; the ranking one unless said."
)
GOLD_PARAMETER = OpenApiParameter(
    "gold", int, description="A version of the gold; the present one unless said."
)
UNCACHED_HEADERS = {"Cache-Control": "private, no-store"}


class ColumnSerializer(serializers.Serializer[Any]):
    """A column of scores by which runs can be compared."""

    name = typed_field(
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


WITHHELD_FIELD = serializers.CharField(
    required=False, help_text="Why it is not told, where it is not."
)
CellSerializer = build_serializer(
    "Cell",
    None,
    value=(float | None, "Null where it is undefined or infinite."),
    infinite=serializers.BooleanField(
        required=False, help_text="Only where the value is infinite."
    ),
    withheld=WITHHELD_FIELD,
    low=float | None,
    high=float | None,
)
SeedSerializer = build_serializer(
    "Seed",
    "A run below the mean over the seeds of its system.",
    submission=int,
    system=str,
    number=(int, "Counts the team's runs in the phase."),
    sent=dt.datetime,
    scores=serializers.DictField(child=CellSerializer()),
    team_reported=dict[str, float],
    card=dict[str, str],
)
RowSerializer = build_serializer(
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
        child=CellSerializer(), help_text="By the names of columns."
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
    runs=SeedSerializer(
        many=True,
        required=False,
        help_text="Of a mean over seeds, its runs; `submission` is the first, `scores` are the means.",
    ),
)
SeparationSerializer = serializer_for_dataclass(
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
    words=text_list_field("The sentences of the page.", source="sentences"),
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
VerdictSerializer = build_serializer(
    "Verdict",
    "Who leads, who could be tied, who is behind, and by which test.",
    leader=RankedSystemSerializer(),
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
ConfirmationSerializer = serializer_for_dataclass(
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
    confirmation=ConfirmationSerializer(
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
    leader=LeaderSerializer(allow_null=True),
    separation=SeparationSerializer(
        allow_null=True, help_text="Null until the first two rows have been compared."
    ),
    verdict=VerdictSerializer(
        allow_null=True,
        help_text="Null if no system is ranked, and for a board that was settled before boards had verdicts.",
    ),
    counting=serializers.ChoiceField(
        choices=Phase.Counting.choices, help_text="Which runs of a team stand on it."
    ),
    columns=ColumnSerializer(many=True),
    rows=RowSerializer(many=True),
)
RANK_PARAMETER = OpenApiParameter(
    "rank",
    str,
    enum=RANKING_METHODS,
    description="What ranks go by: the value, or the best rank that the tests leave open.",
)
VIEW_AS_OTHERS_PARAMETER = OpenApiParameter(
    "as", str, enum=["others"], description="As those see it who do not run the season."
)
DECLARED_PARAMETER = OpenApiParameter(
    "declared",
    str,
    many=True,
    description="Only rows whose run cards say `model:open`, `trained_on:NAME` or, before then, "
    "`knowledge_cutoff:2024-06`.",
)


@get(
    "phases/<int:pk>/leaderboard/",
    role=phase_for_reader,
    answers=LeaderboardSerializer,
    responses={400: INVALID_FIELDS_RESPONSE},
    parameters=[
        RULES_PARAMETER,
        DECLARED_PARAMETER,
        RANK_PARAMETER,
        VIEW_AS_OTHERS_PARAMETER,
    ],
    is_open=True,
)
def leaderboard(request: Request, phase: Phase) -> HttpResponse:
    """Return the board of a phase, with the best run first."""
    audience = audience_of(phase, request.user)
    others = request.query_params.get("as") == "others"
    declared = BoardQuery.of(request.query_params).declared
    rules, by = (
        request.query_params.get("rules") or None,
        request.query_params.get("rank") or VALUE,
    )
    chosen = (rules, by, others, declared)

    def render_board_json() -> str:
        viewer, seen_as = (
            (None, Audience.PUBLIC) if others else (request.user, audience)
        )
        board = cached_board(phase, viewer, rules, audience=seen_as, by=by)
        rows = select_and_sort_rows(board, BoardQuery(declared=declared))
        return JSONRenderer().render(_board_members(board, rows)).decode()

    try:
        response = cached_phase_page(
            request,
            phase,
            audience,
            chosen,
            render_board_json,
            content_type=JSON_CONTENT_TYPE,
        )
    except UnknownRules as unknown:
        raise exceptions.ValidationError({"rules": [f"{unknown}."]}) from unknown
    patch_vary_headers(response, ["Authorization"])
    return response


def _board_members(board: Board, rows: Sequence[Row]) -> dict[str, Any]:
    """Serialize the board without REST framework's serializers, which are slow for a
    large board.
    """
    figures = team_figures_by_run(rows) if board.visibility == Visibility.SCORES else {}
    confirmation, verdict = confirmation_of(board), board.verdict
    separation: dict[str, Any] | None = None
    if board.separation is not None:
        separation = dict(SeparationSerializer(board.separation).data)
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
        "leader": leader(first_placings(board)),
        "separation": separation,
        "verdict": verdict_values(verdict),
        "counting": board.phase.counting,
        "columns": ColumnSerializer(board.columns, many=True).data,
        "rows": [_board_row_members(board, row, figures) for row in rows],
    }


def _board_row_members(board: Board, row: Row, figures: TeamFigures) -> dict[str, Any]:
    facts = row_values(board, row)
    del facts["sent"]
    return facts | {
        "team": row.team_slug,
        "team_name": row.team,
        "has_organiser": row.has_organiser,
        "scores": {name: cell.as_dict() for name, cell in row.scores.items()},
        "team_reported": {} if row.runs else figures.get(row.submission, {}),
        "card": row.card,
        **seed_values(row, figures),
    }


@get(
    "phases/<int:pk>/exports/<str:name>/",
    role=phase_for_reader,
    rest=["name"],
    parameters=[
        OpenApiParameter(
            "name",
            str,
            OpenApiParameter.PATH,
            enum=list(formats.BOARD_FILE_WRITERS),
            description="Its format.",
        ),
        RULES_PARAMETER,
        GOLD_PARAMETER,
        DECLARED_PARAMETER,
        RANK_PARAMETER,
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
        {content_type_of(name).partition(";")[0] for name in formats.BOARD_FILE_WRITERS}
    ),
    responses={(200, JSON_CONTENT_TYPE): OpenApiTypes.ANY},
    is_open=True,
)
def export(request: Request, phase: Phase, name: str) -> HttpResponse:
    """Return the board of a phase as a file, if you may see the scores."""
    if name not in formats.BOARD_FILE_WRITERS:
        raise Http404(f"A board is written as {', '.join(formats.BOARD_FILE_WRITERS)}.")
    query = BoardQuery.of(request.query_params)
    board = requested_board_with_scores(
        phase, request.user, query, audience_of(phase, request.user)
    )
    results = ExportedResults(
        board,
        select_and_sort_rows(board, query),
        LatexTableQuery.of(request.query_params),
    )
    return formats.board_file_response(results, name)


SeveralRunSerializer = build_serializer(
    "SeveralRun",
    None,
    submission=serializers.IntegerField(source="run"),
    system=str,
    team_name=serializers.CharField(
        source="display_name", help_text="Or what stands in its place."
    ),
)
SeveralValueSerializer = build_serializer(
    "SeveralValue",
    None,
    value=float | None,
    low=float | None,
    high=float | None,
    withheld=WITHHELD_FIELD,
    difference=(float | None, "To the first run."),
)
SeveralLineSerializer = build_serializer(
    "SeveralLine",
    "A metric or a class, with a value for each run in their order.",
    name=str,
    n=(int | None, "Of a class, its instances."),
    values=SeveralValueSerializer(many=True),
    mean=(float | None, "Over the runs."),
    deviation=(float | None, "The standard deviation over the runs, as a sample."),
)
SeveralSerializer = build_serializer(
    "Several",
    "Runs under one rule set and gold; metrics that were not computed alike for all are left out.",
    rules=str | None,
    runs=SeveralRunSerializer(many=True),
    metrics=SeveralLineSerializer(many=True),
    dimension=serializers.CharField(allow_blank=True),
    class_metric=serializers.CharField(allow_blank=True),
    classes=SeveralLineSerializer(many=True),
)


@get(
    "phases/<int:pk>/several/",
    role=phase_for_reader,
    answers=SeveralSerializer,
    parameters=[
        OpenApiParameter(
            "run",
            int,
            many=True,
            description=f"Submissions, at most {MAX_RUNS_COMPARED}.",
        ),
        RULES_PARAMETER,
        GOLD_PARAMETER,
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
            _instance_line_members(line, is_class=False) for line in page.metrics
        ],
        "classes": [
            _instance_line_members(line, is_class=True) for line in page.classes
        ],
    }
    facts = {**vars(page), "rules": page.board.rules, **lines}
    return Response(SeveralSerializer(facts).data, headers=UNCACHED_HEADERS)


def _instance_line_members(
    line: ComparedValuesLine, *, is_class: bool
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


ReadInstanceSerializer = build_serializer(
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
InstancesSerializer = build_serializer(
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
    instances=ReadInstanceSerializer(many=True),
)


@get(
    "phases/<int:pk>/instances/",
    role=phase_for_reader,
    answers=InstancesSerializer,
    parameters=[
        OpenApiParameter(
            "a", int, description="A submission; the first of the board unless said."
        ),
        OpenApiParameter(
            "b", int, description="Another one; the row beside the first unless said."
        ),
        RULES_PARAMETER,
        GOLD_PARAMETER,
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
                        name: finite(values[0])
                        for name, values in instance.values.items()
                    },
                    "values_b": {
                        name: finite(values[1])
                        for name, values in instance.values.items()
                    },
                }
                for instance in page.instances
            ],
        },
        headers=UNCACHED_HEADERS,
    )


OutsideSerializer = build_serializer(
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
    role=phase_for_reader,
    answers=[OutsideSerializer],
    is_open=True,
    name="outside",
)
def outside_scores(request: Request, phase: Phase) -> Sequence[ManualMeasure]:
    """List the manual scores of the runs on a board.

    The list is empty if you may not see scores.
    """
    board = cached_board(phase, request.user)
    entered = manual_scores_of(board, board.rows)
    for measure in entered.measures:
        measure.values = entered.values[measure.pk]  # type: ignore[attr-defined]
    return entered.measures


@post(
    "phases/<int:pk>/outside/",
    role=phase_to_organise,
    form=serializer_for_form(OutsideForm),
    answers=[OutsideSerializer],
)
def enter_outside_scores(
    request: Request, phase: Phase, form: dict[str, Any]
) -> Sequence[ManualMeasure]:
    """Enter what was measured elsewhere, in the place of a measure of the same name; for organisers."""
    ENTER_MEASURE(phase, signed_in_user(request), **form)
    return outside_scores(request, phase)


ErratumSerializer = build_serializer(
    "Erratum",
    "What was wrong, and what holds now.",
    text=serializers.CharField(max_length=MAX_ERRATUM, help_text="Plain text."),
    published_at=serializers.DateTimeField(read_only=True),
)


@get(
    "phases/<int:pk>/errata/",
    role=phase_for_reader,
    answers=[ErratumSerializer],
    is_open=True,
    name="errata",
)
def errata(request: Request, phase: Phase) -> Any:
    """List the errata to a phase's results, newest first.

    The list is empty if you may not see the board.
    """
    return visible_errata(phase, audience_of(phase, request.user))


makes(
    PUBLISH_ERRATUM,
    "phases/<int:pk>/errata/",
    form=ErratumSerializer,
    answers=ErratumSerializer,
)
