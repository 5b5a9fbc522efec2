"""What teams report of their runs, beside the scores of a board: never ranked, never among our columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citeboard.core.words import in_decimals
from scoring.board.standings import Board, Row
from tasks.models import Phase, Submission, TeamFigure
from tasks.submissions.team_figures import EVERY, TeamMeasure


@dataclass(frozen=True, kw_only=True)
class TeamReported:
    """The rows of a board that have such numbers, in its order, and the measures that occur."""

    measures: list[TeamMeasure]
    rows: list[Row]
    #: By submission and the measure's name.
    figures: Mapping[int, Mapping[str, float]]

    @property
    def costs(self) -> list[TeamMeasure]:
        return [measure for measure in self.measures if measure.is_cost]

    def value(self, row: Row, measure: TeamMeasure) -> float | None:
        return self.figures[row.submission].get(measure.name)


def has_team_figures(phase: Phase) -> bool:
    return TeamFigure.objects.filter(phase=phase).exists()


def figures_of(rows: Sequence[Row]) -> dict[int, dict[str, float]]:
    """By submission and name, in one query."""
    found: dict[int, dict[str, float]] = defaultdict(dict)
    figures = TeamFigure.objects.filter(submission__in=[row.submission for row in rows])
    for submission, name, value in figures.values_list("submission_id", "name", "value"):
        found[submission][name] = value
    return dict(found)


def team_reported(board: Board) -> TeamReported:
    figures = figures_of(board.rows)
    rows = [row for row in board.rows if row.submission in figures]
    occurring = {name for own in figures.values() for name in own}
    return TeamReported(
        measures=[measure for measure in EVERY.values() if measure.name in occurring],
        rows=rows,
        figures=figures,
    )


def reported_of(submission: Submission) -> list[tuple[str, str]]:
    """What its team says of one run: each measure with its number in words."""
    own = {figure.name: figure.value for figure in submission.team_figures.all()}
    return [
        (measure.label, f"{written(own[measure.name])} {measure.unit}".strip())
        for measure in EVERY.values()
        if measure.name in own
    ]


def written(value: float | None) -> str:
    """As the team gave it: whole numbers with their thousands apart, others to six digits."""
    if value is None:
        return ""
    return in_decimals(f"{value:,.0f}" if value == int(value) else f"{value:,.6g}")
