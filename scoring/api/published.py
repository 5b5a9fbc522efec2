"""What publications report of a task: the figures of its page, each with its table and printed line."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import READ, readable_anywhere
from scoring.api.seasons import READING
from scoring.publications.published import described_results, published_of
from tasks.models import Season, Task


class PaperSerializer(serializers.Serializer[Any]):
    """Where figures come from."""

    key = serializers.SlugField()
    authors = serializers.ListField(child=serializers.CharField())
    year = serializers.IntegerField()
    title = serializers.CharField()
    venue = serializers.CharField()
    doi = serializers.CharField(allow_null=True)


class FigureSerializer(serializers.Serializer[Any]):
    """One printed number; it has no run and no signature, and is never ranked."""

    paper = serializers.SlugField()
    table = serializers.CharField()
    line = serializers.IntegerField(help_text="The printed line of the table, from 1.")
    system = serializers.CharField(allow_blank=True)
    # Named as in the export; the word is taken in Python.
    vars()["class"] = serializers.CharField(allow_null=True)
    metric = serializers.CharField()
    value = serializers.FloatField(allow_null=True, help_text="Null where no exact number is printed.")
    printed = serializers.CharField()
    deviation = serializers.FloatField(allow_null=True)
    scale = serializers.CharField()
    doubt = serializers.CharField(
        allow_null=True, help_text="Why the figure is doubted, as when its row cannot be; null otherwise."
    )


class PublishedSerializer(serializers.Serializer[Any]):
    """What publications report of a task."""

    papers = PaperSerializer(many=True)
    figures = FigureSerializer(many=True)


@readable_anywhere
@extend_schema(
    operation_id="published",
    summary="What publications report of a task",
    responses={200: PublishedSerializer, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def published(request: Request, pk: int) -> Response:
    visible = Task.objects.filter(season__in=Season.objects.visible_to(request.user).values("pk"))
    results = published_of(get_object_or_404(visible, pk=pk))
    if results.is_empty:
        raise exceptions.NotFound("No published results are known of this task.")
    return Response(described_results(results))
