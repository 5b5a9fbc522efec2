"""Trained on one data set, tested on another: the runs of a board that say what they were trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.board.differences import ClassTable, class_table, dimensions_of, metrics_of
from scoring.board.standings import Board, Row
from tasks.models.run_cards import trained_on

#: By which class results stand in the columns.
DATA_SET = "dataset"


@dataclass(frozen=True, kw_only=True)
class TransferCell:
    """``is_trained_on`` says that the run saw the data set; ``is_best`` is among those that did not."""

    text: str
    is_trained_on: bool
    is_best: bool


@dataclass(frozen=True, kw_only=True)
class TransferLine:
    trained: Sequence[str]
    row: Row
    cells: Sequence[TransferCell]


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """Rows are runs, those trained on the same together; columns are the data sets they are tested on."""

    metric: str
    metrics: Sequence[str]
    tested: Sequence[str]
    lines: Sequence[TransferLine]


def transfer_of(board: Board, metric: str) -> Transfer | None:
    """Under this metric, or the first that has numbers by data set.

    None where the task has no data sets apart, or no run of the board says what it was trained on.
    """
    rows = [row for row in board.rows if trained_on(row.card)]
    metrics = metrics_of(board, DATA_SET) if rows and DATA_SET in dimensions_of(board) else []
    if not metrics:
        return None
    chosen = metric if metric in metrics else metrics[0]
    table = class_table(board, rows, DATA_SET, chosen)
    return Transfer(
        metric=chosen,
        metrics=metrics,
        tested=[known.label for known in table.classes],
        lines=[
            TransferLine(trained=trained_on(row.card), row=row, cells=_cells(table, row))
            for row in sorted(rows, key=lambda row: trained_on(row.card))
        ],
    )


def _cells(table: ClassTable, row: Row) -> list[TransferCell]:
    return [
        TransferCell(
            text=table.text(known.label, row),
            is_trained_on=_saw(row, known.label),
            is_best=row.evaluation in _best_of_others(table, known.label),
        )
        for known in table.classes
    ]


def _saw(row: Row, label: str) -> bool:
    return label.lower() in trained_on(row.card)


def _best_of_others(table: ClassTable, label: str) -> set[int]:
    """The evaluations with the best value among the runs that were not trained on the data set."""
    values = {
        row.evaluation: value
        for row in table.systems
        if isinstance(row, Row) and not _saw(row, label) and (value := table.value(label, row)) is not None
    }
    if not values or table.higher_is_better is None:
        return set()
    top = (max if table.higher_is_better else min)(values.values())
    return {evaluation for evaluation, value in values.items() if value == top}
