"""Write tables and texts about boards of battles (pairwise judgements) for the overview
paper.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun
from scoring.metrics.base import finite
from scoring.results.board import exports
from scoring.results.board.battles import BattleBoard, battle_board_for
from scoring.results.board.formatting import interval, rank_range_text, shown
from scoring.results.board.visibility import (
    Audience,
    Visibility,
    audience_of,
    visibility_of_battles,
)
from scoring.stats.resampling import Bounds
from tasks.gold.secrecy import with_embargoes
from tasks.models import Phase, Season

BATTLE_COLUMN_HEADS = (
    "Ranks",
    "System",
    "Team",
    "Strength",
    "95 %",
    "Share of wins",
    "95 %",
)


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
        tabular = exports.latex_tabular(
            [title], "rllrlrl", BATTLE_COLUMN_HEADS, self._table_lines()
        )
        order = (
            "Strengths are those of Bradley and Terry, a tie as half a win for each."
            if board.by_strength
            else "No finite strengths exist; shares of wins order the systems."
        )
        caption = f"{title}. {self.extent} {order}"
        return exports.latex_table(
            tabular, caption, f"{phase.task.slug}-{phase.slug}-battles"
        )

    def _table_lines(self) -> Iterator[Sequence[str]]:
        for line in self.board.lines:
            own = line.standing
            yield [
                rank_range_text(own.first, own.last),
                own.system,
                line.team,
                *_value_and_interval_cells(own.strength, own.strength_bounds),
                *_value_and_interval_cells(own.share, own.share_bounds),
            ]

    @property
    def extent(self) -> str:
        board = self.board.board
        judges = len({own.judge for own in self.board.battles})
        battles, topics = (
            count_with_noun(board.battles, "battle"),
            count_with_noun(board.topics, "topic"),
        )
        return f"{battles.capitalize()} on {topics}, by {count_with_noun(judges, 'judge')}."

    @property
    def may_be_first(self) -> list[str]:
        return [own.system for own in self.board.board.standings if own.first == 1]


def _value_and_interval_cells(value: float, bounds: Bounds | None) -> tuple[str, str]:
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
        battle_board_for(phase, audience_of(phase, viewer))
        for phase in with_embargoes(phases)
    )
    return [PaperBattles(board) for board in boards if board is not None]
