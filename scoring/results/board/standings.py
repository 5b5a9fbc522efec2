"""Compute the board of a phase, whose rows are shown by pages, charts, exports and the
API.
"""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

from django.core.cache import caches
from django.db.models import Q
from django.utils.timezone import now
from django.utils.translation import get_language, gettext as _, gettext_lazy

from citeboard.teams.access import find_teams_of_user
from scoring.metrics import UnknownMetric, build_metric
from scoring.models import (
    BoardOrder,
    MonthlyRanks,
    Score,
    Signature,
    WithholdingReason,
    hash_runs_of_system,
)
from scoring.results.board import formatting, seeds, visibility as visible
from scoring.results.board.cache import (
    PAGE_CACHE_SECONDS,
    board_version,
    hash_cache_key_values,
)
from scoring.results.board.comparisons import (
    RANK_BY_SIGNIFICANCE,
    RANK_BY_VALUE,
    Separation,
    build_separation_of_top_two,
)
from scoring.results.board.counting import (
    RunShownOnBoard,
    are_runs_being_rescored,
    count_scored_systems_by_team,
    find_gold_on_board,
    find_gold_on_board_at,
    find_runs_shown_on_board,
    query_score_rows,
)
from scoring.results.board.human_columns import build_human_score_columns
from scoring.results.board.stored_ranks import (
    RankedBoard,
    RankedRow,
    load_or_compute_ranks,
    was_final_before_verdicts,
)
from scoring.results.board.verdict import (
    REASONS_WITHOUT_LEADER,
    BoardVerdict,
    RankedSystem,
    UntestedReason,
    decide_verdict_on_systems,
)
from tasks.gold.secrecy import ContentKind, get_embargoes_of_phase
from tasks.models import Gold, Phase, Submission, registrations, run_cards
from tasks.types import base, task_type as type_of

#: The positions of columns with human judgements start at FIRST_HUMAN_COLUMN_POSITION.
FIRST_HUMAN_COLUMN_POSITION = 10_000
#: The positions of columns with minor metrics start at FIRST_MINOR_COLUMN_POSITION.
FIRST_MINOR_COLUMN_POSITION = 1_000
CONTRASTIVE_LABEL, WITH_ORGANISER_LABEL = (
    gettext_lazy("contrastive"),
    gettext_lazy("with an organiser"),
)
MAX_SCORE_CELLS_OF_CACHED_BOARD = 20_000


def expand_rows_to_runs(rows: "Sequence[BoardRow]") -> "list[BoardRow]":
    """Return a row for each run, where the rows of the averaged runs replace each mean
    over seeds.
    """
    return [run for row in rows for run in row.runs or [row]]


class UnknownRuleSet(LookupError):
    """An error about a rule set that the task does not have. The message of the error
    lists the rule sets of the task.
    """


@dataclass(frozen=True, slots=True)
class BoardScoreColumn:
    name: str
    metric: str
    key: str
    scale: float
    higher_is_better: bool | None
    position: int
    is_ranking: bool = False
    is_exchangeable: bool = True

    @property
    def sign(self) -> int:
        """Return the factor, 1 or -1, by which values are multiplied so that the
        highest is best.
        """
        return -1 if self.higher_is_better is False else 1


class ScoreCell(NamedTuple):
    """A score in a cell of a board, computed by the scorer. A value of None is infinite
    if ``is_infinite`` is True, and otherwise undefined.
    """

    score: int
    value: float | None
    low: float | None
    high: float | None
    is_infinite: bool = False
    withheld: str = ""

    @property
    def is_known(self) -> bool:
        return self.value is not None or self.is_infinite or bool(self.withheld)

    @property
    def word(self) -> str:
        """Return the word that tables show instead of a missing value, or an empty text
        if the cell has a value.
        """
        return "withheld" if self.withheld else "inf" if self.is_infinite else ""

    def as_dict(self) -> dict[str, object]:
        """Return a score with its interval as JSON values. If the value of the score is
        null, another field states whether the value is infinite or withheld.
        """
        facts: dict[str, object] = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
        }
        if self.withheld:
            return facts | {"withheld": str(WithholdingReason(self.withheld).label)}
        return facts | {"infinite": True} if self.is_infinite else facts


