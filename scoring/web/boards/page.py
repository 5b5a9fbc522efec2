"""All that the page of a board shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.utils.timezone import now

from citeboard.core.query import Choice
from citeboard.core.words import counted, listed
from scoring.board.confirming import Confirmation, confirmation_of
from scoring.board.counting import Turnout, turnout, unsettled
from scoring.board.errata import Erratum, errata_for
from scoring.board.human_columns import agreement_in_words, published_sheet
from scoring.board.label_shares import schemes_of
from scoring.board.names import metric_label
from scoring.board.outside import has_outside
from scoring.board.own_runs import OwnRun, own_runs
from scoring.board.pairings import pairings_of
from scoring.board.query import RANK, BoardQuery, chosen_rows
from scoring.board.ranks import WAYS
from scoring.board.snapshots import snapshots_of
from scoring.board.standings import HUMAN_COLUMNS, Board, Row
from scoring.board.table import sorted_in_words, table
from scoring.board.team_reported import has_team_figures
from scoring.board.visibility import Visibility, shows_own_scores, shows_run_counts
from scoring.comparison.query import CompareQuery
from scoring.exchange.citations import Citation, of_board
from scoring.models import Snapshot
from scoring.publications.published import published_of
from scoring.publications.tables import headline
from scoring.web.boards.sections import COSTS, DIFFERENCES, DISCOURSE, OUTSIDE, PAIRINGS, PEOPLE, Section
from tasks.models import Gold, Phase

COUNTED = {
    Phase.Counting.BEST: "The best run of each team",
    Phase.Counting.LAST: "The last scored run of each team",
    Phase.Counting.ALL: "Every run of each team",
    Phase.Counting.SELECTED: "The run that each team chose (none where it has not)",
    Phase.Counting.PRIORITY: "The first {runs} of each team by the priority that it gave",
}


class Toggle(NamedTuple):
    """A link that shows or hides some of the rows."""

    element: str
    href: str
    is_shown: bool
    label: str


@dataclass(frozen=True)
class BoardPage:
    """What only some boards show is looked up when `board.html` comes to it.

    ``teams`` are the slugs of the viewer's own.
    """

    board: Board
    query: BoardQuery
    teams: frozenset[str] = frozenset()

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @property
    def address(self) -> str:
        """The query string of the board as it stands, for what lies below it."""
        return self.query.with_().removesuffix("?")

    @property
    def shows_scores(self) -> bool:
        return self.board.visibility == Visibility.SCORES

    @property
    def shows_ranks(self) -> bool:
        return self.board.visibility != Visibility.NOTHING

    @property
    def citation(self) -> Citation:
        return of_board(self.board)

    @property
    def bib_href(self) -> str:
        return f"board.bib{self.address}"

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """Of a phase that has not closed, was never frozen and has its first gold, there are none."""
        if (
            self.phase.frozen_from is None
            and now() < self.phase.closes
            and (self.board.gold is None or self.board.gold.number == 1)
        ):
            return []
        return snapshots_of(self.phase, self.board.audience)

    @property
    def errata(self) -> list[Erratum]:
        return errata_for(self.phase, self.board.audience)

    @cached_property
    def confirmation(self) -> Confirmation | None:
        return confirmation_of(self.board)

    @property
    def keep_href(self) -> str:
        return f"cite/{self.address}"

    @property
    def is_ahead(self) -> bool:
        return now() < self.phase.opens

    @cached_property
    def turnout(self) -> Turnout:
        return turnout(self.phase)

    @cached_property
    def newest(self) -> Gold | None:
        """Of a frozen board nothing that came later is told."""
        if self.board.frozen_at is not None:
            return None
        return Gold.objects.current(self.phase)

    @property
    def newest_href(self) -> str:
        return self.query.with_(gold=self.newest.number) if self.newest else ""

    @cached_property
    def being_scored(self) -> int:
        """How many runs a newer version of the gold still has to be scored against."""
        if self.newest is None or self.board.gold is None or self.newest.pk == self.board.gold.pk:
            return 0
        return unsettled(self.phase, self.newest).count()

    @property
    def shows_run_counts(self) -> bool:
        return shows_run_counts(self.phase, self.board.audience)

    @property
    def shows_own_scores(self) -> bool:
        return shows_own_scores(self.phase)

    @property
    def counting_words(self) -> str:
        return self.phase.get_counting_display().removesuffix(" of a team")

    # -- What a reader can choose

    @cached_property
    def phases(self) -> list[Phase]:
        return list(self.phase.task.phases.all())

    @property
    def rule_sets(self) -> list[Choice]:
        return self.query.choices("rules", self.phase.task.rules, self.board.rules, sort=RANK)

    @property
    def ways(self) -> list[Choice]:
        return self.query.choices("by", WAYS, self.query.by)

    @property
    def toggles(self) -> list[Toggle]:
        query = self.query
        offered = [
            (any(row.is_baseline for row in self.board.rows), "baselines", "baselines", "baselines"),
            (any(row.is_human for row in self.board.rows), "human", "human-line", "the human line"),
            (bool(self.phase.task.published), "reported", "reported", "published results"),
        ]
        marks = {name: words for row in self.board.rows for name, words in row.marks}
        of_marks = [
            Toggle(f"mark-{name}", query.with_(without=self._turned(name)), name not in query.without, words)
            for name, words in marks.items()
        ]
        return [
            Toggle(element, query.with_(**{name: not getattr(query, name)}), getattr(query, name), label)
            for is_offered, name, element, label in offered
            if is_offered
        ] + of_marks

    def _turned(self, mark: str) -> tuple[str, ...]:
        """The marks whose rows are left out, with this one or without it."""
        left_out = self.query.without
        return tuple(own for own in left_out if own != mark) if mark in left_out else (*left_out, mark)

    @cached_property
    def columns(self) -> list[Choice]:
        """Main metrics or all of them; nothing to choose where these are the same."""
        number, main = len(self.board.filled), len(self.board.main)
        if not self.shows_scores or number == main:
            return []
        is_all = self.query.all_columns
        return [
            Choice("main", f"main ({main})", self.query.with_(all_columns=False), not is_all),
            Choice("all", f"all {number}", self.query.with_(all_columns=True), is_all),
        ]

    @property
    def carried(self) -> list[tuple[str, str]]:
        return self.query.pairs(text="")

    @property
    def all_href(self) -> str:
        return self.query.with_(text="")

    # -- The table

    @cached_property
    def rows(self) -> list[Row]:
        return chosen_rows(self.board, self.query)

    @cached_property
    def table(self) -> dict[str, Any]:
        compare = self._compare if self.shows_scores else ""
        return table(self.board, self.rows, self.query, compare, self.teams)

    @cached_property
    def own_runs(self) -> list[OwnRun]:
        return own_runs(self.board, self.teams)

    @property
    def _compare(self) -> str:
        """Where a run is compared with the first; its number goes behind this."""
        same = CompareQuery(rules=self.query.rules, gold=self.query.gold)
        return f"compare/?{urlencode([*same.pairs(), ('a', '')])}"

    @property
    def caption(self) -> str:
        """What a row is, how the rows are ordered, and how many are left out."""
        runs = counted(self.phase.judged_runs, "run")
        rule = COUNTED[Phase.Counting(self.phase.counting)].format(runs=runs)
        sentences = [f"{rule}, ranked by {self._measure}" if self.board.ranking else rule]
        if self.query.sort != RANK:
            sentences.append(sorted_in_words(self.board, self.query))
        if hidden := len(self.board.rows) - len(self.rows):
            sentences.append(f"{counted(hidden, 'row').capitalize()} left out")
        return ". ".join(sentences) + "."

    @property
    def _measure(self) -> str:
        metric = metric_label(self.board.ranking.metric) if self.board.ranking else ""
        several = len(self.phase.task.rules) > 1
        return f"{metric} under the rules “{self.board.rules}”" if several else metric

    @property
    def unit(self) -> str:
        return self.phase.task.task_type.unit

    @property
    def ranking_label(self) -> str:
        return metric_label(self.board.ranking.metric) if self.board.ranking else ""

    @property
    def footnote(self) -> str:
        return self.board.ranking.key if self.board.ranking else ""

    @property
    def untested(self) -> str:
        """The metrics by which no two runs can be compared."""
        labels = [metric_label(column.metric) for column in self.board.filled if not column.is_exchangeable]
        return listed(list(dict.fromkeys(labels)))

    @cached_property
    def human_agreement(self) -> str:
        """How far the annotators agree whose ratings are columns of the board; nothing where none are."""
        if not any(column.position >= HUMAN_COLUMNS for column in self.board.columns):
            return ""
        sheet = published_sheet(self.phase, self.board.frozen_at)
        return agreement_in_words(sheet) if sheet else ""

    # -- Below it

    @cached_property
    def published(self) -> dict[str, Any] | None:
        """The leading table of what publications report of the task, which has columns of its own."""
        if not self.phase.task.published or not self.query.reported:
            return None
        tables = published_of(self.phase.task).headlines
        return headline(tables[0], text=self.query.text) if tables else None

    @property
    def sections(self) -> list[Section]:
        if not self.shows_scores:
            return []
        has = {
            DIFFERENCES: True,
            PAIRINGS: bool(pairings_of(self.board)),
            COSTS: has_team_figures(self.phase),
            OUTSIDE: has_outside(self.phase),
            PEOPLE: any(column.position >= HUMAN_COLUMNS for column in self.board.columns),
            DISCOURSE: bool(schemes_of([column.name for column in self.board.columns])),
        }
        return [section for section, is_there in has.items() if is_there]
