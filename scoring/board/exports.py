"""A board to take away: what is shown, unrounded, as CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from citeboard.core.spreadsheets import plain
from citeboard.core.templatetags.page import iso
from scoring.board.confirming import confirmation_of
from scoring.board.outside import outside_of
from scoring.board.standings import Board, Column, Row
from tasks.models.run_cards import CARD
from tasks.submissions.team_figures import EVERY

_COMMON = ("rank", "rank_low", "rank_high", "group", "team", "system", "kind", "submission", "sent")


#: By submission and name, what teams report themselves.
TeamFigures = Mapping[int, Mapping[str, float]]


def as_csv(board: Board, rows: Sequence[Row], of_teams: TeamFigures) -> str:
    """One line a row; each metric with the ends of its interval; what teams say of their runs stands last."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    names = [name for column in board.columns for name in _named(column)]
    reported = [measure for measure in EVERY if any(measure in own for own in of_teams.values())]
    said = [name for name in CARD if any(name in row.card for row in rows)]
    outside = outside_of(board, rows)
    heads = [*(f"team_reported_{figure}" for figure in reported), *(f"card_{name}" for name in said)]
    heads += [str(plain(f"outside_{measure.name}")) for measure in outside.measures]
    with_organisers = ["has_organiser"] if any(row.has_organiser for row in rows) else []
    with_priority = ["priority"] if board.goes_by_priority else []
    confirmation = confirmation_of(board)
    said_of_all = {"results": confirmation.words} if confirmation else {}
    heads += [*with_organisers, *with_priority, *said_of_all]
    writer.writerow([*_COMMON, *names, "rules", "gold", "ranked_by", *heads])
    gold = f"v{board.gold.number}" if board.gold else ""
    for row in rows:
        known = described(row)
        common = [plain(known[name]) for name in _COMMON]
        own = of_teams.get(row.submission, {})
        figures = [own.get(figure, "") for figure in reported]
        card = [plain(row.card.get(name, "")) for name in said]
        numbers = _numbers(row, board.columns)
        measured = [outside.value(measure, row.submission) for measure in outside.measures]
        card += ["" if value is None else value for value in measured]
        card += ["yes" if row.has_organiser else "" for _ in with_organisers]
        card += [row.priority or "" for _ in with_priority]
        card += said_of_all.values()
        writer.writerow([*common, *numbers, board.rules, gold, board.by, *figures, *card])
    return out.getvalue()


def as_json(board: Board, rows: Sequence[Row], of_teams: TeamFigures) -> str:
    phase = board.phase
    confirmation = confirmation_of(board)
    outside = outside_of(board, rows)
    content: dict[str, Any] = {
        "season": phase.task.season.slug,
        "task": phase.task.slug,
        "phase": phase.slug,
        "version": phase.version,
        "rules": board.rules,
        **({"frozen_at": board.frozen_at.isoformat()} if board.frozen_at else {}),
        **({"results": confirmation.as_dict()} if confirmation else {}),
        "gold": {"number": board.gold.number, "sha256": board.gold.digest} if board.gold else None,
        "ranked_by": board.by,
        "compared": board.is_compared,
        "columns": [
            {
                "name": column.name,
                "metric": column.metric,
                "key": column.key,
                "scale": column.scale or 1,
                "higher_is_better": column.higher_is_better,
            }
            for column in board.columns
        ],
        "rows": [
            {
                **described(row),
                # Left out where it is not so, so that a board that is kept stays the same to the byte.
                **({"has_organiser": True} if row.has_organiser else {}),
                **({"priority": row.priority} if board.goes_by_priority and row.priority else {}),
                "scores": _scores(row),
                "team_reported": of_teams.get(row.submission, {}),
                **({"card": row.card} if row.card else {}),
                **({"outside": measured} if (measured := outside.of(row.submission)) else {}),
            }
            for row in rows
        ],
    }
    if outside.measures:
        content["outside"] = [
            {
                "name": measure.name,
                "higher_is_better": measure.higher_is_better,
                "source": measure.source,
                "signature": measure.signature,
            }
            for measure in outside.measures
        ]
    return json.dumps(content, ensure_ascii=False, indent=1)


def described(row: Row) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "group": row.group,
        "team": row.team,
        "system": row.system,
        "kind": row.kind,
        "submission": row.submission,
        "sent": iso(row.submitted_at),
    }


def _named(column: Column) -> Iterator[str]:
    yield from (column.name, f"{column.name}_low", f"{column.name}_high")


def _numbers(row: Row, columns: Sequence[Column]) -> Iterator[object]:
    for column in columns:
        cell = row.scores.get(column.name)
        if cell is None:
            yield from ("", "", "")
        else:
            value = "inf" if cell.is_infinite else cell.value
            yield from ("" if number is None else number for number in (value, cell.low, cell.high))


def _scores(row: Row) -> dict[str, Any]:
    return {
        name: {"value": cell.value, "low": cell.low, "high": cell.high}
        | ({"infinite": True} if cell.is_infinite else {})
        for name, cell in row.scores.items()
    }
