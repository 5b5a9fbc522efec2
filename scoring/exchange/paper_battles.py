"""Write tables and texts about boards of battles (pairwise judgements) for the overview
paper.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun
from scoring.metrics.base import finite_or_none
from scoring.results.board import exports
from scoring.results.board.battles import BattleBoard, load_battle_board_for_audience
from scoring.results.board.formatting import (
    format_interval,
    format_rank_range,
    format_score,
)
from scoring.results.board.visibility import (
    Audience,
    BoardVisibility,
    determine_audience,
    determine_battle_board_visibility,
)
from scoring.stats.resampling import IntervalBounds
from tasks.gold.secrecy import load_phases_with_embargoes
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
class BattleBoardForPaper:
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
        visibility = determine_battle_board_visibility(self.phase, Audience.PUBLIC)
        is_shown = visibility == BoardVisibility.SCORES and not self.phase.is_frozen()
        return not (is_shown and self.phase.task.season.is_public)

    def as_json(self) -> str:
        return exports.format_as_json(self.board.facts) + "\n"

    def as_latex(self) -> str:
        phase, board = self.phase, self.board.board
        title = f"{phase.task.season}: {phase.task}, {phase}, battles"
        tabular = exports.format_latex_tabular(
            [title], "rllrlrl", BATTLE_COLUMN_HEADS, self._iterate_table_rows()
        )
        order = (
            "Strengths are those of Bradley and Terry, a tie as half a win for each."
            if board.by_strength
            else "No finite strengths exist; shares of wins order the systems."
        )
        caption = f"{title}. {self.battle_count_sentence} {order}"
        return exports.format_latex_table(
            tabular, caption, f"{phase.task.slug}-{phase.slug}-battles"
        )

    def _iterate_table_rows(self) -> Iterator[Sequence[str]]:
        for line in self.board.lines:
            own = line.standing
            yield [
                format_rank_range(own.first, own.last),
                own.system,
                line.team,
                *_format_value_and_interval(own.strength, own.strength_bounds),
                *_format_value_and_interval(own.share, own.share_bounds),
            ]

    @property
    def battle_count_sentence(self) -> str:
        board = self.board.board
        judges = len({own.judge for own in self.board.battles})
        battles, topics = (
            count_with_noun(board.battles, "battle"),
            count_with_noun(board.topics, "topic"),
        )
        return f"{battles.capitalize()} on {topics}, by {count_with_noun(judges, 'judge')}."

    @property
    def systems_that_may_be_first(self) -> list[str]:
        return [own.system for own in self.board.board.standings if own.first == 1]


def _format_value_and_interval(
    value: float, bounds: IntervalBounds | None
) -> tuple[str, str]:
    return format_score(finite_or_none(value)), format_interval(
        *(bounds or (None, None))
    )


def list_battle_boards_of_season(
    season: Season, viewer: object
) -> list[BattleBoardForPaper]:
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
        load_battle_board_for_audience(phase, determine_audience(phase, viewer))
        for phase in load_phases_with_embargoes(phases)
    )
    return [BattleBoardForPaper(board) for board in boards if board is not None]
