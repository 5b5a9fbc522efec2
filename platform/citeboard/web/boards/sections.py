"""The contexts of the tabs below a board. `tabs.BOARD_TABS` lists the tabs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _

from citeboard.web.boards.page_query import BoardPageParameters
from scoring.figures import Axis, DotPlot, FigureValue, ValueSeries
from scoring.human.metric_correlation import (
    compute_mean_judgements_by_text,
    compute_mean_ratings_by_text,
    correlate_metrics_with_people,
)
from scoring.models import Evaluation, JudgedRun
from scoring.results.board import (
    differences,
    human_columns,
    label_shares,
    open_gold,
    visibility,
)
from scoring.results.board.charts import (
    build_metric_pair_chart,
    build_scatters_of_two_metrics,
    build_score_against_cost_chart,
    build_score_history_chart,
    compute_running_best_values,
)
from scoring.results.board.formatting import (
    display_name_of_metric,
    format_interval,
    format_score,
)
from scoring.results.board.manual_scores import (
    format_number,
    load_manual_scores,
    load_team_reported_figures,
)
from scoring.results.board.query import select_and_sort_rows
from scoring.results.board.standings import Board, BoardScoreColumn
from scoring.results.publications import paper_view, published
from scoring.results.runs.results import build_reliability_context
from scoring.stats.correlation import CORRELATION_FUNCTIONS, Correlation
from scoring.stats.people_and_labels import LEVELS_BY_RATING
from tasks.models import Phase
from tasks.seasons.access import can_organise_season


def build_costs_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab that plots scores against costs reported by teams."""
    reported = load_team_reported_figures(board)
    by_name = {cost.name: cost for cost in reported.cost_measures}
    measure, ranking = (
        by_name.get(query.cost, next(iter(reported.cost_measures), None)),
        board.ranking,
    )
    labels = {cost.name: cost.label for cost in reported.cost_measures}
    rows = []
    for row in reported.rows:
        cell = row.scores.get(ranking.name) if ranking else None
        score = format_score(cell.value, ranking.scale) if cell and ranking else ""
        told = [
            format_number(reported.value(row, measure)) for measure in reported.measures
        ]
        line = {
            "rank": board.format_rank_of_row(row),
            "system": row.system,
            "team": row.team,
            "score": score,
        }
        rows.append({**line, "figures": told})
    figures = {}
    if measure and ranking:
        figures["costs-chart"] = build_score_against_cost_chart(
            board, ranking, reported, measure
        )
    return {
        "metric_label": display_name_of_metric(ranking.metric) if ranking else "",
        "measures": reported.measures,
        "measure": measure,
        "choices": query.choices(
            "cost", labels, measure.name if measure else "", labels.__getitem__
        ),
        "figures": figures,
        "rows": rows,
    }


def build_metric_pairs_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab that plots pairs of metrics."""
    found = build_scatters_of_two_metrics(board)
    if not found:
        raise Http404(_("The metrics of this board are not drawn against each other."))
    charts = {
        f"pairing-{position}": build_metric_pair_chart(pairing)
        for position, pairing in enumerate(found, start=1)
    }
    return {"pairings": found, "figures": charts}


def build_confidence_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab with the labels and confidence of some systems.

    Only users who may see single instances see the labels.
    """
    if not visibility.may_see_instances(board.phase, board.audience):
        return {"is_hidden": True}
    rows = differences.select_board_rows(board, query.systems)[
        : differences.DEFAULT_COMPARED_SYSTEM_COUNT
    ]
    evaluations = Evaluation.objects.select_related(
        "submission", "phase__task"
    ).in_bulk(row.evaluation for row in rows)
    parts: list[dict[str, Any]] = []
    figures: dict[str, Any] = {}
    for row in rows:
        confusion = label_shares.load_confusion_matrix(evaluations[row.evaluation])
        calibration = build_reliability_context(evaluations[row.evaluation], 1)
        names = {
            kind: f"{kind}-{row.evaluation}" for kind in ("confusion", "reliability")
        }
        figures |= {names["confusion"]: confusion.as_heat_map} if confusion else {}
        figures |= {names["reliability"]: calibration["figure"]} if calibration else {}
        parts.append(
            {
                "row": row,
                "confusion": confusion,
                "reliability": calibration,
                "names": names,
            }
        )
    reads = open_gold.may_read_instances(board.phase, board.audience, viewer)
    confusions = [part["confusion"] for part in parts if part["confusion"]]
    outcomes = [kind for confusion in confusions for kind in confusion.outcomes]
    return {
        "parts": parts,
        "figures": figures,
        "reads": reads,
        "outcomes": list(dict.fromkeys(outcomes)),
    }