@dataclass(slots=True)
class BoardRow(RunShownOnBoard):
    """A row of a board. The tests of the board do not exclude the ranks from
    ``rank_low`` to ``rank_high``.
    """

    scores: dict[str, ScoreCell] = field(default_factory=dict)
    value: float | None = None
    is_comparable: bool = True
    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    #: ``p`` is the adjusted p-value of the comparison that determines the rank.
    p: float | None = None
    #: If the row is a mean over seeds, ``runs`` has its runs, the earliest first.
    runs: list["BoardRow"] = field(default_factory=list)
    #: ``best_of`` is the number of the team's systems, of which the row is the best.
    best_of: int = 0

    @property
    def first_run_of_seed_mean(self) -> "BoardRow | None":
        """Return the earliest run of a mean over seeds as a row, with the ranks of the
        mean and an unambiguous name.
        """
        if not self.runs:
            return None
        name = {"system": self.system, "number": self.runs[0].number}
        return replace(
            self.runs[0],
            system=_("%(system)s, run %(number)s") % name,
            rank=self.rank,
            rank_low=self.rank_low,
            rank_high=self.rank_high,
        )

    @property
    def system_digest(self) -> str:
        return hash_runs_of_system(
            (row.evaluation, row.scoring) for row in self.runs or [self]
        )

    @property
    def is_baseline(self) -> bool:
        return self.kind == Submission.Kind.BASELINE

    @property
    def is_human(self) -> bool:
        return self.kind == Submission.Kind.HUMAN

    @property
    def marks(self) -> list[tuple[str, str]]:
        if self.runs:
            # A mean over seeds has the marks on the run cards of all its runs.
            return list(dict.fromkeys(mark for run in self.runs for mark in run.marks))
        return run_cards.list_warning_labels_of_card(self.card)

    @property
    def is_contrastive(self) -> bool:
        return self.kind == Submission.Kind.CONTRASTIVE

    @property
    def is_competing(self) -> bool:
        return self.kind not in Submission.TEAMLESS

    @property
    def may_be_ranked(self) -> bool:
        return self.is_competing and not self.is_contrastive

    @property
    def may_show_team_texts(self) -> bool:
        """Return True if the row may show texts that the team wrote, which can reveal
        the team's name.
        """
        return bool(self.team_slug) or not self.is_competing

    @property
    def display_name(self) -> str:
        if not self.is_competing:
            return str(Submission.Kind(self.kind).label)
        return self.team or _("a team")

    @property
    def marked_name(self) -> str:
        marks = [
            (self.is_contrastive, CONTRASTIVE_LABEL),
            (self.has_organiser, WITH_ORGANISER_LABEL),
        ]
        return ", ".join(
            [
                self.display_name,
                *(str(words) for holds, words in marks if holds),
                *self.seed_words,
            ]
        )

    @property
    def seed_words(self) -> list[str]:
        """Return the notes that the row's scores are means over seeds, or those of the
        best of several systems.
        """
        words = []
        if self.runs:
            words.append(_("mean of %(number)s runs") % {"number": len(self.runs)})
        if self.best_of > 1:
            words.append(_("best of %(number)s") % {"number": self.best_of})
        return words


