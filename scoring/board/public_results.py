"""Results of teams and systems over all tasks and seasons, from what everybody may read on the boards."""

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TypeVar

from django.contrib.auth.models import AnonymousUser
from django.core.cache import caches
from django.http import Http404
from django.utils.text import slugify
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from citeboard.core.release import release
from citeboard.teams.access import teams_of
from citeboard.teams.models import Team
from scoring.board.cache import SECONDS
from scoring.board.formatting import interval, metric_label, shown
from scoring.board.standings import WITH_ORGANISER, Board, Cell, Column, Row, standings
from scoring.board.visibility import Audience, Visibility, shows_teams, visibility_of
from scoring.models import Evaluation
from tasks.gold.secrecy import looked_up
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import listed_entries

MAX_SYSTEM_SLUG, DIGITS = 40, 8
Kept = TypeVar("Kept")


@dataclass(frozen=True, kw_only=True)
class Placing:
    """``place`` reads `rank 2–4 of 18`; metric and numbers are None where ranks alone are shown."""

    submission: int
    system: str
    kind: str
    place: str
    submitted_at: dt.datetime
    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    ranked: int = 0
    column: Column | None = None
    cell: Cell | None = None

    @property
    def metric_name(self) -> str | None:
        return self.column.metric if self.column else None

    @property
    def metric(self) -> str:
        return metric_label(self.column.metric) if self.column else ""

    @property
    def value(self) -> float | None:
        return self.cell.value if self.cell else None

    @property
    def low(self) -> float | None:
        return self.cell.low if self.cell else None

    @property
    def high(self) -> float | None:
        return self.cell.high if self.cell else None

    @property
    def number(self) -> str:
        if self.column is None or self.cell is None:
            return ""
        cell = self.cell
        return shown(self.value, self.column.scale, is_infinite=cell.is_infinite, withheld=cell.withheld)

    @property
    def interval(self) -> str:
        return interval(self.low, self.high, self.column.scale) if self.column else ""

    @property
    def system_slug(self) -> str:
        return system_slug(self.system)

    @property
    def is_contrastive(self) -> bool:
        return self.kind == Submission.Kind.CONTRASTIVE


@dataclass(frozen=True, kw_only=True)
class Result:
    phase: Phase
    placing: Placing

    @property
    def season(self) -> Season:
        return self.phase.task.season


@dataclass(frozen=True, kw_only=True)
class PublicTeam:
    team: Team
    seasons: list[Season]
    results: list[Result]

    def of_system(self, slug: str) -> list[Result]:
        return [result for result in self.results if result.placing.system_slug == slug]


def system_slug(name: str) -> str:
    digest = hashlib.sha256(name.casefold().encode()).hexdigest()[:DIGITS]
    readable = slugify(name)[:MAX_SYSTEM_SLUG].strip("-_")
    return f"{readable}-{digest}" if readable else digest


def public_team(viewer: object, slug: str) -> PublicTeam:
    """Raises Http404 for a team that nobody can read of, unless it is the viewer's own."""
    team = Team.objects.filter(slug=slug).first()
    if team is not None:
        entered = Season.objects.filter(is_public=True, registrations__team=team).order_by("-pk")
        scored = Evaluation.objects.filter(team=team).values("phase")
        phases = Phase.objects.filter(pk__in=scored, task__season__is_public=True)
        public = PublicTeam(
            team=team,
            seasons=[
                season
                for season in entered
                if listed_entries(None, season).approved().filter(team=team).exists()
            ],
            results=[
                Result(phase=phase, placing=placing)
                for phase in looked_up(phases.select_related("task__season").order_by("-opens", "-pk"))
                for placing in _placings(phase).get(team.slug, ())
            ],
        )
        if public.seasons or public.results or teams_of(viewer).filter(pk=team.pk).exists():
            return public
    raise Http404(_("No public board and no season's list names a team at this address."))


def public_system(slug: str, system: str) -> tuple[PublicTeam, list[Result], Submission]:
    team = public_team(None, slug)
    results = team.of_system(system)
    if not results:
        raise Http404(_("No public board has a system of this team at this address."))
    newest = max(results, key=lambda result: (result.placing.submitted_at, result.placing.submission))
    return team, results, Submission.objects.get(pk=newest.placing.submission)


