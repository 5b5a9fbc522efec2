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
    PUBLISHED,
    BoardPageParameters,
)
from citeboard.web.pages import Answer, phase_context, phase_readers
from scoring.exchange.figure_files import figure_response
from scoring.metrics.discourse import GOLD, RUN
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
    class_label,
    dimension_label,
    interval,
    metric_label,
    shown,
)
from scoring.results.board.leaders import class_leaders_of
from scoring.results.board.query import BoardQuery, requested_board_with_scores
from scoring.results.board.standings import Board, Row
from scoring.results.board.visibility import audience_of
from scoring.results.comparison.contenders import InstancesQuery
from scoring.results.publications.published import printed_transfer_tables
from scoring.worker.baseline_runs import built_in_runs
from tasks.gold.secrecy import embargoes_of
from tasks.models import Phase
from tasks.models.run_cards import training_datasets_of
from tasks.seasons.access import may_organise


def class_scores_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab with scores by class."""
    board = board.with_first_runs_only
    board = replace(board, rows=board.systems)
    dimensions = by_class.offered_dimensions(board)
    has_transfer = by_class.DATA_SET_DIMENSION in dimensions and any(
        training_datasets_of(row.card) for row in board.rows
    )
    is_every = query.dimension == by_class.ALL_DIMENSIONS and len(dimensions) > 1
    dimension, metric = by_class.select_dimension_and_metric(board, query)
    current = by_class.ALL_DIMENSIONS if is_every else dimension
    context: dict[str, Any] = {
        "board": board,
        "metric": metric,
        "metric_label": metric_label(metric),
    }
    if not metric:
        return context | {"is_withdrawn": bool(dimension)}
    chosen = by_class.select_board_rows(board, query.systems)
    parts = [
        _class_table_context(board, chosen, own, metric, query)
        for own in (dimensions if is_every else [dimension])
        if own == dimension or metric in by_class.class_metrics_of(board, own)
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
                else dimension_label(name)
            ),
        ),
        "metrics": query.choices(
            "metric", by_class.class_metrics_of(board, dimension), metric, metric_label
        ),
        "rows": board.rows,
        "chosen": [row.submission for row in chosen],
        "orders": _order_choices(query, chosen),
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


def _order_choices(
    query: BoardPageParameters, systems: Sequence[Row]
) -> list[LinkedChoice]:
    labels = {"": _("in their usual order")}
    for row in systems:
        name = str(row.submission)
        labels[name] = _("best of %(system)s first") % {"system": row.system}
        labels[f"-{name}"] = _("worst of %(system)s first") % {"system": row.system}
    current = query.order if query.order in labels else ""
    return query.choices("order", labels, current, lambda order: labels[order])


def cache_key_of_classes(phase: Phase, viewer: object) -> list[object]:
    return list(comparison_state.class_comparison_times(phase.pk))


def _class_table_context(
    board: Board, chosen: Sequence[Row], dimension: str, metric: str, query: BoardQuery
) -> dict[str, Any]:
    everywhere, table = (
        _sorted_table(by_class.class_table(board, some, dimension, metric), query)
        for some in (board.rows[: by_class.MAX_HEAT_MAP_ROWS], chosen)
    )
    compared = Evaluation.objects.filter(pk__in=[row.evaluation for row in chosen])
    pending = compared.filter(has_class_intervals=False).values_list("pk", flat=True)
    leaders = class_leaders_of(board, dimension, metric).among(
        {name.label for name in everywhere.classes} - everywhere.fixed.keys()
    )
    best = leaders.significant
    rows = [row for row in table.systems if isinstance(row, Row)]

    def instances_href(label: str, row: by_class.ComparedSystem) -> str:
        assert isinstance(row, Row)
        instances_query = InstancesQuery(
            rules=board.rules, metric=metric, of_class=f"{dimension}:{label}"
        )
        return (
            reverse("submission-instances", args=[row.submission])
            + instances_query.with_()
        )

    def score_cell(label: str, row: by_class.ComparedSystem) -> dict[str, Any]:
        low, high = table.intervals.get((label, row.evaluation), (None, None))
        return {
            "text": table.text(label, row),
            "interval": interval(low, high, table.scale),
            "is_best": best.get(label) == row.evaluation,
        }

    return {
        "dimension": dimension,
        "label": dimension_label(dimension),
        "heat": charts.class_heat_map(everywhere, best),
        "links": [
            [instances_href(name.label, row) for row in everywhere.systems]
            for name in everywhere.classes
        ],
        "bars": charts.class_bar_chart(table),
        "words": charts.class_table_summary(table),
        "fixed": charts.fixed_classes_text(table),
        "has_intervals": bool(table.intervals),
        "no_intervals": charts.missing_intervals_text(table, set(pending)),
        "is_compared": leaders.is_known,
        "has_marks": bool(best),
        "has_best": everywhere.higher_is_better is not None,
        "significant": leaders.is_known
        and charts.significant_leaders_text(everywhere, best),
        "min_class_size": embargoes_of(board.phase).min_class_size
        if everywhere.hidden
        else 0,
        "heads": [
            by_class.system_column_head(
                table, row, query.order, query.with_, str(row.submission)
            )
            for row in rows
        ],
        "lines": [
            {
                "label": class_label(name.label),
                "value": f"{dimension}:{name.label}",
                "support": name.support,
                "cells": [score_cell(name.label, row) for row in table.systems],
            }
            for name in table.lines
        ],
        "over_classes": [shown(table.over_classes(row), table.scale) for row in rows],
        "over_all": [
            # The board's score, unlike the macro average, weights instances equally.
            shown(score_cell.value, table.scale, is_infinite=score_cell.is_infinite)
            if score_cell
            else EN_DASH
            for score_cell in (row.scores.get(table.metric) for row in rows)
        ],
    }


def _sorted_table(table: by_class.ClassTable, query: BoardQuery) -> by_class.ClassTable:
    name = query.order.removeprefix("-")
    row = next(
        (
            system
            for system in table.systems
            if isinstance(system, Row) and str(system.submission) == name
        ),
        None,
    )
    return (
        by_class.sort_classes_by_system(
            table, row, is_reversed=query.order.startswith("-")
        )
        if row
        else table
    )


def label_shares_tab_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab that compares how often each label occurs in runs
    and gold.
    """
    schemes = label_shares.label_schemes_on_board(board)
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
        if (counts := label_shares.label_counts_of(evaluations[row.evaluation], scheme))
        is not None
    ]
    hidden = by_class.hidden_classes_on_board(board, label_shares.DATASET_DIMENSION)
    datasets = [
        name
        for name in dict.fromkeys(name for _, own in counted for name in own.datasets)
        if name not in hidden
    ]
    dataset = query.dataset if query.dataset in datasets else ""
    named = [(row, own) for row, own in counted if row.submission in query.systems]
    with_labels = [(row, own) for row, own in counted if own.sentences(RUN)]
    drawn = (
        named[: label_shares.MAX_RUNS_COLOURED]
        or (with_labels or counted)[: by_class.DEFAULT_SYSTEM_COUNT]
    )
    wanted = {row.evaluation for row, _ in drawn}
    divergences = _divergence_table(counted, datasets, query.divergence)
    of_gold = [(_("gold"), drawn[0][1], GOLD)] if drawn else []
    of_runs = [(row.system, own, RUN) for row, own in drawn]
    shares = label_shares.label_share_chart([*of_gold, *of_runs], dataset)
    return {
        "carried": query.pairs(dataset="", systems=()),
        "what": str(label_shares.LABEL_SCHEME_NAMES[scheme]),
        "is_supplied": scheme in label_shares.SUPPLIED_LABEL_SCHEMES,
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
        "is_published": query.divergence == PUBLISHED,
        "left_out": max(0, len(board.rows) - by_class.MAX_HEAT_MAP_ROWS),
        **divergences,
        **shares,
        "figures": {"divergences": divergences["heat"], "label-shares": shares["bars"]},
    }