@dataclass
class Board:
    """A board. ``is_compared`` is True if all pairs of rows have been compared, and
    ``frozen_at`` is None if the board is not frozen.
    """

    phase: Phase
    audience: visible.Audience
    visibility: visible.BoardVisibility
    rules: str | None = None
    by: str = RANK_BY_VALUE
    is_compared: bool = False
    gold: Gold | None = None
    columns: list[BoardScoreColumn] = field(default_factory=list)
    rows: list[BoardRow] = field(default_factory=list)
    separation: Separation | None = None
    untested: UntestedReason | None = None
    #: ``equal_to_first`` is the number of ranked rows with the best value.
    equal_to_first: int = 1
    #: ``keeps_sentences`` is True if the board became final before verdicts existed.
    keeps_sentences: bool = False
    frozen_at: dt.datetime | None = None
    #: ``ranks_of`` is the month of the monthly ranks, or None for other ranks.
    ranks_of: dt.date | None = None

    @property
    def ranked_rows(self) -> list[RankedRow]:
        has_means = self.has_seed_means
        return [
            RankedRow(
                evaluation=row.evaluation,
                scoring=row.scoring,
                value=None if row.value is None else round_to_12_digits(row.value),
                system=row.system_digest if has_means else "",
                is_mean=bool(row.runs),
            )
            for row in self.rows
            if row.rank is not None
        ]

    @property
    def rows_with_seed_runs(self) -> list[BoardRow]:
        """Return the rows of the board, where the averaged runs follow after each mean
        over seeds.
        """
        return [each for row in self.rows for each in (row, *row.runs)]

    @property
    def has_seed_means(self) -> bool:
        return any(row.runs for row in self.rows)

    def mean_of(self, run: int) -> BoardRow | None:
        """Return the row of the mean over seeds that contains this run, or None if no
        mean contains the run.
        """
        means = (row for row in self.rows if row.runs)
        return next(
            (mean for mean in means if any(run == own.submission for own in mean.runs)),
            None,
        )

    @cached_property
    def with_first_runs_only(self) -> "Board":
        """Return the board with the earliest run instead of each mean over seeds, for
        pages about classes and instances.
        """
        if not self.has_seed_means:
            return self
        return replace(
            self, rows=[row.first_run_of_seed_mean or row for row in self.rows]
        )

    @property
    def version(self) -> int:
        """Return the version of the phase, or 0 if the board is hidden or frozen,
        because the version would reveal new runs.
        """
        is_told = (
            self.visibility != visible.BoardVisibility.NOTHING
            and self.frozen_at is None
        )
        return self.phase.version if is_told else 0

    @property
    def updated_at(self) -> dt.datetime:
        return self.frozen_at or self.phase.updated_at

    @property
    def is_small(self) -> bool:
        """Return True if the board is small enough for the cache. Larger boards are
        computed for each request, to limit the memory of the cache.
        """
        return len(self.rows) * len(self.columns) <= MAX_SCORE_CELLS_OF_CACHED_BOARD

    @property
    def selects_runs_by_priority(self) -> bool:
        return self.phase.counting == Phase.CountedRunsRule.PRIORITY

    @property
    def awaits_rescoring(self) -> bool:
        """Return True if the board names no leader until runs have been rescored."""
        return self.untested in REASONS_WITHOUT_LEADER

    @property
    def best(self) -> list[BoardRow]:
        """Return the ranked rows that have the best value on the board. The difference
        between the best rows and other rows may not be significant.

        Return no rows while runs of the board must be rescored, since a run with scores
        of another version has no rank and may be better.
        """
        if self.awaits_rescoring:
            return []
        ranked = [row for row in self.rows if row.rank is not None]
        return [
            row
            for row in ranked
            if row.value == ranked[0].value and row.rank == ranked[0].rank
        ]

    @property
    def rows_that_may_be_first(self) -> list[BoardRow]:
        """Return the rows of the board that may be first, or no rows if not all rows
        have been compared or runs must be rescored.
        """
        if self.awaits_rescoring or not self.is_compared:
            return []
        return [row for row in self.rows if row.rank_low == 1]

    @property
    def verdict(self) -> BoardVerdict | None:
        """Return the verdict on the leader of the board, or None if no row is ranked,
        or if the final board is older than verdicts.
        """
        if self.keeps_sentences:
            return None
        return decide_verdict_on_systems(
            [
                RankedSystem(
                    submission=row.submission,
                    system=row.system,
                    team=row.team or "",
                    may_be_first=row.rank_low == 1,
                    p=row.p,
                )
                for row in self.rows
                if row.rank is not None
            ],
            separation=self.separation,
            untested=self.untested,
            equal_to_first=self.equal_to_first,
            has_means=any(row.runs and row.rank is not None for row in self.rows),
        )

    @property
    def ranking(self) -> BoardScoreColumn | None:
        return next((column for column in self.columns if column.is_ranking), None)

    @cached_property
    def filled(self) -> list[BoardScoreColumn]:
        return [
            column
            for column in self.columns
            if column.is_ranking
            or any(
                (cell := row.scores.get(column.name)) and cell.is_known
                for row in self.rows
            )
        ]

    @cached_property
    def columns_in_display_order(self) -> list[BoardScoreColumn]:
        return sorted(self.filled, key=self._column_display_position)

    @cached_property
    def main(self) -> list[BoardScoreColumn]:
        return [
            column
            for column in self.columns_in_display_order
            if self._column_display_position(column) < FIRST_MINOR_COLUMN_POSITION
        ]

    def _column_display_position(self, column: BoardScoreColumn) -> int:
        names = self.phase.task.task_type.main_metrics
        if (
            column.is_ranking
            or column.position >= FIRST_HUMAN_COLUMN_POSITION
            or not names
        ):
            return 0
        return (
            names.index(column.metric) + 1
            if column.metric in names
            else FIRST_MINOR_COLUMN_POSITION
        )

    def format_rank_of_row(self, row: BoardRow) -> str:
        """Return the rank of a row as text, such as `2–4` if all rows have been
        compared, and otherwise `2`.
        """
        return formatting.format_rank(
            row.rank, row.rank_low, row.rank_high, is_compared=self.is_compared
        )

    def place_of(self, row: BoardRow) -> str:
        """Return the position of a row as text, such as `rank 2–4 of 18`, for pages,
        citations and badges.
        """
        rank = self.format_rank_of_row(row)
        if not rank:
            return ""
        ranked = sum(other.rank is not None for other in self.rows)
        return _("rank %(rank)s of %(systems)s") % {"rank": rank, "systems": ranked}

    @property
    def systems(self) -> list[BoardRow]:
        return [row for row in self.rows if not row.is_human]

    @property
    def has_differently_computed_scores(self) -> bool:
        """Return True if scores of the board were computed in different ways, so that
        some runs wait for rescoring.
        """
        return len(self.columns) > len({column.metric for column in self.columns})


