"""Collect the results of teams and systems over all tasks and seasons from the public
boards.
"""

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TypeVar

import numpy as np
from django.core.cache import caches
from django.http import Http404
from django.utils.text import slugify
from django.utils.timezone import now
from django.utils.translation import get_language, gettext as _
from numpy.typing import NDArray

from citeboard.core.release import compute_release_digest
from citeboard.teams import access, models
from scoring.models import Evaluation
from scoring.results.board.cache import PAGE_CACHE_SECONDS, hash_cache_key_values
from scoring.results.board.comparisons import build_significantly_better_matrix
from scoring.results.board.formatting import (
    display_name_of_metric,
    format_interval,
    format_rank_range,
    format_score,
    list_declared_names_by_language,
)
from scoring.results.board.standings import (
    WITH_ORGANISER_LABEL,
    Board,
    BoardRow,
    BoardScoreColumn,
    ScoreCell,
    load_cached_board,
)
from scoring.results.board.stored_ranks import build_seed_mean_rows
from scoring.results.board.verdict import BoardVerdict
from scoring.results.board.visibility import (
    Audience,
    BoardVisibility,
    determine_board_visibility,
    shows_teams,
)
from tasks.gold.secrecy import load_phases_with_embargoes
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import list_visible_entries

MAX_SYSTEM_SLUG_CHARACTERS, SYSTEM_DIGEST_DIGITS = 40, 8
#: The summary of a board has MAX_SUMMARY_ROWS rows.
MAX_SUMMARY_ROWS = 4
CachedResult = TypeVar("CachedResult")


@dataclass(frozen=True, kw_only=True)
class PublicRankOfRun:
    """The position of a run on a board, with the score if the board shows scores.

    ``place`` is a text such as `rank 2–4 of 18`, and ``ranks`` is a text such as `2–4`.
    The column and the cell with the score are None if the board shows only ranks.
    ``tied`` is the number of other systems that could also be first, or None if
    unknown.
    """

    submission: int
    system: str
    kind: str
    submitted_at: dt.datetime
    team: str | None
    team_slug: str | None
    is_baseline: bool
    place: str
    ranks: str
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    ranked: int
    tied: int | None
    column: BoardScoreColumn | None
    cell: ScoreCell | None
    #: ``task_labels`` has the metric's displayed names by language ("" for default).
    task_labels: Mapping[str, str]
    #: ``seed_words`` states that a score is a mean over seeds or the best of several.
    seed_words: str = ""

    @property
    def metric(self) -> str:
        if self.column is None:
            return ""
        language = (get_language() or "").partition("-")[0]
        labels = self.task_labels
        own = labels.get(language) or labels.get("")
        return own or display_name_of_metric(self.column.metric)

    @property
    def number(self) -> str:
        if self.column is None or self.cell is None:
            return ""
        cell = self.cell
        return format_score(
            cell.value,
            self.column.scale,
            is_infinite=cell.is_infinite,
            withheld=cell.withheld,
        )

    @property
    def interval(self) -> str:
        cell = self.cell
        return (
            format_interval(cell.low, cell.high, self.column.scale)
            if cell and self.column
            else ""
        )

    @property
    def system_slug(self) -> str:
        return build_system_slug(self.system)

    @property
    def is_contrastive(self) -> bool:
        return self.kind == Submission.Kind.CONTRASTIVE


@dataclass(frozen=True, kw_only=True)
class PublicResultInPhase:
    phase: Phase
    placing: PublicRankOfRun

    @property
    def season(self) -> Season:
        return self.phase.task.season


@dataclass(frozen=True, kw_only=True)
class PublicTeam:
    team: models.Team
    seasons: list[Season]
    results: list[PublicResultInPhase]


def build_system_slug(name: str) -> str:
    digest = hashlib.sha256(name.casefold().encode()).hexdigest()[:SYSTEM_DIGEST_DIGITS]
    readable = slugify(name)[:MAX_SYSTEM_SLUG_CHARACTERS].strip("-_")
    return f"{readable}-{digest}" if readable else digest


