"""Webhooks of a season and their deliveries; for organisers."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, PAGE_PARAMETERS, READ, SIGN_IN, TOO_MANY, paged, paged_answer
from citeboard.teams.api import person
from scoring.api.teams import CHANGES, CONFLICT
from tasks.models import Delivery, Webhook
from tasks.seasons.access import season_to_organise
from tasks.webhooks.services import make_webhook, remove_webhook, renew_secret, repeat_delivery, secret_of


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """An address that is posted to; its secret was shown when it was made."""

    class Meta:
        model = Webhook
        fields = ["id", "url", "created_at"]


class WebhookForm(serializers.Serializer[Any]):
    """Where to post."""

    url = serializers.CharField(max_length=400, help_text="It begins with https://.")


class MadeWebhookSerializer(WebhookSerializer):
    """With its secret, which is shown this once."""

    secret = serializers.SerializerMethodField()

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]

    def get_secret(self, webhook: Webhook) -> str:
        return secret_of(webhook)


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """One event for one webhook, and what was answered last."""

    class Meta:
        model = Delivery
        fields = [
            "id", "kind", "event", "created_at", "state", "attempts", "response_code", "error", "answered_at",
        ]  # fmt: skip


@extend_schema(
    methods=["GET"],
    operation_id="webhooks",
    summary="The webhooks of a season; for organisers",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(WebhookSerializer), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="make_webhook",
    summary="Have a program posted to at each event of a season; for organisers",
    request={"multipart/form-data": WebhookForm},
    responses={201: MadeWebhookSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view([*READ, "POST"])
def webhooks(request: Request, slug: str) -> Response:
    season = season_to_organise(request.user, slug)
    if request.method != "POST":
        return paged_answer(request, Webhook.objects.filter(season=season), WebhookSerializer)
    form = WebhookForm(data=request.data)
    form.is_valid(raise_exception=True)
    made = make_webhook(season=season, url=form.validated_data["url"], by=person(request))
    return Response(MadeWebhookSerializer(made).data, status=201)


@extend_schema(
    operation_id="remove_webhook",
    summary="Remove a webhook with its deliveries; for organisers",
    responses={204: None, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["DELETE"])
def webhook(request: Request, slug: str, webhook: int) -> Response:
    remove_webhook(webhook=_own(request, slug, webhook), by=person(request))
    return Response(status=204)


@extend_schema(
    operation_id="renew_secret",
    summary="Give a webhook another secret; for organisers",
    request=None,
    responses={200: MadeWebhookSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def renew(request: Request, slug: str, webhook: int) -> Response:
    renewed = renew_secret(webhook=_own(request, slug, webhook), by=person(request))
    return Response(MadeWebhookSerializer(renewed).data)


@extend_schema(
    operation_id="deliveries",
    summary="What a webhook was posted, newest first; for organisers",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(DeliverySerializer), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@api_view(READ)
def deliveries(request: Request, slug: str, webhook: int) -> Response:
    return paged_answer(request, _own(request, slug, webhook).deliveries.all(), DeliverySerializer)


@extend_schema(
    operation_id="repeat_delivery",
    summary="Post an event once more; for organisers",
    request=None,
    responses={200: DeliverySerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def repeat(request: Request, slug: str, delivery: int) -> Response:
    season = season_to_organise(request.user, slug)
    own = get_object_or_404(
        Delivery.objects.select_related("webhook__season"), pk=delivery, webhook__season=season
    )
    repeat_delivery(delivery=own, by=person(request))
    own.refresh_from_db()
    return Response(DeliverySerializer(own).data)


def _own(request: Request, slug: str, webhook: int) -> Webhook:
    season = season_to_organise(request.user, slug)
    return get_object_or_404(Webhook.objects.select_related("season"), pk=webhook, season=season)
