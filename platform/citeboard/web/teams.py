"""Pages on which users create, join, leave and merge teams, invite people, and enter
seasons.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from citeboard.acts import teams as team_acts
from citeboard.acts.registration import ASK_TO_JOIN, ENTER, TAKE_BACK_ENTRY
from citeboard.core import plain_text, refusals
from citeboard.core.words import as_sentence
from citeboard.teams import access, membership, models
from citeboard.web import pages
from scoring.exchange.feeds import ATOM_CONTENT_TYPE, system_feed, team_feed
from scoring.exchange.season_runs import ranking_scores
from scoring.figures import Measured
from scoring.results.board import counting, visibility
from scoring.results.board.charts import score_history_chart
from scoring.results.board.formatting import interval, metric_label, score_text
from scoring.results.board.public_results import (
    PublicResult,
    PublicTeam,
    public_results_of_system,
    public_results_of_team,
)
from scoring.results.runs.team_view import run_as_shown_to
from tasks.gold.secrecy import shows_own_scores
from tasks.models import Phase, Registration, Season, Submission
from tasks.registration.entries import (
    MAX_MESSAGE,
    TermsFirst,
    any_invitation,
    join_team,
    waiting_requests,
)
from tasks.seasons.access import merge_proposals, teams_to_ask
from tasks.seasons.history import history_of_teams
from tasks.submissions.submit import remaining_quota

MIN_RUNS_IN_CHART = 2


@pages.members.page("teams/team.html")
def team(request: HttpRequest, team: models.Team) -> pages.Answer:
    runs = Submission.objects.filter(team=team).select_related("phase__task__season")
    phases: dict[int, list[Submission]] = {}
    for run in runs.order_by("-submitted_at", "-id"):
        phases.setdefault(run.phase_id, []).append(run)
    people = membership.team_people(team, request)
    groups = [
        _runs_of_phase(request, runs_of_phase) for runs_of_phase in phases.values()
    ]
    seasons = Season.objects.filter(registrations__team=team)
    told = [
        (
            season,
            list(
                history_of_teams(season, [team])[: membership.MAX_HISTORY_ENTRIES_SHOWN]
            ),
        )
        for season in seasons
    ]
    return {
        "people": people,
        "asking": waiting_requests(team),
        "merging": possible_merges_by_season(team, request.user)
        if people.is_lead
        else [],
        "registrations": Registration.objects.filter(team=team).select_related(
            "season"
        ),
        "groups": groups,
        "told": [(season, entries) for season, entries in told if entries],
        "figures": {
            f"history-{group['phase'].pk}": group["figure"]
            for group in groups
            if group["figure"]
        },
    }


def _runs_of_phase(request: HttpRequest, runs: Sequence[Submission]) -> dict[str, Any]:
    phase = runs[0].phase
    assert runs[0].team is not None
    audience = visibility.audience_of(phase, request.user)
    sees_scores = (
        shows_own_scores(phase) or audience in visibility.SEASON_STAFF_AUDIENCES
    )
    at = visibility.freeze_time_for(phase, audience)
    scores = ranking_scores(runs, at) if sees_scores else {}
    metric = next((score.metric for score in scores.values()), "")
    scale = next((score.scale for score in scores.values()), 0.0)
    stands = _ranked_runs(phase, runs[0].team, at) if sees_scores else frozenset[int]()
    label = metric_label(metric, phase.task.task_type)
    lines = []
    for run in runs:
        score = scores.get(run.pk)
        around = interval(score.low, score.high, score.scale) if score else ""
        line = {"run": run_as_shown_to(run, request.user), "stands": run.pk in stands}
        lines.append({**line, "value": score_text(score), "interval": around})
    points = [
        (run.submitted_at, Measured.of(score), run.system)
        for run in reversed(runs)
        if (score := scores.get(run.pk)) and score.value is not None
    ]
    return {
        **pages.phase_context(phase),
        "metric": label if metric else "",
        "lines": lines,
        "quota": remaining_quota(phase, runs[0].team) if phase.is_open() else None,
        "figure": score_history_chart(points, label, scale)
        if len(points) >= MIN_RUNS_IN_CHART
        else None,
    }


def _ranked_runs(
    phase: Phase, team: models.Team, at: dt.datetime | None
) -> frozenset[int]:
    gold = counting.board_gold_at(phase, at) if at else counting.gold_on_board(phase)
    if gold is None or not phase.task.rules:
        return frozenset()
    rows = counting.counting_runs(
        counting.CountingRun, phase, phase.task.ranking_rules, gold, at
    )
    return frozenset(row.submission for row in rows if row.team_slug == team.slug)


@require_safe
def show_team_results(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the results of a team. Members of the team see the results before the
    public.
    """
    found = public_results_of_team(request.user, slug)
    context = {
        **_team_page_context(request, found),
        "by_season": _results_by_season(found.results),
    }
    return render(request, "teams/results.html", context)


