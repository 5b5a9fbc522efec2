"""Show the best trivial run (such as a constant answer) as a line of a board, which
useful systems should exceed.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from django.contrib.auth.models import AnonymousUser

from scoring.results.board.confirming import compute_confirmation_of_board
from scoring.results.board.formatting import format_score
from scoring.results.board.open_gold import may_download_gold
from scoring.results.board.standings import Board, BoardScoreColumn
from scoring.results.board.visibility import Audience, BoardVisibility
from tasks.types.base import LABELS_VIEW, TAGS_VIEW
from tasks.types.trivial_runs import CONSTANT_RUN, EMPTY_RUN


class TrivialRunOnBoard(NamedTuple):
    """A trivial run, such as a run with the same answer for all instances, as a line of
    a board. `answer` is the answer that a constant run gives to all instances. If
    `is_secret` is True, only organisers see the line.
    """

    run: str
    answer: str
    value: float
    is_secret: bool
    #: ``shares`` has the scores of the trivial run as shares of the metrics' scales.
    shares: Mapping[str, float | None] = MappingProxyType({})

    def texts(self, columns: Iterable[BoardScoreColumn]) -> list[str]:
        """Return the scores of the trivial run in these columns as texts in the format
        of the board, which are empty for missing scores.
        """
        shares = ((column, self.shares.get(column.metric)) for column in columns)
        return [
            "" if share is None else format_score(share * column.scale, column.scale)
            for column, share in shares
        ]


def find_best_trivial_run(board: Board) -> TrivialRunOnBoard | None:
    """Return the trivial run with the best score by the ranking metric.

    The result is None if the reader may not see the trivial run, or if no trivial run
    is better than the empty run. The score of a trivial run reveals how frequent its
    answer is in the gold. The trivial run is therefore hidden until the gold is
    released or the results are confirmed.
    """
    gold, ranking = board.gold, board.ranking
    if gold is None or ranking is None or board.visibility != BoardVisibility.SCORES:
        return None
    if board.rules != board.phase.task.task_type.default_rule_set:
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
    if best == EMPTY_RUN:
        return None
    has_gold = may_download_gold(board.phase, AnonymousUser(), gold)
    is_public, is_organiser = (
        has_gold or _has_official_results(board),
        board.audience == Audience.ORGANISER,
    )
    if not is_public and not is_organiser:
        return None
    # Labels are public, but a frequent text, number or position would reveal gold.
    is_label = board.phase.task.task_type.drawn_as in (LABELS_VIEW, TAGS_VIEW)
    is_told = best == CONSTANT_RUN and (has_gold or is_organiser or is_label)
    answer = gold.trivial["constant"] if is_told else ""
    value = shares[best] * ranking.scale
    return TrivialRunOnBoard(
        best, answer, value, not is_public, gold.trivial["runs"][best]
    )


def _has_official_results(board: Board) -> bool:
    confirmation = compute_confirmation_of_board(board)
    return confirmation is not None and confirmation.official_since is not None
