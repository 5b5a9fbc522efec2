"""API operations that create, join, leave and merge teams and return their public
results.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django.db.models import Prefetch, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.acts import teams as acts
from citeboard.acts.merging import MERGE_TEAMS
from citeboard.acts.registration import ASK_TO_JOIN_TEAM
from citeboard.api.operations import (
    get,
    post,
    register_action_operation,
    register_creating_action,
    register_deleting_action,
)
from citeboard.api.serializers import (
    RouteAddressField,
    build_absolute_address,
    build_model_serializer,
    build_serializer,
)
from citeboard.teams.access import (
    find_teams_of_user,
    led_team_or_error,
    order_memberships_by_role_and_time,
    own_team_or_404,
)
from citeboard.teams.api import require_signed_in_user
from citeboard.teams.membership import (
    decline_mailed_invitation,
    find_mailed_invitation_by_secret,
    sign_invitation_secret,
)
from citeboard.teams.models import MailedInvitation, Membership, Team
from scoring.results.board.public_results import (
    load_public_results_of_system,
    load_public_results_of_team,
)
from tasks.models import JoinRequest, MergeProposal, Season
from tasks.registration import entries
from tasks.seasons.access import list_merge_proposals_of_team

#: MAX_LINK_LENGTH is the maximum length of an invitation link, or of the token in the link.
MAX_LINK_LENGTH = 400
TeamMemberSerializer = build_model_serializer(
    Membership,
    "Somebody's place in a team.",
    "id name role joined_at",
    "Member",
    id=serializers.IntegerField(
        source="user_id", help_text="Names them in addresses of the team."
    ),
    name=serializers.CharField(source="user", help_text="What they are called here."),
)


class TeamSerializer(serializers.ModelSerializer[Team]):
    """A team of one's own."""

    members = TeamMemberSerializer(source="memberships", many=True)
    seasons = serializers.SerializerMethodField(
        help_text="Those that it takes part in, or has asked for."
    )
    links = serializers.ListField(
        child=serializers.URLField(), help_text="What it says of itself."
    )
    page = RouteAddressField("team", "slug")

    class Meta:
        model = Team
        fields = [
            "slug",
            "name",
            "description",
            "links",
            "created_at",
            "members",
            "seasons",
            "page",
        ]

    @extend_schema_field(serializers.ListField(child=serializers.SlugField()))
    def get_seasons(self, team: Team) -> list[str]:
        return sorted(
            entry.season.slug
            for entry in team.registrations.all()
            if not entry.is_refused
        )


InvitationLinkSerializer = build_serializer(
    "Invitation",
    "The one link that invites to a team.",
    link=serializers.URLField,
    expires_at=dt.datetime,
)
JoinForm = build_serializer(
    "JoinForm",
    "An invitation to be taken.",
    invitation=serializers.CharField(
        max_length=MAX_LINK_LENGTH, help_text="The link, or the last part of it."
    ),
)


def _find_teams_of_user(user: object) -> QuerySet[Team]:
    related = (
        Prefetch("memberships", order_memberships_by_role_and_time()),
        "registrations__season",
    )
    return find_teams_of_user(user).order_by("name").prefetch_related(*related)


def _find_team_for_response(request: Request, team: Team) -> Team:
    return _find_teams_of_user(request.user).get(pk=team.pk)


@get("teams/", pages=TeamSerializer)
def teams(request: Request) -> QuerySet[Team]:
    """Your teams, by name."""
    return _find_teams_of_user(request.user)


def _build_new_team_response(request: Request, team: Team) -> Response:
    answer = TeamSerializer(
        _find_team_for_response(request, team), context={"request": request}
    ).data
    return Response(
        answer,
        status=201,
        headers={"Location": build_absolute_address(request, "api:team", team.slug)},
    )


register_creating_action(
    acts.FOUND_TEAM,
    "teams/",
    "found_team",
    gives=_build_new_team_response,
    answers=TeamSerializer,
)


@get("teams/<slug:slug>/", role=own_team_or_404, answers=TeamSerializer)
def team(request: Request, team: Team) -> Team:
    """Return a team of which you are a member, with the team's members."""
    return _find_team_for_response(request, team)


register_creating_action(
    acts.RENEW_INVITATION_LINK,
    "teams/<slug:slug>/invitation/",
    "invitation",
    gives=lambda request, made: {
        "link": build_absolute_address(request, "join", sign_invitation_secret(made)),
        "expires_at": made.expires_at,
    },
    answers=InvitationLinkSerializer,
)
register_deleting_action(
    acts.REVOKE_INVITATION_LINK, "teams/<slug:slug>/invitation/", "end_invitation"
)