def _divergence_table(
    counted: Sequence[tuple[Row, label_shares.LabelCounts]],
    datasets: Sequence[str],
    form: str,
) -> dict[str, Any]:
    values: list[list[float | None]] = []
    for _row, own in counted:
        of = own.published_divergence if form == PUBLISHED else own.divergence
        values.append(
            [None if math.isnan(value) else value for value in map(of, datasets)]
        )
    lines = [
        {
            "system": row.system,
            "labelled": label_shares.label_sources_text(own, "run"),
            "cells": [shown(value) for value in line],
        }
        for (row, own), line in zip(counted, values, strict=True)
    ]
    return {
        "heads": datasets,
        "lines": lines,
        "gold_labelled": label_shares.label_sources_text(counted[0][1], "gold")
        if counted
        else "",
        "heat": label_shares.divergence_heat_map(
            [row.system for row, _ in counted], datasets, values
        ),
    }


@phase_readers.page()
def thresholds(request: HttpRequest, phase: Phase) -> Answer:
    """Show how scores change with the decision threshold, for runs that the user may
    see.
    """
    query = BoardQuery.of(request.GET)
    board = requested_board_with_scores(
        phase, request.user, query, audience_of(phase, request.user)
    )
    sweeps = charts.baseline_sweeps_of(
        board, dict(built_in_runs(phase).values_list("pk", "built_in"))
    )
    if not sweeps:
        raise Http404(_("No baseline of this task has a threshold."))
    context = {
        **phase_context(phase),
        "board": board,
        "rule_sets": query.choices("rules", phase.task.rules, board.rules),
        "sweeps": [
            (sweep, charts.best_sweep_value_text(sweep) if sweep.points else "")
            for sweep in sweeps
        ],
        "figures": {
            f"sweep-chart-{position}": charts.baseline_sweep_chart(sweep)
            for position, sweep in enumerate(sweeps, start=1)
            if sweep.points
        },
        "may_organise": may_organise(request.user, phase.task.season),
    }
    if query.figure:
        return figure_response(context["figures"], query.figure)
    return render(
        request,
        "boards/thresholds.html",
        context | {"figure_address": lambda name: query.with_(figure=name)},
    )


@phase_readers.page("boards/transfer.html")
def transfer(request: HttpRequest, phase: Phase) -> Answer:
    """Show how systems score on data sets on which they were not trained.

    The page uses only runs and run cards that the user may see.
    """
    query = BoardQuery.of(request.GET)
    board = requested_board_with_scores(
        phase, request.user, query, audience_of(phase, request.user)
    )
    matrix = by_class.transfer_table(board, query.metric)
    if matrix is None:
        raise Http404(_("No run of this board says on which data sets it was trained."))
    return {
        "board": board,
        "rule_sets": query.choices("rules", phase.task.rules, board.rules),
        "metrics": query.choices(
            "metric", matrix["metrics"], matrix["metric"], metric_label
        ),
        "metric_label": metric_label(matrix["metric"]),
        "matrix": matrix,
        "printed": printed_transfer_tables(phase.task),
    }
