"""What organisers announced: read by everybody, written, edited and taken back by them."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, PAGE_PARAMETERS, READ, SIGN_IN, TOO_MANY, paged, paged_answer
from citeboard.teams.api import person
from scoring.api.teams import CHANGES, CONFLICT
from tasks.models import Announcement, AnnouncementEdit, Season
from tasks.seasons.access import season_for, season_to_help
from tasks.seasons.announcements import MAX_TEXT, announce, edit_announcement, take_back_announcement


class AnnouncementForm(serializers.Serializer[Any]):
    """What stands at the top of a season's page."""

    text = serializers.CharField(
        allow_blank=True, max_length=MAX_TEXT, help_text="Markdown; empty to take it away."
    )


class EditForm(serializers.Serializer[Any]):
    """What it shall say."""

    text = serializers.CharField(max_length=MAX_TEXT, help_text="Markdown.")


class AnnouncementSerializer(serializers.ModelSerializer[Season]):
    """What stands there now."""

    class Meta:
        model = Season
        fields = ["announcement", "announced_at"]


class EarlierSerializer(serializers.ModelSerializer[AnnouncementEdit]):
    """What it said until it was edited."""

    class Meta:
        model = AnnouncementEdit
        fields = ["text", "until"]


class AnnouncedSerializer(serializers.ModelSerializer[Announcement]):
    """One announcement; ``edits`` are what it said before, newest first."""

    edits = EarlierSerializer(many=True)

    class Meta:
        model = Announcement
        fields = ["id", "text", "announced_at", "edited_at", "edits"]


@extend_schema(
    operation_id="announcement",
    summary="Announce something on a season's page; for organisers",
    request={"multipart/form-data": AnnouncementForm},
    responses={200: AnnouncementSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def announcement(request: Request, slug: str) -> Response:
    season = season_to_help(request.user, slug)
    form = AnnouncementForm(data=request.data)
    form.is_valid(raise_exception=True)
    changed = announce(season=season, text=form.validated_data["text"], by=person(request))
    return Response(AnnouncementSerializer(changed).data)


@extend_schema(
    operation_id="announcements",
    summary="What was announced in a season, newest first",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(AnnouncedSerializer), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@api_view(READ)
@permission_classes([AllowAny])
def announcements(request: Request, slug: str) -> Response:
    own = Announcement.objects.filter(season=season_for(request.user, slug)).standing()
    return paged_answer(request, own.prefetch_related("edits"), AnnouncedSerializer)


@extend_schema(
    methods=["POST"],
    operation_id="edit_announcement",
    summary="Change what an announcement says; for organisers",
    request={"multipart/form-data": EditForm},
    responses={200: AnnouncedSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@extend_schema(
    methods=["DELETE"],
    operation_id="take_back_announcement",
    summary="Take an announcement back; for organisers",
    responses={204: None, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST", "DELETE"])
def one_announcement(request: Request, slug: str, announcement: int) -> Response:
    season = season_to_help(request.user, slug)
    own = get_object_or_404(Announcement.objects.standing(), pk=announcement, season=season)
    if request.method == "DELETE":
        take_back_announcement(announcement=own, by=person(request))
        return Response(status=204)
    form = EditForm(data=request.data)
    form.is_valid(raise_exception=True)
    changed = edit_announcement(announcement=own, text=form.validated_data["text"], by=person(request))
    return Response(AnnouncedSerializer(changed).data)