@post("join/", form=JoinForm, answers=TeamSerializer)
def join(request: Request, form: dict[str, Any]) -> Team:
    """Join the team to which an invitation invites you."""
    invitation = entries.find_invitation_by_secret(
        _extract_invitation_secret(form["invitation"])
    )
    return _find_team_for_response(
        request,
        entries.join_team(
            invitation=invitation, user=require_signed_in_user(request)
        ).team,
    )


@post("join/decline/", form=JoinForm, name="join-decline")
def decline(request: Request, form: dict[str, Any]) -> None:
    """Decline an invitation that came by e-mail."""
    decline_mailed_invitation(
        invitation=find_mailed_invitation_by_secret(
            _extract_invitation_secret(form["invitation"])
        )
    )


def _extract_invitation_secret(link: str) -> str:
    return link.rstrip("/").rpartition("/")[2]


register_deleting_action(
    acts.REMOVE_TEAM_MEMBER,
    "teams/<slug:slug>/members/<int:member>/",
    "remove_member",
    name="member",
)
register_action_operation(
    acts.HAND_OVER_TEAM_LEAD,
    "teams/<slug:slug>/members/<int:member>/lead/",
    gives=lambda request, member: _find_team_for_response(request, member.team),
    answers=TeamSerializer,
    name="lead",
)
register_action_operation(acts.LEAVE_TEAM, "teams/<slug:slug>/leave/", "leave")
register_action_operation(
    acts.DESCRIBE_TEAM,
    "teams/<slug:slug>/description/",
    gives=_find_team_for_response,
    answers=TeamSerializer,
    name="team-description",
)


BoardPlacingSerializer = build_serializer(
    "Placing",
    "A row of a public board; numbers are null where ranks alone are shown, ranks where it has none.",
    season=serializers.SlugField(source="season.slug"),
    task=serializers.SlugField(source="phase.task.slug"),
    phase=serializers.IntegerField(source="phase.pk"),
    board=RouteAddressField(
        "board",
        "season.slug",
        "phase.task.slug",
        "phase.slug",
        help_text="The board's page.",
    ),
    system=serializers.CharField(source="placing.system"),
    system_slug=serializers.SlugField(
        source="placing.system_slug", help_text="Names it in addresses."
    ),
    submission=serializers.IntegerField(source="placing.submission"),
    kind=serializers.CharField(source="placing.kind"),
    submitted_at=serializers.DateTimeField(source="placing.submitted_at"),
    rank=serializers.IntegerField(source="placing.rank", allow_null=True),
    rank_low=serializers.IntegerField(source="placing.rank_low", allow_null=True),
    rank_high=serializers.IntegerField(source="placing.rank_high", allow_null=True),
    ranked=serializers.IntegerField(
        source="placing.ranked", help_text="How many rows of the board are."
    ),
    metric=serializers.CharField(source="placing.column.metric", allow_null=True),
    value=serializers.FloatField(source="placing.cell.value", allow_null=True),
    low=serializers.FloatField(source="placing.cell.low", allow_null=True),
    high=serializers.FloatField(source="placing.cell.high", allow_null=True),
)
TeamResultsSerializer = build_serializer(
    "TeamResults",
    "A team as everybody may read of it.",
    slug=serializers.SlugField(source="team.slug"),
    name=serializers.CharField(source="team.name"),
    description=serializers.CharField(source="team.description"),
    links=serializers.ListField(child=serializers.URLField(), source="team.links"),
    seasons=(list[serializers.SlugField], "Those whose lists name it."),
    results=BoardPlacingSerializer(many=True, help_text="Newest phases first."),
    page=serializers.URLField,
)
SystemResultsSerializer = build_serializer(
    "SystemResults",
    "A system of a team: what its newest run on a board says of it, and its rows.",
    slug=serializers.SlugField,
    name=serializers.CharField(source="newest.system"),
    team=serializers.SlugField(source="team.slug"),
    team_name=serializers.CharField(source="team.name"),
    description=serializers.CharField(source="newest.description"),
    links=serializers.ListField(child=serializers.URLField(), source="newest.links"),
    results=BoardPlacingSerializer(many=True, help_text="Newest phases first."),
    page=serializers.URLField,
)


@get("teams/<slug:slug>/results/", answers=TeamResultsSerializer, is_open=True)
def team_results(request: Request, slug: str) -> dict[str, Any]:
    """Return the public page of a team, with its results over seasons."""
    public = load_public_results_of_team(request.user, slug)
    seasons, page = (
        [season.slug for season in public.seasons],
        build_absolute_address(request, "team-results", slug),
    )
    return {**vars(public), "seasons": seasons, "page": page}


@get(
    "teams/<slug:slug>/systems/<slug:system>/",
    answers=SystemResultsSerializer,
    is_open=True,
)
def team_system(request: Request, slug: str, system: str) -> dict[str, Any]:
    """Return a system of a team with its results over seasons."""
    public, results, newest = load_public_results_of_system(slug, system)
    facts = {"slug": system, "team": public.team, "newest": newest, "results": results}
    return {
        **facts,
        "page": build_absolute_address(request, "team-system", slug, system),
    }


