"""A season's teams over all its tasks: mean rank and Borda points, from the boards that everybody sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean

from django.contrib.auth.models import AnonymousUser

from scoring.board.standings import WITH_ORGANISER, Row, standings
from scoring.board.visibility import Audience, Visibility, shows_teams, visibility_of
from tasks.models import Phase, Season


@dataclass(frozen=True, kw_only=True)
class Place:
    rank: int
    low: int
    high: int


@dataclass(frozen=True, kw_only=True)
class OverallBoard:
    phase: Phase
    teams: int
    places: Mapping[str, Place]


@dataclass(kw_only=True)
class OverallRow:
    """A team. ``places`` goes by phase, without the boards that it is not on."""

    team: str
    slug: str
    has_organiser: bool = False
    places: dict[int, Place] = field(default_factory=dict)
    mean_rank: float = 0.0
    borda: int = 0
    borda_low: int = 0
    borda_high: int = 0
    rank: int = 0

    @property
    def marked_name(self) -> str:
        return f"{self.team}, {WITH_ORGANISER}" if self.has_organiser else self.team


@dataclass(frozen=True, kw_only=True)
class Overall:
    boards: list[OverallBoard]
    rows: list[OverallRow]


def overall(season: Season) -> Overall:
    """Of each task the last phase counts on which everybody sees who has which rank."""
    teams: dict[str, OverallRow] = {}
    boards = []
    for task in season.tasks.all():
        for phase in task.phases.select_related("task__season").order_by("-opens", "-pk"):
            if contributes(phase):
                # A team may have several rows; its best one counts.
                best: dict[str, Row] = {}
                for row in standings(phase, AnonymousUser(), audience=Audience.PUBLIC).rows:
                    if row.rank is not None and row.team_slug and row.team:
                        best.setdefault(row.team_slug, row)
                        team = OverallRow(team=row.team, slug=row.team_slug, has_organiser=row.has_organiser)
                        teams.setdefault(row.team_slug, team)
                if best:
                    boards.append(OverallBoard(phase=phase, teams=len(best), places=_places(best)))
                    break
    for slug, overall_row in teams.items():
        # A point for each place above the last; the ends add up the best and the worst open ranks.
        for contributing in boards:
            if place := contributing.places.get(slug):
                overall_row.places[contributing.phase.pk] = place
                overall_row.borda += contributing.teams - place.rank
                overall_row.borda_low += contributing.teams - place.high
                overall_row.borda_high += contributing.teams - place.low
    rows = [row for row in teams.values() if row.places]
    for row in rows:
        row.mean_rank = fmean(place.rank for place in row.places.values())
    rows.sort(key=lambda row: (-row.borda, row.mean_rank, row.team))
    for number, row in enumerate(rows):
        before = rows[number - 1] if number else None
        row.rank = before.rank if before is not None and before.borda == row.borda else number + 1
    return Overall(boards=boards, rows=rows)


def contributes(phase: Phase) -> bool:
    is_shown = visibility_of(phase, Audience.PUBLIC) != Visibility.NOTHING
    return is_shown and shows_teams(phase, Audience.PUBLIC)


def _places(best: Mapping[str, Row]) -> dict[str, Place]:
    ranks = [row.rank or 0 for row in best.values()]
    places = {}
    for slug, row in best.items():
        rank, low, high = row.rank or 0, row.rank_low or 0, row.rank_high or 0
        among_teams = 1 + sum(other < rank for other in ranks)
        places[slug] = Place(
            rank=among_teams,
            low=1 + sum(other < low for other in ranks),
            high=sum(other <= high for other in ranks) if high > rank else among_teams,
        )
    return places
