"""Two runs instance by instance, for those who may see both answers."""

from __future__ import annotations

import math
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import READ
from scoring.api.seasons import READING, phase_for_reader
from scoring.board.comparisons import Unreadable
from scoring.comparison.contenders import ReadQuery
from scoring.comparison.reading import PAGE, WHICH, ReadInstance, read_page


class ReadInstanceSerializer(serializers.Serializer[Any]):
    """One instance; what you may not see is empty."""

    name = serializers.CharField(help_text="By which participants know it.")
    given = serializers.CharField(allow_blank=True)
    gold = serializers.CharField(allow_blank=True)
    answer_a = serializers.CharField(allow_blank=True)
    answer_b = serializers.CharField(allow_blank=True)
    values_a = serializers.DictField(
        child=serializers.FloatField(allow_null=True), help_text="By metric; null where undefined."
    )
    values_b = serializers.DictField(child=serializers.FloatField(allow_null=True))


class InstancesSerializer(serializers.Serializer[Any]):
    """A page of the instances of two runs."""

    a = serializers.IntegerField(help_text="A submission.")
    b = serializers.IntegerField()
    rules = serializers.CharField()
    metric = serializers.CharField()
    which = serializers.ChoiceField(choices=list(WHICH))
    shows_gold = serializers.BooleanField()
    shows_values = serializers.BooleanField()
    classes = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()), help_text="By dimension."
    )
    count = serializers.IntegerField(help_text="Instances that are chosen.")
    page = serializers.IntegerField()
    pages = serializers.IntegerField()
    instances = ReadInstanceSerializer(many=True)


@extend_schema(
    operation_id="instances",
    summary="Two runs instance by instance, where you may see both answers",
    parameters=[
        OpenApiParameter("a", int, description="A submission; the first of the board unless said."),
        OpenApiParameter("b", int, description="Another one; the row beside the first unless said."),
        OpenApiParameter("rules", str, description="A rule set; the ranking one unless said."),
        OpenApiParameter("gold", int, description="A version of the gold; the present one unless said."),
        OpenApiParameter("metric", str, description="By which metric `which` chooses."),
        OpenApiParameter("which", str, enum=list(WHICH), description="Which instances."),
        OpenApiParameter(
            "class", str, description="Those of a class alone: `DIMENSION:CLASS`, as in `classes`."
        ),
        OpenApiParameter("instance", str, description="A single one, by its name."),
        OpenApiParameter("page", int, description=f"{PAGE} instances each, from 1."),
    ],
    responses={200: InstancesSerializer, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def instances(request: Request, pk: int) -> Response:
    phase = phase_for_reader(request.user, pk)
    try:
        page = read_page(phase, request.user, ReadQuery.of(request.query_params))
    except Unreadable as unreadable:
        raise Http404("The stored statistics of these runs are missing.") from unreadable
    return Response(
        {
            "a": page.chosen[0].run,
            "b": page.chosen[1].run,
            "rules": page.board.rules,
            "metric": page.metric.name,
            "which": page.which,
            "shows_gold": page.rights.gold,
            "shows_values": page.rights.values,
            "classes": page.classes,
            "count": page.count,
            "page": page.number,
            "pages": page.pages,
            "instances": [_instance(instance) for instance in page.instances],
        },
        headers={"Cache-Control": "private, no-store"},
    )


def _instance(instance: ReadInstance) -> dict[str, Any]:
    return {
        "name": instance.name,
        "given": instance.given,
        "gold": instance.gold,
        "answer_a": instance.a,
        "answer_b": instance.b,
        "values_a": {name: _number(values[0]) for name, values in instance.values.items()},
        "values_b": {name: _number(values[1]) for name, values in instance.values.items()},
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