def compute_board(
    phase: Phase,
    viewer: object,
    rules: str | None = None,
    *,
    gold: Gold | None = None,
    audience: visible.Audience | None = None,
    by: str = RANK_BY_VALUE,
    stores_ranks: bool = False,
) -> Board:
    """Return the board of a phase as the viewer may see the board, with the best row
    first.

    Raises UnknownRuleSet. A caller that has already computed the viewer's ``audience``
    can pass the audience. Only worker processes store the computed ranks.
    """
    audience = audience or visible.determine_audience(phase, viewer)
    board = Board(
        phase=phase,
        audience=audience,
        visibility=visible.determine_board_visibility(phase, audience),
        rules=validate_rule_set(phase, rules),
        frozen_at=visible.find_freeze_time_for_audience(phase, audience),
    )
    if board.frozen_at is None:
        board.gold = gold or find_gold_on_board(phase)
    else:
        # A frozen board uses the gold version that was newest at the freeze.
        board.gold = find_gold_on_board_at(phase, board.frozen_at)
        if gold is not None and board.gold is not None:
            board.gold = gold if gold.number <= board.gold.number else None
    if board.gold is not None and audience not in visible.AUDIENCES_OF_SEASON_STAFF:
        is_kept_back = not get_embargoes_of_phase(phase).is_free_of_embargo(
            ContentKind.OTHERS, version=board.gold.pk
        )
        board.visibility = (
            visible.BoardVisibility.NOTHING if is_kept_back else board.visibility
        )
    if (
        board.visibility == visible.BoardVisibility.NOTHING
        or board.rules is None
        or board.gold is None
    ):
        return board
    board.rows = find_runs_shown_on_board(
        BoardRow, phase, board.rules, board.gold, board.frozen_at
    )
    _set_columns_and_scores(board)
    _replace_seed_runs_by_means(board)
    sort_and_rank_rows(board.rows)
    if phase.has_monthly_ranks:
        _rank_rows_by_monthly_ranks(board)
        board.untested = UntestedReason.MONTHLY
        # If organisers excluded the best run later, no row has rank 1.
        first = board.rows[0].rank if board.rows else None
        if first is not None:
            board.equal_to_first = sum(row.rank == first for row in board.rows)
        order = BoardOrder.objects.filter(phase=phase, rules=board.rules).first()
        board.keeps_sentences = was_final_before_verdicts(order, phase, board.frozen_at)
    else:
        board.equal_to_first = sum(row.rank == 1 for row in board.rows)
        _set_rank_ranges(board, by, stores_ranks=stores_ranks)
        _withhold_leader_until_rescored(board)
    if not visible.shows_teams(phase, audience):
        _hide_names_of_other_teams(board, viewer)
    if board.visibility == visible.BoardVisibility.RANKS:
        _hide_scores(board)
    return board


