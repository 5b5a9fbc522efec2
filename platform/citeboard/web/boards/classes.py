"""Two tabs and two pages of a board, for scores by class, label shares, threshold
sweeps and transfer between data sets.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from citeboard.core.query import LinkedChoice
from citeboard.web.boards.page_query import (
    DIVERGENCE_LABELS,
    PUBLISHED_FORM_DIVERGENCE,
    BoardPageParameters,
)
from citeboard.web.pages import ViewResult, build_phase_context, phase_reader_pages
from scoring.exchange.figure_files import build_figure_response
from scoring.metrics.discourse import GOLD, RUN_SIDE
from scoring.models import Evaluation
from scoring.results.board import (
    charts,
    comparison_state,
    differences as by_class,
    label_shares,
    open_gold,
)
from scoring.results.board.formatting import (
    EN_DASH,
    display_name_of_class,
    display_name_of_dimension,
    display_name_of_metric,
    format_interval,
    format_score,
)
from scoring.results.board.leaders import load_class_leaders
from scoring.results.board.query import BoardQuery, load_requested_board_with_scores
from scoring.results.board.standings import Board, BoardRow
from scoring.results.board.visibility import determine_audience
from scoring.results.comparison.contenders import InstancesQuery
from scoring.results.publications.published import build_printed_transfer_tables
from scoring.worker.baseline_runs import find_built_in_baseline_runs
from tasks.gold.secrecy import get_embargoes_of_phase
from tasks.models import Phase
from tasks.models.run_cards import list_training_datasets_of_card
from tasks.seasons.access import can_organise_season


def build_class_scores_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab with scores by class."""
    board = board.with_first_runs_only
    board = replace(board, rows=board.systems)
    dimensions = by_class.list_selectable_dimensions(board)
    has_transfer = by_class.DATA_SET_DIMENSION in dimensions and any(
        list_training_datasets_of_card(row.card) for row in board.rows
    )
    is_every = query.dimension == by_class.ALL_DIMENSIONS and len(dimensions) > 1
    dimension, metric = by_class.select_dimension_and_metric(board, query)
    current = by_class.ALL_DIMENSIONS if is_every else dimension
    context: dict[str, Any] = {
        "board": board,
        "metric": metric,
        "metric_label": display_name_of_metric(metric),
    }
    if not metric:
        return context | {"is_withdrawn": bool(dimension)}
    chosen = by_class.select_board_rows(board, query.systems)
    parts = [
        _build_class_table_context(board, chosen, own, metric, query)
        for own in (dimensions if is_every else [dimension])
        if own == dimension
        or metric in by_class.list_metrics_with_class_values(board, own)
    ]
    for part in parts:
        ending = f"-{part['dimension']}" if is_every else ""
        part |= {"heat_name": f"heat-map{ending}", "bars_name": f"bars{ending}"}
    reads = open_gold.may_read_instances(board.phase, board.audience, viewer)
    if reads:
        for part in parts:
            part["heat"] = replace(part["heat"], links=part["links"])
    every = [by_class.ALL_DIMENSIONS] if len(dimensions) > 1 else []
    return context | {
        "carried": query.pairs(dimension="", metric="", systems=(), order=""),
        "dimensions": query.choices(
            "dimension",
            [*dimensions, *every],
            current,
            lambda name: (
                _("all of them")
                if name == by_class.ALL_DIMENSIONS
                else display_name_of_dimension(name)
            ),
        ),
        "metrics": query.choices(
            "metric",
            by_class.list_metrics_with_class_values(board, dimension),
            metric,
            display_name_of_metric,
        ),
        "rows": board.rows,
        "chosen": [row.submission for row in chosen],
        "orders": _build_order_choices(query, chosen),
        "left_out": max(0, len(board.rows) - by_class.MAX_HEAT_MAP_ROWS),
        "parts": parts,
        "is_every": is_every,
        "reads": reads,
        "has_transfer": has_transfer,
        "figures": {
            part[f"{kind}_name"]: part[kind]
            for part in parts
            for kind in ("heat", "bars")
        },
        "of_instances": InstancesQuery(rules=board.rules, metric=metric).pairs(),
    }


def _build_order_choices(
    query: BoardPageParameters, systems: Sequence[BoardRow]
) -> list[LinkedChoice]:
    labels = {"": _("in their usual order")}
    for row in systems:
        name = str(row.submission)
        labels[name] = _("best of %(system)s first") % {"system": row.system}
        labels[f"-{name}"] = _("worst of %(system)s first") % {"system": row.system}
    current = query.order if query.order in labels else ""
    return query.choices("order", labels, current, lambda order: labels[order])


def build_class_scores_cache_key(phase: Phase, viewer: object) -> list[object]:
    return list(comparison_state.list_class_comparison_times(phase.pk))


