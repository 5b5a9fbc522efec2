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

from citeboard.teams.access import teams_of
from scoring.metrics import UnknownMetric, metric_of
from scoring.models import (
    BoardOrder,
    MonthlyRanks,
    Score,
    Signature,
    WithholdingReason,
    digest_of_runs,
)
from scoring.results.board import formatting, seeds, visibility as visible
from scoring.results.board.cache import CACHE_SECONDS, board_version, digest_of
from scoring.results.board.comparisons import (
    SIGNIFICANCE,
    VALUE,
    Separation,
    separation_of_top_two,
)
from scoring.results.board.counting import (
    CountingRun,
    board_gold_at,
    counting_runs,
    gold_on_board,
    score_rows_of,
    scored_systems_by_team,
)
from scoring.results.board.human_columns import human_columns
from scoring.results.board.stored_ranks import (
    RankedBoard,
    RankedRow,
    stored_or_computed_ranks,
    was_final_before_verdicts,
)
from scoring.results.board.verdict import (
    BoardVerdict,
    RankedSystem,
    UntestedReason,
    verdict_on_systems,
)
from tasks.gold.secrecy import ContentKind, embargoes_of
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
MAX_CACHED_CELLS = 20_000


def expand_rows_to_runs(rows: "Sequence[Row]") -> "list[Row]":
    """Return a row for each run, where the rows of the averaged runs replace each mean
    over seeds.
    """
    return [run for row in rows for run in row.runs or [row]]


class UnknownRules(LookupError):
    """An error about a rule set that the task does not have. The message of the error
    lists the rule sets of the task.
    """


@dataclass(frozen=True, slots=True)
class Column:
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


