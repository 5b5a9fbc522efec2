"""What somebody chooses of a table for a paper, as its address says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from citeboard.core.query import Query, switch_from, text_from, texts_from
from scoring.board.standings import Board, Column


class UnknownColumn(LookupError):
    """The board has no column of this name; the message lists those it has."""


@dataclass(frozen=True, kw_only=True)
class TableChoice(Query):
    """``columns`` are names of the board's, none for all of them; ``caption`` stands in the place of ours."""

    columns: tuple[str, ...] = texts_from("column")
    caption: str = text_from("caption")
    has_marks: bool = switch_from("marks", "no", default=True)
    has_intervals: bool = switch_from("intervals", "no", default=True)


def chosen_columns(board: Board, names: Sequence[str]) -> list[Column]:
    """The columns of a table, the ranking one first and the others as on the board. Raises UnknownColumn."""
    known = {column.name for column in board.columns}
    for name in names:
        if name not in known:
            raise UnknownColumn(
                _("The board has no column “%(name)s”; it has %(known)s.")
                % {"name": name, "known": ", ".join(sorted(known))}
            )
    chosen = [column for column in board.columns if not names or column.name in names]
    return sorted(chosen, key=lambda column: not column.is_ranking)
