"""The claims of a run, response by response: why its recall and precision are what they are."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core.query import Query, number_from, text_from
from citeboard.teams.models import User
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
from scoring.models import Evaluation
from scoring.runs.claims import has_claims, page_of
from scoring.runs.results import latest_evaluations
from scoring.web.place import place_of
from tasks.models import Submission
from tasks.types.base import current_rules


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
