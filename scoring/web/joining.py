"""Asking to join a team, answering who asks, and declining an invitation that came by e-mail."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from citeboard.core.plain_text import one_line
from citeboard.core.words import sentence
from citeboard.teams.access import team_for_member
from citeboard.teams.invitations import InvitationNotValid
from citeboard.teams.mailed_invitations import decline_mailed, mailed_invitation_for
from citeboard.teams.models import User
from tasks.registration.entries import EntryRefused
from tasks.registration.joining import (
    MAX_MESSAGE,
    accept_request,
    ask_to_join,
    decline_request,
    requests_of,
    take_back_request,
)
from tasks.seasons.access import join_request_of, season_for, teams_to_ask


@never_cache
@require_POST
def decline(request: HttpRequest, secret: str) -> HttpResponse:
    """Whoever has the link of the mail may say no, signed in or not."""
    try:
        invitation = mailed_invitation_for(secret)
    except InvitationNotValid as ended:
        return render(request, "seasons/join.html", {"ended": sentence(ended)}, status=404)
    decline_mailed(invitation=invitation)
    return render(request, "seasons/join.html", {"declined": invitation.team})


@require_POST
@login_required
def ask(request: HttpRequest, season: str) -> HttpResponse:
    user = _person(request)
    found = season_for(user, season)
    team = get_object_or_404(teams_to_ask(user, found), slug=one_line(request.POST.get("team", "")))
    try:
        message = request.POST.get("message", "")[:MAX_MESSAGE]
        ask_to_join(season=found, team=team, user=user, message=message)
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request, _("You have asked to join %(team)s; its members are told.") % {"team": team}
        )
    return redirect(f"{reverse('season', args=[found.slug])}#take-part")


@require_POST
@login_required
def take_back(request: HttpRequest, asked: int) -> HttpResponse:
    found = get_object_or_404(requests_of(request.user), pk=asked)
    try:
        take_back_request(asked=found)
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(request, _("You do not ask to join %(team)s any more.") % {"team": found.team})
    return redirect(f"{reverse('season', args=[found.season.slug])}#take-part")


@require_POST
@login_required
def answer(request: HttpRequest, slug: str, asked: int) -> HttpResponse:
    """Any member of the team accepts or declines."""
    team = team_for_member(request.user, slug)
    found = join_request_of(team, asked)
    try:
        if request.POST.get("decision") == "accept":
            accept_request(asked=found, by=_person(request))
            messages.success(
                request, _("%(person)s is in %(team)s now.") % {"person": found.user, "team": team}
            )
        elif request.POST.get("decision") == "decline":
            decline_request(asked=found, by=_person(request))
            words = _("%(person)s is told that %(team)s has declined.")
            messages.success(request, words % {"person": found.user, "team": team})
        else:
            messages.error(request, _("Say whether to accept or to decline."))
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    return redirect(f"{reverse('team', args=[team.slug])}#members")


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