class Cell(NamedTuple):
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
class Row(CountingRun):
    """A row of a board. The tests of the board do not exclude the ranks from
    ``rank_low`` to ``rank_high``.
    """

    scores: dict[str, Cell] = field(default_factory=dict)
    value: float | None = None
    is_comparable: bool = True
    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    #: ``p`` is the adjusted p-value of the comparison that determines the rank.
    p: float | None = None
    #: If the row is a mean over seeds, ``runs`` has its runs, the earliest first.
    runs: list["Row"] = field(default_factory=list)
    #: ``best_of`` is the number of the team's systems, of which the row is the best.
    best_of: int = 0

    @property
    def first_run(self) -> "Row | None":
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
        return digest_of_runs(
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
        return run_cards.warning_labels_of_card(self.card)

    @property
    def is_contrastive(self) -> bool:
        return self.kind == Submission.Kind.CONTRASTIVE

    @property
    def competes(self) -> bool:
        return self.kind not in Submission.TEAMLESS

    @property
    def says_who(self) -> bool:
        """Return True if the row may show texts that the team wrote, which can reveal
        the team's name.
        """
        return bool(self.team_slug) or not self.competes

    @property
    def display_name(self) -> str:
        if not self.competes:
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
    visibility: visible.Visibility
    rules: str | None = None
    by: str = VALUE
    is_compared: bool = False
    gold: Gold | None = None
    columns: list[Column] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
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
    def rows_with_seed_runs(self) -> list[Row]:
        """Return the rows of the board, where the averaged runs follow after each mean
        over seeds.
        """
        return [each for row in self.rows for each in (row, *row.runs)]

    @property
    def has_seed_means(self) -> bool:
        return any(row.runs for row in self.rows)

    def mean_of(self, run: int) -> Row | None:
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
        return replace(self, rows=[row.first_run or row for row in self.rows])

    @property
    def version(self) -> int:
        """Return the version of the phase, or 0 if the board is hidden or frozen,
        because the version would reveal new runs.
        """
        is_told = (
            self.visibility != visible.Visibility.NOTHING and self.frozen_at is None
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
        return len(self.rows) * len(self.columns) <= MAX_CACHED_CELLS

    @property
    def counts_by_priority(self) -> bool:
        return self.phase.counting == Phase.Counting.PRIORITY

    @property
    def best(self) -> list[Row]:
        """Return the ranked rows that have the best value on the board. The difference
        between the best rows and other rows may not be significant.
        """
        ranked = [row for row in self.rows if row.rank is not None]
        return [
            row
            for row in ranked
            if row.value == ranked[0].value and row.rank == ranked[0].rank
        ]

    @property
    def may_be_first(self) -> list[Row]:
        """Return the rows of the board that may be first, or no rows if not all rows
        have been compared.
        """
        return (
            [row for row in self.rows if row.rank_low == 1] if self.is_compared else []
        )

    @property
    def verdict(self) -> BoardVerdict | None:
        """Return the verdict on the leader of the board, or None if no row is ranked,
        or if the final board is older than verdicts.
        """
        if self.keeps_sentences:
            return None
        return verdict_on_systems(
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
    def ranking(self) -> Column | None:
        return next((column for column in self.columns if column.is_ranking), None)

    @cached_property
    def filled(self) -> list[Column]:
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
    def columns_main_first(self) -> list[Column]:
        return sorted(self.filled, key=self._place)

    @cached_property
    def main(self) -> list[Column]:
        return [
            column
            for column in self.columns_main_first
            if self._place(column) < FIRST_MINOR_COLUMN_POSITION
        ]

    def _place(self, column: Column) -> int:
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

    def rank_of(self, row: Row) -> str:
        """Return the rank of a row as text, such as `2–4` if all rows have been
        compared, and otherwise `2`.
        """
        return formatting.rank_text(
            row.rank, row.rank_low, row.rank_high, is_compared=self.is_compared
        )

    def place_of(self, row: Row) -> str:
        """Return the position of a row as text, such as `rank 2–4 of 18`, for pages,
        citations and badges.
        """
        rank = self.rank_of(row)
        if not rank:
            return ""
        ranked = sum(other.rank is not None for other in self.rows)
        return _("rank %(rank)s of %(systems)s") % {"rank": rank, "systems": ranked}

    @property
    def systems(self) -> list[Row]:
        return [row for row in self.rows if not row.is_human]

    @property
    def holds_other_keys(self) -> bool:
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
    by: str = VALUE,
    stores_ranks: bool = False,
) -> Board:
    """Return the board of a phase as the viewer may see the board, with the best row
    first.

    Raises UnknownRules. A caller that has already computed the viewer's ``audience``
    can pass the audience. Only worker processes store the computed ranks.
    """
    audience = audience or visible.audience_of(phase, viewer)
    board = Board(
        phase=phase,
        audience=audience,
        visibility=visible.visibility_of(phase, audience),
        rules=check_rules(phase, rules),
        frozen_at=visible.freeze_time_for(phase, audience),
    )
    if board.frozen_at is None:
        board.gold = gold or gold_on_board(phase)
    else:
        # A frozen board uses the gold version that was newest at the freeze.
        board.gold = board_gold_at(phase, board.frozen_at)
        if gold is not None and board.gold is not None:
            board.gold = gold if gold.number <= board.gold.number else None
    if board.gold is not None and audience not in visible.SEASON_STAFF_AUDIENCES:
        is_kept_back = not embargoes_of(phase).is_free(
            ContentKind.OTHERS, version=board.gold.pk
        )
        board.visibility = (
            visible.Visibility.NOTHING if is_kept_back else board.visibility
        )
    if (
        board.visibility == visible.Visibility.NOTHING
        or board.rules is None
        or board.gold is None
    ):
        return board
    board.rows = counting_runs(Row, phase, board.rules, board.gold, board.frozen_at)
    _fill_scores(board)
    _merge_seeds(board)
    rank(board.rows)
    if phase.has_monthly_ranks:
        _rank_by_month(board)
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
    if not visible.shows_teams(phase, audience):
        _hide_other_teams(board, viewer)
    if board.visibility == visible.Visibility.RANKS:
        _hide_scores(board)
    return board


def _hide_other_teams(board: Board, viewer: object) -> None:
    """Hide the names of all teams on the board except the viewer's own team."""
    own_teams = set(teams_of(viewer).values_list("slug", flat=True))
    for row in board.rows_with_seed_runs:
        if row.team_slug not in own_teams:
            row.best_of = 0
            row.team = (
                registrations.pseudonym_of_alias(row.alias)
                if board.phase.shows_teams
                else None
            )
            row.team_slug, row.has_organiser = None, False
            row.card = run_cards.without_identifying_fields(row.card)


def _hide_scores(board: Board) -> None:
    board.columns = []
    for row in board.rows_with_seed_runs:
        row.scores, row.value, row.p = {}, None, None
    if board.separation is not None:
        # The p-value and the probability of the order would reveal hidden scores.
        board.separation = replace(board.separation, p=None, order_chance=None)


def cached_board(
    phase: Phase,
    viewer: object,
    rules: str | None = None,
    *,
    gold: Gold | None = None,
    audience: visible.Audience | None = None,
    by: str = VALUE,
) -> Board:
    """Return the board of a phase from the cache, or compute and cache the board.

    Callers share the cached board and must not change the board. If the names of teams
    are hidden, the function does not cache the boards that members of teams see. Raises
    UnknownRules.
    """
    audience = audience or visible.audience_of(phase, viewer)
    hides_teams = not visible.shows_teams(phase, audience)
    if hides_teams and teams_of(viewer).exists():
        return compute_board(phase, viewer, rules, gold=gold, audience=audience, by=by)
    version, rules = board_version(phase), check_rules(phase, rules)
    key = digest_of(version, audience, rules, gold and gold.pk, by, get_language())
    board: Board | None = caches["boards"].get(key)
    if board is None:
        board = compute_board(phase, viewer, rules, gold=gold, audience=audience, by=by)
        if board.is_small:
            caches["boards"].set(key, board, CACHE_SECONDS)
    return board


def board_and_row_of_run(
    phase: Phase, viewer: object, submission: int
) -> tuple[Board, Row] | None:
    for rules in phase.task.rules or [None]:
        board = cached_board(phase, viewer, rules)
        for row in expand_rows_to_runs(board.rows):
            if row.submission == submission and row.scores:
                return board, row
    return None


def check_rules(phase: Phase, rules: str | None) -> str | None:
    rule_sets = phase.task.rules
    name = None if rules is None else base.current_rules(rules)
    if name is not None and name not in rule_sets:
        raise UnknownRules(
            _("%(task)s has no rules “%(rules)s”; it has %(known)s")
            % {
                "task": phase.task,
                "rules": rules,
                "known": ", ".join(rule_sets) or _("none"),
            }
        )
    return name or (phase.task.ranking_rules if rule_sets else None)


def rank(rows: list[Row]) -> None:
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
    before: Row | None = None
    for row in rows:
        if not row.competes or row.is_contrastive or not row.is_comparable:
            row.rank = row.rank_low = row.rank_high = None
            continue
        place += 1
        tied = before is not None and keys[id(before)] == keys[id(row)]
        row.rank = before.rank if before is not None and tied else place
        row.rank_low = row.rank_high = row.rank
        before = row


def first_day_of_month(at: dt.datetime) -> dt.date:
    return at.astimezone(dt.UTC).date().replace(day=1)


def _rank_by_month(board: Board) -> None:
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
        Phase.Counting.BEST,
        Phase.Counting.LAST,
        Phase.Counting.SELECTED,
    )
    by_run = {ranked["run"]: ranked["rank"] for ranked in runs}
    by_team = {ranked["team"]: ranked["rank"] for ranked in runs if counts_one}
    for row in board.rows:
        is_ranked = row.competes and not row.is_contrastive
        row.rank = (
            by_run.get(row.submission, by_team.get(row.team_slug))
            if is_ranked
            else None
        )
        row.rank_low = row.rank_high = row.rank
    board.rows.sort(key=lambda row: (row.rank is None, row.rank or 0))
    board.ranks_of = shown.month if shown else None


def _set_rank_ranges(board: Board, by: str, *, stores_ranks: bool) -> None:
    rows = [row for row in board.rows if row.rank is not None]
    if not rows or board.ranking is None or board.gold is None:
        return
    ranks = stored_or_computed_ranks(
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
        by_program = board.phase.task.task_type.is_of_program(
            board.rules or "", board.ranking.metric
        )
        board.untested = (
            UntestedReason.PROGRAM if by_program else UntestedReason.MEASURE
        )
    elif not ranks.is_complete:
        board.untested = UntestedReason.NOT_COMPARED
    if ranks.first_two is not None:
        unit = board.phase.task.unit
        board.separation = separation_of_top_two(
            ranks.first_two, unit=unit, rows=len(rows)
        )
    board.by = SIGNIFICANCE if by == SIGNIFICANCE and ranks.is_complete else VALUE
    for row, own in zip(rows, ranks.ranges, strict=True):
        row.rank_low, row.rank_high, row.p = own["low"], own["high"], own["p"]
        if board.by == SIGNIFICANCE:
            row.rank = own["low"]


@lru_cache(maxsize=4096)
def round_to_12_digits(value: float) -> float:
    """Round a value to 12 significant digits, because the last digits of sums may
    differ between machines.
    """
    return float(f"{value:.12g}")


def _fill_scores(board: Board) -> None:
    """Set the columns of the board, and the scores of each row of the board."""
    cells = _cells_by_evaluation([row.evaluation for row in board.rows])
    columns, names = _columns_by_signature(
        Counter(chain.from_iterable(cells.values())), board
    )
    for row in board.rows:
        row.scores = {
            names[signature]: cell for signature, cell in cells[row.evaluation].items()
        }
    rated = human_columns(board.phase, board.frozen_at)
    rating_columns = [
        Column(
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
                row.scores[column.metric] = Cell(
                    score=-score.pk, value=score.value, low=score.low, high=score.high
                )
    ranking = board.ranking
    for row in board.rows:
        ranked_by = row.scores.get(ranking.name) if ranking else None
        row.is_comparable = ranked_by is not None
        if ranking and ranked_by is not None and ranked_by.value is not None:
            row.value = ranking.sign * ranked_by.value


def _merge_seeds(board: Board) -> None:
    """Replace runs of one system with different random seeds by a row with the means
    over these runs.
    """
    if not board.phase.takes_seeds:
        return
    groups: dict[tuple[str | None, str, str], list[Row]] = {}
    for row in board.rows:
        if row.seeds_of:
            groups.setdefault((row.team_slug, row.kind, row.seeds_of), []).append(row)
    means = [
        _merge_seed_rows(sorted(runs, key=lambda row: (row.submitted_at, row.number)))
        for runs in groups.values()
        if len(runs) > 1
    ]
    if means:
        merged = {run.evaluation for mean in means for run in mean.runs}
        board.rows = [row for row in board.rows if row.evaluation not in merged] + means
        _set_seed_mean_intervals(board, means)
        _set_system_counts(board)


def _set_seed_mean_intervals(board: Board, means: list[Row]) -> None:
    """Set the confidence intervals of means over seeds if a worker has computed the
    intervals.
    """
    intervals = seeds.seed_mean_intervals(
        board.phase.pk, [mean.scoring for mean in means]
    )
    for mean in means:
        own = intervals.get(mean.scoring, {})
        for column in board.columns:
            cell = mean.scores.get(column.name)
            if cell is not None and cell.value is not None and column.metric in own:
                low, high = own[column.metric]
                mean.scores[column.name] = cell._replace(low=low, high=high)


def _set_system_counts(board: Board) -> None:
    """Set ``best_of`` of each row to the number of systems of the row's team, of which
    the row is the best.
    """
    if board.phase.counting != Phase.Counting.BEST:
        return
    number = scored_systems_by_team(
        board.phase, board.rules, board.gold, board.frozen_at
    )
    for row in board.rows:
        if row.competes and not row.is_contrastive and row.team_slug:
            row.best_of = number[row.team_slug]


def _merge_seed_rows(runs: list[Row]) -> Row:
    first = runs[0]
    mean = replace(
        first,
        system=first.seeds_of,
        runs=runs,
        card=seeds.shared_card_fields([run.card for run in runs]),
        priority=min(run.priority for run in runs),
        scores={
            name: _merge_seed_cells([run.scores[name] for run in runs])
            for name, cell in first.scores.items()
            if cell.score > 0 and all(name in run.scores for run in runs)
        },
        value=seeds.mean_if_complete([run.value for run in runs]),
        is_comparable=all(run.is_comparable for run in runs),
    )
    mean.scoring = mean.system_digest
    return mean


def _merge_seed_cells(cells: list[Cell]) -> Cell:
    return Cell(
        score=cells[0].score,
        value=seeds.mean_if_complete([cell.value for cell in cells]),
        low=None,
        high=None,
        withheld=next((cell.withheld for cell in cells if cell.withheld), ""),
    )


def _cells_by_evaluation(evaluations: Sequence[int]) -> dict[int, dict[int, Cell]]:
    """Return the scores of each evaluation as table cells, keyed by evaluation and
    signature.
    """
    cells: dict[int, dict[int, Cell]] = {evaluation: {} for evaluation in evaluations}
    undefined = []
    for evaluation, score, signature, value, low, high in score_rows_of(evaluations):
        cells[evaluation][signature] = Cell(score, value, low, high)
        if value is None:
            undefined.append((evaluation, signature, score))
    reasons = _missing_value_reasons(
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


def _missing_value_reasons(undefined: Sequence[int]) -> dict[int, _MissingValueReason]:
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
def _metric_traits(
    metric: str, rules: str, task_type: str, options: tuple[tuple[str, str], ...]
) -> tuple[bool | None, bool]:
    """Return two properties of a metric, ``higher_is_better`` and ``is_exchangeable``,
    or None and True if the metric no longer exists.
    """
    try:
        own_type = type_of(task_type)
        built = metric_of(
            own_type, metric, rules, own_type.checked_options(dict(options))
        )
    except UnknownMetric:
        return None, True
    return built.higher_is_better, built.is_exchangeable


def _columns_by_signature(
    counts: Counter[int], board: Board
) -> tuple[list[Column], dict[int, str]]:
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
    ranking = task.task_type.ranking_metric(board.rules or "", task.options)
    options = tuple(sorted(task.options.items()))
    columns = []
    for key, head in heads.items():
        higher_is_better, is_exchangeable = _metric_traits(
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
        columns.append(Column(names[key], head.metric, key, *facts))
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
