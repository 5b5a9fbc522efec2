"""The board of battles of a phase, in which judges compare texts of systems, as a page
and as files.
"""

from typing import Any

from django.http import Http404, HttpRequest
from django.template.loader import render_to_string
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _

from citeboard.core.api import allow_any_origin
from citeboard.web.pages import Answer, phase_context, phase_readers
from scoring.exchange.results import content_type_of
from scoring.metrics.base import finite
from scoring.offline.battles import SIGNATURE
from scoring.results.board import cache
from scoring.results.board.battles import BattleBoard, battle_board_for, battle_run_ids
from scoring.results.board.exports import json_text
from scoring.results.board.formatting import (
    interval,
    rank_range_text,
    score_with_interval,
    shown,
)
from scoring.results.board.standings import Board
from scoring.results.board.visibility import audience_of
from scoring.stats.battles import Share
from tasks.models import Phase


@phase_readers.page()
def battles(request: HttpRequest, phase: Phase) -> Answer:
    """Show the board of battles, with the frequency at which each system wins when
    judges compare two texts.
    """
    audience = audience_of(phase, request.user)

    def render_battle_page() -> str:
        context = {
            **phase_context(phase),
            **battle_board_context(_battle_board_or_404(request, phase)),
        }
        return render_to_string("boards/battles.html", context, request)

    runs = battle_run_ids(phase, audience)
    return cache.cached_phase_page(
        request, phase, audience, "battles", render_battle_page, runs
    )


def battle_tab_context(board: Board, query: object, viewer: object) -> dict[str, Any]:
    """Return the context of the tab with a phase's board of battles."""
    found = battle_board_for(board.phase, board.audience)
    return battle_board_context(found) if found is not None else {}


def _battle_board_or_404(request: HttpRequest, phase: Phase) -> BattleBoard:
    """Return the board of battles of a phase, with the data that the user may see.

    Raises Http404 if the phase has no board of battles.
    """
    board = battle_board_for(phase, audience_of(phase, request.user))
    if board is None:
        raise Http404(_("No board of battles is published of this phase."))
    return board


BATTLE_FILE_WRITERS = {
    "json": lambda board: json_text(board.facts),
    "csv": BattleBoard.as_csv,
    "jsonl": BattleBoard.battles_as_json_lines,
}


@allow_any_origin
@phase_readers.page()
def battles_file(request: HttpRequest, phase: Phase, form: str) -> Answer:
    """Return the board of battles as JSON or CSV, or the judgements behind the board as
    JSON lines.
    """
    name = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-battles.{form}"
    audience = audience_of(phase, request.user)
    response = cache.cached_phase_page(
        request,
        phase,
        audience,
        f"battles.{form}",
        lambda: BATTLE_FILE_WRITERS[form](_battle_board_or_404(request, phase)),
        battle_run_ids(phase, audience),
        content_type=content_type_of(name),
    )
    response["Content-Disposition"] = content_disposition_header(
        as_attachment=True, filename=name
    )
    return response


def battle_board_context(found: BattleBoard) -> dict[str, Any]:
    board = found.board
    return {
        "board": board,
        "lines": [
            {
                "run": line.run,
                "team": line.team,
                "system": line.standing.system,
                "ranks": rank_range_text(line.standing.first, line.standing.last),
                "strength": shown(finite(line.standing.strength)),
                "strength_ends": interval(
                    *(line.standing.strength_bounds or (None,) * 2)
                ),
                "share": shown(finite(line.standing.share)),
                "share_ends": interval(*(line.standing.share_bounds or (None,) * 2)),
            }
            for line in found.lines
        ],
        "matrix": _win_share_matrix(found),
        "left": _share_with_interval(board.left),
        "agreement": _judge_agreement(found),
        "signature": SIGNATURE,
    }


def _win_share_matrix(battle_board: BattleBoard) -> list[dict[str, Any]]:
    """Return the matrix of the shares of battles that each system wins.

    In the matrix, a row is a winning system and a column is its opponent, in the order
    of the board.
    """
    board = battle_board.board
    order = [board.systems.index(line.standing.system) for line in battle_board.lines]
    return [
        {
            "system": board.systems[row],
            "cells": [
                "" if row == column else shown(finite(float(board.matrix[row, column])))
                for column in order
            ],
        }
        for row in order
    ]


def _share_with_interval(share: Share) -> dict[str, Any]:
    return {"value": score_with_interval(share.value, share.bounds), "n": share.n}


def _judge_agreement(battle_board: BattleBoard) -> dict[str, Any] | None:
    agreement = battle_board.board.agreement
    if agreement is None:
        return None
    return {
        **_share_with_interval(agreement.share),
        "alpha": shown(finite(agreement.alpha)),
        "judges": [
            {"judges": judges, **_share_with_interval(share)}
            for judges, share in agreement.by_judges.items()
        ],
    }
