"""A run response by response: what was given, the answer and the gold, and the claims of each answer."""

import math
from dataclasses import dataclass

from django.http import Http404, HttpRequest
from django.shortcuts import render
from django.utils.translation import gettext as _

from citeboard.core.query import Query, number_from, text_from
from citeboard.teams.models import User
from scoring.board.comparisons import Unreadable
from scoring.board.formatting import metric_label, shown
from scoring.board.standings import standing_of
from scoring.board.visibility import (
    audience_of,
    frozen_at,
    may_see_claims,
    may_see_labels,
    may_see_passages,
    may_see_submission,
    shows_teams,
)
from scoring.comparison.reading import OwnPage, Rights, ShownAnswer, own_page, rights_to
from scoring.runs.claims import has_claims, page_of
from scoring.runs.results import latest_evaluations
from scoring.web.breadcrumbs import place_of
from scoring.web.pages import Answer, Pages, private
from tasks.models import Season, Submission
from tasks.types.base import ALIKE, IMPLIED, MISSED, OUTCOMES, RIGHT, WRONG, current_rules


@dataclass(frozen=True, kw_only=True)
class InstancesQuery(Query):
    """``instance`` names a single one; with an ``outcome``, those that have a sentence of it."""

    rules: str = text_from("rules")
    instance: str = text_from("instance", max_length=1_000)
    outcome: str = text_from("outcome", choices=OUTCOMES)
    page: int = number_from("page", default=1)


def _with_rights(viewer: object, pk: int) -> tuple[Submission, Rights]:
    run = Submission.objects.select_related("phase__task__season", "team").filter(pk=pk).first()
    is_shown = (
        run is not None and Season.objects.visible_to(viewer).filter(pk=run.phase.task.season_id).exists()
    )
    rights = rights_to(run, viewer) if run is not None and is_shown else None
    if run is None or rights is None:
        raise Http404(_("There are no answers for you to see at this address."))
    return run, rights


@Pages(_with_rights, "pk", is_public=True).page()
def instances(request: HttpRequest, readable: tuple[Submission, Rights]) -> Answer:
    run, rights = readable
    audience = audience_of(run.phase, request.user)
    evaluations = latest_evaluations(run, frozen_at(run.phase, audience))
    if not evaluations:
        raise Http404(_("This run has not been scored, or not yet."))
    query = InstancesQuery.of(request.GET)
    wanted = current_rules(query.rules)
    rules = wanted if wanted in evaluations else next(iter(evaluations))
    page = None
    try:
        page = own_page(evaluations[rules], rights, query.page, query.instance, query.outcome)
    except Unreadable:
        pass
    else:
        if page is None:
            raise Http404(_("The run has no instance of this name."))
    outcomes = [outcome for outcome in OUTCOMES if page and page.outcomes.get(outcome)]
    outcome = query.outcome if query.outcome in outcomes else ""
    own = InstancesQuery(rules=query.rules, outcome=outcome)
    is_own = may_see_submission(run, request.user)
    context = {
        **place_of(run.phase),
        "submission": run,
        "is_own": is_own,
        "names_team": is_own or shows_teams(run.phase, audience),
        "rules": rules,
        "gold": evaluations[rules].gold,
        "rule_sets": query.choices("rules", evaluations, rules),
        "rights": rights,
        "page": page,
        "outcome": outcome,
        "outcomes": own.choices("outcome", ["", *outcomes], outcome, _outcome_label) if outcomes else [],
        "single": query.instance,
        "lines": [_line(instance, page, own) for instance in page.instances] if page else [],
        "every": own.with_(outcome=""),
        "before": own.with_(page=page.number - 1) if page and page.number > 1 else "",
        "after": own.with_(page=page.number + 1) if page and page.number < page.pages else "",
    }
    return private(render(request, "runs/instances.html", context))


def _outcome_label(outcome: str) -> str:
    return {
        ALIKE: _("wrong, with words of what is given"),
        WRONG: _("wrong, without such words"),
        IMPLIED: _("missed, without words of what is given"),
        MISSED: _("missed, with such words"),
        RIGHT: _("right"),
    }.get(outcome, _("all"))


def _line(instance: ShownAnswer, page: OwnPage, query: InstancesQuery) -> dict[str, object]:
    values = []
    for name, value in instance.values.items():
        finite = value if math.isfinite(value) else None
        text = shown(finite, page.metrics[name].scale, is_infinite=math.isinf(value))
        values.append((metric_label(name), text))
    return {
        "instance": instance,
        "href": query.with_(instance=instance.name, outcome=""),
        "judged": [(outcome, _outcome_label(outcome), sentence) for outcome, sentence in instance.judged],
        "values": values,
    }


@dataclass(frozen=True, kw_only=True)
class ClaimsQuery(Query):
    """``name`` is the response to turn to."""

    rules: str = text_from("rules")
    page: int = number_from("page", default=1)
    name: str = text_from("id")


def _with_claims(viewer: object, pk: int) -> tuple[Submission, bool]:
    """The run, and whether it stands on a board as the viewer sees it; who sees it anyway needs no board."""
    run = Submission.objects.select_related("phase__task__season", "team").filter(pk=pk).first()
    stands = run is not None and (
        may_see_submission(run, viewer) or standing_of(run.phase, viewer, run.pk) is not None
    )
    if run is None or not may_see_claims(run, viewer, stands=stands):
        raise Http404(_("There are no claims for you to see at this address."))
    return run, stands


@Pages(_with_claims, "pk", is_public=True).page("runs/claims.html")
def claims(request: HttpRequest, readable: tuple[Submission, bool]) -> Answer:
    """Response by response why its recall and precision are what they are."""
    run, stands = readable
    viewer, audience = request.user, audience_of(run.phase, request.user)
    latest = latest_evaluations(run, frozen_at(run.phase, audience))
    evaluations = {rules: evaluation for rules, evaluation in latest.items() if has_claims(evaluation)}
    if not evaluations:
        raise Http404(_("This run has not been split into claims, or not yet."))
    query = ClaimsQuery.of(request.GET)
    wanted = current_rules(query.rules)
    rules = wanted if wanted in evaluations else next(iter(evaluations))
    page = page_of(
        evaluations[rules],
        query.page,
        query.name.strip(),
        shows_labels=may_see_labels(run, viewer, stands=stands),
        shows_passages=may_see_passages(run, viewer),
    )
    is_own = isinstance(viewer, User) and may_see_submission(run, viewer)
    return {
        **place_of(run.phase),
        "submission": run,
        "is_own": is_own,
        "names_team": is_own or shows_teams(run.phase, audience),
        "rules": rules,
        "rule_sets": ClaimsQuery().choices("rules", evaluations, rules),
        "page": page,
        "before": ClaimsQuery(rules=rules, page=page.number - 1).with_() if page.number > 1 else "",
        "after": ClaimsQuery(rules=rules, page=page.number + 1).with_() if page.number < page.pages else "",
    }