def _hide_names_of_other_teams(board: Board, viewer: object) -> None:
    """Hide the names of all teams on the board except the viewer's own team."""
    own_teams = set(find_teams_of_user(viewer).values_list("slug", flat=True))
    for row in board.rows_with_seed_runs:
        if row.team_slug not in own_teams:
            row.best_of = 0
            row.team = (
                registrations.format_team_pseudonym(row.alias)
                if board.phase.shows_teams
                else None
            )
            row.team_slug, row.has_organiser = None, False
            row.card = run_cards.remove_identifying_card_fields(row.card)


def _hide_scores(board: Board) -> None:
    board.columns = []
    for row in board.rows_with_seed_runs:
        row.scores, row.value, row.p = {}, None, None
    if board.separation is not None:
        # The p-value and the probability of the order would reveal hidden scores.
        board.separation = replace(board.separation, p=None, order_chance=None)


def load_cached_board(
    phase: Phase,
    viewer: object,
    rules: str | None = None,
    *,
    gold: Gold | None = None,
    audience: visible.Audience | None = None,
    by: str = RANK_BY_VALUE,
) -> Board:
    """Return the board of a phase from the cache, or compute and cache the board.

    Callers share the cached board and must not change the board. If the names of teams
    are hidden, the function does not cache the boards that members of teams see. Raises
    UnknownRuleSet.
    """
    audience = audience or visible.determine_audience(phase, viewer)
    hides_teams = not visible.shows_teams(phase, audience)
    if hides_teams and find_teams_of_user(viewer).exists():
        return compute_board(phase, viewer, rules, gold=gold, audience=audience, by=by)
    version, rules = board_version(phase), validate_rule_set(phase, rules)
    key = hash_cache_key_values(
        version, audience, rules, gold and gold.pk, by, get_language()
    )
    board: Board | None = caches["boards"].get(key)
    if board is None:
        board = compute_board(phase, viewer, rules, gold=gold, audience=audience, by=by)
        if board.is_small:
            caches["boards"].set(key, board, PAGE_CACHE_SECONDS)
    return board


def find_board_and_row_of_run(
    phase: Phase, viewer: object, submission: int
) -> tuple[Board, BoardRow] | None:
    for rules in phase.task.rules or [None]:
        board = load_cached_board(phase, viewer, rules)
        for row in expand_rows_to_runs(board.rows):
            if row.submission == submission and row.scores:
                return board, row
    return None


def validate_rule_set(phase: Phase, rules: str | None) -> str | None:
    rule_sets = phase.task.rules
    name = None if rules is None else base.replace_old_rule_set_name(rules)
    if name is not None and name not in rule_sets:
        raise UnknownRuleSet(
            _("%(task)s has no rules “%(rules)s”; it has %(known)s")
            % {
                "task": phase.task,
                "rules": rules,
                "known": ", ".join(rule_sets) or _("none"),
            }
        )
    return name or (phase.task.ranking_rules if rule_sets else None)


def sort_and_rank_rows(rows: list[BoardRow]) -> None:
    """Sort the rows of a board by value and set their ranks. Rows with equal values
    have the same rank, and the next rank is skipped (1, 1, 3). Undefined values come
    last.
    """
    keys = {
        id(row): (row.value is None, -round_to_12_digits(row.value or 0.0))
        for row in rows
    }
    rows.sort(key=lambda row: (not row.is_comparable, *keys[id(row)], row.submitted_at))
    place = 0
    before: BoardRow | None = None
    for row in rows:
        if not row.may_be_ranked or not row.is_comparable:
            row.rank = row.rank_low = row.rank_high = None
            continue
        place += 1
        tied = before is not None and keys[id(before)] == keys[id(row)]
        row.rank = before.rank if before is not None and tied else place
        row.rank_low = row.rank_high = row.rank
        before = row


