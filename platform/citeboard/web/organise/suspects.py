"""The organisers' page of instances to check after a phase, because their gold may be
wrong.
"""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from citeboard.web import pages
from citeboard.web.runs.instances import build_instance_lines, systems_by_displayed_name
from scoring.results.board.comparisons import UnreadableStatistics
from scoring.results.board.formatting import interval, metric_label, shown
from scoring.results.comparison.contenders import InstancesQuery
from scoring.results.comparison.suspects import (
    BELOW_ZERO,
    MISSED,
    SuspectsQuery,
    SuspiciousInstance,
    SuspiciousInstancePage,
    has_phase_closed,
    suspicious_instances_of,
)
from scoring.stats import items
from tasks.models import Phase, Season

LABELS = {
    BELOW_ZERO: gettext_lazy("better systems do worse"),
    MISSED: gettext_lazy("missed by the best third"),
}


@pages.organisers.page("organise/suspects.html", "phases")
def suspects(request: HttpRequest, season: Season, phase: Phase) -> pages.Answer:
    """Show the instances whose gold organisers should check, once the phase has closed."""
    query = SuspectsQuery.of(request.GET)
    context: dict[str, Any] = {
        "phase": phase,
        "task": phase.task,
        "least": items.MIN_SYSTEMS,
        "has_closed": has_phase_closed(phase),
    }
    if not context["has_closed"]:
        return context
    try:
        answer = suspicious_instances_of(phase, request.user, query)
    except UnreadableStatistics:
        return context | {"is_unreadable": True}
    context |= {
        "rules": answer.board.rules,
        "rule_sets": query.choices("rules", phase.task.rules, answer.board.rules),
        "systems": answer.systems,
        "is_small": answer.systems < items.MIN_SYSTEMS,
    }
    if answer.suspects is None:
        return context
    return context | _list_context(answer.suspects, query)


def _list_context(
    suspects: SuspiciousInstancePage, query: SuspectsQuery
) -> dict[str, Any]:
    page, metric = suspects.page, suspects.metric
    names = [metric.name for metric in suspects.metrics]
    runs = list(systems_by_displayed_name(page))
    lines = build_instance_lines(page, runs, InstancesQuery(metric=metric.name))
    for line in lines:
        line["facts"] = _suspect_cells(
            suspects.by_name[line["instance"].name], metric.scale
        )
    return {
        "page": page,
        "which": page.which,
        "metric_label": metric_label(metric.name),
        "metric": metric.name,
        "metrics": query.choices("metric", names, metric.name, metric_label, page=1),
        "ways": query.choices(
            "which",
            suspects.offered,
            page.which,
            lambda way: str(LABELS[way]),
            page=1,
        ),
        "lines": lines,
        "before": query.with_(page=page.number - 1) if page.number > 1 else "",
        "after": query.with_(page=page.number + 1) if page.number < page.pages else "",
        "rate": round(100 * items.FALSE_DISCOVERY_RATE),
    }


def _suspect_cells(suspect: SuspiciousInstance, scale: float) -> dict[str, str]:
    facts = {
        "mean": shown(suspect.mean, scale),
        "interval": interval(suspect.low, suspect.high, scale),
    }
    if found := suspect.correlation:
        facts["correlation"] = shown(found.value)
        facts["correlation_interval"] = interval(found.low, found.high)
    return facts
