"""The context of the page of a board."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.utils.timezone import now
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.words import counted, listed
from citeboard.web.boards import sections as parts
from citeboard.web.boards.controls import Controls
from scoring.exchange.citations import Citation, of_board
from scoring.figures import Bars
from scoring.models import Snapshot
from scoring.results.board import (
    charts,
    confirming,
    human_columns,
    label_shares,
    visibility,
)
from scoring.results.board.counting import (
    Turnout,
    has_figures_beside,
    is_being_released,
    is_scored_again,
    turnout,
    unsettled,
)
from scoring.results.board.differences import chosen_systems, class_table, shown_classes
from scoring.results.board.formatting import metric_label
from scoring.results.board.limit_texts import limits_in_words
from scoring.results.board.open_gold import commitments_of
from scoring.results.board.query import RANK, BoardQuery, chosen_rows
from scoring.results.board.snapshots import snapshots_of
from scoring.results.board.standings import HUMAN_COLUMNS, Board, Row
from scoring.results.board.table import (
    OwnRun,
    Table,
    own_runs,
    shown_columns,
    sorted_in_words,
    table,
)
from scoring.results.board.trivial_line import TrivialLine, trivial_line
from scoring.results.comparison.contenders import CompareQuery
from scoring.results.publications.published import headline, published_of
from scoring.stats.people_and_labels import RATINGS
from tasks.gold.secrecy import NEVER, Kind, secrecy_of
from tasks.models import Gold, Phase
from tasks.models.run_cards import declared_facts

COUNTED = {
    Phase.Counting.BEST: gettext_lazy("The best run of each team"),
    Phase.Counting.LAST: gettext_lazy("The last scored run of each team"),
    Phase.Counting.ALL: gettext_lazy("Every run of each team"),
    Phase.Counting.SELECTED: gettext_lazy(
        "The run that each team chose (none where it has not)"
    ),
    Phase.Counting.PRIORITY: gettext_lazy(
        "The first %(runs)s of each team by the priority that it gave"
    ),
}


#: Boards of more ranked systems state that their leader was chosen for being first.
MAX_UNCHOSEN = 5


@dataclass(frozen=True, kw_only=True)
class Embargo:
    """``until`` is None without an end; a claim of another season lasts until staff decide."""

    until: dt.datetime | None
    is_claimed: bool


@dataclass(frozen=True)
class BoardPage:
    """A board as a reader asks for it. ``teams`` are the slugs of the reader's own; ``root`` is the address
    of the board if the page has another one.
    """

    board: Board
    query: BoardQuery
    teams: frozenset[str] = frozenset()
    root: str = ""

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @cached_property
    def address(self) -> str:
        return self.controls.address

    @property
    def shows_scores(self) -> bool:
        return self.board.visibility == visibility.Visibility.SCORES

    @property
    def shows_ranks(self) -> bool:
        return self.board.visibility != visibility.Visibility.NOTHING

    @property
    def phases(self) -> tuple[Phase, ...]:
        return secrecy_of(self.phase).of_task

    @cached_property
    def turnout(self) -> Turnout:
        return turnout(self.phase)

    @cached_property
    def kept_back(self) -> Embargo | None:
        """Return the embargo of other phases on the same gold."""
        is_shown = self.phase.board_now in (
            Phase.Audience.EVERYONE,
            Phase.Audience.RANKS,
        )
        binding = secrecy_of(self.phase).binding(Kind.OTHERS) if is_shown else []
        if not binding:
            return None
        end = max(end for end, _holder in binding)
        is_claimed = any(holder.is_claim for _end, holder in binding)
        return Embargo(until=None if end == NEVER else end, is_claimed=is_claimed)

    @cached_property
    def commitments(self) -> dict[str, Any] | None:
        return commitments_of(self.phase, self.board.gold)

    @property
    def is_being_released(self) -> bool:
        return (
            self.board.audience not in visibility.RUNS_THE_SEASON
            and is_being_released(self.phase)
        )

    @property
    def is_scored_again(self) -> bool:
        return self.board.frozen_at is None and is_scored_again(self.phase)

    @cached_property
    def newest(self) -> Gold | None:
        """Return the newest gold, and None for a frozen board, which hides what came later."""
        if self.board.frozen_at is not None:
            return None
        is_shown = (
            self.board.gold is not None
            and self.board.gold.pk == secrecy_of(self.phase).newest
        )
        return self.board.gold if is_shown else Gold.objects.current(self.phase)

    @cached_property
    def being_scored(self) -> int:
        if (
            self.newest is None
            or self.board.gold is None
            or self.newest.pk == self.board.gold.pk
        ):
            return 0
        return unsettled(self.phase, self.newest).count()

    @cached_property
    def marks(self) -> dict[str, str]:
        return dict(mark for row in self.board.rows for mark in row.marks)

    @cached_property
    def declared(self) -> dict[str, dict[str, str]]:
        return declared_facts(row.card for row in self.board.rows)

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """Return none without a query if the phase is open, was never frozen and has its first gold."""
        if (
            self.phase.frozen_from is None
            and now() < self.phase.closes
            and (self.board.gold is None or self.board.gold.number == 1)
        ):
            return []
        return snapshots_of(self.phase, self.board.audience)

    @cached_property
    def confirmation(self) -> confirming.Confirmation | None:
        return confirming.confirmation_of(self.board)

    @cached_property
    def trivial(self) -> TrivialLine | None:
        return trivial_line(self.board)

    @cached_property
    def trivial_texts(self) -> list[str]:
        """Return the numbers of the best trivial run, in the order of the table's columns."""
        if self.trivial is None or self.board.ranking is None:
            return []
        columns = shown_columns(self.board, self.query)
        others = [column for column in columns if not column.is_ranking]
        return self.trivial.texts([self.board.ranking, *others])

    @cached_property
    def human_agreement(self) -> str:
        """Return the agreement of the annotators whose ratings are columns of the board, in words."""
        if not self._has_ratings:
            return ""
        sheet = human_columns.published_sheet(self.phase, self.board.frozen_at)
        return human_columns.agreement_in_words(sheet) if sheet else ""

    @cached_property
    def judged_columns(self) -> list[str]:
        names = {f"human_{kind}" for kind in RATINGS}
        return [
            metric_label(column.metric)
            for column in self.board.columns
            if column.metric in names
        ]

    @property
    def _has_ratings(self) -> bool:
        return any(column.position >= HUMAN_COLUMNS for column in self.board.columns)

    @cached_property
    def first_chart(self) -> Bars | None:
        """The chart that the section of classes opens with; None if the query asks for another."""
        if self.query.dimension or self.query.metric or self.query.systems:
            return None
        board = self.board.of_first_runs
        board = replace(board, rows=board.systems)
        dimension, metric = shown_classes(board, BoardQuery())
        if not metric:
            return None
        return charts.system_bars(
            class_table(board, chosen_systems(board, ()), dimension, metric)
        )

    @property
    def sections(self) -> list[parts.Section]:
        if not self.shows_scores:
            return []
        has_costs, has_manual_scores = has_figures_beside(self.phase)
        has = {
            parts.DIFFERENCES: True,
            parts.PAIRINGS: charts.has_pairings(self.board),
            parts.COSTS: has_costs,
            parts.OVER_TIME: sum(row.competes for row in self.board.rows) > 1,
            parts.OUTSIDE: has_manual_scores,
            parts.PEOPLE: self._has_ratings,
            parts.CONFIDENCE: label_shares.has_labels(self.phase.task.task_type)
            and visibility.may_see_instances(self.phase, self.board.audience),
            parts.DISCOURSE: bool(
                label_shares.schemes_of([column.name for column in self.board.columns])
            ),
        }
        return [section for section, is_there in has.items() if is_there]

    @property
    def citation(self) -> Citation:
        return of_board(self.board, confirmation=self.confirmation)

    @property
    def bibtex_href(self) -> str:
        return f"board.bib{self.address}"

    @property
    def keep_href(self) -> str:
        return f"cite/{self.address}"

    @property
    def errata(self) -> list[confirming.Erratum]:
        return confirming.errata_for(self.phase, self.board.audience)

    @property
    def is_ahead(self) -> bool:
        return now() < self.phase.opens

    @cached_property
    def newest_href(self) -> str:
        newest = self.newest
        return self.query.with_(gold=newest.number) if newest else ""

    @property
    def limits(self) -> list[str]:
        return list(limits_in_words(self.phase))

    @property
    def shows_run_counts(self) -> bool:
        return visibility.shows_run_counts(self.phase, self.board.audience)

    @property
    def counting_words(self) -> str:
        return self.phase.get_counting_display().removesuffix(" of a team")

    @cached_property
    def controls(self) -> Controls:
        board, task = self.board, self.phase.task
        published = bool(task.published)
        return Controls(
            query=self.query,
            task=(task.season.slug, task.slug),
            rules=board.rules,
            rules_offered=tuple(task.rules)
            if self.shows_scores and len(task.rules) > 1
            else (),
            numbers=(len(board.main), len(board.filled))
            if self.shows_scores
            else (0, 0),
            kinds=frozenset(row.kind for row in board.rows),
            has_published=published,
            # Papers print tables of the built-in types, and of tasks that say so.
            has_paper_view=self.shows_scores and (published or not task.declaration_id),
            marks=tuple(self.marks.items()),
            declared=tuple(
                (label, tuple(words.items())) for label, words in self.declared.items()
            ),
            unit=task.unit,
            separation=board.separation,
        )

    # -- The table

    @cached_property
    def rows(self) -> list[Row]:
        return chosen_rows(self.board, self.query)

    @cached_property
    def table(self) -> Table:
        # The address that compares a run with the first; the number of the run follows.
        same = CompareQuery(rules=self.query.rules, gold=self.query.gold)
        compare = (
            f"compare/?{urlencode([*same.pairs(), ('a', '')])}"
            if self.shows_scores
            else ""
        )
        return table(
            self.board,
            self.rows,
            self.query,
            compare=compare,
            own_teams=self.teams,
            root=self.root,
        )

    @cached_property
    def own_runs(self) -> list[OwnRun]:
        return own_runs(self.board, self.teams)

    @property
    def caption(self) -> str:
        runs = counted(self.phase.judged_runs, "run")
        rule = COUNTED[Phase.Counting(self.phase.counting)] % {"runs": runs}
        measure = self.ranking_label
        if len(self.phase.task.rules) > 1:
            facts = {"metric": measure, "rules": self.board.rules}
            measure = _("%(metric)s under the rules “%(rules)s”") % facts
        ranked = _("%(rule)s, ranked by %(measure)s") % {
            "rule": rule,
            "measure": measure,
        }
        sentences = [ranked if self.board.ranking else rule]
        if self.query.sort != RANK:
            sentences.append(sorted_in_words(self.board, self.query))
        if hidden := len(self.board.rows) - len(self.rows):
            left_out = _("%(rows)s left out") % {"rows": counted(hidden, "row")}
            sentences.append(left_out[:1].upper() + left_out[1:])
        return ". ".join(sentences) + "."

    @property
    def ranking_label(self) -> str:
        return metric_label(self.board.ranking.metric) if self.board.ranking else ""

    @property
    def untested(self) -> str:
        labels = [
            metric_label(column.metric)
            for column in self.board.filled
            if not column.is_exchangeable
        ]
        return listed(list(dict.fromkeys(labels)))

    @property
    def chosen_leader(self) -> str:
        """State what the interval of the leader is if the leader was chosen among many systems."""
        ranked = sum(row.rank is not None for row in self.board.rows)
        is_stated = self.shows_scores and not self.board.keeps_sentences
        if not is_stated or ranked <= MAX_UNCHOSEN:
            return ""
        words = _(
            "The interval of the leader is that of a system chosen for being first of %(systems)s: it holds "
            "the true value less often than in 95 of 100 test sets."
        )
        return words % {"systems": counted(ranked, "ranked system")}

    # -- Below it

    @cached_property
    def published(self) -> dict[str, Any] | None:
        """The leading table of what publications report of the task, which has columns of its own."""
        if not self.phase.task.published or not self.query.reported:
            return None
        tables = published_of(self.phase.task).headlines
        return headline(tables[0], text=self.query.text) if tables else None