def names_publicly(phase: Phase) -> bool:
    is_shown = visibility_of(phase, Audience.PUBLIC) != Visibility.NOTHING
    return phase.task.season.is_public and is_shown and shows_teams(phase, Audience.PUBLIC)


def _placings(phase: Phase) -> Mapping[str, Sequence[Placing]]:
    if not names_publicly(phase):
        return {}

    def placings() -> dict[str, list[Placing]]:
        board = standings(phase, None, audience=Audience.PUBLIC)
        ranking, ranked = board.ranking, sum(row.rank is not None for row in board.rows)
        by_team: dict[str, list[Placing]] = {}
        for row in board.rows:
            if row.team_slug:
                placing = Placing(
                    submission=row.submission,
                    system=row.system,
                    kind=row.kind,
                    place=board.place_of(row),
                    submitted_at=row.submitted_at,
                    rank=row.rank,
                    rank_low=row.rank_low,
                    rank_high=row.rank_high,
                    ranked=ranked,
                    column=ranking,
                    cell=row.scores.get(ranking.name) if ranking else None,
                )
                by_team.setdefault(row.team_slug, []).append(placing)
        return by_team

    return _kept_for_public(phase, "placings", placings, get_language())


def _kept_for_public(phase: Phase, what: str, make: Callable[[], Kept], *facts: object) -> Kept:
    visibility = visibility_of(phase, Audience.PUBLIC)
    parts = [what, release(), phase.pk, phase.version, visibility, phase.is_frozen(), *facts]
    key = ":".join(map(str, parts))
    result: Kept | None = caches["results"].get(key)
    if result is None:
        result = make()
        caches["results"].set(key, result, SECONDS)
    return result


@dataclass(frozen=True, kw_only=True)
class FirstPlace:
    """Numbers are None where ranks alone are shown; ``tied`` others may be first too, None if unknown."""

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
    names = "names" if shows_teams(phase, Audience.PUBLIC) else "numbers" if phase.shows_teams else "nothing"
    return _kept_for_public(
        phase, "first-places", lambda: first_places(standings(phase, None, audience=Audience.PUBLIC)), names
    )


def shows_baselines_alone(phase: Phase) -> bool:
    def baselines_alone() -> bool:
        rows = standings(phase, None, audience=Audience.PUBLIC).rows
        return bool(rows) and all(row.is_baseline for row in rows)

    return _kept_for_public(phase, "baselines-alone", baselines_alone)


def first_places(board: Board) -> tuple[FirstPlace, ...]:
    ranking = board.ranking
    places = []
    tied = max(0, len(board.may_be_first) - 1) if board.is_compared else None
    for row in board.best:
        cell = row.scores.get(ranking.name) if ranking else None
        places.append(
            FirstPlace(
                submission=row.submission,
                system=row.system,
                team=row.team,
                team_slug=row.team_slug,
                metric=ranking.metric if ranking else None,
                scale=ranking.scale if ranking else 1,
                value=cell.value if cell else None,
                low=cell.low if cell else None,
                high=cell.high if cell else None,
                tied=tied,
            )
        )
    return tuple(places)


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
        for phase in looked_up(task.phases.select_related("task__season").order_by("-opens", "-pk")):
            if contributes(phase):
                # A team may have several rows; its best one counts.
                best: dict[str, Row] = {}
                for board_row in standings(phase, AnonymousUser(), audience=Audience.PUBLIC).rows:
                    if board_row.rank is not None and board_row.team_slug and board_row.team:
                        best.setdefault(board_row.team_slug, board_row)
                        team = OverallRow(
                            team=board_row.team,
                            slug=board_row.team_slug,
                            has_organiser=board_row.has_organiser,
                        )
                        teams.setdefault(board_row.team_slug, team)
                if best:
                    boards.append(OverallBoard(phase=phase, teams=len(best), places=_places(best)))
                    break
    for slug, row in teams.items():
        # A point for each place above the last; the ends add up the best and the worst open ranks.
        for contributing in boards:
            if place := contributing.places.get(slug):
                row.places[contributing.phase.pk] = place
                row.borda += contributing.teams - place.rank
                row.borda_low += contributing.teams - place.high
                row.borda_high += contributing.teams - place.low
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
