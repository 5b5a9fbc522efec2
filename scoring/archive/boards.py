"""The boards of a season as everybody may see them, each under each of its rule sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser

from scoring.board.charts import ranking_chart
from scoring.board.standings import Board, Cell, Row, standings
from scoring.board.visibility import Audience, Visibility
from scoring.figures import as_svg
from tasks.models import Phase


@dataclass(frozen=True)
class ArchivedBoard:
    board: Board
    name: str

    @property
    def json_path(self) -> str:
        return f"boards/{self.name}.json"

    @property
    def page_path(self) -> str:
        return f"boards/{self.name}.html"

    @property
    def chart_path(self) -> str:
        return f"boards/{self.name}.svg"

    @property
    def lines(self) -> list[tuple[Row, list[str]]]:
        """Each row with the text of every column's cell."""
        return [
            (row, [_text(row.scores.get(column.name)) for column in self.board.columns])
            for row in self.board.rows
        ]

    def chart(self) -> str:
        """The ranking number of each row with its interval."""
        figure = ranking_chart(self.board)
        assert figure is not None
        return as_svg(figure)


def _text(cell: Cell | None) -> str:
    """Unrounded, as the JSON has it."""
    if cell is None:
        return ""
    value = "infinite" if cell.is_infinite else "undefined" if cell.value is None else str(cell.value)
    return value if cell.low is None else f"{value} [{cell.low}, {cell.high}]"


def public_boards(phase: Phase) -> Iterator[ArchivedBoard]:
    """Those that show scores to everybody and have a row."""
    for rules in phase.task.rules:
        board = standings(phase, AnonymousUser(), rules, audience=Audience.PUBLIC)
        if board.visibility == Visibility.SCORES and board.rows:
            yield ArchivedBoard(board, f"{phase.task.slug}-{phase.slug}-{rules}")
