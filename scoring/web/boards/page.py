"""All that the page of a board shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from citeboard.core.query import Choice
from citeboard.core.words import counted, listed
from scoring.board.errata import Erratum, errata_for
from scoring.board.names import metric_label
from scoring.board.own_runs import OwnRun, own_runs
from scoring.board.query import RANK, BoardQuery, chosen_rows
from scoring.board.ranks import SIGNIFICANCE, VALUE, WAYS
from scoring.board.standings import Board, Row
from scoring.board.table import Table, sorted_in_words, table
from scoring.board.visibility import Visibility, shows_own_scores, shows_run_counts
from scoring.comparison.query import CompareQuery
from scoring.exchange.citations import Citation, of_board
from scoring.publications.published import published_of
from scoring.publications.tables import headline
from scoring.web.boards.facts import BoardFacts
from scoring.web.boards.sections import Section
from tasks.models import Phase

COUNTED = {
    Phase.Counting.BEST: gettext_lazy("The best run of each team"),
    Phase.Counting.LAST: gettext_lazy("The last scored run of each team"),
    Phase.Counting.ALL: gettext_lazy("Every run of each team"),
    Phase.Counting.SELECTED: gettext_lazy("The run that each team chose (none where it has not)"),
    Phase.Counting.PRIORITY: gettext_lazy("The first %(runs)s of each team by the priority that it gave"),
}
BY = {VALUE: gettext_lazy("value"), SIGNIFICANCE: gettext_lazy("significance")}


class Toggle(NamedTuple):
    """A link that shows or hides some of the rows."""

    element: str
    href: str
    is_shown: bool
    label: str


@dataclass(frozen=True)
class BoardPage:
    """What a reader sees of the board's ``facts``; ``teams`` are the slugs of the reader's own."""

    facts: BoardFacts
    query: BoardQuery
    teams: frozenset[str] = frozenset()

    @property
    def board(self) -> Board:
        return self.facts.board

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @cached_property
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
        return of_board(self.board, confirmation=self.facts.confirmation)

    @property
    def bib_href(self) -> str:
        return f"board.bib{self.address}"

    @property
    def errata(self) -> list[Erratum]:
        return errata_for(self.phase, self.board.audience)

    @property
    def keep_href(self) -> str:
        return f"cite/{self.address}"

    @property
    def is_ahead(self) -> bool:
        return now() < self.phase.opens

    @property
    def newest_href(self) -> str:
        newest = self.facts.newest
        return self.query.with_(gold=newest.number) if newest else ""

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

    @property
    def rule_sets(self) -> list[Choice]:
        return self.query.choices("rules", self.phase.task.rules, self.board.rules, sort=RANK)

    @property
    def ways(self) -> list[Choice]:
        return self.query.choices("by", WAYS, self.query.by, lambda way: str(BY[way]))

    @property
    def toggles(self) -> list[Toggle]:
        query = self.query
        offered = [
            (any(row.is_baseline for row in self.board.rows), "baselines", "baselines", _("baselines")),
            (any(row.is_human for row in self.board.rows), "human", "human-line", _("the human line")),
            (bool(self.phase.task.published), "reported", "reported", _("published results")),
        ]
        marks = {name: words for row in self.board.rows if row.card for name, words in row.marks}
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
            Choice(
                "main",
                _("main (%(number)s)") % {"number": main},
                self.query.with_(all_columns=False),
                not is_all,
            ),
            Choice(
                "all", _("all %(number)s") % {"number": number}, self.query.with_(all_columns=True), is_all
            ),
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
    def table(self) -> Table:
        compare = self._compare if self.shows_scores else ""
        return table(self.facts.writers, self.rows, self.query, compare, self.teams)

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
        rule = COUNTED[Phase.Counting(self.phase.counting)] % {"runs": runs}
        ranked = _("%(rule)s, ranked by %(measure)s") % {"rule": rule, "measure": self._measure}
        sentences = [ranked if self.board.ranking else rule]
        if self.query.sort != RANK:
            sentences.append(sorted_in_words(self.board, self.query))
        if hidden := len(self.board.rows) - len(self.rows):
            left_out = _("%(rows)s left out") % {"rows": counted(hidden, "row")}
            sentences.append(left_out[:1].upper() + left_out[1:])
        return ". ".join(sentences) + "."

    @property
    def _measure(self) -> str:
        metric = metric_label(self.board.ranking.metric) if self.board.ranking else ""
        if len(self.phase.task.rules) < 2:
            return metric
        return _("%(metric)s under the rules “%(rules)s”") % {"metric": metric, "rules": self.board.rules}

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
        return self.facts.sections if self.shows_scores else []