def build_over_time_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab that plots scores against submission times.

    The tab over time also shows the best published score.
    """
    ranking = board.ranking
    if ranking is None:
        return {"rows": []}
    sent = sorted(
        (row for row in board.rows if row.is_competing and row.scores),
        key=lambda row: row.submitted_at,
    )
    cells = [
        (row, cell)
        for row in sent
        if (cell := row.scores.get(ranking.name)) and cell.value is not None
    ]
    rises = ranking.higher_is_better is not False
    best = compute_running_best_values([cell.value for _row, cell in cells], rises)
    label = display_name_of_metric(ranking.metric)
    points = [
        (row.submitted_at, FigureValue.of(cell), row.system) for row, cell in cells
    ]
    figure = build_score_history_chart(
        points,
        label,
        ranking.scale,
        higher_is_better=rises,
        published=_find_best_published_system(board, ranking),
    )
    return {
        "metric_label": label,
        "figures": {"over-time-chart": figure} if len(cells) > 1 else {},
        "rows": [
            {
                "row": row,
                "value": format_score(cell.value, ranking.scale),
                "interval": format_interval(cell.low, cell.high, ranking.scale),
                "best": format_score(so_far, ranking.scale),
            }
            for (row, cell), so_far in zip(cells, best, strict=True)
        ],
    }


def _find_best_published_system(
    board: Board, ranking: BoardScoreColumn
) -> tuple[str, float] | None:
    """Return the name and the score of the best published system.

    The function returns None if the paper uses another metric or scale.
    """
    table = published.find_leading_table_by_task([board.phase.task]).get(
        board.phase.task_id
    )
    if table is None or not table.rows or table.leading.name != ranking.metric:
        return None
    value = table.rows[0].value(table.leading.name)
    if (
        value is None
        or published.CHART_MAXIMUM_BY_SCALE.get(table.leading.scale) != ranking.scale
    ):
        return None
    return f"{table.rows[0].system}, {table.table.paper.short}", value


def build_paper_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab that shows a published table beside computed
    scores.

    The columns and rows of both tables are in the order of the published table.
    """
    tables = paper_view.list_paper_tables_of_task(board.phase.task)
    if query.table is None or not 1 <= query.table <= max(1, len(tables)):
        raise Http404(_("No such table is published of this kind of task."))
    if not tables:
        return {}
    names = {}
    for position, (table, by_class) in enumerate(tables, start=1):
        name = f"{table.table.paper.short}, {table.title}"
        is_named = by_class and not table.placement.where
        names[str(position)] = f"{name}, {table.dimension}" if is_named else name
    shown, by_class = tables[query.table - 1]
    is_of_classes = by_class or shown.placement.only
    rows = board.with_first_runs_only if is_of_classes else board
    view = paper_view.PaperTableView(shown=shown, board=rows, by_class=by_class)
    return {
        "view": view,
        "tables": query.choices("table", names, str(query.table), names.__getitem__),
        "figures": {"paper-chart": view.bars} if view.has_chart else {},
    }


def build_paper_tab_cache_key(phase: Phase, viewer: object) -> list[str]:
    return [
        part
        for table, _by_class in paper_view.list_paper_tables_of_task(phase.task)
        for part in (table.table.paper.digest, repr(table.placement))
    ]


