"""Who one is, and who runs a season."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, READ, SIGN_IN, TOO_MANY
from citeboard.teams.api import person
from citeboard.teams.models import User
from citeboard.teams.naming import checked_orcid, describe
from scoring.api.teams import CHANGES, CONFLICT
from scoring.ops.accounts import own_data
from tasks.models import Organiser
from tasks.seasons.access import season_to_organise
from tasks.seasons.organisers import add_organiser, remove_organiser

NOBODY = "nobody"


class AccountSerializer(serializers.ModelSerializer[User]):
    """What the site knows you by; a POST changes what it names, all but the address."""

    address = serializers.EmailField(source="email", read_only=True)
    language = serializers.ChoiceField(choices=settings.LANGUAGES, allow_blank=True, required=False)

    class Meta:
        model = User
        fields = ["address", "name", "affiliation", "orcid", "is_listed", "language"]

    def validate_orcid(self, value: str) -> str:
        try:
            return checked_orcid(value)
        except ValidationError as refused:
            raise serializers.ValidationError(refused.messages) from refused


class PersonSerializer(serializers.ModelSerializer[Organiser]):
    """Somebody who runs the season."""

    name = serializers.CharField(source="user")
    address = serializers.EmailField(source="user.email")

    class Meta:
        model = Organiser
        fields = ["name", "address", "role"]


class RoleForm(serializers.Serializer[Any]):
    """Somebody with an account, and what they become."""

    address = serializers.EmailField()
    role = serializers.ChoiceField(choices=[*Organiser.Role.values, NOBODY])


@extend_schema(
    methods=["GET"],
    operation_id="account",
    summary="Your name, affiliation and address",
    responses={200: AccountSerializer, 401: SIGN_IN, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="describe_account",
    summary="Change your name, affiliation, ORCID iD, language or consent to be listed",
    request={"multipart/form-data": AccountSerializer(partial=True)},
    responses={200: AccountSerializer, **CHANGES, 409: CONFLICT},
)
@api_view([*READ, "POST"])
def account(request: Request) -> Response:
    user = person(request)
    if request.method == "POST":
        form = AccountSerializer(user, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        fields = ("name", "affiliation", "orcid", "is_listed", "language")
        # A form that leaves a check box out means no; a program that leaves it out means nothing by it.
        given = {name: value for name, value in form.validated_data.items() if name in request.data}
        describe(user=user, **{name: given.get(name, getattr(user, name)) for name in fields})
    return Response(AccountSerializer(user).data)


@extend_schema(
    operation_id="account_data",
    summary="Everything that the site keeps of you",
    responses={200: OpenApiTypes.OBJECT, 401: SIGN_IN, 429: TOO_MANY},
)
@api_view(READ)
def data(request: Request) -> Response:
    return Response(own_data(person(request)))


@extend_schema(
    methods=["GET"],
    operation_id="people",
    summary="Who runs the season; for its organisers",
    responses={200: PersonSerializer(many=True), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="give_role",
    summary="Make somebody an organiser or a helper, or neither; for organisers",
    request={"multipart/form-data": RoleForm},
    responses={200: PersonSerializer(many=True), **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view([*READ, "POST"])
def people(request: Request, slug: str) -> Response:
    season = season_to_organise(request.user, slug)
    if request.method == "POST":
        form = RoleForm(data=request.data)
        form.is_valid(raise_exception=True)
        chosen = form.validated_data
        user = User.objects.filter(email__iexact=chosen["address"], is_active=True).first()
        if user is None:
            raise exceptions.ValidationError({"address": ["Nobody has an account with this address."]})
        if chosen["role"] != NOBODY:
            add_organiser(season=season, user=user, role=chosen["role"], by=person(request))
        elif own := Organiser.objects.filter(season=season, user=user).first():
            remove_organiser(organiser=own, by=person(request))
    rows = Organiser.objects.filter(season=season).select_related("user").order_by("-role", "pk")
    return Response(PersonSerializer(rows, many=True).data)
