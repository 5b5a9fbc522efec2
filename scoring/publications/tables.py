"""Published results as templates want them: every figure as it is printed, with where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.safestring import SafeString

from citeboard.core.query import Choice
from scoring.board.charts import heat_map, in_words, system_bars
from scoring.board.differences import (
    CHOSEN_AT_FIRST,
    Class,
    ClassTable,
    best_systems,
    in_order_of,
    natural_order,
    system_head,
)
from scoring.board.numbers import interval
from scoring.board.standings import Cell
from scoring.board.table import Axis, whisker
from scoring.figures.description import MAX_SERIES
from scoring.models import Reported
from scoring.publications.published import (
    WIDTHS,
    Measure,
    PublishedQuery,
    PublishedRow,
    PublishedTable,
    best_first,
)

DOUBT = "doubted"


@dataclass(frozen=True)
class PublishedSystem:
    system: str
    evaluation: int


def headline(shown: PublishedTable, query: PublishedQuery | None = None, text: str = "") -> dict[str, Any]:
    """Systems with their figures, the best first; heads sort where there is a query to change."""
    sort = query.sort if query else ""
    metric = sort.removeprefix("-")
    measure = next((column for column in shown.columns if column.name == metric), shown.leading)
    rows = best_first(shown.rows, measure)
    if sort.startswith("-") and measure.name == metric:
        rows.reverse()
    wanted = text.casefold()
    rows = [row for row in rows if not wanted or wanted in row.system.casefold()]
    scale = WIDTHS.get(shown.leading.scale)
    axis = None if scale is None else Axis.over([_interval(shown, row) for row in shown.rows], scale)
    columns = [shown.leading, *(column for column in shown.columns if column is not shown.leading)]
    return {
        "title": shown.title,
        "table": shown.table,
        "columns": [_head(column, measure, query) for column in columns],
        "axis": axis.ends if axis else None,
        "rows": [
            {
                "system": row.system,
                "line": row.line,
                "href": f"{shown.table.get_absolute_url()}-{row.line}",
                "cells": [_cell(row.figures.get(column.name)) for column in columns],
                "whisker": SafeString(_whisker(_interval(shown, row), axis)),
            }
            for row in rows
        ],
        "doubts": shown.doubts,
    }


def by_class(shown: PublishedTable, query: PublishedQuery) -> dict[str, Any]:
    """One metric by class and system: as charts, in words, and as the table behind them."""
    if query.metric in {column.name for column in shown.columns}:
        shown = replace(shown, placement=replace(shown.placement, metric=query.metric))
    names = list(dict.fromkeys(row.system for row in shown.rows))
    numbers = {name: number for number, name in enumerate(names)}
    classes = ClassTable(
        dimension=shown.dimension,
        metric=shown.leading.label,
        scale=WIDTHS.get(shown.leading.scale, 0.0),
        higher_is_better=shown.leading.higher_is_better,
        classes=[
            Class(label, 0) for label in natural_order(list(dict.fromkeys(row.label for row in shown.rows)))
        ],
        systems=[PublishedSystem(name, number) for name, number in numbers.items()],
        values={(row.label, numbers[row.system]): row.value(shown.leading.name) for row in shown.rows},
    )
    orders = next((row for row in classes.systems if row.system == query.order.removeprefix("-")), None)
    if orders:
        classes = in_order_of(classes, orders, is_reversed=query.order.startswith("-"))
    figures = {(row.label, row.system): row.figures.get(shown.leading.name) for row in shown.rows}
    # In the bars stand those that the reader chose, or the best where none of them is in the table.
    chosen = [row for row in classes.systems if row.system in query.systems]
    drawn = chosen[:MAX_SERIES] or best_systems(classes)[:CHOSEN_AT_FIRST]
    lines: list[dict[str, Any]] = []
    for name in classes.classes:
        best = {row.system for row in classes.best(name.label)} if len(classes.systems) > 1 else set()
        cells = [
            {**_cell(figures.get((name.label, row.system))), "is_best": row.system in best}
            for row in classes.systems
        ]
        lines.append({"label": name.label, "cells": cells})
    # Charts have the decimals of print, no more.
    heat = heat_map(classes, label=classes.metric)
    bars = system_bars(replace(classes, systems=drawn), classes.metric)
    series = [
        replace(
            system,
            values=[
                replace(value, text=_cell(figures.get((label, system.name)))["text"])
                for label, value in zip(bars.labels, system.values, strict=True)
            ],
        )
        for system in bars.series
    ]
    return {
        "table": shown.table,
        "measure": shown.leading,
        "dimension": shown.dimension,
        "heads": [system_head(classes, row, query.order, query.with_) for row in classes.systems],
        "printed_order": query.with_(order="") if orders else "",
        "lines": lines,
        "heat": replace(heat, texts=[[cell["text"] for cell in line["cells"]] for line in lines]),
        "bars": replace(bars, series=series),
        "systems": [(row.system, row in drawn) for row in classes.systems],
        "drawn": len(drawn),
        "most": MAX_SERIES,
        "carried": query.pairs(systems=tuple(name for name in query.systems if name not in numbers)),
        "words": in_words(classes),
        "doubts": shown.doubts,
    }


def as_printed(table: Any, rows: Sequence[PublishedRow], measures: Sequence[Measure]) -> dict[str, Any]:
    keys = [name for name in table.row_key if name != "system"]
    has_systems = any(row.system for row in rows)
    return {
        "table": table,
        "keys": [name.replace("_", " ") for name in keys],
        "measures": measures,
        "has_systems": has_systems,
        "rows": [
            {
                "line": row.line,
                "system": row.system,
                "keys": [next(iter(row.figures.values())).features.get(name) for name in keys],
                "cells": [_cell(row.figures.get(measure.name)) for measure in measures],
            }
            for row in rows
        ],
    }


def _cell(figure: Reported | None) -> dict[str, Any]:
    """The figure as printed, its deviation in brackets; empty where nothing is printed."""
    if figure is None:
        return {"text": "", "doubt": ""}
    deviation = f" ({figure.printed_deviation})" if figure.printed_deviation else ""
    return {"text": f"{figure.printed}{deviation}".replace("-", "\u2212"), "doubt": figure.doubt}


def measures_by_class(tables: Sequence[PublishedTable], query: PublishedQuery) -> list[Choice]:
    if all(len(table.columns) < 2 for table in tables):
        return []
    measures = {measure.name: measure for table in tables for measure in table.columns}
    leading = {table.leading.name for table in tables}
    current = query.metric if query.metric in measures else next(iter(leading)) if len(leading) == 1 else ""
    return query.choices("metric", measures, current, lambda name: measures[name].label)


def _head(measure: Measure, sorted_by: Measure, query: PublishedQuery | None) -> dict[str, Any]:
    sort = query.sort if query else ""
    is_sorted = measure is sorted_by
    is_reversed = is_sorted and sort.startswith("-")
    wanted = f"-{measure.name}" if is_sorted and not is_reversed else measure.name
    rises = (measure.higher_is_better is False) != is_reversed
    return {
        "measure": measure,
        "href": query.with_(sort=wanted) if query else "",
        "is_sorted": is_sorted,
        "arrow": "↑" if rises else "↓",
        "aria": "ascending" if rises else "descending",
    }


def _interval(shown: PublishedTable, row: PublishedRow) -> Cell:
    low, high = (row.value(name) for name in shown.placement.interval or ("", ""))
    return Cell(0, row.value(shown.leading.name), low, high)


def _whisker(cell: Cell, axis: Axis | None) -> str:
    return whisker(cell, axis, interval(cell.low, cell.high, axis.scale)) if axis else ""
