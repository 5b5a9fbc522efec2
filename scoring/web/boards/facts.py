"""A board before a reader chooses anything on it: computed once a process for all who see as much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from django.core.cache import caches
from django.utils.timezone import now
from django.utils.translation import get_language

from scoring.board.cache import SECONDS, digest_of
from scoring.board.confirming import Confirmation, confirmation_of
from scoring.board.counting import Turnout, turnout, unsettled
from scoring.board.human_columns import agreement_in_words, published_sheet
from scoring.board.label_shares import schemes_of
from scoring.board.names import metric_label
from scoring.board.outside import has_outside
from scoring.board.pairings import pairings_of
from scoring.board.rows import Writers
from scoring.board.snapshots import snapshots_of
from scoring.board.standings import HUMAN_COLUMNS, Board
from scoring.board.team_reported import has_team_figures
from scoring.metrics.entailment.judgements import RATINGS
from scoring.models import Snapshot
from scoring.web.boards.sections import COSTS, DIFFERENCES, DISCOURSE, OUTSIDE, PAIRINGS, PEOPLE, Section
from tasks.models import Gold, Phase

#: A board of more numbers is computed anew for each page, so that a process stays small.
MAX_NUMBERS = 20_000


@dataclass(frozen=True)
class BoardFacts:
    """Shared by readers and by threads, so nothing here may be changed, and nothing may follow from a reader.

    What only some boards show is looked up when `board.html` comes to it.
    """

    board: Board
    writers: Writers = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "writers", Writers(self.board))

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @cached_property
    def phases(self) -> list[Phase]:
        return list(self.phase.task.phases.all())

    @cached_property
    def turnout(self) -> Turnout:
        return turnout(self.phase)

    @cached_property
    def newest(self) -> Gold | None:
        """Of a frozen board nothing that came later is told."""
        if self.board.frozen_at is not None:
            return None
        return Gold.objects.current(self.phase)

    @cached_property
    def being_scored(self) -> int:
        """How many runs a newer version of the gold still has to be scored against."""
        if self.newest is None or self.board.gold is None or self.newest.pk == self.board.gold.pk:
            return 0
        return unsettled(self.phase, self.newest).count()

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """Of a phase that has not closed, was never frozen and has its first gold, there are none."""
        if (
            self.phase.frozen_from is None
            and now() < self.phase.closes
            and (self.board.gold is None or self.board.gold.number == 1)
        ):
            return []
        return snapshots_of(self.phase, self.board.audience)

    @cached_property
    def confirmation(self) -> Confirmation | None:
        return confirmation_of(self.board)

    @cached_property
    def human_agreement(self) -> str:
        """How far the annotators agree whose ratings are columns of the board; nothing where none are."""
        if not self._has_ratings:
            return ""
        sheet = published_sheet(self.phase, self.board.frozen_at)
        return agreement_in_words(sheet) if sheet else ""

    @cached_property
    def judged_columns(self) -> list[str]:
        """The names of those with people's ratings of whole responses."""
        names = {f"human_{kind}" for kind in RATINGS}
        return [metric_label(column.metric) for column in self.board.columns if column.metric in names]

    @property
    def _has_ratings(self) -> bool:
        return any(column.position >= HUMAN_COLUMNS for column in self.board.columns)

    @cached_property
    def sections(self) -> list[Section]:
        """Those below a board with scores."""
        has = {
            DIFFERENCES: True,
            PAIRINGS: bool(pairings_of(self.board)),
            COSTS: has_team_figures(self.phase),
            OUTSIDE: has_outside(self.phase),
            PEOPLE: self._has_ratings,
            DISCOURSE: bool(schemes_of([column.name for column in self.board.columns])),
        }
        return [section for section, is_there in has.items() if is_there]


def kept_facts(make: Callable[[], Board], *key: object) -> BoardFacts:
    """Of the board that was computed under the same ``key``, or of this one now.

    The key names all that the board follows from: the facts of its phase, what its reader is to it and may
    see of it, and what the reader chose of rules, gold and ranks. The language is added here, since a board
    has words.
    """
    name = digest_of(get_language(), *key)
    found: BoardFacts | None = caches["boards"].get(name)
    if found is None:
        board = make()
        found = BoardFacts(board)
        if len(board.rows) * len(board.columns) <= MAX_NUMBERS:
            caches["boards"].set(name, found, SECONDS)
    return found
