"""Two runs instance by instance, for those who may see both answers."""

from __future__ import annotations

import math
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from scoring.board.comparisons import Unreadable
from scoring.board.names import dimension_label, metric_label
from scoring.board.numbers import shown
from scoring.board.visibility import may_see_claims
from scoring.comparison.query import ReadQuery
from scoring.comparison.read_page import ReadPage, read_page
from scoring.comparison.reading import SWAPPED, WHICH, ReadInstance
from scoring.metrics import Metric
from scoring.models import Evaluation
from scoring.runs.claims import has_claims
from scoring.web.place import place_of
from tasks.seasons.access import phase_for


@require_safe
def compare_instances(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    query = ReadQuery.of(request.GET)
    try:
        page = read_page(found, request.user, query)
    except Unreadable:
        context: dict[str, Any] = {"is_unreadable": True}
    else:
        context = _context(page, query, request.user)
    response = render(request, "runs/compare_read.html", {**place_of(found), **context})
    # What somebody may read here depends on who they are.
    response["Cache-Control"] = "private, no-store"
    return response


def _context(page: ReadPage, query: ReadQuery, viewer: object) -> dict[str, Any]:
    a, b = page.chosen
    of_class = ":".join(page.of_class) if page.of_class else ""
    own = ReadQuery(
        a=a.run,
        b=b.run,
        rules=query.rules,
        gold=query.gold,
        metric=query.metric,
        which=query.which,
        of_class=of_class,
    )
    metrics = {metric.name: metric for metric in page.pair.pooled}
    return {
        "page": page,
        "a": a,
        "b": b,
        "compare": own.with_(metric="", which="", of_class=""),
        "swapped": own.with_(
            a=b.run, b=a.run, which=SWAPPED.get(query.which, query.which), instance=page.single
        ),
        "every": own.with_(),
        "without_class": own.with_(of_class=""),
        "carried": own.pairs(of_class=""),
        "classes": [
            (
                dimension_label(dimension),
                [(f"{dimension}:{label}", label, f"{dimension}:{label}" == of_class) for label in labels],
            )
            for dimension, labels in page.classes.items()
        ],
        "metrics": own.choices("metric", metrics, page.metric.name, metric_label, which="")
        if page.rights.values
        else [],
        "ways": own.choices("which", page.offered, page.which, lambda which: str(WHICH[which])),
        "metric_label": metric_label(page.metric.name),
        "has_claims": all(_shows_claims(side, viewer) for side in (page.pair.a, page.pair.b)),
        "lines": [_line(instance, metrics, page, own) for instance in page.instances],
        "before": own.with_(page=page.number - 1) if page.number > 1 else "",
        "after": own.with_(page=page.number + 1) if page.number < page.pages else "",
    }


def _shows_claims(side: Evaluation, viewer: object) -> bool:
    return has_claims(side) and may_see_claims(side.submission, viewer, stands=True)


def _line(
    instance: ReadInstance, metrics: dict[str, Metric], page: ReadPage, query: ReadQuery
) -> dict[str, Any]:
    ranked = instance.values.get(page.metric.name)
    return {
        "instance": instance,
        "href": query.with_(instance=instance.name),
        "a": _value(ranked[0], page.metric) if ranked else "",
        "b": _value(ranked[1], page.metric) if ranked else "",
        "values": [
            {
                "label": metric_label(name),
                "a": _value(values[0], metrics[name]),
                "b": _value(values[1], metrics[name]),
                "difference": _value(values[0] - values[1], metrics[name]),
            }
            for name, values in instance.values.items()
        ],
    }


def _value(value: float, metric: Metric) -> str:
    return shown(value if math.isfinite(value) else None, metric.scale, is_infinite=math.isinf(value))