def first_day_of_month(at: dt.datetime) -> dt.date:
    return at.astimezone(dt.UTC).date().replace(day=1)


def _rank_rows_by_monthly_ranks(board: Board) -> None:
    """Rank the rows of a board by the monthly ranks on the private part of the gold.

    Rows without a monthly rank follow after the ranked rows, sorted by score. A team
    with a new run keeps its rank until the next month, because an earlier change of
    rank would reveal the score on the private part.
    """
    drawn_up = MonthlyRanks.objects.filter(phase=board.phase, rules=board.rules)
    shown = (
        drawn_up.filter(month__lte=first_day_of_month(board.frozen_at or now()))
        .order_by("-month")
        .first()
    )
    runs = shown.runs if shown else []
    counts_one = board.phase.counting in (
        Phase.CountedRunsRule.BEST,
        Phase.CountedRunsRule.LAST,
        Phase.CountedRunsRule.SELECTED,
    )
    by_run = {ranked["run"]: ranked["rank"] for ranked in runs}
    by_team = {ranked["team"]: ranked["rank"] for ranked in runs if counts_one}
    for row in board.rows:
        row.rank = (
            by_run.get(row.submission, by_team.get(row.team_slug))
            if row.may_be_ranked
            else None
        )
        row.rank_low = row.rank_high = row.rank
    board.rows.sort(key=lambda row: (row.rank is None, row.rank or 0))
    board.ranks_of = shown.month if shown else None


def _set_rank_ranges(board: Board, by: str, *, stores_ranks: bool) -> None:
    rows = [row for row in board.rows if row.rank is not None]
    if not rows or board.ranking is None or board.gold is None:
        return
    ranks = load_or_compute_ranks(
        RankedBoard(
            phase=board.phase,
            rules=board.rules or "",
            gold=board.gold,
            metric=board.ranking.metric,
            frozen_at=board.frozen_at,
            rows=board.ranked_rows,
        ),
        stores=stores_ranks,
    )
    board.is_compared = ranks.is_complete
    board.keeps_sentences = ranks.keeps_sentences
    if not board.ranking.is_exchangeable:
        by_program = board.phase.task.task_type.is_official_program_metric(
            board.rules or "", board.ranking.metric
        )
        board.untested = (
            UntestedReason.PROGRAM if by_program else UntestedReason.MEASURE
        )
    elif not ranks.is_complete:
        board.untested = UntestedReason.NOT_COMPARED
    if ranks.first_two is not None:
        unit = board.phase.task.unit
        board.separation = build_separation_of_top_two(
            ranks.first_two, unit=unit, rows=len(rows)
        )
    board.by = (
        RANK_BY_SIGNIFICANCE
        if by == RANK_BY_SIGNIFICANCE and ranks.is_complete
        else RANK_BY_VALUE
    )
    for row, own in zip(rows, ranks.ranges, strict=True):
        row.rank_low, row.rank_high, row.p = own["low"], own["high"], own["p"]
        if board.by == RANK_BY_SIGNIFICANCE:
            row.rank = own["low"]


def _withhold_leader_until_rescored(board: Board) -> None:
    """Withhold the leader and the comparison of the top two while some systems have no
    rank, because their runs were scored by another version of the ranking metric.

    A board that became final before verdicts existed does not change.
    """
    ranking = board.ranking
    if board.keeps_sentences or ranking is None:
        return
    others = {
        column.name
        for column in board.columns
        if column.metric == ranking.metric and not column.is_ranking
    }
    if not others or not any(
        row.rank is None and row.may_be_ranked and not others.isdisjoint(run.scores)
        for row in board.rows
        for run in row.runs or [row]
    ):
        return
    is_running = board.frozen_at is None and are_runs_being_rescored(board.phase)
    board.separation = None
    board.untested = (
        UntestedReason.RESCORING if is_running else UntestedReason.NOT_RESCORED
    )


@lru_cache(maxsize=4096)
def round_to_12_digits(value: float) -> float:
    """Round a value to 12 significant digits, because the last digits of sums may
    differ between machines.
    """
    return float(f"{value:.12g}")


