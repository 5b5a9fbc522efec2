"""The sections below a board. Each is a page of its own, which the board page fetches once it is there."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.query import number_from, text_from
from citeboard.web.pages import Answer, View, phase_readers, place_of
from scoring.exchange.figure_files import figure_file, figure_type
from scoring.figures import Axis, Dots, Measured, Series
from scoring.human.metric_correlation import judged, lines, rated
from scoring.models import Evaluation, JudgedRun
from scoring.results.board import (
    cache,
    differences,
    human_columns,
    label_shares,
    open_gold,
    visibility,
)
from scoring.results.board.charts import (
    best_so_far,
    history,
    one_against_another,
    pairings_of,
    quality_against,
)
from scoring.results.board.formatting import interval, metric_label, shown
from scoring.results.board.manual_scores import manual_scores_of, team_reported, written
from scoring.results.board.query import BoardQuery, board_with_scores, chosen_rows
from scoring.results.board.standings import Board, Column
from scoring.results.publications import paper_view, published
from scoring.results.runs.results import reliability
from scoring.stats.correlation import COEFFICIENTS, Correlation
from scoring.stats.people_and_labels import RATINGS
from tasks.models import Phase
from tasks.seasons.access import may_organise


@dataclass(frozen=True, kw_only=True, eq=False)
class Section:
    """``name`` is that of its address; ``link`` and ``rest`` stand on the board page until it is fetched."""

    name: str
    title: Promise
    link: Promise
    rest: Promise
    is_fetched: bool = True

    @property
    def fetching(self) -> str:
        """The id of what fetches it once the board page is there."""
        return f"{self.name}-to-come"


DIFFERENCES = Section(
    name="differences",
    title=gettext_lazy("Where systems differ"),
    link=gettext_lazy("The scores by class"),
    rest=gettext_lazy("as charts and as a table."),
)
PAIRINGS = Section(
    name="pairings",
    title=gettext_lazy("Metrics against each other"),
    link=gettext_lazy("Two at a time"),
    rest=gettext_lazy("as charts and as tables."),
)
COSTS = Section(
    name="costs",
    title=gettext_lazy("Reported by the teams"),
    link=gettext_lazy("What their runs cost"),
    rest=gettext_lazy("against the scores."),
)
OVER_TIME = Section(
    name="over-time",
    title=gettext_lazy("Over time"),
    link=gettext_lazy("The score of each system by when it was sent"),
    rest=gettext_lazy("and the best so far."),
)
OUTSIDE = Section(
    name="outside",
    title=gettext_lazy("Measured elsewhere"),
    link=gettext_lazy("What an evaluation outside of this site measured"),
    rest=gettext_lazy("entered by the organisers, and never ranked."),
    is_fetched=False,
)
PEOPLE = Section(
    name="people",
    title=gettext_lazy("Metrics against people"),
    link=gettext_lazy("How well metrics agree with people's judgement"),
    rest=gettext_lazy("correlations over systems and over single texts."),
    is_fetched=False,
)
DISCOURSE = Section(
    name="discourse",
    title=gettext_lazy("What the sentences do"),
    link=gettext_lazy("Shares of intents and discourse tags"),
    rest=gettext_lazy(
        "systems against gold, and how far they are apart in each data set."
    ),
    is_fetched=False,
)

CONFIDENCE = Section(
    name="confidence",
    title=gettext_lazy("Labels and confidence"),
    link=gettext_lazy(
        "What systems answer for each label, and how often they are right when they are sure"
    ),
    rest=gettext_lazy("as charts and as tables."),
)
PAPER = Section(
    name="paper",
    title=gettext_lazy("As the paper prints it"),
    link=gettext_lazy("The columns and the order of a published table"),
    rest=gettext_lazy("with what is printed beside what is computed here."),
    is_fetched=False,
)


def section_page(
    request: HttpRequest,
    phase: Phase,
    section: Section,
    query: BoardQuery,
    context: Callable[[Board], dict[str, Any]],
    *seen: object,
) -> HttpResponse:
    """The page, or the part of it that the board page fetches. ``seen`` is what it shows beside scores."""
    audience = visibility.audience_of(phase, request.user)
    is_part = bool(request.headers.get("HX-Request"))
    part = f"boards/_{section.name}.html"

    def body() -> str | bytes:
        board = board_with_scores(phase, request.user, query, audience)
        shown = {**place_of(phase), "section": section, "part": part, **context(board)}
        if query.figure:
            return figure_file(shown.get("figures", {}), query.figure)
        shown["figure_address"] = lambda name: request.path + query.with_(figure=name)
        return render_to_string(
            part if is_part else "boards/section.html", shown, request
        )

    content_type = figure_type(query.figure) if query.figure else cache.HTML
    return cache.phase_page(
        request, phase, audience, query, body, is_part, *seen, content_type=content_type
    )


def page_of(
    section: Section, asked: type[BoardQuery] = BoardQuery
) -> Callable[[Callable[..., Any]], View]:
    """A view from what the section shows of a board, as the address asks for it and the viewer may see it."""

    def decorator(shown: Callable[..., Any]) -> View:
        @phase_readers.page()
        @wraps(shown)
        def view(request: HttpRequest, phase: Phase) -> Answer:
            query = asked.of(request.GET)
            return section_page(
                request,
                phase,
                section,
                query,
                lambda board: shown(board, query, request.user),
            )

        return view

    return decorator


@dataclass(frozen=True, kw_only=True)
class CostQuery(BoardQuery):
    cost: str = text_from("cost")


@page_of(COSTS, CostQuery)
def costs(board: Board, query: CostQuery, viewer: object) -> dict[str, Any]:
    reported = team_reported(board)
    by_name = {cost.name: cost for cost in reported.costs}
    measure, ranking = (
        by_name.get(query.cost, next(iter(reported.costs), None)),
        board.ranking,
    )
    labels = {cost.name: cost.label for cost in reported.costs}
    rows = []
    for row in reported.rows:
        cell = row.scores.get(ranking.name) if ranking else None
        score = shown(cell.value, ranking.scale) if cell and ranking else ""
        told = [written(reported.value(row, measure)) for measure in reported.measures]
        line = {
            "rank": board.rank_of(row),
            "system": row.system,
            "team": row.team,
            "score": score,
        }
        rows.append({**line, "figures": told})
    figures = {}
    if measure and ranking:
        figures["costs-chart"] = quality_against(board, ranking, reported, measure)
    return {
        "metric_label": metric_label(ranking.metric) if ranking else "",
        "measures": reported.measures,
        "measure": measure,
        "choices": query.choices(
            "cost", labels, measure.name if measure else "", labels.__getitem__
        ),
        "figures": figures,
        "rows": rows,
    }


@page_of(PAIRINGS)
def pairings(board: Board, query: BoardQuery, viewer: object) -> dict[str, Any]:
    found = pairings_of(board)
    charts = {
        f"pairing-{place}": one_against_another(pairing)
        for place, pairing in enumerate(found, start=1)
    }
    return {"pairings": found, "figures": charts}


@page_of(CONFIDENCE)
def confidence(board: Board, query: BoardQuery, viewer: object) -> dict[str, Any]:
    """Return labels and confidence of some systems, for viewers who may see single instances."""
    if not visibility.may_see_instances(board.phase, board.audience):
        return {"is_hidden": True}
    rows = differences.chosen_systems(board, query.systems)[
        : differences.CHOSEN_AT_FIRST
    ]
    evaluations = Evaluation.objects.select_related(
        "submission", "phase__task"
    ).in_bulk(row.evaluation for row in rows)
    parts: list[dict[str, Any]] = []
    figures: dict[str, Any] = {}
    for row in rows:
        confusion = label_shares.confusion_of(evaluations[row.evaluation])
        calibration = reliability(evaluations[row.evaluation], 1)
        names = {
            kind: f"{kind}-{row.evaluation}" for kind in ("confusion", "reliability")
        }
        figures |= {names["confusion"]: confusion.heat} if confusion else {}
        figures |= {names["reliability"]: calibration["figure"]} if calibration else {}
        parts.append(
            {
                "row": row,
                "confusion": confusion,
                "reliability": calibration,
                "names": names,
            }
        )
    reads = open_gold.reads_instances(board.phase, board.audience, viewer)
    return {"parts": parts, "figures": figures, "reads": reads}


@page_of(OVER_TIME)
def over_time(board: Board, query: BoardQuery, viewer: object) -> dict[str, Any]:
    """The systems that compete, by when they were sent, with the best published value of the metric."""
    ranking = board.ranking
    if ranking is None:
        return {"rows": []}
    sent = sorted(
        (row for row in board.rows if row.competes and row.scores),
        key=lambda row: row.submitted_at,
    )
    cells = [
        (row, cell)
        for row in sent
        if (cell := row.scores.get(ranking.name)) and cell.value is not None
    ]
    rises = ranking.higher_is_better is not False
    best = best_so_far([cell.value for _row, cell in cells], rises)
    label = metric_label(ranking.metric)
    points = [(row.submitted_at, Measured.of(cell), row.system) for row, cell in cells]
    figure = history(
        points,
        label,
        ranking.scale,
        higher_is_better=rises,
        published=_published(board, ranking),
    )
    return {
        "metric_label": label,
        "figures": {"over-time-chart": figure} if len(cells) > 1 else {},
        "rows": [
            {
                "row": row,
                "value": shown(cell.value, ranking.scale),
                "interval": interval(cell.low, cell.high, ranking.scale),
                "best": shown(so_far, ranking.scale),
            }
            for (row, cell), so_far in zip(cells, best, strict=True)
        ],
    }


def _published(board: Board, ranking: Column) -> tuple[str, float] | None:
    """Return the task's own published results by the ranking metric and on its scale."""
    table = published.leading_of_each([board.phase.task]).get(board.phase.task_id)
    if table is None or not table.rows or table.leading.name != ranking.metric:
        return None
    value = table.rows[0].value(table.leading.name)
    if value is None or published.WIDTHS.get(table.leading.scale) != ranking.scale:
        return None
    return f"{table.rows[0].system}, {table.table.paper.short}", value


