"""Which runs are compared: those that an address names, as far as the viewer may see their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.http import Http404
from django.utils.translation import gettext as _

from scoring.board.standings import Board
from scoring.comparison.contenders import Contender, other_run
from scoring.models import Evaluation

ChosenTwo = tuple[Contender, Contender]


def named_run(board: Board, viewer: object, offered: Iterable[Contender], number: int) -> Contender:
    """Raises Http404 where it is not theirs to see."""
    found = next((contender for contender in offered if contender.run == number), None)
    found = found or other_run(board, viewer, number)
    if found is None:
        raise Http404(_("There is no run here whose numbers are shown to you under this number."))
    return found


def chosen_two(
    board: Board, viewer: object, offered: Sequence[Contender], numbers: tuple[int | None, int | None]
) -> ChosenTwo | None:
    """The two runs; one that is not named is the row before the other. Raises Http404."""
    a, b = (None if number is None else named_run(board, viewer, offered, number) for number in numbers)
    if a is None:
        a = next((contender for contender in offered if contender != b), None)
    if b is None and a is not None:
        place = next((place for place, contender in enumerate(offered) if contender == a), -1)
        beside = [*reversed(offered[: max(place, 0)]), *offered[place + 1 :]]
        b = next((contender for contender in beside if contender != a), None)
    return (a, b) if a is not None and b is not None and a != b else None


def evaluation_of(board: Board, contender: Contender) -> Evaluation | None:
    """How the run was scored under the rules and gold of the board."""
    return (
        Evaluation.objects.known_at(board.frozen_at)
        .filter(submission=contender.run, rules=board.rules, gold=board.gold)
        .select_related("phase__task", "submission", "gold")
        .prefetch_related("scores")
        .order_by("-pk")
        .first()
    )
