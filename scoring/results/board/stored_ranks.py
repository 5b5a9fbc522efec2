"""Read the ranks of boards that workers have stored in the database, or compute the
ranks.
"""

import datetime as dt
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from scoring.models import BoardOrder, BoardRanks
from scoring.results.board.comparisons import (
    RanksOfBoardRows,
    TopTwoComparison,
    compute_ranks_of_board_rows,
)
from scoring.results.board.seeds import SeedMeanRows
from tasks.models import Gold, Phase

#: Increase STORED_RANKS_VERSION if the fields or the computation of stored ranks change.
STORED_RANKS_VERSION = 2


@dataclass(frozen=True, kw_only=True)
class RankedRow:
    """A row of a board, with the values that determine its rank.

    ``scoring`` changes if the run is rescored, and a higher ``value`` is better. On a
    board with means over seeds, ``system`` is the digest of the runs in the row. For a
    mean over seeds, ``scoring`` has the same value as ``system``.
    """

    evaluation: int
    scoring: str
    value: float | None
    system: str = field(default="", repr=False)
    is_mean: bool = field(default=False, repr=False)


def build_seed_mean_rows(
    phase: Phase, metric: str, rows: Sequence[RankedRow]
) -> SeedMeanRows | None:
    """Return the digests of a board's rows and the indices of the rows that are means
    over seeds, or None if no row is a mean.
    """
    places = frozenset(place for place, row in enumerate(rows) if row.is_mean)
    if not places:
        return None
    systems = [row.system for row in rows]
    return SeedMeanRows(phase=phase.pk, metric=metric, systems=systems, places=places)


@dataclass(frozen=True, kw_only=True)
class RankedBoard:
    phase: Phase
    rules: str
    gold: Gold
    metric: str
    rows: Sequence[RankedRow]
    frozen_at: dt.datetime | None = None

    @property
    def seed_mean_rows(self) -> SeedMeanRows | None:
        return build_seed_mean_rows(self.phase, self.metric, self.rows)

    def inputs(self, revision: int, *, is_settled: bool) -> str:
        """Return a digest of all inputs on which the ranks of the board depend.

        The digests of a frozen board and of the current board differ, because the
        boards have different rows. If the rows of the board are compared again, the
        ``revision`` changes.
        """
        facts = STORED_RANKS_VERSION, is_settled, self.metric, revision, self.rows
        return hashlib.sha256(repr(facts).encode()).hexdigest()


def was_final_before_verdicts(
    order: BoardOrder | None, phase: Phase, frozen_at: dt.datetime | None
) -> bool:
    """Return True if the board became final in an older version of the site, which had
    no verdicts. The result is False after the board has opened or frozen again.
    """
    return (
        order is not None
        and order.settled_at is not None
        and order.settled_at in (frozen_at, phase.closes)
    )


def load_or_compute_ranks(
    board: RankedBoard, *, stores: bool = False
) -> RanksOfBoardRows:
    """Return the stored ranks of a board's rows, or compute the ranks if no valid ranks
    are stored.

    Only workers call the function with ``stores``, to store computed ranks. Pages never
    store ranks, because a page would wait for other database writers, and would fail on
    a read-only database.
    """
    # Read the revision first, because stored ranks must not be older than it.
    order = BoardOrder.objects.filter(phase=board.phase, rules=board.rules).first()
    is_settled = was_final_before_verdicts(order, board.phase, board.frozen_at)
    inputs = board.inputs(order.revision, is_settled=is_settled) if order else ""
    if order:
        stored = order.ranks.filter(gold=board.gold).first()
        if stored and _are_stored_ranks_current(stored, inputs, board.phase.version):
            return replace(_convert_stored_ranks(stored), keeps_sentences=is_settled)
    ranks = compute_ranks_of_board_rows(
        [row.evaluation for row in board.rows],
        [row.value for row in board.rows],
        board.metric,
        means=board.seed_mean_rows,
        is_settled=is_settled,
    )
    if order and stores:
        _save_ranks(order, board, inputs, ranks)
    return replace(ranks, keeps_sentences=is_settled)


def _are_stored_ranks_current(stored: BoardRanks, inputs: str, version: int) -> bool:
    return stored.inputs == inputs and (stored.is_complete or stored.version == version)


def _convert_stored_ranks(stored: BoardRanks) -> RanksOfBoardRows:
    first_two = TopTwoComparison(**stored.first_two) if stored.first_two else None
    return RanksOfBoardRows(
        ranges=stored.ranges, is_complete=stored.is_complete, first_two=first_two
    )


def _save_ranks(
    order: BoardOrder, board: RankedBoard, inputs: str, ranks: RanksOfBoardRows
) -> None:
    row = BoardRanks(
        order=order,
        gold=board.gold,
        inputs=inputs,
        version=board.phase.version,
        is_complete=ranks.is_complete,
        ranges=ranks.ranges,
        first_two=asdict(ranks.first_two) if ranks.first_two else None,
    )
    BoardRanks.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["order", "gold"],
        update_fields=["inputs", "version", "is_complete", "ranges", "first_two"],
    )
