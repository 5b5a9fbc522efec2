"""Two teams of a season become one: proposed and answered by their leads."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from citeboard.core.plain_text import one_line
from citeboard.core.words import counted, sentence
from citeboard.teams.access import team_for_lead
from citeboard.teams.models import Team, User
from scoring.ops.merging import accept_merge, drop_proposal, propose_merge
from tasks.models import MergeProposal, Season
from tasks.registration.entries import EntryRefused
from tasks.seasons.access import merge_proposal_of, season_for, teams_to_ask


@dataclass(frozen=True)
class Merging:
    """A season in which a team may merge: what is asked of it and by it, and whom it could ask."""

    season: Season
    asked: list[MergeProposal]
    own: MergeProposal | None
    others: QuerySet[Team]


def merging_of(team: Team, user: object) -> list[Merging]:
    """For the team's lead, by season."""
    now = timezone.now()
    seasons = Season.objects.filter(
        registrations__team=team, registrations__is_approved=True, merge_until__gt=now
    )
    found = []
    for season in seasons:
        proposals = MergeProposal.objects.filter(season=season).select_related("team", "into")
        others = teams_to_ask(user, season).filter(registrations__is_approved=True).exclude(pk=team.pk)
        found.append(
            Merging(
                season=season,
                asked=list(proposals.filter(into=team)),
                own=proposals.filter(team=team).first(),
                others=others.distinct().order_by("name"),
            )
        )
    return found


@require_POST
@login_required
def propose(request: HttpRequest, slug: str) -> HttpResponse:
    team = team_for_lead(request.user, slug)
    season = season_for(request.user, one_line(request.POST.get("season", "")))
    into = get_object_or_404(teams_to_ask(request.user, season), slug=one_line(request.POST.get("into", "")))
    try:
        propose_merge(season=season, team=team, into=into, by=_person(request))
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    else:
        words = _("The lead of %(into)s is asked whether %(team)s may merge into it.")
        messages.success(request, words % {"into": into, "team": team})
    return _back(team)


@require_POST
@login_required
def answer(request: HttpRequest, slug: str, proposal: int) -> HttpResponse:
    """The lead of the team that stays accepts or declines; the lead of the other may withdraw."""
    team = team_for_lead(request.user, slug)
    found = merge_proposal_of(team, proposal)
    decision = request.POST.get("decision")
    try:
        if decision == "accept" and found.into_id == team.pk:
            moved = accept_merge(proposal=found, by=_person(request))
            words = _("%(gone)s is part of %(team)s now, with %(runs)s.")
            facts = {"gone": found.team, "team": team, "runs": counted(moved, "run")}
            messages.success(request, words % facts)
        elif decision == "drop":
            drop_proposal(proposal=found, by=_person(request))
            words = _("%(team)s and %(into)s stay two teams.")
            messages.success(request, words % {"team": found.team, "into": found.into})
        else:
            messages.error(request, _("Say whether to accept or to decline."))
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    return _back(team)


def _back(team: Team) -> HttpResponse:
    return redirect(f"{reverse('team', args=[team.slug])}#merge")


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
