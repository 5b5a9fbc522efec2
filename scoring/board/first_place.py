"""Who is first on a phase's board, as home, season pages and the API name it."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.cache import caches

from citeboard.core.release import release
from scoring.board.cache import SECONDS
from scoring.board.standings import Board, Row, standings
from scoring.board.visibility import Audience, visibility_of
from tasks.models import Phase


@dataclass(frozen=True, kw_only=True)
class FirstPlace:
    """A row of rank 1; metric and numbers are None where ranks alone are shown.

    ``tied`` is how many others do not differ significantly, None where that is not known.
    """

    submission: int
    system: str
    team: str | None
    team_slug: str | None
    metric: str | None = None
    scale: float = 1
    value: float | None = None
    low: float | None = None
    high: float | None = None
    tied: int | None = None


def public_first_places(phase: Phase) -> tuple[FirstPlace, ...]:
    """Of the board as everybody may see it; kept until the board changes."""
    visibility = visibility_of(phase, Audience.PUBLIC)
    facts = f"{visibility}:{_names(phase)}:{phase.is_frozen()}"
    key = f"first-places:{release()}:{phase.pk}:{phase.version}:{facts}"
    found: tuple[FirstPlace, ...] | None = caches["results"].get(key)
    if found is None:
        found = first_places(standings(phase, None, audience=Audience.PUBLIC))
        caches["results"].set(key, found, SECONDS)
    return found


def shows_baselines_alone(phase: Phase) -> bool:
    """Whether everybody sees baselines on the board and no run of a team; kept until it changes."""
    visibility = visibility_of(phase, Audience.PUBLIC)
    key = f"baselines-alone:{release()}:{phase.pk}:{phase.version}:{visibility}:{phase.is_frozen()}"
    found: bool | None = caches["results"].get(key)
    if found is None:
        rows = standings(phase, None, audience=Audience.PUBLIC).rows
        found = bool(rows) and all(row.is_baseline for row in rows)
        caches["results"].set(key, found, SECONDS)
    return found


def _names(phase: Phase) -> str:
    """What stands for the names of teams."""
    if not phase.shows_teams:
        return "nothing"
    return "numbers" if phase.task.season.is_anonymous() else "names"


def first_places(board: Board) -> tuple[FirstPlace, ...]:
    """Several where their values are equal; the one that was there first comes first."""
    return tuple(_first_place(board, row) for row in board.first)


def _first_place(board: Board, row: Row) -> FirstPlace:
    ranking = board.ranking
    cell = row.scores.get(ranking.name) if ranking else None
    return FirstPlace(
        submission=row.submission,
        system=row.system,
        team=row.team,
        team_slug=row.team_slug,
        metric=ranking.metric if ranking else None,
        scale=ranking.scale if ranking else 1,
        value=cell.value if cell else None,
        low=cell.low if cell else None,
        high=cell.high if cell else None,
        tied=board.tied_with_first,
    )
