"""The board of a phase."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import conditional_escape, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import now
from django.utils.translation import get_language, gettext as _, gettext_lazy
from django.views.decorators.http import require_safe

from citeboard.core.legal_pages import notices
from citeboard.core.templatetags.page import moment, rendered
from citeboard.core.words import counted, listed
from citeboard.teams.models import User
from citeboard.web.boards import sections as parts
from citeboard.web.boards.controls import Controls
from citeboard.web.pages import page_alike, place_of
from scoring.exchange.citations import of_board
from scoring.figures import Bars
from scoring.models import Snapshot
from scoring.results.board import (
    cache,
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
    public_facts,
    turnout,
    unsettled,
)
from scoring.results.board.differences import chosen_systems, class_table, shown_classes
from scoring.results.board.formatting import metric_label, name_as
from scoring.results.board.limit_texts import limits_in_words
from scoring.results.board.query import RANK, BoardQuery, chosen_rows, requested_board
from scoring.results.board.snapshots import snapshots_of
from scoring.results.board.standings import HUMAN_COLUMNS, Board, Row
from scoring.results.board.table import (
    OwnRun,
    Table,
    Writers,
    own_runs,
    sorted_in_words,
    table,
)
from scoring.results.comparison.contenders import CompareQuery
from scoring.results.publications.published import headline, published_of
from scoring.stats.people_and_labels import RATINGS
from tasks.gold.secrecy import NEVER, Kind, secrecy_of
from tasks.models import Gold, Phase
from tasks.models.run_cards import declared_facts
from tasks.seasons.access import phase_for

TEMPLATE = "boards/board.html"
#: What a reader's choice or a score changes of a `BoardPage`, and the word that stands for it in a kept page.
#: Nobody else knows these words, and they are in no page that is sent.
PLACES = {
    name: secrets.token_hex()
    for name in (
        "address",
        "newest_href",
        "turnout",
        "updated",
        "figure",
        "cited",
        "standings",
    )
}


@require_safe
def board(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """Visitors are many: a single query decides whether they have the page already."""
    query = BoardQuery.of(request.GET)
    chosen = (query.rules, query.gold, query.by, query.others)
    facts = public_facts(season, task, phase)
    if facts and cache.is_visitor(request):
        public = visibility.Audience.PUBLIC

        def everybodys() -> BoardFacts:
            return kept_facts(
                lambda: requested_board(
                    phase_for(None, season, task, phase), None, query, public
                ),
                "visitors",
                facts,
                chosen,
            )

        def page() -> str:
            # Of these the first two are which phase it is, and its scores.
            return _in_frame(request, everybodys(), query, facts[2:])

        def hides() -> bool:
            return visibility.hides_activity(everybodys().phase, public)

        tag = cache.tag_of(request, query, public, *facts)
        return cache.answered(request, tag, page, is_public=True, hides=hides)
    user = request.user
    found = cache.kept_phase(facts, lambda: phase_for(user, season, task, phase))
    reader = visibility.viewer_of(user)
    audience = reader.audience(found.task.season_id)
    known = (*facts, audience) if facts else cache.phase_facts(found, audience)
    # Where the names of teams are hidden a board still names those of who asks.
    named = () if visibility.shows_teams(found, audience) else reader.teams

    def the_audiences() -> BoardFacts:
        return kept_facts(
            lambda: requested_board(found, user, query, audience),
            audience,
            known,
            named,
            chosen,
        )

    def context() -> dict[str, Any]:
        return _context(query, the_audiences(), reader.teams)

    def own_page() -> str:
        if not isinstance(user, User):
            return render_to_string(TEMPLATE, context(), request)
        return page_alike(
            request, TEMPLATE, context, (request.path, query, known, reader.teams)
        )

    return cache.phase_page(
        request, found, audience, query, own_page, reader.teams, facts=known
    )


@require_safe
def embedded(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """The table alone, as a visitor sees it, for a frame of another page where the season allows that."""
    found, query = phase_for(None, season, task, phase), BoardQuery.of(request.GET)
    public = visibility.Audience.PUBLIC

    def page() -> str:
        context = _context(
            query, BoardFacts(requested_board(found, None, query, public))
        )
        # Names are escaped: these tags are ours.
        rows = context["page"].table.rows.replace(
            'href="', f'href="{reverse("board", args=[season, task, phase])}'
        )
        context["rows"] = SafeString(rows.replace("<a ", '<a target="_top" '))
        return render_to_string("boards/embed.html", context, request)

    response = cache.phase_page(request, found, public, query, page)
    response.xframe_options_exempt = found.task.season.allows_frames
    return response


def _context(
    query: BoardQuery, facts: BoardFacts, own: Sequence[str] = ()
) -> dict[str, Any]:
    name_as(facts.phase.task)
    page = BoardPage(facts=facts, query=query, teams=frozenset(own))
    return {**place_of(facts.phase), "page": page}


def _in_frame(
    request: HttpRequest, facts: BoardFacts, query: BoardQuery, settings: object
) -> str:
    """Only what a reader's choices or a score change is rendered; the page around it was before. ``settings``
    are all that boards follow from.
    """
    context = _context(query, facts)
    page: BoardPage = context["page"]
    if not (page.shows_ranks and page.board.rows) or request.COOKIES.get("messages"):
        return render_to_string(TEMPLATE, context, request)
    kind = (bool(page.figure), *notices())
    written = facts.frames.get(kind)
    if written is None:
        shown, kept = (settings, page.around), caches["boards"]
        key = f"frame:{cache.digest_of(request.path, get_language(), kind, page.board.rules)}"
        before, written = kept.get(key, (None, ""))
        if before != shown:
            around = BoardPage(facts=facts, query=query)
            vars(around).update(
                PLACES, figure=page.figure and SafeString(PLACES["figure"])
            )
            written = render_to_string(TEMPLATE, {**context, "page": around}, request)
            kept.set(key, (shown, written), cache.SECONDS)
        facts.frames[kind] = written
    vars(page)["standings"] = SafeString(
        render_to_string("boards/_standings.html", context)
    )
    for name, place in PLACES.items():
        if place in written:
            written = written.replace(place, conditional_escape(getattr(page, name)))
    return written


@dataclass(frozen=True)
class BoardFacts:
    """Shared by readers and threads: nothing here may be changed, or follow from a reader."""

    board: Board
    writers: Writers = field(init=False)
    #: What stands around the rows, as visitors see it, with `PLACES` in it.
    frames: dict[object, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name_as(self.phase.task)
        object.__setattr__(self, "writers", Writers(self.board))

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @property
    def phases(self) -> tuple[Phase, ...]:
        return secrecy_of(self.phase).of_task

    @cached_property
    def turnout(self) -> Turnout:
        return turnout(self.phase)

    @cached_property
    def kept_back(self) -> dict[str, dt.datetime | bool | None] | None:
        """Until when others on the same gold keep it back, None without an end; None where nobody does."""
        is_shown = self.phase.board_now in (
            Phase.Audience.EVERYONE,
            Phase.Audience.RANKS,
        )
        binding = secrecy_of(self.phase).binding(Kind.OTHERS) if is_shown else []
        if not binding:
            return None
        end = max(end for end, _holder in binding)
        is_claimed = any(holder.is_claim for _end, holder in binding)
        return {"until": None if end == NEVER else end, "is_claimed": is_claimed}

    @property
    def is_being_released(self) -> bool:
        return (
            self.board.audience not in visibility.RUNS_THE_SEASON
            and is_being_released(self.phase)
        )

    @cached_property
    def newest(self) -> Gold | None:
        """Of a frozen board nothing that came later is told."""
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
        """Of a phase that has not closed, was never frozen and has its first gold, there are none."""
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
    def human_agreement(self) -> str:
        """How far the annotators agree whose ratings are columns of the board; nothing where none are."""
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
        """By the classes that the section of them opens with."""
        board = replace(self.board, rows=self.board.systems)
        dimension, metric = shown_classes(board, BoardQuery())
        if not metric:
            return None
        return charts.system_bars(
            class_table(board, chosen_systems(board, ()), dimension, metric)
        )

    @cached_property
    def sections(self) -> list[parts.Section]:
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


def kept_facts(make: Callable[[], Board], *key: object) -> BoardFacts:
    """Of the board that was computed under the same ``key``, or of this one now."""
    name = cache.digest_of(get_language(), *key)
    found: BoardFacts | None = caches["boards"].get(name)
    if found is None:
        board = make()
        found = BoardFacts(board)
        if board.is_small:
            caches["boards"].set(name, found, cache.SECONDS)
    return found


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
        return self.controls.address

    @property
    def shows_scores(self) -> bool:
        return self.board.visibility == visibility.Visibility.SCORES

    @property
    def shows_ranks(self) -> bool:
        return self.board.visibility != visibility.Visibility.NOTHING

    @property
    def around(self) -> tuple[object, ...]:
        """What a page with rows shows besides `PLACES` and what follows from the settings of its board."""
        facts, board = self.facts, self.board
        return (
            [
                (one.number, one.instances, one.reason)
                for one in (board.gold, facts.newest)
                if one
            ],
            [(each.slug, each.title) for each in facts.phases],
            [kept.pk for kept in facts.snapshots],
            (
                facts.confirmation,
                facts.being_scored,
                self.limits,
                self.errata,
                self.sections,
            ),
            (board.holds_other_keys, board.frozen_at, board.ranks_of),
        )

    @cached_property
    def turnout(self) -> SafeString:
        sent = self.facts.turnout
        words = counted(sent.teams, "team"), counted(sent.runs, "run")
        return format_html_join("\n", "<span>{}</span>", ((each,) for each in words))

    @cached_property
    def updated(self) -> SafeString:
        return moment(self.board.updated_at)

    @cached_property
    def figure(self) -> str:
        """Part of the page as it is sent, where no other classes, metric or systems are asked for."""
        chart, query = self.facts.first_chart, self.query
        if chart is None or query.dimension or query.metric or query.systems:
            return ""
        return render_to_string("boards/_first_chart.html", {"chart": chart})

    @cached_property
    def cited(self) -> SafeString:
        shown = {
            "citation": of_board(self.board, confirmation=self.facts.confirmation),
            "bib": f"board.bib{self.address}",
            "keep_href": f"cite/{self.address}",
        }
        return rendered(get_language(), "_cite.html", tuple(shown), *shown.values())

    @property
    def errata(self) -> list[confirming.Erratum]:
        return confirming.errata_for(self.phase, self.board.audience)

    @property
    def is_ahead(self) -> bool:
        return now() < self.phase.opens

    @cached_property
    def newest_href(self) -> str:
        newest = self.facts.newest
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
        board, task, facts = self.board, self.phase.task, self.facts
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
            marks=tuple(facts.marks.items()),
            declared=tuple(
                (label, tuple(words.items())) for label, words in facts.declared.items()
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
        # Where a run is compared with the first; its number goes behind this.
        same = CompareQuery(rules=self.query.rules, gold=self.query.gold)
        compare = (
            f"compare/?{urlencode([*same.pairs(), ('a', '')])}"
            if self.shows_scores
            else ""
        )
        return table(self.facts.writers, self.rows, self.query, compare, self.teams)

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

    # -- Below it

    @cached_property
    def published(self) -> dict[str, Any] | None:
        """The leading table of what publications report of the task, which has columns of its own."""
        if not self.phase.task.published or not self.query.reported:
            return None
        tables = published_of(self.phase.task).headlines
        return headline(tables[0], text=self.query.text) if tables else None

    @property
    def sections(self) -> list[parts.Section]:
        return self.facts.sections if self.shows_scores else []
