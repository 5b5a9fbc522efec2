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
from citeboard.acts.registration import (
    ASK_TO_JOIN_TEAM,
    REGISTER_TEAM,
    WITHDRAW_REGISTRATION,
)
from citeboard.core import plain_text, refusals
from citeboard.core.words import format_as_sentence
from citeboard.teams import access, membership, models
from citeboard.web import pages
from scoring.exchange.feeds import ATOM_CONTENT_TYPE, build_system_feed, build_team_feed
from scoring.exchange.season_runs import load_ranking_scores_by_run
from scoring.figures import FigureValue
from scoring.results.board import counting, visibility
from scoring.results.board.charts import build_score_history_chart
from scoring.results.board.formatting import (
    display_name_of_metric,
    format_interval,
    format_stored_score,
)
from scoring.results.board.public_results import (
    PublicResultInPhase,
    PublicTeam,
    load_public_results_of_system,
    load_public_results_of_team,
)
from scoring.results.runs.team_view import copy_run_without_hidden_outcome
from tasks.gold.secrecy import are_own_scores_visible_to_teams
from tasks.models import Phase, Registration, Season, Submission
from tasks.registration.entries import (
    MAX_ENTRY_MESSAGE_CHARACTERS,
    TermsNotYetAccepted,
    find_invitation_by_secret,
    join_team,
    list_open_join_requests_of_team,
)
from tasks.seasons.access import (
    list_merge_proposals_of_team,
    list_teams_user_may_ask_to_join,
)
from tasks.seasons.history import list_history_of_teams
from tasks.submissions.submit import compute_remaining_quota

MIN_RUNS_IN_CHART = 2