def load_public_results_of_team(viewer: object, slug: str) -> PublicTeam:
    """Return the public results of a team. Raises Http404 if the team has no public
    results, unless the viewer is a member of the team.
    """
    if (team := models.Team.objects.filter(slug=slug).first()) is not None:
        entered = Season.objects.filter(
            is_public=True, registrations__team=team
        ).order_by("-pk")
        scored = Evaluation.objects.filter(team=team).values("phase")
        phases = Phase.objects.filter(pk__in=scored, task__season__is_public=True)
        listed = [
            own
            for own in entered
            if list_visible_entries(None, own).approved().filter(team=team).exists()
        ]
        results = [
            PublicResultInPhase(phase=phase, placing=placing)
            for phase in load_phases_with_embargoes(
                phases.select_related("task__season").order_by("-opens", "-pk")
            )
            for placing in _load_public_ranks_by_team(phase).get(team.slug, ())
        ]
        if (
            listed
            or results
            or access.find_teams_of_user(viewer).filter(pk=team.pk).exists()
        ):
            return PublicTeam(team=team, seasons=listed, results=results)
    raise Http404(
        _("No public board and no season's list names a team at this address.")
    )


def load_public_results_of_system(
    slug: str, system: str
) -> tuple[PublicTeam, list[PublicResultInPhase], Submission]:
    team = load_public_results_of_team(None, slug)
    results = [
        result for result in team.results if result.placing.system_slug == system
    ]
    if not results:
        raise Http404(_("No public board has a system of this team at this address."))
    newest = max(
        results,
        key=lambda result: (result.placing.submitted_at, result.placing.submission),
    )
    return team, results, Submission.objects.get(pk=newest.placing.submission)


def shows_named_public_teams(phase: Phase) -> bool:
    return phase.task.season.is_public and shows_teams_publicly(phase)


def _load_public_ranks_by_team(phase: Phase) -> Mapping[str, Sequence[PublicRankOfRun]]:
    if not shows_named_public_teams(phase):
        return {}

    def compute_public_ranks() -> dict[str, list[PublicRankOfRun]]:
        board = load_cached_board(phase, None, audience=Audience.PUBLIC)
        by_team: dict[str, list[PublicRankOfRun]] = {}
        for placing in _build_public_ranks_of_rows(
            board, [row for row in board.rows if row.team_slug]
        ):
            by_team.setdefault(placing.team_slug or "", []).append(placing)
        return by_team

    return _get_or_cache_public_result(
        phase, "placings", compute_public_ranks, get_language()
    )


def _get_or_cache_public_result(
    phase: Phase, what: str, make: Callable[[], CachedResult], *facts: object
) -> CachedResult:
    visibility = determine_board_visibility(phase, Audience.PUBLIC)
    parts = [
        what,
        compute_release_digest(),
        phase.pk,
        phase.version,
        visibility,
        phase.is_frozen(),
        *facts,
    ]
    key = ":".join(map(str, parts))
    result: CachedResult | None = caches["results"].get(key)
    if result is None:
        result = make()
        caches["results"].set(key, result, PAGE_CACHE_SECONDS)
    return result


def load_public_first_ranks(phase: Phase) -> tuple[PublicRankOfRun, ...]:
    return _get_or_cache_public_ranks(phase, "first-places", build_first_ranks)


def load_public_verdict(phase: Phase) -> BoardVerdict | None:
    """Return the verdict on the leader of a phase's public board."""

    def compute_verdict() -> tuple[BoardVerdict | None]:
        return (load_cached_board(phase, None, audience=Audience.PUBLIC).verdict,)

    facts = hash_cache_key_values(phase.board_cache_key_values(now()))
    return _get_or_cache_public_result(
        phase,
        "verdict",
        compute_verdict,
        _determine_team_name_display(phase),
        get_language(),
        facts,
    )[0]


def load_top_public_ranks(phase: Phase) -> tuple[PublicRankOfRun, ...]:
    """Return the first MAX_SUMMARY_ROWS rows of the public board without human annotators, and the
    best baseline if it ranks below these rows.
    """

    def build_top_ranks(board: Board) -> tuple[PublicRankOfRun, ...]:
        rows = board.systems
        baseline = next(
            (row for row in rows[MAX_SUMMARY_ROWS:] if row.is_baseline), None
        )
        return _build_public_ranks_of_rows(
            board,
            [
                *rows[: MAX_SUMMARY_ROWS - 1 if baseline else MAX_SUMMARY_ROWS],
                *([baseline] if baseline else []),
            ],
        )

    return _get_or_cache_public_ranks(phase, "top", build_top_ranks)


