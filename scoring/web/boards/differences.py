"""Scores by class: a page of its own, and the part of the board page that is fetched when it is reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.board.charts import heat_map, in_words, significant_in_words, system_bars
from scoring.board.comparison_state import classes_seen
from scoring.board.differences import (
    EVERY,
    MAX_IN_HEAT_MAP,
    ClassTable,
    System,
    chosen_systems,
    class_table,
    in_order_of,
    metrics_of,
    offered_dimensions,
    shown_classes,
    system_head,
)
from scoring.board.leaders import Leaders, leaders_of
from scoring.board.names import dimension_label, metric_label
from scoring.board.numbers import DASH, interval, shown
from scoring.board.query import BoardQuery
from scoring.board.standings import Board, Row
from scoring.board.transfer import DATA_SET
from scoring.web.boards.sections import DIFFERENCES, section_page
from tasks.models import Phase
from tasks.models.run_cards import trained_on
from tasks.seasons.access import phase_for


@require_safe
def differences(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    query = BoardQuery.of(request.GET)
    response = section_page(
        request, found, DIFFERENCES, query, lambda board: _context(board, query), classes_seen(found.pk)
    )
    if request.headers.get("HX-Request") and request.headers.get("HX-Trigger") != DIFFERENCES.fetching:
        # What a reader chose here stands in the address of the board around it. What the page fetches by
        # itself may come after a choice on the board, whose address stays.
        response["HX-Replace-Url"] = _address(found, "board") + query.with_().removesuffix("?")
    return response


def _address(phase: Phase, name: str) -> str:
    return reverse(name, args=[phase.task.season.slug, phase.task.slug, phase.slug])


def _context(board: Board, query: BoardQuery) -> dict[str, Any]:
    board.rows = board.systems
    dimensions = offered_dimensions(board)
    has_transfer = DATA_SET in dimensions and any(trained_on(row.card) for row in board.rows)
    is_every = query.dimension == EVERY and len(dimensions) > 1
    dimension, metric = shown_classes(board, query)
    current = EVERY if is_every else dimension
    context: dict[str, Any] = {"board": board, "metric": metric, "metric_label": metric_label(metric)}
    if not metric:
        return context
    chosen = chosen_systems(board, query.systems)
    parts = [
        _part(board, chosen, own, metric, query)
        for own in (dimensions if is_every else [dimension])
        if own == dimension or metric in metrics_of(board, own)
    ]
    for part in parts:
        ending = f"-{part['dimension']}" if is_every else ""
        part |= {"heat_name": f"heat-map{ending}", "bars_name": f"bars{ending}"}
    every = [EVERY] if len(dimensions) > 1 else []
    return context | {
        "carried": query.pairs(dimension=current, metric=metric, systems=()),
        "dimensions": query.choices("dimension", [*dimensions, *every], current, _choice),
        "metrics": query.choices("metric", metrics_of(board, dimension), metric, metric_label),
        "rows": board.rows,
        "chosen": [row.submission for row in chosen],
        "plain_order": query.with_(order="") if query.order else "",
        "left_out": max(0, len(board.rows) - MAX_IN_HEAT_MAP),
        "parts": parts,
        "is_every": is_every,
        "has_transfer": has_transfer,
        "figures": {part[f"{kind}_name"]: part[kind] for part in parts for kind in ("heat", "bars")},
        "export": query.with_(dimension=current, metric=metric, figure=""),
    }


def _choice(dimension: str) -> str:
    return _("all of them") if dimension == EVERY else dimension_label(dimension)


def _part(
    board: Board, chosen: Sequence[Row], dimension: str, metric: str, query: BoardQuery
) -> dict[str, Any]:
    """One dimension: all systems as a heat map, the chosen ones as bars, in words and as lines of a table."""
    everywhere = _ordered(class_table(board, board.rows[:MAX_IN_HEAT_MAP], dimension, metric), query)
    table = _ordered(class_table(board, chosen, dimension, metric), query)
    leaders = leaders_of(board, dimension, metric).among({name.label for name in everywhere.classes})
    rows = [row for row in table.systems if isinstance(row, Row)]
    return {
        "dimension": dimension,
        "label": dimension_label(dimension),
        "heat": heat_map(everywhere, leaders.significant),
        "bars": system_bars(table),
        "words": in_words(table),
        "is_compared": leaders.is_known,
        "has_marks": bool(leaders.significant),
        "has_best": everywhere.higher_is_better is not None,
        "significant": significant_in_words(everywhere, leaders.significant) if leaders.is_known else "",
        "min_class_size": board.phase.task.min_class_size if everywhere.has_hidden else 0,
        "heads": [system_head(table, row, query.order, query.with_, str(row.submission)) for row in rows],
        "lines": [
            {
                "label": name.label,
                "support": name.support,
                "cells": [_cell(table, name.label, row, leaders) for row in table.systems],
            }
            for name in table.classes
        ],
        "over_classes": [shown(table.over_classes(row), table.scale) for row in rows],
        "over_all": [_over_all(table, row) for row in rows],
    }


def _ordered(table: ClassTable, query: BoardQuery) -> ClassTable:
    """By the values of the run that the address names, where it is in the table."""
    name = query.order.removeprefix("-")
    row = next(
        (system for system in table.systems if isinstance(system, Row) and str(system.submission) == name),
        None,
    )
    return in_order_of(table, row, is_reversed=query.order.startswith("-")) if row else table


def _over_all(table: ClassTable, row: Row) -> str:
    """The number of the board, which every instance counts alike in."""
    cell = row.scores.get(table.metric)
    return shown(cell.value, table.scale, is_infinite=cell.is_infinite) if cell else DASH


def _cell(table: ClassTable, label: str, row: System, leaders: Leaders) -> dict[str, Any]:
    low, high = table.intervals.get((label, row.evaluation), (None, None))
    return {
        "text": table.text(label, row),
        "interval": interval(low, high, table.scale),
        "is_best": leaders.significant.get(label) == row.evaluation,
    }
