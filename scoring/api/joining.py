"""Invitations by e-mail, and people who ask to join a team."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import (
    ABSENT,
    FORBIDDEN,
    PAGE_PARAMETERS,
    READ,
    SIGN_IN,
    TOO_MANY,
    paged,
    paged_answer,
)
from citeboard.teams.access import mailed_invitation_of, team_for_lead, team_for_member
from citeboard.teams.api import person
from citeboard.teams.mailed_invitations import (
    decline_mailed,
    invite_by_mail,
    mailed_invitation_for,
    withdraw_mailed,
)
from citeboard.teams.models import MailedInvitation
from scoring.api.teams import CHANGES, CONFLICT, JoinForm
from tasks.models import JoinRequest
from tasks.registration.entries import (
    MAX_MESSAGE,
    accept_request,
    ask_to_join,
    decline_request,
    requests_of,
    take_back_request,
    waiting_requests,
)
from tasks.seasons.access import join_request_of, season_for, teams_to_ask

READING = {401: SIGN_IN, 404: ABSENT, 429: TOO_MANY}


class InvitedSerializer(serializers.ModelSerializer[MailedInvitation]):
    """Somebody who was invited by e-mail; whether they have an account is not said."""

    class Meta:
        model = MailedInvitation
        fields = ["id", "address", "state", "created_at", "expires_at"]


class InviteForm(serializers.Serializer[Any]):
    """Whom to invite."""

    address = serializers.EmailField(max_length=254)


class JoinRequestSerializer(serializers.ModelSerializer[JoinRequest]):
    """Somebody who asks to join a team."""

    team = serializers.SlugField(source="team.slug")
    season = serializers.SlugField(source="season.slug")
    name = serializers.CharField(source="user", help_text="What they are called here.")
    affiliation = serializers.CharField(source="user.affiliation")
    address = serializers.EmailField(source="user.email")

    class Meta:
        model = JoinRequest
        fields = ["id", "team", "season", "name", "affiliation", "address", "message", "asked_at"]


REQUESTS = paged(JoinRequestSerializer)


class AskToJoinForm(serializers.Serializer[Any]):
    """Which team to ask."""

    team = serializers.CharField(help_text="The slug of a team of the season.")
    message = serializers.CharField(required=False, allow_blank=True, default="", max_length=MAX_MESSAGE)


class AnswerToAskerForm(serializers.Serializer[Any]):
    """What a member answers."""

    decision = serializers.ChoiceField(choices=["accept", "decline"])


@extend_schema(
    methods=["GET"],
    operation_id="invited",
    summary="Who was invited by e-mail, in pages; for the team's lead",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(InvitedSerializer), **READING, 403: FORBIDDEN},
)
@extend_schema(
    methods=["POST"],
    operation_id="invite",
    summary="Invite an address by e-mail; for the team's lead",
    request={"multipart/form-data": InviteForm},
    responses={201: InvitedSerializer, **CHANGES, 403: FORBIDDEN, 404: ABSENT, 409: CONFLICT},
)
@api_view([*READ, "POST"])
def invitations(request: Request, slug: str) -> Response:
    led = team_for_lead(request.user, slug)
    if request.method != "POST":
        return paged_answer(request, MailedInvitation.objects.filter(team=led), InvitedSerializer)
    form = InviteForm(data=request.data)
    form.is_valid(raise_exception=True)
    made = invite_by_mail(team=led, address=form.validated_data["address"], by=person(request))
    return Response(InvitedSerializer(made).data, status=201)


@extend_schema(
    operation_id="withdraw_invitation",
    summary="End an invitation by e-mail; for the team's lead",
    request=None,
    responses={204: None, **CHANGES, 403: FORBIDDEN, 404: ABSENT, 409: CONFLICT},
)
@api_view(["DELETE"])
def invitation(request: Request, slug: str, invited: int) -> Response:
    led = team_for_lead(request.user, slug)
    withdraw_mailed(invitation=mailed_invitation_of(led, invited), by=person(request))
    return Response(status=204)


@extend_schema(
    operation_id="decline",
    summary="Decline an invitation that came by e-mail",
    request={"multipart/form-data": JoinForm},
    responses={204: None, **CHANGES, 409: CONFLICT},
)
@api_view(["POST"])
def decline(request: Request) -> Response:
    form = JoinForm(data=request.data)
    form.is_valid(raise_exception=True)
    secret = form.validated_data["invitation"].rstrip("/").rpartition("/")[2]
    decline_mailed(invitation=mailed_invitation_for(secret))
    return Response(status=204)


@extend_schema(
    operation_id="ask_to_join",
    summary="Ask a team of the season to be taken in",
    request={"multipart/form-data": AskToJoinForm},
    responses={201: JoinRequestSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def ask(request: Request, slug: str) -> Response:
    season, user = season_for(request.user, slug), person(request)
    form = AskToJoinForm(data=request.data)
    form.is_valid(raise_exception=True)
    team = get_object_or_404(teams_to_ask(user, season), slug=form.validated_data["team"])
    asked = ask_to_join(season=season, team=team, user=user, message=form.validated_data["message"])
    return Response(JoinRequestSerializer(asked).data, status=201)


@extend_schema(
    operation_id="own_requests",
    summary="The teams that you have asked to be taken into and that have not answered, in pages",
    parameters=PAGE_PARAMETERS,
    responses={200: REQUESTS, **READING},
)
@api_view(READ)
def own_requests(request: Request) -> Response:
    return paged_answer(request, requests_of(request.user).select_related("user"), JoinRequestSerializer)


@extend_schema(
    operation_id="take_back_request",
    summary="Ask no more to join a team",
    request=None,
    responses={204: None, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["DELETE"])
def own_request(request: Request, asked: int) -> Response:
    take_back_request(asked=get_object_or_404(requests_of(request.user), pk=asked))
    return Response(status=204)


@extend_schema(
    operation_id="join_requests",
    summary="Who asks to join a team of yours, in pages",
    parameters=PAGE_PARAMETERS,
    responses={200: REQUESTS, **READING},
)
@api_view(READ)
def requests(request: Request, slug: str) -> Response:
    asked = waiting_requests(team_for_member(request.user, slug))
    return paged_answer(request, asked.select_related("team"), JoinRequestSerializer)


@extend_schema(
    operation_id="answer_request",
    summary="Accept or decline who asks to join; for members of the team",
    request={"multipart/form-data": AnswerToAskerForm},
    responses={204: None, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def answer(request: Request, slug: str, asked: int) -> Response:
    found = join_request_of(team_for_member(request.user, slug), asked)
    form = AnswerToAskerForm(data=request.data)
    form.is_valid(raise_exception=True)
    if form.validated_data["decision"] == "accept":
        accept_request(asked=found, by=person(request))
    else:
        decline_request(asked=found, by=person(request))
    return Response(status=204)
