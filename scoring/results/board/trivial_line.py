"""The best run that knows nothing, as a line of a board: what every system has to beat."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from django.contrib.auth.models import AnonymousUser

from scoring.results.board.confirming import confirmation_of
from scoring.results.board.formatting import shown
from scoring.results.board.open_gold import may_have_gold
from scoring.results.board.standings import Board, Column
from scoring.results.board.visibility import Audience, Visibility
from tasks.types.trivial import EMPTY


class TrivialLine(NamedTuple):
    """`answer` is what a constant run answers; only organisers see a line that `is_secret`."""

    run: str
    answer: str
    value: float
    is_secret: bool
    #: By metric what the run has of its scale.
    shares: Mapping[str, float | None] = MappingProxyType({})

    def texts(self, columns: Iterable[Column]) -> list[str]:
        """Return the run's numbers in these columns, as the board writes them; empty where there is none."""
        shares = ((column, self.shares.get(column.metric)) for column in columns)
        return [
            "" if share is None else shown(share * column.scale, column.scale)
            for column, share in shares
        ]


def trivial_line(board: Board) -> TrivialLine | None:
    """Return the best trivial run by the ranking measure; None if the reader may not see it,
    or if nothing is better than no answers.

    Its value tells how often an answer is right, so it is shown once the gold is released
    or the results are confirmed.
    """
    gold, ranking = board.gold, board.ranking
    if gold is None or ranking is None or board.visibility != Visibility.SCORES:
        return None
    if board.rules != board.phase.task.task_type.default_rules:
        return None
    shares = {
        run: share
        for run, by_metric in gold.trivial.get("runs", {}).items()
        if (share := by_metric.get(ranking.metric)) is not None
    }
    if not shares:
        return None
    choose = min if ranking.higher_is_better is False else max
    best = choose(shares, key=lambda run: shares[run])
    if best == EMPTY:
        return None
    is_public = may_have_gold(board.phase, AnonymousUser(), gold) or _is_official(board)
    if not is_public and board.audience != Audience.ORGANISER:
        return None
    answer = gold.trivial["constant"] if best == "constant" else ""
    value = shares[best] * ranking.scale
    return TrivialLine(best, answer, value, not is_public, gold.trivial["runs"][best])


def _is_official(board: Board) -> bool:
    confirmation = confirmation_of(board)
    return confirmation is not None and confirmation.official_since is not None
