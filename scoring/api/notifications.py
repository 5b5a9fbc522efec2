"""What one was told, marked as read, and how one wants to be told."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import PAGE_PARAMETERS, READ, SIGN_IN, TOO_MANY, paged, paged_answer
from citeboard.teams.api import person
from scoring.api.teams import CHANGES, CONFLICT
from tasks.models import Notification
from tasks.models.notifications import Channel, Kind
from tasks.notifications.reading import choices_of, choose, mark_read, notifications_of
from tasks.notifications.wording import words_of

MAX_MARKED = 200


class MessageSerializer(serializers.ModelSerializer[Notification]):
    """What you were told of one event; no score is part of it."""

    season = serializers.SlugField(source="season.slug", default=None, allow_null=True)
    title = serializers.SerializerMethodField()
    text = serializers.SerializerMethodField()
    page = serializers.SerializerMethodField(help_text="Where it is seen.")

    class Meta:
        model = Notification
        fields = ["id", "kind", "season", "title", "text", "page", "created_at", "read_at"]

    def get_title(self, told: Notification) -> str:
        return words_of(told).title

    def get_text(self, told: Notification) -> str:
        return words_of(told).text

    def get_page(self, told: Notification) -> str:
        return str(self.context["request"].build_absolute_uri(words_of(told).path))


class ReadForm(serializers.Serializer[Any]):
    """Which messages were read; without numbers all."""

    messages = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**53), required=False, max_length=MAX_MARKED
    )


class MarkedSerializer(serializers.Serializer[Any]):
    """How many were marked."""

    marked = serializers.IntegerField()


class ChoiceSerializer(serializers.Serializer[Any]):
    """How you are told of one kind of event."""

    kind = serializers.ChoiceField(choices=Kind.choices)
    channel = serializers.ChoiceField(choices=Channel.choices)


class ChoicesSerializer(serializers.Serializer[Any]):
    """How you are told of every kind."""

    choices = ChoiceSerializer(many=True)


@extend_schema(
    operation_id="messages",
    summary="What you were told, newest first",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(MessageSerializer), 401: SIGN_IN, 429: TOO_MANY},
)
@api_view(READ)
def messages(request: Request) -> Response:
    return paged_answer(request, notifications_of(person(request)), MessageSerializer)


@extend_schema(
    operation_id="read_messages",
    summary="Mark messages as read",
    request={"multipart/form-data": ReadForm},
    responses={200: MarkedSerializer, **CHANGES, 409: CONFLICT},
)
@api_view(["POST"])
def read(request: Request) -> Response:
    form = ReadForm(data=request.data)
    form.is_valid(raise_exception=True)
    marked = mark_read(user=person(request), ids=form.validated_data.get("messages") or None)
    return Response({"marked": marked})


@extend_schema(
    methods=["GET"],
    operation_id="message_choices",
    summary="How you are told of each kind of event",
    responses={200: ChoicesSerializer, 401: SIGN_IN, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="choose_messages",
    summary="Change how you are told of one kind of event",
    request={"multipart/form-data": ChoiceSerializer},
    responses={200: ChoicesSerializer, **CHANGES, 409: CONFLICT},
)
@api_view([*READ, "POST"])
def choices(request: Request) -> Response:
    user = person(request)
    if request.method == "POST":
        form = ChoiceSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        choose(user=user, wanted={form.validated_data["kind"]: form.validated_data["channel"]})
    own = [{"kind": kind, "channel": channel} for kind, channel in choices_of(user).items()]
    return Response({"choices": own})
