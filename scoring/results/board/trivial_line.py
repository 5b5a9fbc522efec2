"""The best trivial run as a line of a board. Useful systems exceed its score."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from django.contrib.auth.models import AnonymousUser

from scoring.results.board.confirming import confirmation_of
from scoring.results.board.formatting import shown
from scoring.results.board.open_gold import may_have_gold
from scoring.results.board.standings import Board, Column
from scoring.results.board.visibility import Audience, Visibility
from tasks.types.base import LABELS, TAGS
from tasks.types.trivial_runs import CONSTANT, EMPTY


class TrivialLine(NamedTuple):
    """A trivial run, such as the same answer for all instances. `answer` is the answer
    of a constant run. Only organisers see a line that `is_secret`.
    """

    run: str
    answer: str
    value: float
    is_secret: bool
    #: The values of the trivial run are shares of the metrics' scales.
    shares: Mapping[str, float | None] = MappingProxyType({})

    def texts(self, columns: Iterable[Column]) -> list[str]:
        """Return the trivial run's scores in these columns, formatted as on the board,
        and empty texts for missing scores.
        """
        shares = ((column, self.shares.get(column.metric)) for column in columns)
        return [
            "" if share is None else shown(share * column.scale, column.scale)
            for column, share in shares
        ]


def trivial_line(board: Board) -> TrivialLine | None:
    """Return the best trivial run by the ranking metric.

    The result is None if the reader may not see the trivial run, or if no trivial run
    beats the empty run. The score of a trivial run reveals the frequency of an answer.
    The run is therefore hidden until the gold is released or results are confirmed.
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
    has_gold = may_have_gold(board.phase, AnonymousUser(), gold)
    is_public, is_organiser = (
        has_gold or _is_official(board),
        board.audience == Audience.ORGANISER,
    )
    if not is_public and not is_organiser:
        return None
    # Labels are public, but frequent texts, numbers or positions would reveal gold.
    is_label = board.phase.task.task_type.drawn_as in (LABELS, TAGS)
    is_told = best == CONSTANT and (has_gold or is_organiser or is_label)
    answer = gold.trivial["constant"] if is_told else ""
    value = shares[best] * ranking.scale
    return TrivialLine(best, answer, value, not is_public, gold.trivial["runs"][best])


def _is_official(board: Board) -> bool:
    confirmation = confirmation_of(board)
    return confirmation is not None and confirmation.official_since is not None