def build_public_ranks_of_runs(
    phase: Phase, runs: Sequence[int]
) -> tuple[PublicRankOfRun, ...]:
    """Return the positions of these runs on the public board of the phase."""
    board = load_cached_board(phase, None, audience=Audience.PUBLIC)
    named = [
        row
        for row in board.systems
        if any(run.submission in runs for run in row.runs or [row])
    ]
    return _build_public_ranks_of_rows(board, named)


def _get_or_cache_public_ranks(
    phase: Phase, what: str, of: Callable[[Board], tuple[PublicRankOfRun, ...]]
) -> tuple[PublicRankOfRun, ...]:
    return _get_or_cache_public_result(
        phase,
        what,
        lambda: of(load_cached_board(phase, None, audience=Audience.PUBLIC)),
        _determine_team_name_display(phase),
        get_language(),
    )


def _determine_team_name_display(phase: Phase) -> str:
    if shows_teams(phase, Audience.PUBLIC):
        return "names"
    return "numbers" if phase.shows_teams else "nothing"


def shows_only_baselines_publicly(phase: Phase) -> bool:
    def has_only_baseline_rows() -> bool:
        rows = load_cached_board(phase, None, audience=Audience.PUBLIC).rows
        return bool(rows) and all(row.is_baseline for row in rows)

    return _get_or_cache_public_result(phase, "baselines-alone", has_only_baseline_rows)


def build_first_ranks(board: Board) -> tuple[PublicRankOfRun, ...]:
    return _build_public_ranks_of_rows(board, board.best)


def _build_public_ranks_of_rows(
    board: Board, rows: Sequence[BoardRow]
) -> tuple[PublicRankOfRun, ...]:
    ranking, ranked = board.ranking, sum(row.rank is not None for row in board.rows)
    tied = max(0, len(board.rows_that_may_be_first) - 1) if board.is_compared else None
    kind = board.phase.task.task_type
    labels = list_declared_names_by_language(ranking.metric, kind) if ranking else {}
    return tuple(
        PublicRankOfRun(
            submission=row.submission,
            system=row.system,
            kind=row.kind,
            submitted_at=row.submitted_at,
            team=row.display_name if row.is_baseline else row.team,
            team_slug=row.team_slug,
            is_baseline=row.is_baseline,
            place=board.place_of(row),
            ranks=board.format_rank_of_row(row),
            rank=row.rank,
            rank_low=row.rank_low,
            rank_high=row.rank_high,
            ranked=ranked,
            tied=tied,
            column=ranking,
            cell=row.scores.get(ranking.name) if ranking else None,
            task_labels=labels,
            seed_words=", ".join(row.seed_words),
        )
        for row in rows
    )


@dataclass(frozen=True, kw_only=True)
class RankOfTeamOnBoard:
    """The rank of a team on a board. The tests of the board do not exclude the ranks
    from ``low`` to ``high``. ``points`` is the number of teams with a worse rank, plus
    one half for each tied team.
    """

    rank: int
    low: int
    high: int
    points: float


@dataclass(frozen=True, kw_only=True)
class OverallBoard:
    """The ranks of all teams on one board. ``above`` maps a team to the teams that are
    significantly better, either directly or through a chain of teams.
    """

    phase: Phase
    places: Mapping[str, RankOfTeamOnBoard]
    above: Mapping[str, frozenset[str]]

    @property
    def teams(self) -> int:
        return len(self.places)

    def share(self, points: float) -> float:
        """Return the share of other teams on the board with a worse rank, for a team
        with these points.
        """
        return points / (self.teams - 1)


@dataclass(kw_only=True)
class OverallRow:
    """A row for a team in the overall ranking of a season. ``share`` is the mean over
    boards of the share of other teams with a worse rank. ``without`` maps a phase to
    the rank that the team would have without the phase's task.
    """

    team: str
    slug: str
    has_organiser: bool = False
    places: dict[int, RankOfTeamOnBoard] = field(default_factory=dict)
    mean_rank: float = 0.0
    borda: float = 0.0
    borda_low: int = 0
    borda_high: int = 0
    share: float = 0.0
    share_low: float = 0.0
    share_high: float = 0.0
    rank: int = 0
    rank_low: int = 0
    rank_high: int = 0
    without: dict[int, int] = field(default_factory=dict)

    @property
    def marked_name(self) -> str:
        return (
            f"{self.team}, {WITH_ORGANISER_LABEL}" if self.has_organiser else self.team
        )

    @property
    def ranks(self) -> str:
        return format_rank_range(self.rank_low, self.rank_high)


