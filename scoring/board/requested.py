"""The board that an address asks for."""

from __future__ import annotations

from django.http import Http404
from django.utils.translation import gettext as _

from scoring.board.query import BoardQuery
from scoring.board.ranks import VALUE
from scoring.board.standings import Board, UnknownRules, standings
from scoring.board.visibility import Audience, Visibility
from tasks.models import Gold, Phase


def board_of(
    phase: Phase,
    viewer: object,
    rules: str | None,
    gold_number: int | None,
    *,
    audience: Audience | None = None,
    by: str = VALUE,
) -> Board:
    """The board under rules and gold by name and number. Raises Http404 where there are none such."""
    gold = None
    if gold_number is not None:
        gold = Gold.objects.filter(task=phase.task_id, split=phase.split, number=gold_number).first()
        if gold is None:
            raise Http404(_("There is no gold v%(number)s of this phase.") % {"number": gold_number})
    try:
        board = standings(phase, viewer, rules, gold=gold, audience=audience, by=by)
    except UnknownRules as unknown:
        raise Http404(str(unknown)) from unknown
    if gold is not None and board.gold is None:
        raise Http404(
            _("The board is frozen, and did not stand on gold v%(number)s.") % {"number": gold_number}
        )
    return board


def requested_board(phase: Phase, viewer: object, query: BoardQuery, audience: Audience) -> Board:
    if query.others:
        viewer, audience = None, Audience.PUBLIC
    return board_of(phase, viewer, query.rules, query.gold, audience=audience, by=query.by)


def board_with_scores(phase: Phase, viewer: object, query: BoardQuery, audience: Audience) -> Board:
    """Raises Http404 where the viewer may not see its numbers."""
    board = requested_board(phase, viewer, query, audience)
    if board.visibility != Visibility.SCORES:
        raise Http404(_("The numbers of this board are not published."))
    return board
