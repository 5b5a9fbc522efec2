"""More than two runs side by side."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from scoring.board.names import dimension_label, metric_label
from scoring.board.numbers import interval, shown
from scoring.comparison.query import CompareQuery, SeveralQuery
from scoring.comparison.several import MAX_RUNS, Line, Several, several
from scoring.web.place import place_of
from tasks.seasons.access import phase_for


@require_safe
def compare_several(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    query = SeveralQuery.of(request.GET)
    sides = several(found, request.user, query)
    response = render(request, "runs/compare_several.html", {**place_of(found), **_context(sides, query)})
    response["Cache-Control"] = "private, no-store"
    return response


def _context(sides: Several, query: SeveralQuery) -> dict[str, Any]:
    first = sides.runs[0] if sides.runs else None
    pair = CompareQuery(rules=query.rules, gold=query.gold, a=first.run if first else None)
    return {
        "board": sides.board,
        "sides": sides,
        "chosen": [run.run for run in (*sides.runs, *sides.missing)],
        "max_runs": MAX_RUNS,
        "carried": query.pairs(runs=()),
        "rule_sets": query.choices("rules", sides.board.phase.task.rules, sides.board.rules),
        "heads": [
            {"run": run, "compare": pair.with_(b=run.run) if run != first else ""} for run in sides.runs
        ],
        "metric_lines": [_line(line, metric_label(line.name)) for line in sides.metrics],
        "class_lines": [_line(line, line.name) for line in sides.classes],
        "dimensions": query.choices("dimension", sides.dimensions, sides.dimension, dimension_label),
        "metrics": query.choices("metric", sides.class_metrics, sides.class_metric, metric_label),
        "dimension_label": dimension_label(sides.dimension),
        "metric_label": metric_label(sides.class_metric),
    }


def _line(line: Line, label: str) -> dict[str, Any]:
    return {
        "label": label,
        "n": line.n,
        "has_support": line.has_support,
        "mean": shown(line.mean, line.scale),
        "deviation": shown(line.deviation, line.scale),
        "cells": [
            {
                "value": shown(own.value, line.scale, is_infinite=own.is_infinite),
                "interval": interval(own.low, own.high, line.scale),
                "difference": "" if place == 0 else _signed(own.difference, line.scale),
            }
            for place, own in enumerate(line.values)
        ],
    }


def _signed(difference: float | None, scale: float) -> str:
    """`+0.0312`; what is below the first has its minus sign from `shown`."""
    text = shown(difference, scale)
    return f"+{text}" if difference is not None and difference > 0 else text
