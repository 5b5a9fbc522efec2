"""A run instance by instance, each at an address of its own: what was given, the answer, the gold."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core.query import Query, number_from, text_from
from citeboard.teams.models import User
from scoring.board.comparisons import Unreadable
from scoring.board.names import metric_label
from scoring.board.numbers import shown
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
from scoring.comparison.reading import OwnPage, ShownAnswer, own_page, rights_to
from scoring.models import Evaluation
from scoring.runs.claims import has_claims, page_of
from scoring.runs.results import latest_evaluations
from scoring.web.breadcrumbs import place_of
from tasks.models import Season, Submission
from tasks.types.base import current_rules
from tasks.types.instance_view import ALIKE, IMPLIED, MISSED, OUTCOMES, RIGHT, WRONG


@dataclass(frozen=True, kw_only=True)
class InstancesQuery(Query):
    """``instance`` names a single one; with an ``outcome``, those that have a sentence of it."""

    rules: str = text_from("rules")
    instance: str = text_from("instance", max_length=1_000)
    outcome: str = text_from("outcome", choices=OUTCOMES)
    page: int = number_from("page", default=1)


@require_safe
def instances(request: HttpRequest, pk: int) -> HttpResponse:
    found = Submission.objects.select_related("phase__task__season", "team").filter(pk=pk).first()
    rights = rights_to(found, request.user) if found is not None and _is_shown(found, request.user) else None
    if found is None or rights is None:
        raise Http404(_("There are no answers for you to see at this address."))
    audience = audience_of(found.phase, request.user)
    evaluations = latest_evaluations(found, frozen_at(found.phase, audience))
    if not evaluations:
        raise Http404(_("This run has not been scored, or not yet."))
    query = InstancesQuery.of(request.GET)
    asked = current_rules(query.rules)
    rules = asked if asked in evaluations else next(iter(evaluations))
    try:
        page = own_page(evaluations[rules], rights, query.page, query.instance, query.outcome)
    except Unreadable:
        page, is_unreadable = None, True
    else:
        is_unreadable = False
    if page is None and not is_unreadable:
        raise Http404(_("The run has no instance of this name."))
    outcomes = [one for one in OUTCOMES if page and page.outcomes.get(one)]
    outcome = query.outcome if query.outcome in outcomes else ""
    own = InstancesQuery(rules=query.rules, outcome=outcome)
    is_own = may_see_submission(found, request.user)
    context = {
        **place_of(found.phase),
        "submission": found,
        "is_own": is_own,
        "names_team": is_own or shows_teams(found.phase, audience),
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
    response = render(request, "runs/instances.html", context)
    # What somebody may read here depends on who they are.
    response["Cache-Control"] = "private, no-store"
    return response


def _is_shown(run: Submission, viewer: object) -> bool:
    return Season.objects.visible_to(viewer).filter(pk=run.phase.task.season_id).exists()


def _outcome_label(outcome: str) -> str:
    return {
        ALIKE: _("wrong, with words of what is given"),
        WRONG: _("wrong, without such words"),
        IMPLIED: _("missed, without words of what is given"),
        MISSED: _("missed, with such words"),
        RIGHT: _("right"),
    }.get(outcome, _("all"))


def _line(instance: ShownAnswer, page: OwnPage, query: InstancesQuery) -> dict[str, object]:
    return {
        "instance": instance,
        "href": query.with_(instance=instance.name, outcome=""),
        "judged": [(outcome, _outcome_label(outcome), sentence) for outcome, sentence in instance.judged],
        "values": [
            (
                metric_label(name),
                shown(
                    value if math.isfinite(value) else None,
                    page.metrics[name].scale,
                    is_infinite=math.isinf(value),
                ),
            )
            for name, value in instance.values.items()
        ],
    }


@dataclass(frozen=True, kw_only=True)
class ClaimsQuery(Query):
    """``name`` is the response to turn to."""

    rules: str = text_from("rules")
    page: int = number_from("page", default=1)
    name: str = text_from("id")


@require_safe
def claims(request: HttpRequest, pk: int) -> HttpResponse:
    runs = Submission.objects.select_related("phase__task__season", "team")
    found = runs.filter(pk=pk).first()
    stands = found is not None and _stands(found, request.user)
    if found is None or not may_see_claims(found, request.user, stands=stands):
        raise Http404(_("There are no claims for you to see at this address."))
    at = frozen_at(found.phase, audience_of(found.phase, request.user))
    evaluations = {
        rules: evaluation
        for rules, evaluation in latest_evaluations(found, at).items()
        if has_claims(evaluation)
    }
    if not evaluations:
        raise Http404(_("This run has not been split into claims, or not yet."))
    query = ClaimsQuery.of(request.GET)
    rules, evaluation = _chosen(evaluations, current_rules(query.rules))
    page = page_of(
        evaluation,
        query.page,
        query.name.strip(),
        shows_labels=may_see_labels(found, request.user, stands=stands),
        shows_passages=may_see_passages(found, request.user),
    )
    is_own = isinstance(request.user, User) and may_see_submission(found, request.user)
    context = {
        **place_of(found.phase),
        "submission": found,
        "is_own": is_own,
        "names_team": is_own or shows_teams(found.phase, audience_of(found.phase, request.user)),
        "rules": rules,
        "rule_sets": ClaimsQuery().choices("rules", evaluations, rules),
        "page": page,
        "before": ClaimsQuery(rules=rules, page=page.number - 1).with_() if page.number > 1 else "",
        "after": ClaimsQuery(rules=rules, page=page.number + 1).with_() if page.number < page.pages else "",
    }
    return render(request, "runs/claims.html", context)


def _stands(run: Submission, viewer: object) -> bool:
    """On a board as the viewer sees it; boards are not looked at for who sees the run in any case."""
    return may_see_submission(run, viewer) or standing_of(run.phase, viewer, run.pk) is not None


def _chosen(evaluations: dict[str, Evaluation], wanted: str) -> tuple[str, Evaluation]:
    rules = wanted if wanted in evaluations else next(iter(evaluations))
    return rules, evaluations[rules]