@dataclass(frozen=True, kw_only=True)
class PrintedQuery(BoardQuery):
    """``table`` counts the published tables from 1."""

    table: int | None = number_from("table", default=1)


@phase_readers.page()
def paper(request: HttpRequest, phase: Phase) -> Answer:
    query = PrintedQuery.of(request.GET)
    tables = paper_view.paper_tables(phase.task)
    if query.table is None or query.table > max(1, len(tables)):
        raise Http404(_("No such table is published of this kind of task."))
    chosen = query.table - 1

    def context(board: Board) -> dict[str, Any]:
        if not tables:
            return {}
        names = {}
        for place, (table, by_class) in enumerate(tables, start=1):
            name = f"{table.table.paper.short}, {table.title}"
            is_named = by_class and not table.placement.where
            names[str(place)] = f"{name}, {table.dimension}" if is_named else name
        shown, by_class = tables[chosen]
        is_of_classes = by_class or shown.placement.only
        rows = board.of_first_runs if is_of_classes else board
        view = paper_view.PaperView(shown=shown, board=rows, by_class=by_class)
        return {
            "view": view,
            "tables": query.choices(
                "table", names, str(query.table), names.__getitem__
            ),
            "figures": {"paper-chart": view.bars} if view.has_chart else {},
        }

    seen = [
        part
        for table, _by_class in tables
        for part in (table.table.paper.digest, repr(table.placement))
    ]
    return section_page(request, phase, PAPER, query, context, *seen)


