"""A season's teams over all its tasks: mean rank and Borda points, from the boards that everybody sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from django.contrib.auth.models import AnonymousUser

from scoring.board.standings import WITH_ORGANISER, Board, Row, standings
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
    """The same for every viewer: what is hidden from some contributes nothing."""
    teams: dict[str, OverallRow] = {}
    boards = list(_boards(season, teams))
    rows = [_counted(row, boards) for row in teams.values()]
    rows.sort(key=lambda row: (-row.borda, row.mean_rank, row.team))
    for place, row in enumerate(rows):
        before = rows[place - 1] if place else None
        row.rank = before.rank if before is not None and before.borda == row.borda else place + 1
    return Overall(boards=boards, rows=rows)


def _boards(season: Season, teams: dict[str, OverallRow]) -> Iterable[OverallBoard]:
    """Of each task that of the last phase which everybody sees and on which teams are ranked; ``teams`` are
    those that were met.
    """
    for task in season.tasks.all():
        for phase in task.phases.select_related("task__season").order_by("-opens", "-pk"):
            if not contributes(phase):
                continue
            board = standings(phase, AnonymousUser(), audience=Audience.PUBLIC)
            places = _places(board, teams)
            if places:
                yield OverallBoard(phase=phase, teams=len(places), places=places)
                break


def contributes(phase: Phase) -> bool:
    """Whether everybody sees who has which rank."""
    is_shown = visibility_of(phase, Audience.PUBLIC) != Visibility.NOTHING
    return is_shown and shows_teams(phase, Audience.PUBLIC)


def _places(board: Board, teams: dict[str, OverallRow]) -> dict[str, Place]:
    found: dict[str, Row] = {}
    for row in board.rows:
        if row.rank is not None and row.team_slug and row.team:
            found.setdefault(row.team_slug, row)
            own = OverallRow(team=row.team, slug=row.team_slug, has_organiser=row.has_organiser)
            teams.setdefault(row.team_slug, own)
    ranks = [row.rank or 0 for row in found.values()]
    return {slug: _among(row, ranks) for slug, row in found.items()}


def _among(row: Row, ranks: Sequence[int]) -> Place:
    """``ranks`` are those of the best rows of all teams, its own among them."""
    rank, low, high = row.rank or 0, row.rank_low or 0, row.rank_high or 0
    own = 1 + sum(other < rank for other in ranks)
    return Place(
        rank=own,
        low=1 + sum(other < low for other in ranks),
        high=sum(other <= high for other in ranks) if high > rank else own,
    )


def _counted(row: OverallRow, boards: Sequence[OverallBoard]) -> OverallRow:
    row = replace(row, places={})
    for board in boards:
        place = board.places.get(row.slug)
        if place is not None:
            row.places[board.phase.pk] = place
            row.borda += board.teams - place.rank
            row.borda_low += board.teams - place.high
            row.borda_high += board.teams - place.low
    row.mean_rank = fmean(place.rank for place in row.places.values())
    return row
