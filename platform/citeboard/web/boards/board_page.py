"""The context of the page of a board."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.utils.timezone import now
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.words import count_with_noun, join_names
from citeboard.web.boards.controls import TableControls
from citeboard.web.boards.judges import build_judge_page_href
from citeboard.web.boards.page_query import (
    BOARD_FILE_LABELS,
    DEFAULT_TAB_NAME,
    BoardPageParameters,
)
from citeboard.web.boards.sections import build_published_results_context
from citeboard.web.boards.tabs import (
    CITATION_TAB_NAME,
    SHARING_TAB_NAME,
    BoardTab,
    build_tab_context,
    find_offered_tabs,
    find_requested_tab,
    require_offered_tab,
)
from scoring.exchange.citations import Citation, build_citation_of_board
from scoring.models import Rescore, Snapshot
from scoring.results.board import (
    confirming,
    human_columns,
    visibility,
)
from scoring.results.board.battles import has_battle_board
from scoring.results.board.counting import (
    RunAndTeamCounts,
    count_runs_and_teams,
    find_running_automatic_rescore,
    find_unfinished_runs_on_gold,
    has_final_scores_for_some_runs,
    is_rescore_running,
)
from scoring.results.board.formatting import display_name_of_metric
from scoring.results.board.judged import build_judgement_notes
from scoring.results.board.judges import (
    find_ranks_by_first_judge,
    judge_keys_of_rules,
    judge_label,
    judge_on_board,
    judges_of_rules,
    ranking_judge,
    ranks_use_labels,
)
from scoring.results.board.limit_texts import iterate_leak_limit_sentences
from scoring.results.board.open_gold import build_gold_commitments
from scoring.results.board.query import SORT_BY_RANK, select_and_sort_rows
from scoring.results.board.snapshots import list_readable_uncited_snapshots
from scoring.results.board.standings import FIRST_HUMAN_COLUMN_POSITION, Board, BoardRow
from scoring.results.board.table import (
    BoardTable,
    RunOfOwnTeamOnBoard,
    build_board_table,
    describe_sort_order,
    list_runs_of_own_teams,
    select_shown_columns,
)
from scoring.results.board.trivial_line import TrivialRunOnBoard, find_best_trivial_run
from scoring.results.comparison.contenders import TwoRunsQuery
from scoring.stats.people_and_labels import LEVELS_BY_RATING
from tasks.gold.secrecy import NEVER_ENDING_EMBARGO, ContentKind, get_embargoes_of_phase
from tasks.models import Gold, Phase
from tasks.models.run_cards import collect_searchable_card_facts
from tasks.types.base import remove_judge_from_rule_set
from tasks.types.judge_views import (
    get_first_judge_name,
    judge_key,
    select_rule_sets_without_judge,
)

COUNTING_RULE_TEXTS = {
    Phase.CountedRunsRule.BEST: gettext_lazy("The best run of each team"),
    Phase.CountedRunsRule.LAST: gettext_lazy("The last scored run of each team"),
    Phase.CountedRunsRule.ALL: gettext_lazy("Every run of each team"),
    Phase.CountedRunsRule.SELECTED: gettext_lazy(
        "The run that each team chose (none where it has not)"
    ),
    Phase.CountedRunsRule.PRIORITY: gettext_lazy(
        "The first %(runs)s of each team by the priority that it gave"
    ),
}


#: With more than MAX_RUNS_WITHOUT_SELECTION_WARNING ranked systems, the page warns about the leader's score.
#: The score of the best of many systems is likely to be overestimated.
MAX_RUNS_WITHOUT_SELECTION_WARNING = 5


@dataclass(frozen=True, kw_only=True)
class ScoreEmbargo:
    """An embargo on the scores of a board, which another phase imposes.

    ``until`` is the end of the embargo, or None if the end is unknown. If another
    season claims the texts, the embargo lasts until staff decide on the claim.
    """

    until: dt.datetime | None
    is_claimed: bool


def find_score_embargo(phase: Phase, kind: ContentKind) -> ScoreEmbargo | None:
    """Return the embargo that other phases with the same gold impose, or None."""
    binding = get_embargoes_of_phase(phase).list_binding_embargoes(kind)
    if not binding:
        return None
    end = max(end for end, _holder in binding)
    is_claimed = any(holder.is_claim for _end, holder in binding)
    return ScoreEmbargo(
        until=None if end == NEVER_ENDING_EMBARGO else end, is_claimed=is_claimed
    )


class TabLink(NamedTuple):
    tab: BoardTab
    href: str
    is_current: bool


@dataclass(frozen=True)
class BoardPage:
    """The page of a board as a single user sees the board.

    ``teams`` contains the slugs of the user's teams. ``root`` is the URL of the board
    if the current page has another URL.
    """

    board: Board
    query: BoardPageParameters
    teams: frozenset[str] = frozenset()
    root: str = ""
    viewer: object = None

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @property
    def files(self) -> list[tuple[str, str]]:
        return [(name, str(label)) for name, label in BOARD_FILE_LABELS.items()]

    @property
    def of_files(self) -> list[tuple[str, str]]:
        return self.query.pairs(view=DEFAULT_TAB_NAME, adjusts=False)

    @property
    def address(self) -> str:
        return self.query.of_files

    @property
    def shows_scores(self) -> bool:
        return self.board.visibility == visibility.BoardVisibility.SCORES

    @property
    def shows_ranks(self) -> bool:
        return self.board.visibility != visibility.BoardVisibility.NOTHING

    @property
    def phases(self) -> tuple[Phase, ...]:
        return get_embargoes_of_phase(self.phase).of_task

    @cached_property
    def run_and_team_counts(self) -> RunAndTeamCounts:
        return count_runs_and_teams(self.phase)

    @cached_property
    def kept_back(self) -> ScoreEmbargo | None:
        """Return the embargo on the scores of this board, or None without an embargo.

        Other phases with the same gold can impose the embargo.
        """
        is_shown = self.phase.board_now in (
            Phase.Audience.EVERYONE,
            Phase.Audience.RANKS,
        )
        return find_score_embargo(self.phase, ContentKind.OTHERS) if is_shown else None

    @cached_property
    def commitments(self) -> dict[str, Any] | None:
        return build_gold_commitments(self.phase, self.board.gold)

    @property
    def is_being_released(self) -> bool:
        return (
            self.board.audience not in visibility.AUDIENCES_OF_SEASON_STAFF
            and has_final_scores_for_some_runs(self.phase)
        )

    @cached_property
    def automatic_rescoring(self) -> Rescore | None:
        """Return the site's own rescore of the board, or None for a frozen board."""
        return (
            None if self.board.frozen_at else find_running_automatic_rescore(self.phase)
        )

    @cached_property
    def is_scored_again(self) -> bool:
        return self.automatic_rescoring is not None and is_rescore_running(
            self.automatic_rescoring
        )

    @property
    def rescoring_ended_at(self) -> dt.datetime | None:
        if (
            self.automatic_rescoring is None
            or self.automatic_rescoring.stopped_at is not None
        ):
            return None
        return self.automatic_rescoring.ended_at

    @cached_property
    def newest(self) -> Gold | None:
        """Return the newest version of the gold (reference answers), or None for a
        frozen board.

        A frozen board must not reveal that newer gold exists.
        """
        if self.board.frozen_at is not None:
            return None
        is_shown = (
            self.board.gold is not None
            and self.board.gold.pk == get_embargoes_of_phase(self.phase).newest
        )
        return self.board.gold if is_shown else Gold.objects.current(self.phase)

    @cached_property
    def runs_awaiting_newest_gold(self) -> int:
        if (
            self.newest is None
            or self.board.gold is None
            or self.newest.pk == self.board.gold.pk
        ):
            return 0
        return find_unfinished_runs_on_gold(self.phase, self.newest).count()

    @cached_property
    def marks(self) -> dict[str, str]:
        return dict(mark for row in self.board.rows for mark in row.marks)

    @cached_property
    def declared(self) -> dict[str, dict[str, str]]:
        return collect_searchable_card_facts(row.card for row in self.board.rows)

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """Return the stored snapshots of the board.

        An open phase has no snapshots if the phase was never frozen and the gold has
        only one version. The function makes no query for a phase that cannot have
        snapshots.
        """
        if (
            self.phase.frozen_from is None
            and now() < self.phase.closes
            and (self.board.gold is None or self.board.gold.number == 1)
        ):
            return []
        return list_readable_uncited_snapshots(self.phase, self.board.audience)

    @cached_property
    def confirmation(self) -> confirming.Confirmation | None:
        return confirming.compute_confirmation_of_board(self.board)

    @cached_property
    def judgement_notes(self) -> list[str]:
        evaluations = {row.evaluation for row in self.board.rows}
        return build_judgement_notes(self.phase, evaluations - {None})

    @cached_property
    def trivial(self) -> TrivialRunOnBoard | None:
        return find_best_trivial_run(self.board)

    @cached_property
    def trivial_run_score_texts(self) -> list[str]:
        if self.trivial is None or self.board.ranking is None:
            return []
        columns = select_shown_columns(self.board, self.query)
        others = [column for column in columns if not column.is_ranking]
        return self.trivial.texts([self.board.ranking, *others])

    @cached_property
    def human_agreement_sentence(self) -> str:
        if not self._has_ratings:
            return ""
        sheet = human_columns.find_newest_published_rating_sheet(
            self.phase, self.board.frozen_at
        )
        return human_columns.describe_annotator_agreement(sheet) if sheet else ""

    @cached_property
    def human_judged_metric_labels(self) -> list[str]:
        names = {f"human_{kind}" for kind in LEVELS_BY_RATING}
        return [
            display_name_of_metric(column.metric)
            for column in self.board.columns
            if column.metric in names
        ]

    @property
    def _has_ratings(self) -> bool:
        return any(
            column.position >= FIRST_HUMAN_COLUMN_POSITION
            for column in self.board.columns
        )

    @cached_property
    def tab(self) -> BoardTab:
        return find_requested_tab(self.query)

    @cached_property
    def tabs(self) -> list[BoardTab]:
        return find_offered_tabs(self.board, self.query)

    @property
    def tab_links(self) -> list[TabLink]:
        return [
            TabLink(tab, self.build_tab_address(tab.name), tab is self.tab)
            for tab in self.tabs
            if not tab.is_action
        ]

    def build_tab_address(self, name: str) -> str:
        return f"{self.query.build_tab_query_string(name)}#view"

    @property
    def citation_tab_href(self) -> str:
        return self.build_tab_address(CITATION_TAB_NAME) if self.shows_scores else ""

    @property
    def sharing_tab_href(self) -> str:
        return self.build_tab_address(SHARING_TAB_NAME)

    @property
    def has_table(self) -> bool:
        return self.shows_ranks and bool(self.board.rows)

    @property
    def site(self) -> str:
        return settings.BASE_URL

    @property
    def has_feed(self) -> bool:
        is_open = self.phase.board == Phase.Audience.EVERYONE
        return self.phase.task.season.is_public and is_open

    def build_tab_context(self, phase: Phase, viewer: object) -> dict[str, Any]:
        """Return the context of the requested tab below the board.

        Raises Http404 if the board has no such tab.
        """
        if not self.has_table:
            return {}
        require_offered_tab(self.tab, self.tabs)
        return build_tab_context(self.tab, phase, self.board, self.query, viewer)

    @cached_property
    def has_battles(self) -> bool:
        return has_battle_board(self.phase, self.board.audience)

    @property
    def citation(self) -> Citation:
        return build_citation_of_board(self.board, confirmation=self.confirmation)

    @property
    def bibtex_href(self) -> str:
        return f"board.bib{self.address}"

    @property
    def store_snapshot_href(self) -> str:
        return f"cite/{self.address}"

    @property
    def errata(self) -> list[confirming.Erratum]:
        return confirming.list_visible_errata(self.phase, self.board.audience)

    @property
    def is_ahead(self) -> bool:
        return now() < self.phase.opens

    @cached_property
    def newest_gold_href(self) -> str:
        newest = self.newest
        return self.query.build_query_string(gold=newest.number) if newest else ""

    @property
    def limits(self) -> list[str]:
        return list(iterate_leak_limit_sentences(self.phase))

    @property
    def shows_run_counts(self) -> bool:
        return visibility.shows_run_counts(self.phase, self.board.audience)

    @property
    def counting_rule_label(self) -> str:
        return self.phase.get_counting_display().removesuffix(" of a team")

    @cached_property
    def controls(self) -> TableControls:
        board, task = self.board, self.phase.task
        return TableControls(
            query=self.query,
            rules=remove_judge_from_rule_set(board.rules or ""),
            rules_offered=tuple(select_rule_sets_without_judge(task.rules))
            if self.shows_scores and len(select_rule_sets_without_judge(task.rules)) > 1
            else (),
            judge=judge_key(board.rules or "") or self.first_judge,
            judges_offered=tuple(judge_keys_of_rules(self.phase, board.rules))
            if self.shows_scores
            else (),
            columns=len(board.filled) if self.shows_scores else 0,
            has_more_columns=self.shows_scores and len(board.filled) > len(board.main),
            kinds=frozenset(row.kind for row in board.rows),
            marks=tuple(self.marks.items()),
            declared=tuple(
                (label, tuple(words.items())) for label, words in self.declared.items()
            ),
            heads=self._sort_labels,
        )

    @property
    def _sort_labels(self) -> tuple[tuple[str, str], ...]:
        """Return the name and label of each column of the table for the sort menu.

        A hidden column by which the table is sorted comes last, so that the form sends
        the column's name again.
        """
        heads = {head.name: head.label for head in self.table.heads}
        for column in self.board.columns:
            if column.name == self.query.column:
                heads.setdefault(column.name, display_name_of_metric(column.metric))
        return tuple(heads.items())

    @cached_property
    def rows(self) -> list[BoardRow]:
        return select_and_sort_rows(self.board, self.query)

    @cached_property
    def table(self) -> BoardTable:
        # The table appends the key of the second run to the URL of the comparison.
        rules = self.board.rules if self.judge else self.query.rules
        same = TwoRunsQuery(rules=rules, gold=self.query.gold)
        compare = (
            f"compare/?{urlencode([*same.pairs(), ('a', '')])}"
            if self.shows_scores
            else ""
        )
        return build_board_table(
            self.board,
            self.rows,
            self.query,
            compare=compare,
            own_teams=self.teams,
            root=self.root,
            first_ranks=self.first_ranks,
        )

    @property
    def judge(self) -> str:
        """Return the name of the judge of a view, with the kind of labels if the view
        replaces the judge of one kind only, or an empty text for a rule set.
        """
        return judge_label(judge_key(self.board.rules or ""))

    @property
    def only_judge(self) -> str:
        """Return the name of the judge if a single judge labels texts for the scores that
        the board shows, or an empty text.
        """
        judges = judges_of_rules(self.phase, self.board.rules)
        return judges[0].name if self.shows_scores and len(judges) == 1 else ""

    @property
    def judge_page_href(self) -> str:
        return build_judge_page_href(self.board)

    @property
    def _view_decides_ranks(self) -> bool:
        judge = judge_on_board(self.phase, self.board.rules)
        return judge is not None and ranks_use_labels(self.board, judge.kinds)

    @cached_property
    def first_judge(self) -> str:
        return get_first_judge_name(self.phase.task.options)

    @property
    def ranking_judge(self) -> str:
        return ranking_judge(self.board)

    @cached_property
    def first_ranks(self) -> dict[int, int]:
        return (
            find_ranks_by_first_judge(self.board, self.viewer)
            if self.shows_scores
            else {}
        )

    @property
    def first_judge_href(self) -> str:
        rules = (
            remove_judge_from_rule_set(self.query.rules) if self.query.rules else None
        )
        return self.query.build_query_string(rules=rules, judge="")

    @cached_property
    def own_runs(self) -> list[RunOfOwnTeamOnBoard]:
        return list_runs_of_own_teams(self.board, self.teams)

    @property
    def caption(self) -> str:
        runs = count_with_noun(self.phase.judged_runs, "run")
        rule = COUNTING_RULE_TEXTS[Phase.CountedRunsRule(self.phase.counting)] % {
            "runs": runs
        }
        measure = self.ranking_metric_label
        if len(select_rule_sets_without_judge(self.phase.task.rules)) > 1:
            facts = {
                "metric": measure,
                "rules": remove_judge_from_rule_set(self.board.rules or ""),
            }
            measure = _("%(metric)s under the rules “%(rules)s”") % facts
        if self.judge and self._view_decides_ranks:
            facts = {"metric": measure, "judge": self.judge}
            measure = _("%(metric)s by the judge %(judge)s") % facts
        ranked = _("%(rule)s, ranked by %(measure)s") % {
            "rule": rule,
            "measure": measure,
        }
        sentences = [ranked if self.board.ranking else rule]
        if self.query.sort != SORT_BY_RANK:
            sentences.append(describe_sort_order(self.board, self.query))
        if hidden := len(self.board.rows) - len(self.rows):
            left_out = _("%(rows)s left out") % {"rows": count_with_noun(hidden, "row")}
            sentences.append(left_out[:1].upper() + left_out[1:])
        return ". ".join(sentences) + "."

    @property
    def ranking_metric_label(self) -> str:
        return (
            display_name_of_metric(self.board.ranking.metric)
            if self.board.ranking
            else ""
        )

    @property
    def untested(self) -> str:
        labels = [
            display_name_of_metric(column.metric)
            for column in self.board.filled
            if not column.is_exchangeable
        ]
        return join_names(list(dict.fromkeys(labels)))

    @property
    def leader_selection_warning(self) -> str:
        """Return a warning about the confidence interval of the leader's score.

        The confidence interval is too narrow because the leader was selected among many
        systems.
        """
        ranked = sum(row.rank is not None for row in self.board.rows)
        is_stated = self.shows_scores and not self.board.keeps_sentences
        if not is_stated or ranked <= MAX_RUNS_WITHOUT_SELECTION_WARNING:
            return ""
        message = _(
            "The interval of the leader is that of a system chosen for being first of %(systems)s: it holds "
            "the true value less often than in 95 of 100 test sets."
        )
        return message % {"systems": count_with_noun(ranked, "ranked system")}

    @cached_property
    def published(self) -> dict[str, Any] | None:
        if not self.phase.task.published or not self.query.reported:
            return None
        table: dict[str, Any] | None = build_published_results_context(
            self.board, self.query, None
        )["published"]
        return table