@dataclass(frozen=True, kw_only=True)
class OverallRanking:
    boards: list[OverallBoard]
    rows: list[OverallRow]
    counts_absences: bool = False


#: For a missing team, the overall ranking skips the board or counts a last place.
OVERALL_RANKING_ABSENCE_RULES = ABSENCES_LEFT_OUT, ABSENCES_COUNT_LAST = (
    "left-out",
    "last",
)


def load_overall_ranking_of_season(
    season: Season, *, counts_absences: bool = False
) -> OverallRanking:
    """Return the overall ranking of the teams of a season.

    The ranking uses one board of each task, which is the public board of the last phase
    with at least two ranked teams. A team's share is the mean over the boards with the
    team, or over all boards if absences count as last places.
    """
    teams: dict[str, OverallRow] = {}
    boards = []
    for task in season.tasks.all():
        for phase in load_phases_with_embargoes(
            task.phases.select_related("task__season").order_by("-opens", "-pk")
        ):
            if shows_teams_publicly(phase):
                board = load_cached_board(phase, None, audience=Audience.PUBLIC)
                # If a team has several rows on a board, its best row counts.
                best: dict[str, BoardRow] = {}
                for row in board.rows:
                    if row.rank is not None and row.team_slug and row.team:
                        best.setdefault(row.team_slug, row)
                if len(best) > 1:
                    boards.append(_compute_team_ranks_on_board(board, best))
                    for slug, row in best.items():
                        own = OverallRow(
                            team=row.team or "",
                            slug=slug,
                            has_organiser=row.has_organiser,
                        )
                        teams.setdefault(slug, own).places[phase.pk] = boards[
                            -1
                        ].places[slug]
                    break
    return compute_overall_ranking(
        boards, list(teams.values()), counts_absences=counts_absences
    )


def compute_overall_ranking(
    boards: list[OverallBoard], rows: list[OverallRow], *, counts_absences: bool = False
) -> OverallRanking:
    for own in rows:
        own.mean_rank = fmean(place.rank for place in own.places.values())
        for contributing in boards:
            if place := contributing.places.get(own.slug):
                own.borda += place.points
                own.borda_low += contributing.teams - place.high
                own.borda_high += contributing.teams - place.low
        own.share, own.share_low, own.share_high = _compute_mean_share_with_bounds(
            own.slug, boards, counts_absences
        )
    by_share = _compute_ranks_by_share(rows, boards, counts_absences)
    left_out = {}
    for one in boards:
        others = [other for other in boards if other is not one]
        left_out[one.phase.pk] = _compute_ranks_by_share(rows, others, counts_absences)
    for own in rows:
        own.rank = by_share[own.slug]
        own.without = {
            phase: found[own.slug]
            for phase, found in left_out.items()
            if own.slug in found
        }
    is_above = (
        _compute_smallest_share_differences(rows, boards, counts_absences)
        > EQUAL_SHARE_TOLERANCE
    )
    for number, own in enumerate(rows):
        own.rank_low = 1 + int(is_above[:, number].sum())
        own.rank_high = len(rows) - int(is_above[number].sum())
    rows.sort(key=lambda row: (row.rank, row.mean_rank, row.team))
    return OverallRanking(boards=boards, rows=rows, counts_absences=counts_absences)


def shows_teams_publicly(phase: Phase) -> bool:
    return determine_board_visibility(
        phase, Audience.PUBLIC
    ) != BoardVisibility.NOTHING and shows_teams(phase, Audience.PUBLIC)


#: Two shares that differ by less than EQUAL_SHARE_TOLERANCE are equal.
EQUAL_SHARE_TOLERANCE = 1e-9


def _compute_board_weight(
    slug: str, boards: Sequence[OverallBoard], counts_absences: bool
) -> float:
    count = (
        len(boards)
        if counts_absences
        else sum(slug in board.places for board in boards)
    )
    return 1 / count if count else 0.0


