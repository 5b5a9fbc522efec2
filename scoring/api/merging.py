"""Two teams of a season become one."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import ValidationError
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
from citeboard.teams.access import team_for_lead
from citeboard.teams.api import person
from citeboard.teams.models import Team
from scoring.api.teams import CHANGES, CONFLICT
from scoring.ops.merging import MAX_REASON, accept_merge, drop_proposal, merge_teams, propose_merge
from tasks.models import MergeProposal
from tasks.seasons.access import merge_proposal_of, season_for, season_to_organise, teams_to_ask


class MergeProposalSerializer(serializers.ModelSerializer[MergeProposal]):
    """A team that would go into another."""

    season = serializers.SlugField(source="season.slug")
    team = serializers.SlugField(source="team.slug")
    into = serializers.SlugField(source="into.slug")

    class Meta:
        model = MergeProposal
        fields = ["id", "season", "team", "into", "proposed_at"]


class ProposeForm(serializers.Serializer[Any]):
    """The team that would stay."""

    season = serializers.CharField(help_text="Its slug.")
    into = serializers.CharField(help_text="The slug of a team of the season.")


class AnswerToMergeForm(serializers.Serializer[Any]):
    """Accepting is for the team that stays; either may drop it."""

    decision = serializers.ChoiceField(choices=["accept", "drop"])


class MergeTeamsForm(serializers.Serializer[Any]):
    """Which team goes into which."""

    team = serializers.CharField(help_text="A slug.")
    into = serializers.CharField(help_text="The slug of the team that stays.")
    reason = serializers.CharField(max_length=MAX_REASON, help_text="Both teams read it.")


class MergedSerializer(serializers.Serializer[Any]):
    """What a merge has moved."""

    runs = serializers.IntegerField()


@extend_schema(
    methods=["GET"],
    operation_id="merges",
    summary="What your team has proposed and is asked, in pages; for its lead",
    parameters=PAGE_PARAMETERS,
    responses={
        200: paged(MergeProposalSerializer), 401: SIGN_IN, 403: FORBIDDEN, 404: ABSENT, 429: TOO_MANY,
    },
)  # fmt: skip
@extend_schema(
    methods=["POST"],
    operation_id="propose_merge",
    summary="Ask the lead of another team of a season to take yours in; for its lead",
    request={"multipart/form-data": ProposeForm},
    responses={201: MergeProposalSerializer, **CHANGES, 403: FORBIDDEN, 404: ABSENT, 409: CONFLICT},
)
@api_view([*READ, "POST"])
def merges(request: Request, slug: str) -> Response:
    team = team_for_lead(request.user, slug)
    if request.method != "POST":
        found = MergeProposal.objects.filter(Q(team=team) | Q(into=team))
        return paged_answer(request, found.select_related("season", "team", "into"), MergeProposalSerializer)
    form = ProposeForm(data=request.data)
    form.is_valid(raise_exception=True)
    season = season_for(request.user, form.validated_data["season"])
    into = get_object_or_404(teams_to_ask(request.user, season), slug=form.validated_data["into"])
    made = propose_merge(season=season, team=team, into=into, by=person(request))
    return Response(MergeProposalSerializer(made).data, status=201)


@extend_schema(
    operation_id="answer_merge",
    summary="Accept that a team merges into yours, or drop it; for its lead",
    request={"multipart/form-data": AnswerToMergeForm},
    responses={200: MergedSerializer, **CHANGES, 403: FORBIDDEN, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def answer(request: Request, slug: str, proposal: int) -> Response:
    team = team_for_lead(request.user, slug)
    found = merge_proposal_of(team, proposal)
    form = AnswerToMergeForm(data=request.data)
    form.is_valid(raise_exception=True)
    if form.validated_data["decision"] == "accept" and found.into_id != team.pk:
        raise ValidationError({"decision": ["The lead of the team that stays accepts."]})
    moved = 0
    if form.validated_data["decision"] == "accept":
        moved = accept_merge(proposal=found, by=person(request))
    else:
        drop_proposal(proposal=found, by=person(request))
    return Response(MergedSerializer({"runs": moved}).data)


@extend_schema(
    operation_id="merge_teams",
    summary="Merge a team into another with a reason; for organisers",
    request={"multipart/form-data": MergeTeamsForm},
    responses={200: MergedSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def organise(request: Request, slug: str) -> Response:
    season = season_to_organise(request.user, slug)
    form = MergeTeamsForm(data=request.data)
    form.is_valid(raise_exception=True)
    chosen = form.validated_data
    team, into = (
        get_object_or_404(Team, slug=chosen[name], registrations__season=season) for name in ("team", "into")
    )
    moved = merge_teams(season=season, team=team, into=into, by=person(request), reason=chosen["reason"])
    return Response(MergedSerializer({"runs": moved}).data)