def _build_class_table_context(
    board: Board,
    chosen: Sequence[BoardRow],
    dimension: str,
    metric: str,
    query: BoardQuery,
) -> dict[str, Any]:
    everywhere, table = (
        _sort_class_table(
            by_class.build_scores_by_class_table(board, some, dimension, metric), query
        )
        for some in (board.rows[: by_class.MAX_HEAT_MAP_ROWS], chosen)
    )
    compared = Evaluation.objects.filter(pk__in=[row.evaluation for row in chosen])
    pending = compared.filter(has_class_intervals=False).values_list("pk", flat=True)
    leaders = load_class_leaders(board, dimension, metric).limit_to_classes(
        {name.label for name in everywhere.classes} - everywhere.fixed.keys()
    )
    best = leaders.significant
    rows = [row for row in table.systems if isinstance(row, BoardRow)]

    def build_instances_address(label: str, row: by_class.SystemWithEvaluation) -> str:
        assert isinstance(row, BoardRow)
        instances_query = InstancesQuery(
            rules=board.rules, metric=metric, of_class=f"{dimension}:{label}"
        )
        return (
            reverse("submission-instances", args=[row.submission])
            + instances_query.build_query_string()
        )

    def build_score_cell(
        label: str, row: by_class.SystemWithEvaluation
    ) -> dict[str, Any]:
        low, high = table.intervals.get((label, row.evaluation), (None, None))
        return {
            "text": table.text(label, row),
            "interval": format_interval(low, high, table.scale),
            "is_best": best.get(label) == row.evaluation,
        }

    return {
        "dimension": dimension,
        "label": display_name_of_dimension(dimension),
        "heat": charts.build_class_heat_map(everywhere, best),
        "links": [
            [build_instances_address(name.label, row) for row in everywhere.systems]
            for name in everywhere.classes
        ],
        "bars": charts.build_class_bar_chart(table),
        "words": charts.summarise_class_table(table),
        "fixed": charts.describe_gold_determined_classes(table),
        "has_intervals": bool(table.intervals),
        "no_intervals": charts.describe_missing_intervals(table, set(pending)),
        "is_compared": leaders.is_known,
        "has_marks": bool(best),
        "has_best": everywhere.higher_is_better is not None,
        "significant": leaders.is_known
        and charts.describe_significant_class_leaders(everywhere, best),
        "min_class_size": get_embargoes_of_phase(board.phase).min_class_size
        if everywhere.hidden
        else 0,
        "heads": [
            by_class.build_system_column_head(
                table, row, query.order, query.build_query_string, str(row.submission)
            )
            for row in rows
        ],
        "lines": [
            {
                "label": display_name_of_class(name.label),
                "value": f"{dimension}:{name.label}",
                "support": name.support,
                "cells": [build_score_cell(name.label, row) for row in table.systems],
            }
            for name in table.lines
        ],
        "over_classes": [
            format_score(table.over_classes(row), table.scale) for row in rows
        ],
        "over_all": [
            # The board's score, unlike the macro average, weights instances equally.
            format_score(
                score_cell.value, table.scale, is_infinite=score_cell.is_infinite
            )
            if score_cell
            else EN_DASH
            for score_cell in (row.scores.get(table.metric) for row in rows)
        ],
    }


def _sort_class_table(
    table: by_class.ScoresByClassTable, query: BoardQuery
) -> by_class.ScoresByClassTable:
    name = query.order.removeprefix("-")
    row = next(
        (
            system
            for system in table.systems
            if isinstance(system, BoardRow) and str(system.submission) == name
        ),
        None,
    )
    return (
        by_class.sort_classes_by_value_of_system(
            table, row, is_reversed=query.order.startswith("-")
        )
        if row
        else table
    )