@page_of(OUTSIDE)
def outside(board: Board, query: BoardQuery, viewer: object) -> dict[str, Any]:
    rows = chosen_rows(board, query)
    found = manual_scores_of(board, rows)
    return {
        "measures": found.measures,
        "rows": [
            {
                "rank": board.rank_of(row),
                "system": row.system,
                "name": row.marked_name,
                "values": [
                    written(found.value(measure, row.submission))
                    for measure in found.measures
                ],
            }
            for row in rows
            if found.of(row.submission)
        ],
    }


#: Correlations have as many decimals as shares.
SCALE = 1.0


@dataclass(frozen=True, kw_only=True)
class PeopleQuery(BoardQuery):
    criterion: str = text_from("criterion")


@phase_readers.page()
def people(request: HttpRequest, phase: Phase) -> Answer:
    """Show human scores. Only organisers see annotators' judgements of claims."""
    organises = may_organise(request.user, phase.task.season)
    query = PeopleQuery.of(request.GET)
    imported = JudgedRun.objects.filter(submission__phase=phase).order_by("pk")

    def context(board: Board) -> dict[str, Any]:
        known = rated(board.phase, board.frozen_at)
        if organises:
            known |= judged(imported)
        else:
            of_responses = judged(
                human_columns.published_judgements(board.phase, board.frozen_at)
            )
            known |= {
                kind: of_responses[kind] for kind in RATINGS if kind in of_responses
            }
        if not known:
            raise Http404(_("Nobody has judged the texts of this board."))
        criterion = query.criterion if query.criterion in known else next(iter(known))
        found = lines(board, known[criterion])
        # By the name of its figure what each is over.
        over = {
            "people-1": (_("over systems"), [line.over_systems for line in found]),
            "people-2": (
                _("over single texts"),
                [line.over_instances for line in found],
            ),
        }
        return {
            "criterion": criterion.replace("_", " "),
            "criteria": query.choices(
                "criterion", known, criterion, lambda name: name.replace("_", " ")
            ),
            "coefficients": list(COEFFICIENTS),
            "lines": [
                (line.metric, _cells(line.over_systems), _cells(line.over_instances))
                for line in found
            ],
            "systems": max(
                (one.n for line in found for one in line.over_systems.values()),
                default=0,
            ),
            "texts": max(
                (one.n for line in found for one in line.over_instances.values()),
                default=0,
            ),
            "titles": {name: title for name, (title, _side) in over.items()},
            "figures": {
                name: _correlations([line.metric for line in found], side, title)
                for name, (title, side) in over.items()
            },
        }

    return section_page(
        request,
        phase,
        PEOPLE,
        query,
        context,
        organises,
        *imported.values_list("pk", "published_at"),
    )


def _cells(by_name: Mapping[str, Correlation]) -> list[tuple[str, str]]:
    found = (by_name[name] for name in COEFFICIENTS)
    return [
        (shown(_known(one.value), SCALE), interval(one.low, one.high, SCALE))
        for one in found
    ]


def _correlations(
    metrics: Sequence[str], found: Sequence[Mapping[str, Correlation]], over: str
) -> Dots:
    return Dots(
        title=_("Correlation %(over)s") % {"over": over},
        labels=metrics,
        series=[
            Series(
                name=name,
                values=[
                    Measured(
                        value=_known(of[name].value),
                        low=of[name].low,
                        high=of[name].high,
                    )
                    for of in found
                ],
            )
            for name in COEFFICIENTS
        ],
        axis=Axis(
            title=_("Correlation"), decimals=3, bounds=(-1.0, 1.0), has_zero=True
        ),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
