"""Write tables and texts about boards of battles (pairwise judgements) for the overview
paper.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from citeboard.core.words import counted
from scoring.metrics.base import finite
from scoring.results.board import exports
from scoring.results.board.battles import BattleBoard, battles_for
from scoring.results.board.formatting import interval, ranks, shown
from scoring.results.board.visibility import (
    Audience,
    Visibility,
    audience_of,
    visibility_of_battles,
)
from scoring.stats.resampling import Bounds
from tasks.gold.secrecy import looked_up
from tasks.models import Phase, Season

HEADS = ("Ranks", "System", "Team", "Strength", "95 %", "Share of wins", "95 %")


@dataclass(frozen=True)
class PaperBattles:
    """The board of battles (pairwise judgements) of a phase, with the content that the
    viewer may see.
    """

    board: BattleBoard

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @property
    def name(self) -> str:
        return f"{self.phase.task.slug}-{self.phase.slug}"

    @property
    def title(self) -> str:
        words = _("%(task)s, %(phase)s, battles")
        return words % {"task": self.phase.task, "phase": self.phase}

    @property
    def is_hidden(self) -> bool:
        """Return True if only organisers may see the board of battles."""
        visibility = visibility_of_battles(self.phase, Audience.PUBLIC)
        is_shown = visibility == Visibility.SCORES and not self.phase.is_frozen()
        return not (is_shown and self.phase.task.season.is_public)

    def as_json(self) -> str:
        return exports.json_text(self.board.facts) + "\n"

    def as_latex(self) -> str:
        phase, board = self.phase, self.board.board
        title = f"{phase.task.season}: {phase.task}, {phase}, battles"
        tabular = exports.as_tabular([title], "rllrlrl", HEADS, self._lines())
        order = (
            "Strengths are those of Bradley and Terry, a tie as half a win for each."
            if board.by_strength
            else "No finite strengths exist; shares of wins order the systems."
        )
        caption = f"{title}. {self.extent} {order}"
        return exports.as_table(
            tabular, caption, f"{phase.task.slug}-{phase.slug}-battles"
        )

    def _lines(self) -> Iterator[Sequence[str]]:
        for line in self.board.lines:
            own = line.standing
            yield [
                ranks(own.first, own.last),
                own.system,
                line.team,
                *_cells(own.strength, own.strength_bounds),
                *_cells(own.share, own.share_bounds),
            ]

    @property
    def extent(self) -> str:
        board = self.board.board
        judges = len({own.judge for own in self.board.battles})
        battles, topics = (
            counted(board.battles, "battle"),
            counted(board.topics, "topic"),
        )
        return f"{battles.capitalize()} on {topics}, by {counted(judges, 'judge')}."

    @property
    def may_be_first(self) -> list[str]:
        return [own.system for own in self.board.board.standings if own.first == 1]


def _cells(value: float, bounds: Bounds | None) -> tuple[str, str]:
    return shown(finite(value)), interval(*(bounds or (None, None)))


def battles_of_season(season: Season, viewer: object) -> list[PaperBattles]:
    """Return the published boards of battles (pairwise judgements) in a season that the
    viewer may see, in the order of tasks and phases.
    """
    phases = (
        Phase.objects.filter(
            task__season=season,
            sheets__kind="pairs",
            sheets__published_at__isnull=False,
        )
        .distinct()
        .select_related("task__season")
        .order_by("task__position", "task_id", "position", "opens")
    )
    boards = (
        battles_for(phase, audience_of(phase, viewer)) for phase in looked_up(phases)
    )
    return [PaperBattles(board) for board in boards if board is not None]
