"""Refuse actions that would disclose gold before the end of an embargo, unless an
organiser confirms the action.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core import audit, refusals
from citeboard.core.instants import format_day_and_time
from citeboard.core.words import join_names
from citeboard.teams.models import Membership, User
from tasks.gold.secrecy import (
    NEVER_ENDING_EMBARGO,
    ContentKind,
    SplitSharingContent,
    compute_embargo_end_of_phase,
    get_embargoes_of_phase,
    load_phases_with_embargoes,
)
from tasks.models import Phase, Season

MAX_REASON_CHARACTERS = 500
#: The function has a dotted name, because modules of `tasks` must not import `scoring`.
BUDGET_STATE_FUNCTION = "scoring.results.board.budget_limits.state_of"
GOLD_BUDGET_KIND = "budget"
#: Requests confirm an action by the form fields or query parameters in `CONFIRMATION_FIELDS`.
CONFIRMATION_FIELDS = ("let_out_task", "let_out_reason")
DRY_RUN_FIELD = "rehearsed"
CONTENT_KIND_LABELS = {
    ContentKind.INPUTS: gettext_lazy("the inputs"),
    ContentKind.OWN: gettext_lazy("teams' own scores"),
    ContentKind.CLASSES: gettext_lazy("scores by class"),
    ContentKind.OTHERS: gettext_lazy("the scores of all"),
    ContentKind.INSTANCES: gettext_lazy("single instances"),
    ContentKind.GOLD: gettext_lazy("the gold"),
}


@dataclass(frozen=True)
class EarlyDisclosure:
    """A breach of an embargo, with the phase, the kind of content, the end of the
    embargo, and the splits whose phases withhold the content.
    """

    phase: Phase
    kind: ContentKind
    free_from: dt.datetime
    kept_by: tuple[SplitSharingContent, ...] = ()
    at: dt.datetime | None = None

    @property
    def words(self) -> str:
        facts = {
            "what": CONTENT_KIND_LABELS[self.kind],
            "phase": f"{self.phase.task}, {self.phase}",
            "who": self.withholding_phase_names,
        }
        said = _("%(what)s of %(phase)s")
        if self.kept_by:
            said = _("%(what)s of %(phase)s, which %(who)s withholds")
        if self.free_from == NEVER_ENDING_EMBARGO:
            return said % facts
        at = format_day_and_time(self.free_from)
        when = _("free from %(instant)s UTC") % {"instant": at}
        return f"{said % facts} ({when})"

    @property
    def meaning(self) -> str:
        if not self.kept_by:
            return ""
        message = _("%(phase)s shows %(what)s also then, although %(who)s hides them.")
        facts = {
            "phase": f"{self.phase.task}, {self.phase}",
            "who": self.withholding_phase_names,
        }
        return message % {**facts, "what": CONTENT_KIND_LABELS[self.kind]}

    @property
    def withholding_phase_names(self) -> str:
        """Return the names of the phases in the same season that withhold the content.
        Phases of other seasons appear as “another season”.
        """
        season = self.phase.task.season_id
        names = [
            f"{phase.task}, {phase}"
            if phase.task.season_id == season
            else _("another season")
            for holder in self.kept_by
            for phase in holder.phases
            if phase.pk != self.phase.pk
            and (
                self.kind is ContentKind.GOLD
                or compute_embargo_end_of_phase(
                    phase, self.kind, self.at or timezone.now()
                )
            )
        ]
        return join_names(list(dict.fromkeys(names)) or [_("another phase")])

    def as_dict(self) -> dict[str, object]:
        free_from = (
            None
            if self.free_from == NEVER_ENDING_EMBARGO
            else self.free_from.isoformat()
        )
        return {"phase": self.phase.pk, "what": self.kind.value, "free_from": free_from}


@dataclass(frozen=True)
class BudgetExcess:
    """A phase whose gold would be disclosed beyond the limit that is set for the phase,
    because several phases together disclose too much.
    """

    phase: Phase
    #: `describe` returns the description in the active language.
    #: The history stores the description in English.
    describe: Callable[[], str]
    facts: Mapping[str, object]
    kind: str = GOLD_BUDGET_KIND

    @property
    def words(self) -> str:
        return self.describe()

    def as_dict(self) -> dict[str, object]:
        return {"phase": self.phase.pk, "what": self.kind, "free_from": None} | dict(
            self.facts
        )


class EmbargoBreach(refusals.ActionRefused):
    """An error about an action that would disclose content before the end of an embargo
    or beyond a budget. ``told`` lists the disclosures.
    """

    def __init__(self, told: Sequence[EarlyDisclosure | BudgetExcess]) -> None:
        self.told = told
        self.task = told[0].phase.task.title
        message = _(
            "this would reveal before its time: %(what)s. To go on nevertheless, type "
            "the name of the task, “%(task)s”, and a reason"
        )
        if not self.too_early:
            message = _(
                "this would reveal more of the gold than its budget allows: %(what)s. "
                "To go on nevertheless, type the name of the task, “%(task)s”, and a "
                "reason"
            )
        super().__init__(
            message
            % {"what": "; ".join(early.words for early in told), "task": self.task}
        )

    @property
    def too_early(self) -> list[EarlyDisclosure]:
        return [one for one in self.told if isinstance(one, EarlyDisclosure)]

    @property
    def over_budget(self) -> list[BudgetExcess]:
        return [one for one in self.told if isinstance(one, BudgetExcess)]

    def answer(self) -> dict[str, object]:
        return super().answer() | {
            "lets_out": [early.as_dict() for early in self.told],
            "task": self.task,
        }


class UnequalPublicParts(refusals.ActionRefused):
    """An error about a change that would move instances to the public part of a split
    although the instances are in the private part of another phase. Organisers cannot
    confirm a change that raises UnequalPublicParts.
    """


def render_confirmation_page(
    request: HttpRequest,
    rehearsal: Any,
    stored: Sequence[tuple[str, str]] = (),
    **context: Any,
) -> HttpResponse:
    """Render a page that shows an action and its consequences and asks for a
    confirmation. The confirmation form contains the fields of the request.

    ``stored`` contains form fields with the names of files that are already stored.
    """
    passed_over = (
        "csrfmiddlewaretoken",
        DRY_RUN_FIELD,
        *CONFIRMATION_FIELDS,
        *dict(stored),
    )
    lists = [
        (name, values)
        for name, values in request.POST.lists()
        if name not in passed_over
    ]
    posted = [(name, value) for name, values in lists for value in values] + list(
        stored
    )
    shown = {
        "rehearsal": rehearsal,
        "posted": posted,
        "files": () if stored else request.FILES,
        **context,
    }
    # The full template links to the season's pages, which a new season does not have.
    template = (
        "organise/rehearsal.html"
        if "season" in context
        else "organise/rehearsal_of_draft.html"
    )
    return render(request, template, shown, status=409)


def render_breach_confirmation(
    request: HttpRequest, refused: EmbargoBreach, **context: Any
) -> HttpResponse:
    rehearsal = {"early": refused, "name": refused.task, "asks_for_name": True}
    return render_confirmation_page(
        request, rehearsal, **{"season": refused.told[0].phase.task.season, **context}
    )


@dataclass(frozen=True)
class ConfirmedDisclosure:
    task: str
    reason: str


_confirmed_disclosure: ContextVar[ConfirmedDisclosure | None] = ContextVar(
    "going_on", default=None
)


@contextmanager
def confirm_disclosure(task: str, reason: str) -> Iterator[None]:
    """Permit the code in the block to disclose gold despite an embargo, as a confirmed
    action. ``task`` must be the name of the affected task, and a reason is required.
    """
    token = _confirmed_disclosure.set(
        ConfirmedDisclosure(task.strip(), reason.strip()[:MAX_REASON_CHARACTERS])
        if task or reason
        else None
    )
    try:
        yield
    finally:
        _confirmed_disclosure.reset(token)


@contextmanager
def refuse_early_disclosure(season: Season, *, by: User | None) -> Iterator[None]:
    """Raise an error after the block if the changes in the block disclose content too
    early or exceed a budget, unless an organiser has confirmed the disclosure. The
    error rolls back the caller's transaction.

    Raises EmbargoBreach. Raises UnequalPublicParts if phases with the same content would have
    different public parts.
    """
    budgets_of = import_string(BUDGET_STATE_FUNCTION)
    before, budgets = _compute_season_disclosures(season), budgets_of(season)
    yield
    after = _compute_season_disclosures(season)
    told = [early for key, early in after.clashes.items() if key not in before.clashes]
    for key, early in before.hidden.items():
        # A closed phase only withholds gold with a publication date of its own.
        is_embargoed = (
            early.kind is ContentKind.GOLD and early.free_from == early.phase.gold_from
        )
        if key in after.shown and (
            is_embargoed or after.shown[key].closes > timezone.now()
        ):
            told.append(early)
    told += [
        kept
        for key, kept in before.clashes.items()
        if key in after.shown and key not in after.clashes
    ]
    exceeded = budgets_of(season).find_newly_exceeded_budgets(budgets)
    record_confirmed_disclosures(season, [*told, *exceeded], by=by)


def refuse_disclosure_to_people(
    phase: Phase, people: Iterable[User], kinds: Iterable[ContentKind], *, by: User
) -> None:
    """Require a confirmation if any of the people is in a team of a running phase with
    this gold, and the phase withholds the given kinds of content. The caller must open
    a transaction. Raises EmbargoBreach.
    """
    running = Phase.objects.sharing_gold_with(phase).filter(closes__gt=timezone.now())
    teams = Membership.objects.filter(
        team__registrations__season__tasks__phases__in=running
    )
    if teams.filter(user__in=[person.pk for person in people]).exists():
        record_confirmed_disclosures(
            phase.task.season, find_embargoed_disclosures(phase, kinds), by=by
        )


def find_embargoed_disclosures(
    phase: Phase, kinds: Iterable[ContentKind]
) -> list[EarlyDisclosure]:
    known = get_embargoes_of_phase(phase)
    return [
        EarlyDisclosure(phase, kind, free)
        for kind in kinds
        if (free := known.free_from(kind)) is not None
    ]


def record_confirmed_disclosures(
    season: Season, told: Sequence[EarlyDisclosure | BudgetExcess], *, by: User | None
) -> None:
    """Record the disclosures that organisers confirmed. The caller must open a
    transaction. Raises EmbargoBreach if the disclosures were not confirmed.
    """
    if not told:
        return
    refused, typed = EmbargoBreach(told), _confirmed_disclosure.get()
    if typed is None or typed.task != refused.task or not typed.reason:
        raise refused
    for early in refused.too_early:
        kinds = (
            (ContentKind.OWN, ContentKind.CLASSES)
            if early.kind is ContentKind.OWN
            else (early.kind,)
        )
        added = [
            [kind.value, holder.task, holder.split]
            for holder in early.kept_by
            for kind in kinds
        ]
        phase = Phase.objects.select_for_update(of=("self",)).get(pk=early.phase.pk)
        phase.let_out += [one for one in added if one not in phase.let_out]
        Phase.objects.filter(pk=phase.pk).update(
            let_out=phase.let_out, version=F("version") + 1
        )
    with audit.render_in_english():
        facts = {
            "what": "; ".join(early.words for early in told),
            "reason": typed.reason,
        }
    audit.record_action(
        "let-out", actor=by, subject=told[0].phase, place=season, facts=facts
    )


@dataclass(frozen=True)
class _SeasonDisclosures:
    """The contents that a season discloses and withholds. All keys are pairs of a phase
    and a kind of content. ``shown`` contains disclosed content, ``clashes`` contains
    content that is disclosed despite the embargo of another phase, and ``hidden``
    contains withheld content.
    """

    shown: dict[tuple[int, ContentKind], Phase]
    clashes: dict[tuple[int, ContentKind], EarlyDisclosure]
    hidden: dict[tuple[int, ContentKind], EarlyDisclosure]


def _compute_season_disclosures(season: Season) -> _SeasonDisclosures:
    now = timezone.now()
    state = _SeasonDisclosures({}, {}, {})
    if not season.pk:
        return state
    for phase in load_phases_with_embargoes(
        Phase.objects.filter(task__season=season).select_related("task__season")
    ):
        if not phase.task.season.is_public or phase.opens > now:
            continue
        for kind, is_on in _disclosed_content_kinds(phase, now).items():
            end = compute_embargo_end_of_phase(phase, kind, now)
            if is_on and end is None:
                state.shown[phase.pk, kind] = phase
            elif end is not None and end != NEVER_ENDING_EMBARGO:
                state.hidden[phase.pk, kind] = EarlyDisclosure(phase, kind, end)
        state.clashes.update(
            {(phase.pk, early.kind): early for early in find_embargo_clashes([phase])}
        )
    return state


def find_embargo_clashes(phases: Iterable[Phase]) -> list[EarlyDisclosure]:
    """Return the content that a phase shows now or when it opens, although another
    phase withholds the content for longer.
    """
    found, now = [], timezone.now()
    for phase in load_phases_with_embargoes(phases):
        at = max(now, phase.opens)
        for kind, is_on in _disclosed_content_kinds(phase, now).items():
            binding = (
                get_embargoes_of_phase(phase).list_binding_embargoes(kind, at=at)
                if is_on
                else []
            )
            # Claims of other seasons are left out, since only staff can end them.
            binding = [
                (until, holder) for until, holder in binding if not holder.is_claim
            ]
            if binding and compute_embargo_end_of_phase(phase, kind, at) is None:
                latest = max(until for until, _holder in binding)
                found.append(
                    EarlyDisclosure(
                        phase,
                        kind,
                        latest,
                        tuple(holder for _until, holder in binding),
                        at,
                    )
                )
    return found


def _disclosed_content_kinds(phase: Phase, now: dt.datetime) -> dict[ContentKind, bool]:
    has_board = phase.shows_board_scores_to_everyone
    return {
        ContentKind.OWN: phase.shows_scores,
        ContentKind.OTHERS: has_board,
        ContentKind.INSTANCES: has_board and phase.shows_instances,
        ContentKind.GOLD: has_board and phase.gold_is_public,
    }