@pages.team_member_pages.page("teams/team.html")
def show_own_team(request: HttpRequest, team: models.Team) -> pages.ViewResult:
    runs = Submission.objects.filter(team=team).select_related("phase__task__season")
    phases: dict[int, list[Submission]] = {}
    for run in runs.order_by("-submitted_at", "-id"):
        phases.setdefault(run.phase_id, []).append(run)
    people = membership.build_team_members_page(team, request)
    groups = [
        _build_runs_of_phase(request, runs_of_phase)
        for runs_of_phase in phases.values()
    ]
    seasons = Season.objects.filter(registrations__team=team)
    told = [
        (
            season,
            list(
                list_history_of_teams(season, [team])[
                    : membership.MAX_HISTORY_ENTRIES_SHOWN
                ]
            ),
        )
        for season in seasons
    ]
    return {
        "people": people,
        "asking": list_open_join_requests_of_team(team),
        "merging": find_possible_merges_by_season(team, request.user)
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


def _build_runs_of_phase(
    request: HttpRequest, runs: Sequence[Submission]
) -> dict[str, Any]:
    phase = runs[0].phase
    assert runs[0].team is not None
    audience = visibility.determine_audience(phase, request.user)
    sees_scores = (
        are_own_scores_visible_to_teams(phase)
        or audience in visibility.AUDIENCES_OF_SEASON_STAFF
    )
    at = visibility.find_freeze_time_for_audience(phase, audience)
    scores = load_ranking_scores_by_run(runs, at) if sees_scores else {}
    metric = next((score.metric for score in scores.values()), "")
    scale = next((score.scale for score in scores.values()), 0.0)
    stands = (
        _find_ranked_runs(phase, runs[0].team, at) if sees_scores else frozenset[int]()
    )
    label = display_name_of_metric(metric, phase.task.task_type)
    lines = []
    for run in runs:
        score = scores.get(run.pk)
        around = format_interval(score.low, score.high, score.scale) if score else ""
        line = {
            "run": copy_run_without_hidden_outcome(run, request.user),
            "stands": run.pk in stands,
        }
        lines.append({**line, "value": format_stored_score(score), "interval": around})
    points = [
        (run.submitted_at, FigureValue.of(score), run.system)
        for run in reversed(runs)
        if (score := scores.get(run.pk)) and score.value is not None
    ]
    return {
        **pages.build_phase_context(phase),
        "metric": label if metric else "",
        "lines": lines,
        "quota": compute_remaining_quota(phase, runs[0].team)
        if phase.is_open()
        else None,
        "figure": build_score_history_chart(points, label, scale)
        if len(points) >= MIN_RUNS_IN_CHART
        else None,
    }


def _find_ranked_runs(
    phase: Phase, team: models.Team, at: dt.datetime | None
) -> frozenset[int]:
    gold = (
        counting.find_gold_on_board_at(phase, at)
        if at
        else counting.find_gold_on_board(phase)
    )
    if gold is None or not phase.task.rules:
        return frozenset()
    rows = counting.find_runs_shown_on_board(
        counting.RunShownOnBoard, phase, phase.task.ranking_rules, gold, at
    )
    return frozenset(row.submission for row in rows if row.team_slug == team.slug)


@require_safe
def show_team_results(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the results of a team. Members of the team see the results before the
    public.
    """
    found = load_public_results_of_team(request.user, slug)
    context = {
        **_build_team_page_context(request, found),
        "by_season": _group_results_by_season(found.results),
    }
    return render(request, "teams/results.html", context)


@require_safe
def show_team_system(request: HttpRequest, slug: str, system: str) -> HttpResponse:
    found, results, newest = load_public_results_of_system(slug, system)
    context = {
        **_build_team_page_context(request, found),
        "name": newest.system,
        "system": system,
        "run": newest,
        "by_season": _group_results_by_season(results),
    }
    return render(request, "teams/system.html", context)


@require_safe
def show_team_results_feed(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(
        build_team_feed(load_public_results_of_team(None, slug)),
        content_type=ATOM_CONTENT_TYPE,
    )


@require_safe
def show_team_system_feed(request: HttpRequest, slug: str, system: str) -> HttpResponse:
    found, results, newest = load_public_results_of_system(slug, system)
    return HttpResponse(
        build_system_feed(found, results, newest.system), content_type=ATOM_CONTENT_TYPE
    )


def _build_team_page_context(request: HttpRequest, found: PublicTeam) -> dict[str, Any]:
    is_own = access.find_teams_of_user(request.user).filter(pk=found.team.pk).exists()
    return {
        "team": found.team,
        "public": found,
        "is_own": is_own,
        "site": settings.BASE_URL,
    }


def _group_results_by_season(
    results: list[PublicResultInPhase],
) -> list[tuple[Any, list[PublicResultInPhase]]]:
    groups: dict[int, list[PublicResultInPhase]] = {}
    for result in results:
        groups.setdefault(result.season.pk, []).append(result)
    return [(group[0].season, group) for group in groups.values()]


@pages.season_entrant_pages.act("season season", fields=("team", "message"))
def register_team_for_season(
    request: pages.SignedInRequest, season: Season
) -> pages.ViewResult:
    team = plain_text.clean_single_line_text(request.POST.get("team", ""))
    message = plain_text.clean_multiline_text(request.POST.get("message", ""))[
        :MAX_ENTRY_MESSAGE_CHARACTERS
    ]
    try:
        entry = REGISTER_TEAM(season, request.user, team=team, message=message)
    except TermsNotYetAccepted as refused:
        messages.warning(request, format_as_sentence(refused))
        return redirect("terms", season.slug)
    return REGISTER_TEAM.told(season, entry, {})


@pages.season_entrant_pages.act("season season", fields=("team",))
def withdraw_registration(
    request: pages.SignedInRequest, season: Season
) -> pages.ViewResult:
    """Withdraw the team from a season. A team can be withdrawn until the team has
    submitted a run.
    """
    team = access.own_team_or_404(request.user, request.POST.get("team", ""))
    entries = Registration.objects.filter(season=season, team=team)
    registration = access.first_or_404(
        entries, _("The team takes no part in this season.")
    )
    taken_back = WITHDRAW_REGISTRATION(registration, request.user)
    return WITHDRAW_REGISTRATION.told(registration, taken_back, {})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def show_invitation(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Show an invitation to a team to anyone who has the link. Signed-in users can
    accept the invitation on the page.
    """
    try:
        invitation = find_invitation_by_secret(secret)
    except membership.InvalidInvitation as ended:
        return render(
            request,
            "seasons/join.html",
            {"ended": format_as_sentence(ended)},
            status=404,
        )
    team = invitation.team
    pages.require_known_fields(request)
    if request.method == "POST" and isinstance(request.user, models.User):
        try:
            join_team(invitation=invitation, user=request.user)
        except refusals.ActionRefused as refused:
            return render(
                request,
                "seasons/join.html",
                {"ended": format_as_sentence(refused)},
                status=409,
            )
        messages.success(request, _("You are in %(team)s now.") % {"team": team})
        return redirect("team", team.slug)
    context = {
        "team": team,
        "invitation": invitation,
        "members": team.members.count(),
        "secret": secret if isinstance(invitation, models.MailedInvitation) else "",
        "is_member": access.find_teams_of_user(request.user)
        .filter(pk=team.pk)
        .exists(),
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
        invitation = membership.find_mailed_invitation_by_secret(secret)
    except membership.InvalidInvitation as ended:
        return render(
            request,
            "seasons/join.html",
            {"ended": format_as_sentence(ended)},
            status=404,
        )
    membership.decline_mailed_invitation(invitation=invitation)
    return render(request, "seasons/join.html", {"declined": invitation.team})


ask_to_join_team = pages.build_action_view(ASK_TO_JOIN_TEAM, "season season#take-part")
withdraw_join_request = pages.build_action_view(
    team_acts.WITHDRAW_JOIN_REQUEST,
    "season season.slug#take-part",
    pages.PageDecorators(team_acts.join_request_or_404, "asked"),
)
remove_team_member = pages.build_action_view(
    team_acts.REMOVE_TEAM_MEMBER, "team slug#members"
)
transfer_team_lead = pages.build_action_view(
    team_acts.HAND_OVER_TEAM_LEAD, "team slug#members"
)
answer_request = pages.build_action_view(
    team_acts.ANSWER_JOIN_REQUEST, "team slug#members"
)
withdraw_mailed_invitation = pages.build_action_view(
    team_acts.WITHDRAW_MAILED_INVITATION, "team slug#members"
)
revoke_invitation_link = pages.build_action_view(
    team_acts.REVOKE_INVITATION_LINK, "team slug#members"
)
leave_team = pages.build_action_view(
    team_acts.LEAVE_TEAM,
    "team slug#members",
    then=lambda request, team, left: redirect("teams"),
)
edit_team_description = pages.build_action_view(
    team_acts.DESCRIBE_TEAM, "team slug#public"
)
propose_team_merge = pages.build_action_view(
    team_acts.PROPOSE_TEAM_MERGE, "team slug#merge"
)
answer_merge_proposal = pages.build_action_view(
    team_acts.ANSWER_MERGE_PROPOSAL, "team slug#merge"
)


list_and_found_teams = pages.build_form_view(
    team_acts.FOUND_TEAM,
    "teams/teams.html",
    at="name",
    shows=lambda request, user: {
        "teams": access.find_teams_of_user(user).prefetch_related(
            Prefetch("memberships", access.order_memberships_by_role_and_time())
        ),
        "invitations": [
            (row, membership.sign_mailed_invitation_secret(row))
            for row in membership.find_waiting_invitations(user)
        ],
    },
    pages=pages.signed_in_pages,
    then=lambda request, user, team: redirect("team", team.slug),
)


@pages.team_lead_pages.act("team slug#members")
def renew_invitation_link(
    request: pages.SignedInRequest, team: models.Team
) -> pages.ViewResult:
    had_one = membership.find_valid_invitation(team) is not None
    team_acts.RENEW_INVITATION_LINK(team, request.user)
    if had_one:
        return _(
            "The team has a new invitation link; the previous one does not work any "
            "more."
        )
    return _(
        "The team has an invitation link now: copy it from below and send it to the "
        "people who are to join."
    )


@pages.team_lead_pages.act("team slug#members", fields=("address",))
def invite_team_member(
    request: pages.SignedInRequest, team: models.Team
) -> pages.ViewResult:
    address = request.POST.get("address", "")
    try:
        invited = team_acts.INVITE_BY_MAIL(team, request.user, address=address)
    except ValidationError as refused:
        message = _("“%(text)s” is not an e-mail address.") % {"text": address[:80]}
        raise refusals.ActionRefused(message) from refused
    return team_acts.INVITE_BY_MAIL.told(team, invited, {})


def find_possible_merges_by_season(
    team: models.Team, user: object
) -> list[dict[str, Any]]:
    """Return the seasons in which the team may merge with another team.

    The mapping for each season contains the merge proposals and the other teams with
    which the team may merge.
    """
    entered = Season.objects.filter(
        registrations__team=team, registrations__is_approved=True
    )
    lines = []
    for season in entered.filter(merge_until__gt=timezone.now()):
        proposals = list_merge_proposals_of_team(team).filter(season=season)
        own = season.registrations.get(team=team)
        others: QuerySet[models.Team] = list_teams_user_may_ask_to_join(
            user, season
        ).filter(registrations__is_approved=True)
        lines.append(
            {
                "season": season,
                "is_called": "" if season.shows_team_names() else own.pseudonym,
                "asked": list(proposals.filter(into=team)),
                "own": proposals.filter(team=team).first(),
                "others": others.exclude(pk=team.pk).distinct().order_by("name"),
            }
        )
    return lines
