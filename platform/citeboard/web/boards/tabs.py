"""The tabs below the table of a board. Each tab has its own URL, such as
`?view=classes`.

`BOARD_TABS` lists all tabs. A new tab needs an entry in `BOARD_TABS`, a context function and a
template.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from django.http import Http404
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.query import build_invalid_value_error
from citeboard.web.boards import battles, classes, estimates, judges, sections
from citeboard.web.boards.page_query import (
    CLASSES_TAB_NAME,
    DEFAULT_TAB_NAME,
    BoardPageParameters,
)
from scoring.exchange.figure_files import list_figure_formats
from scoring.results.board import charts, label_shares, visibility
from scoring.results.board.battles import has_battle_board, list_run_ids_on_battle_board
from scoring.results.board.counting import has_reported_or_manual_scores
from scoring.results.board.estimates import has_published_estimates
from scoring.results.board.judges import has_several_judges
from scoring.results.board.standings import (
    FIRST_HUMAN_COLUMN_POSITION,
    Board,
    expand_rows_to_runs,
)
from tasks.models import Phase


@dataclass(frozen=True)
class BoardTabConditions:
    board: Board
    query: BoardPageParameters

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @property
    def shows_scores(self) -> bool:
        return self.board.visibility == visibility.BoardVisibility.SCORES

    @cached_property
    def has_reported_or_manual_scores(self) -> tuple[bool, bool]:
        runs = [row.submission for row in expand_rows_to_runs(self.board.rows)]
        return has_reported_or_manual_scores(self.phase, runs, self.board.frozen_at)

    @property
    def competing_row_count(self) -> int:
        return sum(row.is_competing for row in self.board.rows)

    @property
    def has_battles(self) -> bool:
        return has_battle_board(self.phase, self.board.audience)

    @property
    def has_ratings(self) -> bool:
        return any(
            column.position >= FIRST_HUMAN_COLUMN_POSITION
            for column in self.board.columns
        )

    @property
    def has_labels(self) -> bool:
        """Return True if the answers of the board's task are labels and the user may
        see single instances.
        """
        has_labels = label_shares.has_single_label_answers(self.phase.task.task_type)
        return has_labels and visibility.may_see_instances(
            self.phase, self.board.audience
        )

    @property
    def available_label_schemes(self) -> Sequence[str]:
        return label_shares.list_label_schemes_on_board(self.board)

    @property
    def has_published_results(self) -> bool:
        return bool(self.phase.task.published) and self.query.reported

    @property
    def may_have_paper_tables(self) -> bool:
        """Return True if published papers may contain tables with results of the task.

        Papers contain tables for all built-in task types, and for declared tasks with
        published results.
        """
        task = self.phase.task
        return bool(task.published) or not task.declaration_id


def _build_empty_context(
    board: Board, query: BoardPageParameters, viewer: object
) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class BoardTab:
    """A tab below the table of a board.

    ``name`` is the value of `view` in the URL. ``context`` computes the context of
    ``template``. The page of a board calls only the ``context`` of the requested tab.
    ``depends_on`` returns additional parts of the board's cache key.

    If a tab has a ``page``, this page shows only the tab and serves the files of the
    figures. ``anchor`` is the HTML id of the link to the tab, by default the name. URLs
    of earlier releases use the id ``anchor`` as their fragment.
    """

    name: str
    label: Promise
    template: str
    is_offered: Callable[[BoardTabConditions], bool] = field(
        default=lambda contents: True
    )
    context: Callable[[Board, BoardPageParameters, object], dict[str, Any]] = (
        _build_empty_context
    )
    depends_on: Callable[[Phase, object], Sequence[object]] | None = None
    page: str = ""
    anchor: str = ""
    tables: Mapping[str, tuple[str, Promise]] = field(default_factory=dict)
    needs_scores: bool = True
    is_action: bool = False

    def seen(self, phase: Phase, viewer: object) -> Sequence[object]:
        return self.depends_on(phase, viewer) if self.depends_on else ()


NOTES_TAB_NAME, CITATION_TAB_NAME, SHARING_TAB_NAME = "notes", "cite", "share"

BOARD_TABS = (
    BoardTab(
        name=NOTES_TAB_NAME,
        label=gettext_lazy("Notes"),
        template="boards/_notes.html",
        needs_scores=False,
    ),
    BoardTab(
        name=CLASSES_TAB_NAME,
        label=gettext_lazy("Classes"),
        template="boards/_differences.html",
        context=classes.build_class_scores_tab_context,
        depends_on=classes.build_class_scores_cache_key,
        page="differences",
        anchor="differences",
        tables={
            "classes.csv": (
                "classes-csv",
                gettext_lazy("CSV, all classes and metrics"),
            ),
            "classes.json": (
                "classes-json",
                gettext_lazy("JSON, all classes and metrics"),
            ),
            "classes.tex": ("classes-tex", gettext_lazy("LaTeX, the tables shown")),
        },
    ),
    BoardTab(
        name="metrics",
        label=gettext_lazy("Metrics"),
        template="boards/_pairings.html",
        is_offered=lambda contents: charts.has_scatters_of_two_metrics(contents.board),
        context=sections.build_metric_pairs_tab_context,
        page="pairings",
        anchor="pairings",
    ),
    BoardTab(
        name="over-time",
        label=gettext_lazy("Over time"),
        template="boards/_over-time.html",
        is_offered=lambda contents: contents.competing_row_count > 1,
        context=sections.build_over_time_tab_context,
        page="over-time",
    ),
    BoardTab(
        name="costs",
        label=gettext_lazy("Costs"),
        template="boards/_costs.html",
        is_offered=lambda contents: contents.has_reported_or_manual_scores[0],
        context=sections.build_costs_tab_context,
        page="costs",
    ),
    BoardTab(
        name="battles",
        label=gettext_lazy("Battles"),
        template="boards/_battles.html",
        is_offered=lambda contents: contents.has_battles,
        context=battles.build_battle_tab_context,
        depends_on=lambda phase, viewer: list(
            list_run_ids_on_battle_board(
                phase, visibility.determine_audience(phase, viewer)
            )
        ),
        page="battles",
        needs_scores=False,
    ),
    BoardTab(
        name="people",
        label=gettext_lazy("People"),
        template="boards/_people.html",
        is_offered=lambda contents: contents.has_ratings,
        context=sections.build_human_scores_tab_context,
        depends_on=sections.build_human_scores_cache_key,
        page="people",
    ),
    BoardTab(
        name="estimates",
        label=gettext_lazy("Estimates"),
        template="boards/_estimates.html",
        is_offered=lambda contents: has_published_estimates(contents.board),
        context=estimates.build_estimates_tab_context,
        page="estimates",
    ),
    BoardTab(
        name="judges",
        label=gettext_lazy("Judges"),
        template="boards/_judges.html",
        is_offered=lambda contents: has_several_judges(
            contents.phase, contents.board.rules
        ),
        context=judges.build_judges_tab_context,
        page="judges",
    ),
    BoardTab(
        name="confidence",
        label=gettext_lazy("Confidence"),
        template="boards/_confidence.html",
        is_offered=lambda contents: contents.has_labels,
        context=sections.build_confidence_tab_context,
        page="confidence",
    ),
    BoardTab(
        name="discourse",
        label=gettext_lazy("Discourse"),
        template="boards/_discourse.html",
        is_offered=lambda contents: bool(contents.available_label_schemes),
        context=classes.build_label_shares_tab_context,
        page="discourse",
    ),
    BoardTab(
        name="outside",
        label=gettext_lazy("Measured elsewhere"),
        template="boards/_outside.html",
        is_offered=lambda contents: contents.has_reported_or_manual_scores[1],
        context=sections.build_manual_scores_tab_context,
        page="outside",
    ),
    BoardTab(
        name="published",
        label=gettext_lazy("Published results"),
        template="publications/_published_below.html",
        is_offered=lambda contents: contents.has_published_results,
        context=sections.build_published_results_context,
        needs_scores=False,
    ),
    BoardTab(
        name="paper",
        label=gettext_lazy("As printed"),
        template="boards/_paper.html",
        is_offered=lambda contents: contents.may_have_paper_tables,
        context=sections.build_paper_tab_context,
        depends_on=sections.build_paper_tab_cache_key,
        page="board-paper",
    ),
    BoardTab(
        name=CITATION_TAB_NAME,
        label=gettext_lazy("Cite"),
        template="boards/_cite.html",
        is_action=True,
    ),
    BoardTab(
        name=SHARING_TAB_NAME,
        label=gettext_lazy("Share"),
        template="boards/_share.html",
        depends_on=lambda phase, viewer: [phase.task.season.allows_frames],
        needs_scores=False,
        is_action=True,
    ),
)


def find_requested_tab(query: BoardPageParameters) -> BoardTab:
    """Return the tab that the URL names.

    Raises InvalidParameters for unknown names of tabs.
    """
    for tab in BOARD_TABS:
        if tab.name == query.tab:
            return tab
    raise build_invalid_value_error(
        "view", query.view, [tab.name for tab in BOARD_TABS]
    )


def find_offered_tabs(board: Board, query: BoardPageParameters) -> list[BoardTab]:
    contents = BoardTabConditions(board, query)
    return [
        tab
        for tab in BOARD_TABS
        if (contents.shows_scores or not tab.needs_scores) and tab.is_offered(contents)
    ]


def build_tab_context(
    tab: BoardTab,
    phase: Phase,
    board: Board,
    query: BoardPageParameters,
    viewer: object,
) -> dict[str, Any]:
    """Return the context of a tab's template, with links to the files of its figures.

    ``phase`` must be freshly loaded from the database, since the phase of a cached
    board may be outdated.
    """
    context = tab.context(replace(board, phase=phase), query, viewer)
    files = [
        (figure.title, _build_figure_file_links(name, figure.title))
        for name, figure in context.get("figures", {}).items()
    ]
    if files and tab.tables:
        tables = [(name, str(label)) for name, (_page, label) in tab.tables.items()]
        files.append((_("Table"), tables))
    if tab.page and files:
        task = phase.task
        context |= {
            "downloads": files,
            "files_page": reverse(
                tab.page, args=[task.season.slug, task.slug, phase.slug]
            ),
            "of_files": query.pairs(view=DEFAULT_TAB_NAME, adjusts=False, figure=""),
        }
    return context


def _build_figure_file_links(name: str, title: str) -> list[tuple[str, str]]:
    return [
        (f"{name}.{form}", f"{title}, {form.upper()}") for form in list_figure_formats()
    ]


def require_offered_tab(tab: BoardTab, tabs: Sequence[BoardTab]) -> None:
    """Raise Http404 if the board does not have the tab."""
    if tab not in tabs:
        message = _("This board has no “%(view)s”; it has: %(tabs)s.")
        names = ", ".join(other.name for other in tabs)
        raise Http404(message % {"view": tab.name, "tabs": names})
