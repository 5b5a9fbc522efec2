"""A season's overall table as CSV, JSON and LaTeX."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from citeboard.core.spreadsheets import plain
from scoring.board.latex import as_tabular
from scoring.board.numbers import ranks
from scoring.board.overall import Overall, OverallRow
from tasks.models import Season


def as_values(table: Overall) -> dict[str, Any]:
    """What the API gives."""
    return {
        "boards": [
            {
                "phase": board.phase.pk,
                "task": board.phase.task.slug,
                "title": f"{board.phase.task}, {board.phase}",
                "teams": board.teams,
            }
            for board in table.boards
        ],
        "rows": [_values(row) for row in table.rows],
    }


def _values(row: OverallRow) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "team": row.slug,
        "team_name": row.team,
        "has_organiser": row.has_organiser,
        "boards": len(row.places),
        "mean_rank": row.mean_rank,
        "borda": row.borda,
        "borda_low": row.borda_low,
        "borda_high": row.borda_high,
        "places": [
            {"phase": phase, "rank": place.rank, "rank_low": place.low, "rank_high": place.high}
            for phase, place in row.places.items()
        ],
    }


def as_json(season: Season, table: Overall) -> str:
    return json.dumps({"season": season.slug, **as_values(table)}, ensure_ascii=False, indent=1)


def as_csv(season: Season, table: Overall) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    boards = [f"{board.phase.task.slug}/{board.phase.slug}" for board in table.boards]
    marked = ["has_organiser"] if any(row.has_organiser for row in table.rows) else []
    writer.writerow(
        ["rank", "team", "mean_rank", "borda", "borda_low", "borda_high", "boards", *boards, *marked]
    )
    for row in table.rows:
        marks = ["yes" if row.has_organiser else "" for _ in marked]
        places = [
            row.places[board.phase.pk].rank if board.phase.pk in row.places else "" for board in table.boards
        ]
        numbers = [row.mean_rank, row.borda, row.borda_low, row.borda_high, len(row.places)]
        writer.writerow([row.rank, plain(row.team), *numbers, *places, *marks])
    return out.getvalue()


def as_latex(season: Season, table: Overall) -> str:
    heads = ["Rank", "Team", "Mean rank", "Borda", *(str(board.phase.task) for board in table.boards)]
    lines = [
        [
            str(row.rank),
            row.marked_name,
            f"{row.mean_rank:.2f}",
            f"{row.borda} [{row.borda_low}, {row.borda_high}]",
            *(_place(row, board.phase.pk) for board in table.boards),
        ]
        for row in table.rows
    ]
    return as_tabular([f"{season}: all tasks together"], f"rlrr{'r' * len(table.boards)}", heads, lines)


def _place(row: OverallRow, phase: int) -> str:
    place = row.places.get(phase)
    return ranks(place.low, place.high) if place else ""
