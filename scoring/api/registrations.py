"""A team's place in a season: asked for, taken back, and decided on by its organisers."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, FORBIDDEN, PAGE_PARAMETERS, SIGN_IN, TOO_MANY, paged, paged_answer
from citeboard.teams.access import team_for_member
from citeboard.teams.api import person
from scoring.api.teams import CHANGES, CONFLICT
from tasks.models import Registration
from tasks.registration.entries import (
    MAX_MESSAGE,
    approve_team,
    refuse_team,
    register_team,
    take_back_entry,
)
from tasks.seasons.access import listed_entries, season_for, season_to_help

STATES = ("approved", "waiting", "refused")
MAX_REASON = 500


class RegistrationSerializer(serializers.ModelSerializer[Registration]):
    """A team in a season."""

    team = serializers.SlugField(source="team.slug")
    name = serializers.CharField(source="team.name")
    alias = serializers.SerializerMethodField(
        help_text="The number that stands for its name; null where names were never hidden."
    )
    state = serializers.SerializerMethodField(help_text="One of approved, waiting, refused.")

    class Meta:
        model = Registration
        fields = ["team", "name", "alias", "state", "registered_at", "reason"]

    def get_alias(self, entry: Registration) -> int | None:
        """Told beside the name before names are hidden, it would say later whose each system is."""
        return None if entry.season.anonymous_until is None else entry.alias

    def get_state(self, entry: Registration) -> str:
        return "approved" if entry.is_approved else "waiting" if entry.is_waiting else "refused"


class EnterForm(serializers.Serializer[Any]):
    """A team that would take part."""

    team = serializers.CharField(help_text="The slug of a team of yours.")
    message = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=MAX_MESSAGE,
        help_text="For the organisers who decide on the entry.",
    )


class DecisionForm(serializers.Serializer[Any]):
    """What organisers decide on a team."""

    decision = serializers.ChoiceField(choices=["approve", "refuse"])
    reason = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=MAX_REASON, help_text="Its team reads it."
    )


@extend_schema(
    methods=["GET"],
    operation_id="registrations",
    summary="The teams of a season; refused ones, and all where their names are hidden, to organisers alone",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(RegistrationSerializer), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="enter",
    summary="Take part in a season with a team; once more changes nothing",
    request={"multipart/form-data": EnterForm},
    responses={200: RegistrationSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["GET", "HEAD", "POST"])
def registrations(request: Request, slug: str) -> Response:
    season = season_for(request.user, slug)
    if request.method != "POST":
        return paged_answer(request, listed_entries(request.user, season), RegistrationSerializer)
    form = EnterForm(data=request.data)
    form.is_valid(raise_exception=True)
    team = team_for_member(request.user, form.validated_data["team"])
    entry = register_team(
        season=season, team=team, by=person(request), message=form.validated_data["message"]
    )
    return Response(RegistrationSerializer(entry).data)


@extend_schema(
    operation_id="take_back_entry",
    summary="Leave a season in which the team has sent no run",
    request=None,
    responses={204: None, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["DELETE"])
def registration(request: Request, slug: str, team: str) -> Response:
    season = season_for(request.user, slug)
    entry = get_object_or_404(Registration, season=season, team=team_for_member(request.user, team))
    take_back_entry(registration=entry, by=person(request))
    return Response(status=204)


@extend_schema(
    operation_id="decide",
    summary="Let a team take part, or not; for organisers",
    request={"multipart/form-data": DecisionForm},
    responses={200: RegistrationSerializer, **CHANGES, 403: FORBIDDEN, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def decide(request: Request, slug: str, team: str) -> Response:
    season = season_to_help(request.user, slug)
    entry = get_object_or_404(Registration.objects.select_related("team"), season=season, team__slug=team)
    form = DecisionForm(data=request.data)
    form.is_valid(raise_exception=True)
    by = person(request)
    if form.validated_data["decision"] == "approve":
        approve_team(registration=entry, by=by)
    else:
        refuse_team(registration=entry, by=by, reason=form.validated_data["reason"].strip())
    entry.refresh_from_db()
    return Response(RegistrationSerializer(entry).data)