def _set_columns_and_scores(board: Board) -> None:
    """Set the columns of the board, and the scores of each row of the board."""
    cells = _load_cells_by_evaluation([row.evaluation for row in board.rows])
    columns, names = _build_columns_by_signature(
        Counter(chain.from_iterable(cells.values())), board
    )
    for row in board.rows:
        row.scores = {
            names[signature]: cell for signature, cell in cells[row.evaluation].items()
        }
    rated = build_human_score_columns(board.phase, board.frozen_at)
    rating_columns = [
        BoardScoreColumn(
            human.metric,
            human.metric,
            human.key,
            human.scale,
            higher_is_better=True,
            position=position,
        )
        for position, human in enumerate(rated, start=FIRST_HUMAN_COLUMN_POSITION)
    ]
    board.columns = [*columns[:1], *rating_columns, *columns[1:]]
    for column in rated:
        for row in board.rows:
            score = column.scores.get(row.submission)
            if score is not None:
                # Negative ids of human scores differ from all ids of computed scores.
                row.scores[column.metric] = ScoreCell(
                    score=-score.pk, value=score.value, low=score.low, high=score.high
                )
    ranking = board.ranking
    for row in board.rows:
        ranked_by = row.scores.get(ranking.name) if ranking else None
        row.is_comparable = ranked_by is not None
        if ranking and ranked_by is not None and ranked_by.value is not None:
            row.value = ranking.sign * ranked_by.value


def _replace_seed_runs_by_means(board: Board) -> None:
    """Replace runs of one system with different random seeds by a row with the means
    over these runs.
    """
    if not board.phase.can_have_seed_runs:
        return
    groups: dict[tuple[str | None, str, str], list[BoardRow]] = {}
    for row in board.rows:
        if row.seeds_of:
            groups.setdefault((row.team_slug, row.kind, row.seeds_of), []).append(row)
    means = [
        _build_seed_mean_row(
            sorted(runs, key=lambda row: (row.submitted_at, row.number))
        )
        for runs in groups.values()
        if len(runs) > 1
    ]
    if means:
        merged = {run.evaluation for mean in means for run in mean.runs}
        board.rows = [row for row in board.rows if row.evaluation not in merged] + means
        _set_seed_mean_intervals(board, means)
        _set_system_count_of_best_rows(board)


def _set_seed_mean_intervals(board: Board, means: list[BoardRow]) -> None:
    """Set the confidence intervals of means over seeds if a worker has computed the
    intervals.
    """
    intervals = seeds.load_seed_mean_intervals(
        board.phase.pk, [mean.scoring for mean in means]
    )
    for mean in means:
        own = intervals.get(mean.scoring, {})
        for column in board.columns:
            cell = mean.scores.get(column.name)
            if cell is not None and cell.value is not None and column.metric in own:
                low, high = own[column.metric]
                mean.scores[column.name] = cell._replace(low=low, high=high)


def _set_system_count_of_best_rows(board: Board) -> None:
    """Set ``best_of`` of each row to the number of systems of the row's team, of which
    the row is the best.
    """
    if board.phase.counting != Phase.CountedRunsRule.BEST:
        return
    number = count_scored_systems_by_team(
        board.phase, board.rules, board.gold, board.frozen_at
    )
    for row in board.rows:
        if row.may_be_ranked and row.team_slug:
            row.best_of = number[row.team_slug]


def _build_seed_mean_row(runs: list[BoardRow]) -> BoardRow:
    first = runs[0]
    mean = replace(
        first,
        system=first.seeds_of,
        runs=runs,
        card=seeds.find_shared_run_card_fields([run.card for run in runs]),
        priority=min(run.priority for run in runs),
        scores={
            name: _build_seed_mean_cell([run.scores[name] for run in runs])
            for name, cell in first.scores.items()
            if cell.score > 0 and all(name in run.scores for run in runs)
        },
        value=seeds.compute_mean_if_complete([run.value for run in runs]),
        is_comparable=all(run.is_comparable for run in runs),
    )
    mean.scoring = mean.system_digest
    return mean


