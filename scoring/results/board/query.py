"""Parse the query parameters of a board, and select and sort the rows accordingly."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import Http404
from django.utils.translation import gettext as _

from citeboard.core.query import (
    PageParameters,
    declare_number_list_parameter,
    declare_number_parameter,
    declare_search_parameter,
    declare_switch_parameter,
    declare_text_list_parameter,
    declare_text_parameter,
)
from scoring.results.board.comparisons import RANK_BY_VALUE, RANKING_METHODS
from scoring.results.board.judges import asked_judge
from scoring.results.board.standings import (
    Board,
    BoardRow,
    BoardScoreColumn,
    UnknownRuleSet,
    load_cached_board,
)
from scoring.results.board.visibility import Audience, BoardVisibility
from tasks.models import Gold, Phase, run_cards

SORT_BY_RANK, SORT_BY_SYSTEM, SORT_BY_TEAM, SORT_BY_DATE = (
    "rank",
    "system",
    "team",
    "date",
)


@dataclass(frozen=True, kw_only=True)
class BoardQuery(PageParameters):
    """The parameters in the query string of a board's URL. A minus sign before the
    value of ``sort`` or ``order`` reverses the order of rows. ``figure`` is the file
    name of a chart, such as `heat-map.svg`.
    """

    rules: str | None = declare_text_parameter("rules", default=None)
    #: ``judge`` is the key of a judge, such as `b` or `b@supports`; empty for the first.
    judge: str = declare_text_parameter("judge")
    gold: int | None = declare_number_parameter("gold")
    by: str = declare_text_parameter(
        "rank", default=RANK_BY_VALUE, choices=RANKING_METHODS
    )
    sort: str = declare_text_parameter("sort", default=SORT_BY_RANK)
    text: str = declare_search_parameter("q")
    baselines: bool = declare_switch_parameter("baselines", "no", default=True)
    human: bool = declare_switch_parameter("human", "no", default=True)
    reported: bool = declare_switch_parameter("reported", "no", default=True)
    #: ``without`` hides rows whose run card marks one of these fields.
    without: tuple[str, ...] = declare_text_list_parameter(
        "without", choices=run_cards.MARKED_FIELD_NAMES
    )
    #: ``declared`` hides rows whose run card lacks these values, such as `model:open`.
    declared: tuple[str, ...] = declare_text_list_parameter("declared")
    all_columns: bool = declare_switch_parameter("columns", "all", default=False)
    dimension: str = declare_text_parameter("dimension")
    metric: str = declare_text_parameter("metric")
    systems: tuple[int, ...] = declare_number_list_parameter("system")
    order: str = declare_text_parameter("order", max_length=16)
    figure: str = declare_text_parameter("figure", max_length=80)
    #: If ``others`` is True, organisers see the board as other readers see it.
    others: bool = declare_switch_parameter("as", "others", default=False)

    @property
    def column(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def is_sort_reversed(self) -> bool:
        return self.sort.startswith("-")

    def query_string_sorted_by(self, column: str) -> str:
        return self.build_query_string(
            sort=f"-{column}" if self.sort == column else column
        )


def select_and_sort_rows(board: Board, query: BoardQuery) -> list[BoardRow]:
    wanted = query.text.casefold()
    rows = [
        row
        for row in board.rows
        if (query.baselines or not row.is_baseline)
        and (query.human or not row.is_human)
        and not (query.without and any(name in query.without for name, _ in row.marks))
        and (
            not query.declared
            or all(
                run_cards.does_card_declare_fact(row.card, fact)
                for fact in query.declared
            )
        )
        and (not wanted or wanted in f"{row.system} {row.team or ''}".casefold())
    ]
    if query.column == SORT_BY_RANK:
        return rows[::-1] if query.is_sort_reversed else rows
    column = next(
        (candidate for candidate in board.columns if candidate.name == query.column),
        None,
    )

    def sort_key(row: BoardRow) -> str | float | None:
        if query.column == SORT_BY_SYSTEM:
            return row.system.casefold()
        if query.column == SORT_BY_TEAM:
            return row.team.casefold() if row.team else None
        if query.column == SORT_BY_DATE:
            return -row.submitted_at.timestamp()
        cell = row.scores.get(query.column) if column else None
        if column is None or cell is None or cell.value is None:
            return None
        return cell.value if column.higher_is_better is False else -cell.value

    # Rows without a value are last in ascending and in descending order.
    keys = {row.submission: sort_key(row) for row in rows}
    having = [row for row in rows if keys[row.submission] is not None]
    having.sort(key=lambda row: keys[row.submission], reverse=query.is_sort_reversed)  # type: ignore[arg-type, return-value]
    return having + [row for row in rows if keys[row.submission] is None]


def load_cached_board_or_404(
    phase: Phase,
    viewer: object,
    rules: str | None,
    gold_number: int | None,
    *,
    audience: Audience | None = None,
    by: str = RANK_BY_VALUE,
) -> Board:
    gold = None
    if gold_number is not None:
        gold = Gold.objects.filter(
            task=phase.task_id, split=phase.split, number=gold_number
        ).first()
        if gold is None:
            raise Http404(
                _("There is no gold v%(number)s of this phase.")
                % {"number": gold_number}
            )
    try:
        board = load_cached_board(
            phase, viewer, rules, gold=gold, audience=audience, by=by
        )
    except UnknownRuleSet as unknown:
        raise Http404(str(unknown)) from unknown
    if gold is not None and board.gold is None:
        raise Http404(
            _("The board is frozen, and did not rest on gold v%(number)s.")
            % {"number": gold_number}
        )
    return board


def load_requested_board(
    phase: Phase, viewer: object, query: BoardQuery, audience: Audience
) -> Board:
    if query.others:
        viewer, audience = None, Audience.PUBLIC
    rules = (
        asked_judge(phase, query.rules, query.judge).rules
        if query.judge
        else query.rules
    )
    return load_cached_board_or_404(
        phase, viewer, rules, query.gold, audience=audience, by=query.by
    )


def load_requested_board_with_scores(
    phase: Phase, viewer: object, query: BoardQuery, audience: Audience
) -> Board:
    board = load_requested_board(phase, viewer, query, audience)
    if board.visibility != BoardVisibility.SCORES:
        raise Http404(_("The numbers of this board are not published."))
    return board


class UnknownColumn(LookupError):
    """An error about a column name that the board does not have. The message of the
    error lists the columns of the board.
    """


@dataclass(frozen=True, kw_only=True)
class LatexTableQuery(PageParameters):
    columns: tuple[str, ...] = declare_text_list_parameter("column")
    caption: str = declare_text_parameter("caption")
    has_marks: bool = declare_switch_parameter("marks", "no", default=True)
    has_intervals: bool = declare_switch_parameter("intervals", "no", default=True)


def find_columns_by_name(board: Board, names: Sequence[str]) -> list[BoardScoreColumn]:
    offered = {column.name for column in board.columns}
    for name in names:
        if name not in offered:
            raise UnknownColumn(
                _("The board has no column “%(name)s”; it has %(known)s.")
                % {"name": name, "known": ", ".join(sorted(offered))}
            )
    chosen = [column for column in board.columns if not names or column.name in names]
    return sorted(chosen, key=lambda column: not column.is_ranking)