def build_published_results_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab with the main table of published results."""
    tables = published.load_published_results_of_task(board.phase.task).headlines
    table = (
        published.build_leading_table_context(tables[0], text=query.text)
        if tables
        else None
    )
    return {"published": table}


def build_manual_scores_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab with scores that organisers entered.

    Scores that organisers entered are never ranked.
    """
    rows = select_and_sort_rows(board, query)
    found = load_manual_scores(board, rows)
    return {
        "measures": found.measures,
        "rows": [
            {
                "rank": board.format_rank_of_row(row),
                "system": row.system,
                "name": row.marked_name,
                "values": [
                    format_number(found.value(measure, row.submission))
                    for measure in found.measures
                ],
            }
            for row in rows
            if found.of(row.submission)
        ],
    }


#: CORRELATION_DISPLAY_SCALE makes correlations have as many decimals as scores between 0 and 1.
CORRELATION_DISPLAY_SCALE = 1.0


def build_human_scores_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab that compares metrics with human scores.

    Only organisers see unpublished judgements of claims.
    """
    known = compute_mean_ratings_by_text(board.phase, board.frozen_at)
    if _is_organiser(board.phase, viewer):
        known |= compute_mean_judgements_by_text(
            JudgedRun.objects.filter(submission__phase=board.phase).order_by("pk")
        )
    else:
        of_responses = compute_mean_judgements_by_text(
            human_columns.find_published_judged_runs(board.phase, board.frozen_at)
        )
        known |= {
            kind: of_responses[kind]
            for kind in LEVELS_BY_RATING
            if kind in of_responses
        }
    if not known:
        raise Http404(_("Nobody has judged the texts of this board."))
    criterion = query.criterion if query.criterion in known else next(iter(known))
    found = correlate_metrics_with_people(board, known[criterion])
    # The points are systems in the first figure, and single texts in the second figure.
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
        "coefficients": list(CORRELATION_FUNCTIONS),
        "lines": [
            (
                line.metric,
                _format_values_with_intervals(line.over_systems),
                _format_values_with_intervals(line.over_instances),
            )
            for line in found
        ],
        "systems": max(
            (system.n for line in found for system in line.over_systems.values()),
            default=0,
        ),
        "texts": max(
            (instance.n for line in found for instance in line.over_instances.values()),
            default=0,
        ),
        "titles": {name: title for name, (title, _side) in over.items()},
        "figures": {
            name: _build_correlation_dots([line.metric for line in found], side, title)
            for name, (title, side) in over.items()
        },
    }


def build_human_scores_cache_key(phase: Phase, viewer: object) -> list[object]:
    imported = JudgedRun.objects.filter(submission__phase=phase).order_by("pk")
    return [_is_organiser(phase, viewer), *imported.values_list("pk", "published_at")]


def _is_organiser(phase: Phase, viewer: object) -> bool:
    return can_organise_season(viewer, phase.task.season)


def _format_values_with_intervals(
    by_name: Mapping[str, Correlation],
) -> list[tuple[str, str]]:
    found = (by_name[name] for name in CORRELATION_FUNCTIONS)
    return [
        (
            format_score(_nan_to_none(one.value), CORRELATION_DISPLAY_SCALE),
            format_interval(one.low, one.high, CORRELATION_DISPLAY_SCALE),
        )
        for one in found
    ]


def _build_correlation_dots(
    metrics: Sequence[str], found: Sequence[Mapping[str, Correlation]], over: str
) -> DotPlot:
    return DotPlot(
        title=_("Correlation %(over)s") % {"over": over},
        labels=metrics,
        series=[
            ValueSeries(
                name=name,
                values=[
                    FigureValue(
                        value=_nan_to_none(of[name].value),
                        low=of[name].low,
                        high=of[name].high,
                    )
                    for of in found
                ],
            )
            for name in CORRELATION_FUNCTIONS
        ],
        axis=Axis(
            title=_("Correlation"), decimals=3, bounds=(-1.0, 1.0), has_zero=True
        ),
    )


def _nan_to_none(value: float) -> float | None:
    return None if math.isnan(value) else value