def _build_seed_mean_cell(cells: list[ScoreCell]) -> ScoreCell:
    return ScoreCell(
        score=cells[0].score,
        value=seeds.compute_mean_if_complete([cell.value for cell in cells]),
        low=None,
        high=None,
        withheld=next((cell.withheld for cell in cells if cell.withheld), ""),
    )


def _load_cells_by_evaluation(
    evaluations: Sequence[int],
) -> dict[int, dict[int, ScoreCell]]:
    """Return the scores of each evaluation as table cells, keyed by evaluation and
    signature.
    """
    cells: dict[int, dict[int, ScoreCell]] = {
        evaluation: {} for evaluation in evaluations
    }
    undefined = []
    for evaluation, score, signature, value, low, high in query_score_rows(evaluations):
        cells[evaluation][signature] = ScoreCell(score, value, low, high)
        if value is None:
            undefined.append((evaluation, signature, score))
    reasons = _load_missing_value_reasons(
        [score for _evaluation, _signature, score in undefined]
    )
    for evaluation, signature, score in undefined:
        if score in reasons:
            cells[evaluation][signature] = cells[evaluation][signature]._replace(
                is_infinite=reasons[score].is_infinite,
                withheld=reasons[score].withheld,
            )
    return cells


class _MissingValueReason(NamedTuple):
    """The reason why a score has no value, which is infinite, withheld or undefined."""

    is_infinite: bool
    withheld: str


def _load_missing_value_reasons(
    undefined: Sequence[int],
) -> dict[int, _MissingValueReason]:
    """Return the stored reasons why scores have no value, keyed by score id."""
    if not undefined:
        return {}
    scores = Score.objects.filter(
        Q(is_infinite=True) | ~Q(withheld=""), id__in=undefined
    )
    return {
        score: _MissingValueReason(is_infinite, withheld)
        for score, is_infinite, withheld in scores.order_by().values_list(
            "id", "is_infinite", "withheld"
        )
    }


@lru_cache(maxsize=1024)
def _find_metric_direction_and_exchange(
    metric: str, rules: str, task_type: str, options: tuple[tuple[str, str], ...]
) -> tuple[bool | None, bool]:
    """Return two properties of a metric, ``higher_is_better`` and ``is_exchangeable``,
    or None and True if the metric no longer exists.
    """
    try:
        own_type = type_of(task_type)
        built = build_metric(
            own_type, metric, rules, own_type.validate_options(dict(options))
        )
    except UnknownMetric:
        return None, True
    return built.higher_is_better, built.is_exchangeable


def _build_columns_by_signature(
    counts: Counter[int], board: Board
) -> tuple[list[BoardScoreColumn], dict[int, str]]:
    """Return the columns of the board, and the name of the column for each signature of
    scores. If scores of one metric were computed in several ways, the column for the
    most frequent way gets the name of the metric.
    """
    signatures = Signature.objects.in_bulk(counts)
    heads = {signature.column: signature for signature in signatures.values()}
    of_key: Counter[str] = Counter()
    for number, rows in counts.items():
        of_key[signatures[number].column] += rows
    leading: dict[str, str] = {}
    for key, _signatures in sorted(
        of_key.items(), key=lambda item: (-item[1], item[0])
    ):
        leading.setdefault(heads[key].metric, key)
    names = {
        key: head.metric if leading[head.metric] == key else key
        for key, head in heads.items()
    }
    task = board.phase.task
    ranking = task.task_type.get_ranking_metric_name(board.rules or "", task.options)
    options = tuple(sorted(task.options.items()))
    columns = []
    for key, head in heads.items():
        higher_is_better, is_exchangeable = _find_metric_direction_and_exchange(
            head.metric, board.rules or "", task.type, options
        )
        is_ranking = head.metric == ranking and leading[head.metric] == key
        facts = (
            head.scale,
            higher_is_better,
            head.position,
            is_ranking,
            is_exchangeable,
        )
        columns.append(BoardScoreColumn(names[key], head.metric, key, *facts))
    columns.sort(
        key=lambda column: (
            not column.is_ranking,
            column.position,
            column.name != column.metric,
            column.key,
        )
    )
    return columns, {
        number: names[signature.column] for number, signature in signatures.items()
    }
