"""The ranks of boards in the database, where workers store them."""

import datetime as dt
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from scoring.models import BoardOrder, BoardRanks
from scoring.results.board.comparisons import FirstTwo, Ranks, compute_ranks
from scoring.results.board.seeds import MeanRows
from tasks.models import Gold, Phase

#: Raised when stored ranks have other fields or follow from other arithmetic.
VERSION = 2


@dataclass(frozen=True, kw_only=True)
class RankedRow:
    """``scoring`` is another once the run was scored again; a higher ``value`` is better.

    ``system`` is the digest of its runs on a board with means over seeds. The ``scoring`` of a mean is this
    digest, so that the digest of a board without means has no part of it.
    """

    evaluation: int
    scoring: str
    value: float | None
    system: str = field(default="", repr=False)
    is_mean: bool = field(default=False, repr=False)


def means_of(phase: Phase, metric: str, rows: Sequence[RankedRow]) -> MeanRows | None:
    """Return which rows are means over seeds; None if none is."""
    places = frozenset(place for place, row in enumerate(rows) if row.is_mean)
    if not places:
        return None
    systems = [row.system for row in rows]
    return MeanRows(phase=phase.pk, metric=metric, systems=systems, places=places)


@dataclass(frozen=True, kw_only=True)
class RankedBoard:
    phase: Phase
    rules: str
    gold: Gold
    metric: str
    rows: Sequence[RankedRow]
    frozen_at: dt.datetime | None = None

    @property
    def means(self) -> MeanRows | None:
        return means_of(self.phase, self.metric, self.rows)

    def inputs(self, revision: int, *, is_settled: bool) -> str:
        """Return a digest of what complete ranks follow from.

        A frozen board has other rows, so the digest differs from that of the current board. A comparison
        that is made again changes the ``revision``.
        """
        facts = VERSION, is_settled, self.metric, revision, self.rows
        return hashlib.sha256(repr(facts).encode()).hexdigest()


def keeps_sentences(
    order: BoardOrder | None, phase: Phase, frozen_at: dt.datetime | None
) -> bool:
    """Return True for a board that was settled before boards had verdicts, until it opens or freezes anew."""
    return (
        order is not None
        and order.settled_at is not None
        and order.settled_at in (frozen_at, phase.closes)
    )


def ranks_of(board: RankedBoard, *, stores: bool = False) -> Ranks:
    """Return the stored ranks, or compute them; the worker also ``stores`` what it computes.

    Pages do not write: a page would wait for other writers, and fail where the database is read-only.
    """
    # The revision is read before the comparisons: what is stored under it is never older.
    order = BoardOrder.objects.filter(phase=board.phase, rules=board.rules).first()
    is_settled = keeps_sentences(order, board.phase, board.frozen_at)
    inputs = board.inputs(order.revision, is_settled=is_settled) if order else ""
    if order:
        stored = order.ranks.filter(gold=board.gold).first()
        if stored and _is_current(stored, inputs, board.phase.version):
            return replace(_ranks(stored), keeps_sentences=is_settled)
    ranks = compute_ranks(
        [row.evaluation for row in board.rows],
        [row.value for row in board.rows],
        board.metric,
        means=board.means,
        is_settled=is_settled,
    )
    if order and stores:
        _store(order, board, inputs, ranks)
    return replace(ranks, keeps_sentences=is_settled)


def _is_current(stored: BoardRanks, inputs: str, version: int) -> bool:
    return stored.inputs == inputs and (stored.is_complete or stored.version == version)


def _ranks(stored: BoardRanks) -> Ranks:
    first_two = FirstTwo(**stored.first_two) if stored.first_two else None
    return Ranks(
        ranges=stored.ranges, is_complete=stored.is_complete, first_two=first_two
    )


def _store(order: BoardOrder, board: RankedBoard, inputs: str, ranks: Ranks) -> None:
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
