"""The scores by class to take away: all of them as CSV and JSON, one table for a paper as LaTeX."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from citeboard.core.spreadsheets import plain
from scoring.board.confirming import confirmation_of
from scoring.board.differences import ClassTable, System, class_table, dimensions_of, metrics_of
from scoring.board.latex import ALL, Markup, as_table, as_tabular, marked, preliminary, set_in_latex
from scoring.board.names import dimension_label, metric_label
from scoring.board.numbers import shown
from scoring.board.standings import Board, Row
from scoring.board.table_choice import TableChoice

STAR = r"$^{\ast}$"
LEADING = "; * significantly better than every other system."
_COLUMNS = (
    "dimension", "class", "support", "submission", "system", "team", "metric", "value", "low", "high",
    "rules", "gold",
)  # fmt: skip


def classes_csv(board: Board) -> str:
    """A line for each class, metric and system of the board, unrounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    gold = f"v{board.gold.number}" if board.gold else ""
    for dimension in dimensions_of(board):
        for metric in metrics_of(board, dimension):
            table = class_table(board, board.rows, dimension, metric)
            writer.writerows([*line, board.rules, gold] for line in _lines(table, board.rows))
    return out.getvalue()


def _lines(table: ClassTable, rows: Sequence[Row]) -> Iterator[list[object]]:
    for name in table.classes:
        for row in rows:
            key = (name.label, row.evaluation)
            if key not in table.values:
                continue
            value = "inf" if key in table.infinite else table.values[key]
            system = [row.submission, plain(row.system), plain(row.team or "")]
            number = ["" if value is None else value, *table.intervals.get(key, ("", ""))]
            yield [table.dimension, plain(name.label), name.support, *system, table.metric, *number]


def classes_json(board: Board) -> str:
    """The same by dimension and metric: each class with the number of each system."""
    tables = [
        class_table(board, board.rows, dimension, metric)
        for dimension in dimensions_of(board)
        for metric in metrics_of(board, dimension)
    ]
    phase = board.phase
    content = {
        "season": phase.task.season.slug,
        "task": phase.task.slug,
        "phase": phase.slug,
        "version": phase.version,
        "rules": board.rules,
        "gold": {"number": board.gold.number, "sha256": board.gold.digest} if board.gold else None,
        "systems": [
            {"submission": row.submission, "system": row.system, "team": row.team, "kind": row.kind}
            for row in board.rows
        ],
        "tables": [_as_values(table, board.rows) for table in tables],
    }
    return json.dumps(content, ensure_ascii=False, indent=1)


def _as_values(table: ClassTable, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "dimension": table.dimension,
        "metric": table.metric,
        "scale": table.scale or 1,
        "higher_is_better": table.higher_is_better,
        "classes": [
            {
                "class": name.label,
                "support": name.support,
                "scores": [
                    _as_value(table, name.label, row)
                    for row in rows
                    if (name.label, row.evaluation) in table.values
                ],
            }
            for name in table.classes
        ],
    }


def _as_value(table: ClassTable, label: str, row: Row) -> dict[str, Any]:
    low, high = table.intervals.get((label, row.evaluation), (None, None))
    found = {"submission": row.submission, "value": table.value(label, row), "low": low, "high": high}
    return found | ({"infinite": True} if (label, row.evaluation) in table.infinite else {})


def classes_latex(
    board: Board, table: ClassTable, leading: Mapping[str, int], choice: TableChoice = ALL
) -> str:
    """A table as the page shows it, each number with its interval where that is known.

    The best of each class is bold, and marked where it is significantly better than every other system of the
    board: ``leading`` has the evaluation of that one by class. The names of baselines are in italics.
    """
    phase = board.phase
    about = f"{metric_label(table.metric)} by {dimension_label(table.dimension)}, rules {board.rules}"
    said = f"{phase.task.season}: {phase.task}, {phase}; {about}"
    marks = leading if choice.has_marks else {}
    own = {row.evaluation for row in table.systems}
    is_marked = any(marks.get(name.label) in own for name in table.classes)
    confirmation = confirmation_of(board)
    comments = [said, *([confirmation.sentence] if confirmation else [])]
    marking = f"Best in bold; baselines in italics{LEADING if is_marked else '.'}"
    caption = choice.caption or f"{said}. {preliminary(confirmation)}{marking}"
    heads = [dimension_label(table.dimension).capitalize(), "Support", *map(_head, table.systems)]
    lines = [
        [name.label, str(name.support), *_cells(table, name.label, marks, has_ends=choice.has_intervals)]
        for name in table.classes
    ]
    label = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-{table.dimension}-{table.metric}"
    return as_table(as_tabular(comments, f"lr{'r' * len(table.systems)}", heads, lines), caption, label)


def _head(row: System) -> str:
    is_team = isinstance(row, Row) and row.competes
    return row.system if is_team else marked("textit", row.system)


def _cells(table: ClassTable, label: str, marks: Mapping[str, int], *, has_ends: bool) -> Iterator[str]:
    best = {row.evaluation for row in table.best(label)}
    for row in table.systems:
        key = (label, row.evaluation)
        if key not in table.values:
            yield ""
            continue
        value = table.text(label, row)
        printed = marked("textbf", value) if row.evaluation in best else Markup(set_in_latex(value))
        mark = STAR if marks.get(label) == row.evaluation else ""
        ends = ""
        if has_ends and key in table.intervals:
            low, high = (set_in_latex(shown(end, table.scale)) for end in table.intervals[key])
            ends = f" [{low}, {high}]"
        yield Markup(f"{printed}{mark}{ends}")
