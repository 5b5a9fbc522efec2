"""The board of battles of a phase, in which judges compare texts of systems, as a page
and as files.
"""

from typing import Any

from django.http import Http404, HttpRequest
from django.template.loader import render_to_string
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _

from citeboard.core.api import allow_any_origin
from citeboard.web.pages import ViewResult, build_phase_context, phase_reader_pages
from scoring.exchange.results import find_content_type
from scoring.metrics.base import finite_or_none
from scoring.offline.battles import BATTLES_SIGNATURE
from scoring.results.board import cache
from scoring.results.board.battles import (
    BattleBoard,
    list_run_ids_on_battle_board,
    load_battle_board_for_audience,
)
from scoring.results.board.exports import format_as_json
from scoring.results.board.formatting import (
    format_interval,
    format_rank_range,
    format_score,
    format_score_with_interval,
)
from scoring.results.board.standings import Board
from scoring.results.board.visibility import determine_audience
from scoring.stats.battles import ShareWithInterval
from tasks.models import Phase


@phase_reader_pages.page()
def show_battle_board(request: HttpRequest, phase: Phase) -> ViewResult:
    """Show the board of battles, with the frequency at which each system wins when
    judges compare two texts.
    """
    audience = determine_audience(phase, request.user)

    def render_battle_page() -> str:
        context = {
            **build_phase_context(phase),
            **build_battle_board_context(_battle_board_or_404(request, phase)),
        }
        return render_to_string("boards/battles.html", context, request)

    runs = list_run_ids_on_battle_board(phase, audience)
    return cache.load_or_render_phase_page(
        request, phase, audience, "battles", render_battle_page, runs
    )


def build_battle_tab_context(
    board: Board, query: object, viewer: object
) -> dict[str, Any]:
    """Return the context of the tab with a phase's board of battles."""
    found = load_battle_board_for_audience(board.phase, board.audience)
    return build_battle_board_context(found) if found is not None else {}


def _battle_board_or_404(request: HttpRequest, phase: Phase) -> BattleBoard:
    """Return the board of battles of a phase, with the data that the user may see.

    Raises Http404 if the phase has no board of battles.
    """
    board = load_battle_board_for_audience(
        phase, determine_audience(phase, request.user)
    )
    if board is None:
        raise Http404(_("No board of battles is published of this phase."))
    return board


BATTLE_FILE_WRITERS = {
    "json": lambda board: format_as_json(board.facts),
    "csv": BattleBoard.as_csv,
    "jsonl": BattleBoard.battles_as_json_lines,
}


@allow_any_origin
@phase_reader_pages.page()
def download_battle_board(request: HttpRequest, phase: Phase, form: str) -> ViewResult:
    """Return the board of battles as JSON or CSV, or the judgements behind the board as
    JSON lines.
    """
    name = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-battles.{form}"
    audience = determine_audience(phase, request.user)
    response = cache.load_or_render_phase_page(
        request,
        phase,
        audience,
        f"battles.{form}",
        lambda: BATTLE_FILE_WRITERS[form](_battle_board_or_404(request, phase)),
        list_run_ids_on_battle_board(phase, audience),
        content_type=find_content_type(name),
    )
    response["Content-Disposition"] = content_disposition_header(
        as_attachment=True, filename=name
    )
    return response


def build_battle_board_context(found: BattleBoard) -> dict[str, Any]:
    board = found.board
    return {
        "board": board,
        "lines": [
            {
                "run": line.run,
                "team": line.team,
                "system": line.standing.system,
                "ranks": format_rank_range(line.standing.first, line.standing.last),
                "strength": format_score(finite_or_none(line.standing.strength)),
                "strength_ends": format_interval(
                    *(line.standing.strength_bounds or (None,) * 2)
                ),
                "share": format_score(finite_or_none(line.standing.share)),
                "share_ends": format_interval(
                    *(line.standing.share_bounds or (None,) * 2)
                ),
            }
            for line in found.lines
        ],
        "matrix": _build_win_share_matrix(found),
        "left": _format_share_with_interval(board.left),
        "agreement": _format_judge_agreement(found),
        "signature": BATTLES_SIGNATURE,
    }


def _build_win_share_matrix(battle_board: BattleBoard) -> list[dict[str, Any]]:
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
                ""
                if row == column
                else format_score(finite_or_none(float(board.matrix[row, column])))
                for column in order
            ],
        }
        for row in order
    ]


def _format_share_with_interval(share: ShareWithInterval) -> dict[str, Any]:
    return {
        "value": format_score_with_interval(share.value, share.bounds),
        "n": share.n,
    }


def _format_judge_agreement(battle_board: BattleBoard) -> dict[str, Any] | None:
    agreement = battle_board.board.agreement
    if agreement is None:
        return None
    return {
        **_format_share_with_interval(agreement.share),
        "alpha": format_score(finite_or_none(agreement.alpha)),
        "judges": [
            {"judges": judges, **_format_share_with_interval(share)}
            for judges, share in agreement.by_judges.items()
        ],
    }
