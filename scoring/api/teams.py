"""One's teams: founded, read, and joined by an invitation."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import (
    ABSENT,
    FORBIDDEN,
    INVALID,
    PAGE_PARAMETERS,
    READ,
    SIGN_IN,
    TOO_MANY,
    paged,
    paged_answer,
)
from citeboard.teams.access import member_of, members_in_order, team_for_lead, team_for_member, teams_of
from citeboard.teams.api import person
from citeboard.teams.creating import MAX_NAME, found_team
from citeboard.teams.invitations import renew_invitation, revoke_invitation, secret_of
from citeboard.teams.membership import hand_over, leave_team
from citeboard.teams.models import Membership, Team
from scoring.api.forms import Closed
from scoring.api.serializers import Addressed, address
from tasks.registration.entries import any_invitation, join_team, remove_from_team

CHANGES = {400: INVALID, 401: SIGN_IN, 429: TOO_MANY}
CONFLICT = OpenApiResponse(Closed, "As things stand this cannot be done; the sentence says why.")
#: A link, or what stands at its end.
MAX_LINK = 400


class MemberSerializer(serializers.ModelSerializer[Membership]):
    """Somebody's place in a team."""

    id = serializers.IntegerField(source="user_id", help_text="Names them in addresses of the team.")
    name = serializers.CharField(source="user", help_text="What they are called here.")

    class Meta:
        model = Membership
        fields = ["id", "name", "role", "joined_at"]


class TeamSerializer(Addressed):
    """A team of one's own."""

    members = MemberSerializer(source="memberships", many=True)
    seasons = serializers.SerializerMethodField(help_text="Those that it takes part in, or has asked for.")
    links = serializers.ListField(child=serializers.URLField(), help_text="What it says of itself.")
    page = serializers.SerializerMethodField()

    class Meta:
        model = Team
        fields = ["slug", "name", "description", "links", "created_at", "members", "seasons", "page"]

    @extend_schema_field(serializers.ListField(child=serializers.SlugField()))
    def get_seasons(self, team: Team) -> list[str]:
        entries = team.registrations.all()
        return sorted(entry.season.slug for entry in entries if not entry.is_refused)

    def get_page(self, team: Team) -> str:
        return self.address("team", team.slug)


class TeamForm(serializers.Serializer[Any]):
    """A team to be founded."""

    name = serializers.CharField(max_length=MAX_NAME, help_text="Public: boards show it.")


class InvitationSerializer(serializers.Serializer[Any]):
    """The one link that invites to a team."""

    link = serializers.URLField()
    expires_at = serializers.DateTimeField()


class JoinForm(serializers.Serializer[Any]):
    """An invitation to be taken."""

    invitation = serializers.CharField(max_length=MAX_LINK, help_text="The link, or the last part of it.")


@extend_schema(
    methods=["GET"],
    operation_id="teams",
    summary="Your teams, by name",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(TeamSerializer), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="found_team",
    summary="Found a team, which you lead",
    request={"multipart/form-data": TeamForm},
    responses={201: TeamSerializer, **CHANGES, 409: CONFLICT},
)
@api_view([*READ, "POST"])
def teams(request: Request) -> Response:
    if request.method != "POST":
        return paged_answer(request, _own(request), TeamSerializer)
    form = TeamForm(data=request.data)
    form.is_valid(raise_exception=True)
    team = found_team(name=form.validated_data["name"], founder=person(request))
    where = address(request, "api:team", team.slug)
    return Response(described(request, team), status=201, headers={"Location": where})


@extend_schema(
    operation_id="team",
    summary="A team of yours with its members",
    responses={200: TeamSerializer, 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@api_view(READ)
def team(request: Request, slug: str) -> Response:
    return Response(described(request, team_for_member(request.user, slug)))


@extend_schema(
    methods=["POST"],
    operation_id="invitation",
    summary="Make a new invitation link; the one before ends",
    request=None,
    responses={
        201: InvitationSerializer, **CHANGES, 403: FORBIDDEN, 404: ABSENT, 409: CONFLICT,
    },
)  # fmt: skip
@extend_schema(
    methods=["DELETE"],
    operation_id="end_invitation",
    summary="End the invitation link",
    request=None,
    responses={204: None, **CHANGES, 403: FORBIDDEN, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST", "DELETE"])
def invitation(request: Request, slug: str) -> Response:
    """For the team's lead alone."""
    led = team_for_lead(request.user, slug)
    if request.method == "DELETE":
        revoke_invitation(team=led, by=person(request))
        return Response(status=204)
    made = renew_invitation(team=led, by=person(request))
    link = address(request, "join", secret_of(made))
    return Response(InvitationSerializer({"link": link, "expires_at": made.expires_at}).data, status=201)


@extend_schema(
    operation_id="join",
    summary="Join the team that an invitation is from",
    request={"multipart/form-data": JoinForm},
    responses={200: TeamSerializer, **CHANGES, 409: CONFLICT},
)
@api_view(["POST"])
def join(request: Request) -> Response:
    form = JoinForm(data=request.data)
    form.is_valid(raise_exception=True)
    secret = form.validated_data["invitation"].rstrip("/").rpartition("/")[2]
    membership = join_team(invitation=any_invitation(secret), user=person(request))
    return Response(described(request, membership.team))


@extend_schema(
    operation_id="remove_member",
    summary="Take a member out of the team; its invitation link ends too",
    request=None,
    responses={204: None, **CHANGES, 403: FORBIDDEN, 404: ABSENT, 409: CONFLICT},
)
@api_view(["DELETE"])
def member(request: Request, slug: str, member: int) -> Response:
    """For the team's lead alone; who goes by themselves leaves."""
    led = team_for_lead(request.user, slug)
    remove_from_team(team=led, user=member_of(led, member), by=person(request))
    return Response(status=204)


@extend_schema(
    operation_id="hand_over",
    summary="Let another member lead the team; you stay in it",
    request=None,
    responses={200: TeamSerializer, **CHANGES, 403: FORBIDDEN, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def lead(request: Request, slug: str, member: int) -> Response:
    led = team_for_lead(request.user, slug)
    hand_over(team=led, to=member_of(led, member), by=person(request))
    return Response(described(request, led))


@extend_schema(
    operation_id="leave",
    summary="Leave a team; one that took part nowhere goes with its last member",
    request=None,
    responses={204: None, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def leave(request: Request, slug: str) -> Response:
    leave_team(team=team_for_member(request.user, slug), user=person(request))
    return Response(status=204)


def _own(request: Request) -> Any:
    related = (Prefetch("memberships", members_in_order()), "registrations__season")
    return teams_of(request.user).order_by("name").prefetch_related(*related)


def described(request: Request, own: Team) -> Any:
    return TeamSerializer(_own(request).get(pk=own.pk), context={"request": request}).data