def _compute_mean_share_with_bounds(
    slug: str, boards: Sequence[OverallBoard], counts_absences: bool
) -> tuple[float, float, float]:
    """Return the mean share of other teams with a worse rank than the team, and the
    minimum and maximum that the tests allow.
    """
    weight, share, low, high = (
        _compute_board_weight(slug, boards, counts_absences),
        0.0,
        0.0,
        0.0,
    )
    for board in boards:
        if place := board.places.get(slug):
            share += weight * board.share(place.points)
            low += weight * board.share(board.teams - place.high)
            high += weight * board.share(board.teams - place.low)
    return share, low, high


def _compute_ranks_by_share(
    rows: Sequence[OverallRow], boards: Sequence[OverallBoard], counts_absences: bool
) -> dict[str, int]:
    """Return the rank of each team that is on at least one board, with the same rank
    for equal shares.
    """
    shares = {
        row.slug: round(
            _compute_mean_share_with_bounds(row.slug, boards, counts_absences)[0], 9
        )
        for row in rows
        if any(row.slug in board.places for board in boards)
    }
    return {
        slug: 1 + sum(other > share for other in shares.values())
        for slug, share in shares.items()
    }


def _compute_smallest_share_differences(
    rows: Sequence[OverallRow], boards: Sequence[OverallBoard], counts_absences: bool
) -> NDArray[np.float64]:
    """Return a matrix in which ``[i, j]`` is the smallest possible difference between
    the shares of row i and row j.

    If both rows have the same weight on a board, a significant difference determines
    their order on the board.
    """
    numbers = {row.slug: number for number, row in enumerate(rows)}
    weights = np.array(
        [_compute_board_weight(row.slug, boards, counts_absences) for row in rows]
    )
    leads = np.zeros((len(rows), len(rows)))
    for board in boards:
        low, high = np.zeros(len(rows)), np.zeros(len(rows))
        above = np.zeros(leads.shape)
        for slug, place in board.places.items():
            own = numbers[slug]
            low[own], high[own] = (
                board.share(board.teams - place.high),
                board.share(board.teams - place.low),
            )
            above[[numbers[other] for other in board.above[slug]], own] = 1
        # Team i is ahead of team j and of all teams between both.
        gaps = weights[:, None] * board.share(1.0) * (1 + above @ above)
        is_sure = (above > 0) & (weights[:, None] == weights[None, :])
        leads += np.where(
            is_sure, gaps, (weights * low)[:, None] - (weights * high)[None, :]
        )
    return leads


def _compute_team_ranks_on_board(
    board: Board, best: Mapping[str, BoardRow]
) -> OverallBoard:
    """Return the ranks of the teams on a board, each by the best row of the team.
    Before the rows are compared, every order of the teams is possible, unless the ranks
    are monthly ranks.
    """
    ranked = [row for row in board.rows if row.rank is not None]
    numbers = {row.evaluation: number for number, row in enumerate(ranked)}
    of_teams = {slug: numbers[row.evaluation] for slug, row in best.items()}
    places = np.array([row.rank or 0 for row in ranked])
    if board.ranks_of is not None:
        apart = places[None, :] < places[:, None]
    else:
        # If the board hides the values of rows, compare the rows by rank.
        task = board.phase.task
        metric = task.task_type.get_ranking_metric_name(board.rules or "", task.options)
        apart = build_significantly_better_matrix(
            [row.evaluation for row in ranked],
            (-places).tolist(),
            metric,
            build_seed_mean_rows(board.phase, metric, board.ranked_rows),
        )
    above: dict[str, frozenset[str]] = {}
    # Process the best row first, so that all better rows precede a row.
    for slug, number in sorted(of_teams.items(), key=lambda item: item[1]):
        direct = {other for other, place in of_teams.items() if apart[number, place]}
        above[slug] = frozenset(
            direct.union(*(above.get(other, frozenset()) for other in direct))
        )
    below = {slug: sum(slug in others for others in above.values()) for slug in best}
    standing = [row.rank or 0 for row in best.values()]
    return OverallBoard(
        phase=board.phase,
        above=above,
        places={
            slug: RankOfTeamOnBoard(
                rank=1 + sum(other < (row.rank or 0) for other in standing),
                low=1 + len(above[slug]),
                high=len(best) - below[slug],
                points=sum(other > (row.rank or 0) for other in standing)
                + (standing.count(row.rank or 0) - 1) / 2,
            )
            for slug, row in best.items()
        },
    )
