"""Several runs side by side."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import READ
from scoring.api.seasons import READING, phase_for_reader
from scoring.comparison.contenders import SeveralQuery
from scoring.comparison.several import MAX_RUNS, Line, several


class SeveralRunSerializer(serializers.Serializer[Any]):
    submission = serializers.IntegerField()
    system = serializers.CharField()
    team_name = serializers.CharField(help_text="Or what stands in its place.")


class SeveralValueSerializer(serializers.Serializer[Any]):
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    difference = serializers.FloatField(allow_null=True, help_text="To the first run.")


class SeveralLineSerializer(serializers.Serializer[Any]):
    """A metric or a class, with a value for each run in their order."""

    name = serializers.CharField()
    n = serializers.IntegerField(allow_null=True, help_text="Of a class, its instances.")
    values = SeveralValueSerializer(many=True)
    mean = serializers.FloatField(allow_null=True, help_text="Over the runs.")
    deviation = serializers.FloatField(
        allow_null=True, help_text="The standard deviation over the runs, as a sample."
    )


class SeveralSerializer(serializers.Serializer[Any]):
    """Runs under one rule set and gold; metrics that were not computed alike for all are left out."""

    rules = serializers.CharField(allow_null=True)
    runs = SeveralRunSerializer(many=True)
    metrics = SeveralLineSerializer(many=True)
    dimension = serializers.CharField(allow_blank=True)
    class_metric = serializers.CharField(allow_blank=True)
    classes = SeveralLineSerializer(many=True)


@extend_schema(
    operation_id="several",
    summary="Several runs side by side, with their differences to the first",
    parameters=[
        OpenApiParameter("run", int, many=True, description=f"Submissions, at most {MAX_RUNS}."),
        OpenApiParameter("rules", str, description="A rule set; the ranking one unless said."),
        OpenApiParameter("gold", int, description="A version of the gold; the present one unless said."),
        OpenApiParameter("dimension", str, description="By which classes; the first unless said."),
        OpenApiParameter("metric", str, description="Of the classes; the first unless said."),
    ],
    responses={200: SeveralSerializer, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def several_runs(request: Request, pk: int) -> Response:
    phase = phase_for_reader(request.user, pk)
    found = several(phase, request.user, SeveralQuery.of(request.query_params))
    return Response(
        {
            "rules": found.board.rules,
            "runs": [
                {"submission": run.run, "system": run.system, "team_name": run.display_name}
                for run in found.runs
            ],
            "metrics": [_line(line, is_class=False) for line in found.metrics],
            "dimension": found.dimension,
            "class_metric": found.class_metric,
            "classes": [_line(line, is_class=True) for line in found.classes],
        },
        headers={"Cache-Control": "private, no-store"},
    )


def _line(line: Line, *, is_class: bool) -> dict[str, Any]:
    values = [
        {"value": own.value, "low": own.low, "high": own.high, "difference": own.difference}
        for own in line.values
    ]
    return {
        "name": line.name,
        "n": line.n if is_class else None,
        "values": values,
        "mean": line.mean,
        "deviation": line.deviation,
    }
