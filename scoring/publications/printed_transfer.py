"""Printed tables of systems that were trained on one data set and tested on each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.models import Reported
from scoring.publications.published import PublishedTable, published_of
from tasks.models import Task

#: What a printed figure says of itself in such a table: whether its system was trained on the data set.
IN_DOMAIN = "in_domain"


@dataclass(frozen=True, kw_only=True)
class PrintedTransfer:
    """``lines`` has by system the figure of each data set, as it is printed."""

    table: PublishedTable
    tested: Sequence[str]
    lines: Sequence[tuple[str, Sequence[Reported | None]]]


def printed_transfers(task: Task) -> list[PrintedTransfer]:
    """Of the task's published results, under each table's leading measure."""
    return [
        _pivoted(table)
        for table in published_of(task).by_class
        if any(IN_DOMAIN in figure.features for row in table.rows for figure in row.figures.values())
    ]


def _pivoted(table: PublishedTable) -> PrintedTransfer:
    tested = list(dict.fromkeys(row.label for row in table.rows))
    systems = dict.fromkeys(row.system for row in table.rows)
    figures = {(row.system, row.label): row.figures.get(table.leading.name) for row in table.rows}
    return PrintedTransfer(
        table=table,
        tested=tested,
        lines=[(system, [figures.get((system, label)) for label in tested]) for system in systems],
    )
