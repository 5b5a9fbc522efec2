"""Any two runs whose numbers a reader may see, side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.teams.models import User
from scoring.board.comparisons import Unreadable
from scoring.board.requested import board_of
from scoring.board.standings import Board
from scoring.board.visibility import audience_of, may_see_instances
from scoring.comparison.choosing import ChosenTwo, chosen_two, evaluation_of
from scoring.comparison.contenders import on_board, own_runs
from scoring.comparison.pages import class_part, instance_part, test_part
from scoring.comparison.query import CompareQuery, ReadQuery, SeveralQuery
from scoring.comparison.read_page import may_read
from scoring.comparison.sides import Busy, Two, tests, two
from scoring.exchange.figure_files import figure_response
from scoring.web.place import place_of
from tasks.seasons.access import phase_for


@require_safe
def compare(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    query = CompareQuery.of(request.GET)
    board = board_of(found, request.user, query.rules, query.gold)
    shown, own = on_board(board), own_runs(board, request.user)
    if not shown and not own and query.a is None:
        raise Http404(_("No numbers of this phase are shown to you."))
    chosen = chosen_two(board, request.user, shown + own, (query.a, query.b))
    context: dict[str, Any] = {
        **place_of(found),
        "board": board,
        "carried": query.pairs(a=None, b=None, label="", page=1, tests=False),
        "shown": shown,
        "own": own,
        "a": chosen[0] if chosen else None,
        "b": chosen[1] if chosen else None,
        "several": SeveralQuery(
            runs=tuple(own.run for own in chosen or ()), rules=query.rules, gold=query.gold
        ).with_(),
        "rule_sets": query.choices("rules", found.task.rules, board.rules),
    }
    status = 200
    if chosen:
        part, status = _compared(board, chosen, request.user, query)
        context |= part
        if part.get("classes"):
            context |= {
                "figures": {"by-class": part["classes"]["figure"]},
                "figure_address": lambda name: query.with_(figure=name),
            }
    if query.figure:
        return figure_response(context.get("figures", {}), query.figure)
    response = render(request, "runs/compare.html", context, status=status)
    if not request.user.is_authenticated:
        response["Cache-Control"] = "no-cache"
    return response


def _compared(
    board: Board, chosen: ChosenTwo, viewer: User | AnonymousUser, query: CompareQuery
) -> tuple[dict[str, Any], int]:
    """What the page shows of two runs, and the status that it is sent with."""
    evaluations = [evaluation_of(board, row) for row in chosen]
    missing = [row for row, own in zip(chosen, evaluations, strict=True) if own is None]
    if missing or evaluations[0] is None or evaluations[1] is None:
        return {"missing": missing}, 200
    pair = two(evaluations[0], evaluations[1])
    try:
        found = _parts(pair, chosen, board, query)
        if pair.pooled and may_read(board.phase, viewer, [pair.a, pair.b]) is not None:
            own = ReadQuery(a=chosen[0].run, b=chosen[1].run, rules=query.rules, gold=query.gold)
            found["read"] = own.with_()
        if may_see_instances(board.phase, audience_of(board.phase, viewer)):
            both = replace(query, a=chosen[0].run, b=chosen[1].run)
            found["instances"] = instance_part(pair, both)
    except Unreadable:
        return {"is_unreadable": True}, 200
    except Busy:
        return {"is_busy": True}, 503
    return found, 200


def _parts(pair: Two, chosen: ChosenTwo, board: Board, query: CompareQuery) -> dict[str, Any]:
    told = tests(pair, at_once=query.tests)
    return {
        "tests": test_part(pair, told, query),
        "classes": class_part(pair, chosen[0].system, chosen[1].system, query, board.audience),
        "swapped": query.with_(a=chosen[1].run, b=chosen[0].run),
        "gold": board.gold,
    }