def build_label_shares_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab that compares how often each label occurs in runs
    and gold.
    """
    schemes = label_shares.list_label_schemes_on_board(board)
    if not schemes:
        raise Http404(_("No labels of sentences are counted on this board."))
    scheme = query.scheme if query.scheme in schemes else schemes[0]
    compared = board.with_first_runs_only.rows[: by_class.MAX_HEAT_MAP_ROWS]
    evaluations = Evaluation.objects.select_related("phase__task").in_bulk(
        row.evaluation for row in compared
    )
    counted = [
        (row, counts)
        for row in compared
        if (
            counts := label_shares.load_label_counts(
                evaluations[row.evaluation], scheme
            )
        )
        is not None
    ]
    hidden = by_class.find_hidden_classes_on_board(
        board, label_shares.DATASET_DIMENSION
    )
    datasets = [
        name
        for name in dict.fromkeys(name for _, own in counted for name in own.datasets)
        if name not in hidden
    ]
    dataset = query.dataset if query.dataset in datasets else ""
    named = [(row, own) for row, own in counted if row.submission in query.systems]
    with_labels = [(row, own) for row, own in counted if own.sentences(RUN_SIDE)]
    drawn = (
        named[: label_shares.MAX_RUNS_COLOURED]
        or (with_labels or counted)[: by_class.DEFAULT_COMPARED_SYSTEM_COUNT]
    )
    wanted = {row.evaluation for row, _ in drawn}
    divergences = _build_divergence_table(counted, datasets, query.divergence)
    of_gold = [(_("gold"), drawn[0][1], GOLD)] if drawn else []
    of_runs = [(row.system, own, RUN_SIDE) for row, own in drawn]
    shares = label_shares.build_label_share_chart([*of_gold, *of_runs], dataset)
    return {
        "carried": query.pairs(dataset="", systems=()),
        "what": str(label_shares.LABEL_SCHEME_NAMES[scheme]),
        "is_supplied": scheme in label_shares.SCHEMES_OF_SUPPLIED_LABELS,
        "schemes": query.choices(
            "scheme",
            schemes,
            scheme,
            lambda name: str(label_shares.LABEL_SCHEME_NAMES[name]),
        ),
        "forms": query.choices(
            "divergence",
            DIVERGENCE_LABELS,
            query.divergence,
            lambda form: str(DIVERGENCE_LABELS[form]),
        ),
        "datasets": query.choices(
            "dataset", ["", *datasets], dataset, lambda name: name or _("all together")
        ),
        "dataset": dataset,
        "systems": [(row, row.evaluation in wanted) for row, _ in counted],
        "most": label_shares.MAX_RUNS_COLOURED,
        "is_published": query.divergence == PUBLISHED_FORM_DIVERGENCE,
        "left_out": max(0, len(board.rows) - by_class.MAX_HEAT_MAP_ROWS),
        **divergences,
        **shares,
        "figures": {"divergences": divergences["heat"], "label-shares": shares["bars"]},
    }


def _build_divergence_table(
    counted: Sequence[tuple[BoardRow, label_shares.LabelCounts]],
    datasets: Sequence[str],
    form: str,
) -> dict[str, Any]:
    values: list[list[float | None]] = []
    for _row, own in counted:
        of = (
            own.compute_macro_averaged_divergence
            if form == PUBLISHED_FORM_DIVERGENCE
            else own.compute_divergence_from_gold
        )
        values.append(
            [None if math.isnan(value) else value for value in map(of, datasets)]
        )
    lines = [
        {
            "system": row.system,
            "labelled": label_shares.describe_label_sources(own, "run"),
            "cells": [format_score(value) for value in line],
        }
        for (row, own), line in zip(counted, values, strict=True)
    ]
    return {
        "heads": datasets,
        "lines": lines,
        "gold_labelled": label_shares.describe_label_sources(counted[0][1], "gold")
        if counted
        else "",
        "heat": label_shares.build_divergence_heat_map(
            [row.system for row, _ in counted], datasets, values
        ),
    }


@phase_reader_pages.page()
def show_threshold_curves(request: HttpRequest, phase: Phase) -> ViewResult:
    """Show how scores change with the decision threshold, for runs that the user may
    see.
    """
    query = BoardQuery.of(request.GET)
    board = load_requested_board_with_scores(
        phase, request.user, query, determine_audience(phase, request.user)
    )
    sweeps = charts.find_baseline_parameter_sweeps(
        board, dict(find_built_in_baseline_runs(phase).values_list("pk", "built_in"))
    )
    if not sweeps:
        raise Http404(_("No baseline of this task has a threshold."))
    context = {
        **build_phase_context(phase),
        "board": board,
        "rule_sets": query.choices("rules", phase.task.rules, board.rules),
        "sweeps": [
            (sweep, charts.describe_best_parameter_value(sweep) if sweep.points else "")
            for sweep in sweeps
        ],
        "figures": {
            f"sweep-chart-{position}": charts.build_parameter_sweep_chart(sweep)
            for position, sweep in enumerate(sweeps, start=1)
            if sweep.points
        },
        "may_organise": can_organise_season(request.user, phase.task.season),
    }
    if query.figure:
        return build_figure_response(context["figures"], query.figure)
    return render(
        request,
        "boards/thresholds.html",
        context
        | {"figure_address": lambda name: query.build_query_string(figure=name)},
    )


@phase_reader_pages.page("boards/transfer.html")
def show_transfer_scores(request: HttpRequest, phase: Phase) -> ViewResult:
    """Show how systems score on data sets on which they were not trained.

    The page uses only runs and run cards that the user may see.
    """
    query = BoardQuery.of(request.GET)
    board = load_requested_board_with_scores(
        phase, request.user, query, determine_audience(phase, request.user)
    )
    matrix = by_class.build_transfer_table(board, query.metric)
    if matrix is None:
        raise Http404(_("No run of this board says on which data sets it was trained."))
    return {
        "board": board,
        "rule_sets": query.choices("rules", phase.task.rules, board.rules),
        "metrics": query.choices(
            "metric", matrix["metrics"], matrix["metric"], display_name_of_metric
        ),
        "metric_label": display_name_of_metric(matrix["metric"]),
        "matrix": matrix,
        "printed": build_printed_transfer_tables(phase.task),
    }
