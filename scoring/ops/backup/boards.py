"""A digest of every number that a board shows to its organisers, to compare a site with what it was."""

from __future__ import annotations

import hashlib
import json

from scoring.board.standings import Board, standings
from scoring.board.visibility import Audience
from tasks.models import Phase


def board_digests() -> dict[str, str]:
    """By board, as `season/task/phase, rules`."""
    phases = Phase.objects.select_related("task__season").order_by("pk")
    return {
        f"{phase.task.season.slug}/{phase.task.slug}/{phase.slug}, {rules}": _digest(
            standings(phase, None, rules, audience=Audience.ORGANISER)
        )
        for phase in phases
        for rules in phase.task.rules
    }


def _digest(board: Board) -> str:
    names = {column.name: column.metric for column in board.columns}
    facts = [
        [column.metric for column in board.columns],
        [
            [
                row.submission,
                row.system,
                row.team,
                row.kind,
                [row.rank, row.rank_low, row.rank_high, row.group],
                sorted((names[name], *cell[1:]) for name, cell in row.scores.items()),
            ]
            for row in board.rows
        ],
    ]
    return hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).hexdigest()