MailedInvitationSerializer = build_model_serializer(
    MailedInvitation,
    "Somebody who was invited by e-mail; whether they have an account is not said.",
    "id address state created_at expires_at",
    "Invited",
)


@get(
    "teams/<slug:slug>/invitations/",
    role=led_team_or_error,
    pages=MailedInvitationSerializer,
    name="invitations",
)
def invited(request: Request, team: Team) -> QuerySet[MailedInvitation]:
    """List the people invited to a team by e-mail, in pages, for the team's lead."""
    return MailedInvitation.objects.filter(team=team)


register_creating_action(
    acts.INVITE_BY_MAIL,
    "teams/<slug:slug>/invitations/",
    "invite",
    answers=MailedInvitationSerializer,
)
register_deleting_action(
    acts.WITHDRAW_MAILED_INVITATION,
    "teams/<slug:slug>/invitations/<int:invited>/",
    "withdraw_invitation",
    name="invited",
)
JoinRequestSerializer = build_model_serializer(
    JoinRequest,
    "Somebody who asks to join a team.",
    "id team season name affiliation address message asked_at",
    team=serializers.SlugField(source="team.slug"),
    season=serializers.SlugField(source="season.slug"),
    name=serializers.CharField(source="user", help_text="What they are called here."),
    affiliation=serializers.CharField(source="user.affiliation"),
    address=serializers.EmailField(source="user.email"),
)
register_creating_action(
    ASK_TO_JOIN_TEAM,
    "seasons/<slug:slug>/join-requests/",
    answers=JoinRequestSerializer,
)


@get("join-requests/", pages=JoinRequestSerializer, name="own-join-requests")
def own_requests(request: Request) -> QuerySet[JoinRequest]:
    """List the teams that you have asked to join and that have not answered, in pages."""
    return entries.list_open_join_requests_of_user(request.user).select_related("user")


register_deleting_action(
    acts.WITHDRAW_JOIN_REQUEST, "join-requests/<int:asked>/", name="own-join-request"
)


@get(
    "teams/<slug:slug>/join-requests/",
    role=own_team_or_404,
    pages=JoinRequestSerializer,
)
def join_requests(request: Request, team: Team) -> QuerySet[JoinRequest]:
    """List requests to join your teams, in pages."""
    return entries.list_open_join_requests_of_team(team).select_related("team")


register_action_operation(
    acts.ANSWER_JOIN_REQUEST,
    "teams/<slug:slug>/join-requests/<int:asked>/",
    "answer_request",
    name="join-request",
)
MergeProposalSerializer = build_model_serializer(
    MergeProposal,
    "A team that would go into another; one whose name yours may not read has no slug, and a number.",
    "id season team into names proposed_at",
    season=serializers.SlugField(source="season.slug"),
    team=serializers.SlugField(
        source="slugs_shown_to_asking_team.team", allow_null=True
    ),
    into=serializers.SlugField(
        source="slugs_shown_to_asking_team.into", allow_null=True
    ),
    names=serializers.DictField(
        child=serializers.CharField(), help_text="Of `team` and `into`."
    ),
)
MergedTeamsSerializer = build_serializer("Merged", "What a merge has moved.", runs=int)


@get("teams/<slug:slug>/merges/", role=led_team_or_error, pages=MergeProposalSerializer)
def merges(request: Request, team: Team) -> QuerySet[MergeProposal]:
    """List the proposals to merge a team that the team made or received, in pages, for
    the team's lead.
    """
    return list_merge_proposals_of_team(team)


register_creating_action(
    acts.PROPOSE_TEAM_MERGE,
    "teams/<slug:slug>/merges/",
    "propose_merge",
    answers=MergeProposalSerializer,
)
register_action_operation(
    acts.ANSWER_MERGE_PROPOSAL,
    "teams/<slug:slug>/merges/<int:proposal>/",
    "answer_merge",
    gives=lambda request, made: {"runs": made[1]},
    answers=MergedTeamsSerializer,
    name="merge",
)


def _find_teams_to_merge(
    request: Request, season: Season, sent: Mapping[str, Any]
) -> dict[str, Any]:
    entered = Team.objects.filter(registrations__season=season)
    return {
        **sent,
        **{
            name: get_object_or_404(entered, slug=sent[name])
            for name in ("team", "into")
        },
    }


register_action_operation(
    MERGE_TEAMS,
    "seasons/<slug:slug>/merges/",
    takes=_find_teams_to_merge,
    gives=lambda request, moved: {"runs": moved},
    answers=MergedTeamsSerializer,
    name="season-merge",
)
