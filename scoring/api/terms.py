"""A season's terms: read, accepted, and listed for its organisers by who accepted them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, PAGE_PARAMETERS, READ, SIGN_IN, TOO_MANY, paged, paged_answer
from citeboard.teams.api import person
from scoring.api.teams import CHANGES, CONFLICT
from tasks.models import Season, Terms, TermsAcceptance
from tasks.registration.entries import accept_terms, acceptance_of, acceptances, current_terms
from tasks.seasons.access import season_for, season_to_organise


class TermsSerializer(serializers.ModelSerializer[Terms]):
    """The version that holds."""

    version = serializers.IntegerField(source="number")
    accepted_at = serializers.DateTimeField(
        allow_null=True, help_text="When you accepted this version; null where you have not."
    )

    class Meta:
        model = Terms
        fields = ["version", "text", "published_at", "accepted_at"]


class AcceptForm(serializers.Serializer[Any]):
    """The version that was read."""

    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


class AcceptanceSerializer(serializers.ModelSerializer[TermsAcceptance]):
    """Who accepted which version, and when."""

    version = serializers.IntegerField(source="terms.number")
    address = serializers.EmailField(
        source="user.email", default=None, allow_null=True, help_text="Null where the account is deleted."
    )

    class Meta:
        model = TermsAcceptance
        fields = ["version", "name", "address", "accepted_at"]


@extend_schema(
    methods=["GET"],
    operation_id="terms",
    summary="The terms of a season, and whether you have accepted them",
    responses={200: TermsSerializer, 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="accept_terms",
    summary="Accept the terms of a season",
    request={"multipart/form-data": AcceptForm},
    responses={200: TermsSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view([*READ, "POST"])
@permission_classes([AllowAny])
def terms(request: Request, slug: str) -> Response:
    if request.method == "POST" and not request.user.is_authenticated:
        raise exceptions.NotAuthenticated
    season = season_for(request.user, slug)
    if request.method == "POST":
        form = AcceptForm(data=request.data)
        form.is_valid(raise_exception=True)
        accept_terms(season=season, number=form.validated_data["version"], user=person(request))
    return Response(_described(season, request.user))


@extend_schema(
    operation_id="acceptances",
    summary="Who accepted which version of the terms, and when; for organisers",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(AcceptanceSerializer), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@api_view(READ)
def accepted(request: Request, slug: str) -> Response:
    season = season_to_organise(request.user, slug)
    return paged_answer(request, acceptances(season), AcceptanceSerializer)


def _described(season: Season, user: object) -> Any:
    found = current_terms(season)
    if found is None:
        raise exceptions.NotFound("This season has no terms.")
    acceptance = acceptance_of(found, user)
    found.accepted_at = acceptance.accepted_at if acceptance else None  # type: ignore[attr-defined]
    return TermsSerializer(found).data