@require_safe
def show_team_system(request: HttpRequest, slug: str, system: str) -> HttpResponse:
    found, results, newest = public_results_of_system(slug, system)
    context = {
        **_team_page_context(request, found),
        "name": newest.system,
        "system": system,
        "run": newest,
        "by_season": _results_by_season(results),
    }
    return render(request, "teams/system.html", context)


@require_safe
def show_team_results_feed(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(
        team_feed(public_results_of_team(None, slug)), content_type=ATOM_CONTENT_TYPE
    )


@require_safe
def show_team_system_feed(request: HttpRequest, slug: str, system: str) -> HttpResponse:
    found, results, newest = public_results_of_system(slug, system)
    return HttpResponse(
        system_feed(found, results, newest.system), content_type=ATOM_CONTENT_TYPE
    )


def _team_page_context(request: HttpRequest, found: PublicTeam) -> dict[str, Any]:
    is_own = access.teams_of(request.user).filter(pk=found.team.pk).exists()
    return {
        "team": found.team,
        "public": found,
        "is_own": is_own,
        "site": settings.BASE_URL,
    }


def _results_by_season(
    results: list[PublicResult],
) -> list[tuple[Any, list[PublicResult]]]:
    groups: dict[int, list[PublicResult]] = {}
    for result in results:
        groups.setdefault(result.season.pk, []).append(result)
    return [(group[0].season, group) for group in groups.values()]


@pages.entering.act("season season", fields=("team", "message"))
def enter(request: pages.SignedInRequest, season: Season) -> pages.Answer:
    team = plain_text.one_line(request.POST.get("team", ""))
    message = plain_text.plain_paragraphs(request.POST.get("message", ""))[:MAX_MESSAGE]
    try:
        entry = ENTER(season, request.user, team=team, message=message)
    except TermsFirst as refused:
        messages.warning(request, as_sentence(refused))
        return redirect("terms", season.slug)
    return ENTER.told(season, entry, {})


@pages.entering.act("season season", fields=("team",))
def withdraw_entry(request: pages.SignedInRequest, season: Season) -> pages.Answer:
    """Withdraw the team from a season. A team can be withdrawn until the team has
    submitted a run.
    """
    team = access.team_for_member(request.user, request.POST.get("team", ""))
    entries = Registration.objects.filter(season=season, team=team)
    registration = access.first_or_404(
        entries, _("The team takes no part in this season.")
    )
    taken_back = TAKE_BACK_ENTRY(registration, request.user)
    return TAKE_BACK_ENTRY.told(registration, taken_back, {})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def show_invitation(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Show an invitation to a team to anyone who has the link. Signed-in users can
    accept the invitation on the page.
    """
    try:
        invitation = any_invitation(secret)
    except membership.InvitationNotValid as ended:
        return render(
            request, "seasons/join.html", {"ended": as_sentence(ended)}, status=404
        )
    team = invitation.team
    pages.require_known_fields(request)
    if request.method == "POST" and isinstance(request.user, models.User):
        try:
            join_team(invitation=invitation, user=request.user)
        except refusals.Refused as refused:
            return render(
                request,
                "seasons/join.html",
                {"ended": as_sentence(refused)},
                status=409,
            )
        messages.success(request, _("You are in %(team)s now.") % {"team": team})
        return redirect("team", team.slug)
    context = {
        "team": team,
        "invitation": invitation,
        "members": team.members.count(),
        "secret": secret if isinstance(invitation, models.MailedInvitation) else "",
        "is_member": access.teams_of(request.user).filter(pk=team.pk).exists(),
    }
    return render(request, "seasons/join.html", context)


@never_cache
@require_POST
def decline_invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """Decline an invitation by the link in its e-mail. A person without an account can
    also decline an invitation.
    """
    pages.require_known_fields(request)
    try:
        invitation = membership.mailed_invitation_for(secret)
    except membership.InvitationNotValid as ended:
        return render(
            request, "seasons/join.html", {"ended": as_sentence(ended)}, status=404
        )
    membership.decline_mailed_invitation(invitation=invitation)
    return render(request, "seasons/join.html", {"declined": invitation.team})


ask = pages.build_action_view(ASK_TO_JOIN, "season season#take-part")
withdraw_request = pages.build_action_view(
    team_acts.TAKE_BACK_REQUEST,
    "season season.slug#take-part",
    pages.PageDecorators(team_acts.request_of, "asked"),
)
remove_member = pages.build_action_view(team_acts.REMOVE_MEMBER, "team slug#members")
lead = pages.build_action_view(team_acts.HAND_OVER, "team slug#members")
answer_request = pages.build_action_view(team_acts.ANSWER_REQUEST, "team slug#members")
withdraw = pages.build_action_view(team_acts.WITHDRAW_INVITATION, "team slug#members")
revoke = pages.build_action_view(team_acts.END_INVITATION, "team slug#members")
leave = pages.build_action_view(
    team_acts.LEAVE,
    "team slug#members",
    then=lambda request, team, left: redirect("teams"),
)
describe = pages.build_action_view(team_acts.DESCRIBE_TEAM, "team slug#public")
propose = pages.build_action_view(team_acts.PROPOSE_MERGE, "team slug#merge")
answer_proposal = pages.build_action_view(team_acts.ANSWER_MERGE, "team slug#merge")


teams = pages.build_form_view(
    team_acts.FOUND,
    "teams/teams.html",
    at="name",
    shows=lambda request, user: {
        "teams": access.teams_of(user).prefetch_related(
            Prefetch("memberships", access.memberships_by_role_and_time())
        ),
        "invitations": [
            (row, membership.secret_of_mailed_invitation(row))
            for row in membership.waiting_invitations_for(user)
        ],
    },
    pages=pages.signed_in,
    then=lambda request, user, team: redirect("team", team.slug),
)


@pages.leads.act("team slug#members")
def renew(request: pages.SignedInRequest, team: models.Team) -> pages.Answer:
    had_one = membership.valid_invitation(team) is not None
    team_acts.RENEW_INVITATION(team, request.user)
    if had_one:
        return _(
            "The team has a new invitation link; the previous one does not work any "
            "more."
        )
    return _(
        "The team has an invitation link now: copy it from below and send it to the "
        "people who are to join."
    )


@pages.leads.act("team slug#members", fields=("address",))
def invite(request: pages.SignedInRequest, team: models.Team) -> pages.Answer:
    address = request.POST.get("address", "")
    try:
        invited = team_acts.INVITE(team, request.user, address=address)
    except ValidationError as refused:
        message = _("“%(text)s” is not an e-mail address.") % {"text": address[:80]}
        raise refusals.Refused(message) from refused
    return team_acts.INVITE.told(team, invited, {})


def possible_merges_by_season(team: models.Team, user: object) -> list[dict[str, Any]]:
    """Return the seasons in which the team may merge with another team.

    The mapping for each season contains the merge proposals and the other teams with
    which the team may merge.
    """
    entered = Season.objects.filter(
        registrations__team=team, registrations__is_approved=True
    )
    lines = []
    for season in entered.filter(merge_until__gt=timezone.now()):
        proposals = merge_proposals(team).filter(season=season)
        own = season.registrations.get(team=team)
        others: QuerySet[models.Team] = teams_to_ask(user, season).filter(
            registrations__is_approved=True
        )
        lines.append(
            {
                "season": season,
                "is_called": "" if season.names_teams() else own.pseudonym,
                "asked": list(proposals.filter(into=team)),
                "own": proposals.filter(team=team).first(),
                "others": others.exclude(pk=team.pk).distinct().order_by("name"),
            }
        )
    return lines
