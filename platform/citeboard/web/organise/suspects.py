"""The organisers' page of instances to check after a phase, because their gold may be
wrong.
"""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from citeboard.web import pages
from citeboard.web.runs.instances import (
    build_instance_lines,
    map_displayed_names_to_systems,
)
from scoring.results.board.comparisons import UnreadableStatistics
from scoring.results.board.formatting import (
    display_name_of_metric,
    format_interval,
    format_score,
)
from scoring.results.comparison.contenders import InstancesQuery
from scoring.results.comparison.suspects import (
    SUSPICION_BEST_SYSTEMS_WRONG,
    SUSPICION_NEGATIVE_CORRELATION,
    SuspiciousInstance,
    SuspiciousInstancePage,
    SuspiciousInstancesQuery,
    find_suspicious_instances_of_board,
    has_phase_closed,
)
from scoring.stats import items
from tasks.models import Phase, Season

SUSPICION_REASON_LABELS = {
    SUSPICION_NEGATIVE_CORRELATION: gettext_lazy("better systems do worse"),
    SUSPICION_BEST_SYSTEMS_WRONG: gettext_lazy("missed by the best third"),
}


@pages.organiser_pages.page("organise/suspects.html", "phases")
def show_suspicious_instances(
    request: HttpRequest, season: Season, phase: Phase
) -> pages.ViewResult:
    """Show the instances whose gold organisers should check, once the phase has closed."""
    query = SuspiciousInstancesQuery.of(request.GET)
    context: dict[str, Any] = {
        "phase": phase,
        "task": phase.task,
        "least": items.MIN_SYSTEMS,
        "has_closed": has_phase_closed(phase),
    }
    if not context["has_closed"]:
        return context
    try:
        answer = find_suspicious_instances_of_board(phase, request.user, query)
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
    return context | _build_suspects_context(answer.suspects, query)


def _build_suspects_context(
    suspects: SuspiciousInstancePage, query: SuspiciousInstancesQuery
) -> dict[str, Any]:
    page, metric = suspects.page, suspects.metric
    names = [metric.name for metric in suspects.metrics]
    runs = list(map_displayed_names_to_systems(page))
    lines = build_instance_lines(page, runs, InstancesQuery(metric=metric.name))
    for line in lines:
        line["facts"] = _format_suspect_cells(
            suspects.by_name[line["instance"].name], metric.scale
        )
    return {
        "page": page,
        "which": page.which,
        "metric_label": display_name_of_metric(metric.name),
        "metric": metric.name,
        "metrics": query.choices(
            "metric", names, metric.name, display_name_of_metric, page=1
        ),
        "ways": query.choices(
            "which",
            suspects.offered,
            page.which,
            lambda way: str(SUSPICION_REASON_LABELS[way]),
            page=1,
        ),
        "lines": lines,
        "before": query.build_query_string(page=page.number - 1)
        if page.number > 1
        else "",
        "after": query.build_query_string(page=page.number + 1)
        if page.number < page.pages
        else "",
        "rate": round(100 * items.FALSE_DISCOVERY_RATE),
    }


def _format_suspect_cells(suspect: SuspiciousInstance, scale: float) -> dict[str, str]:
    facts = {
        "mean": format_score(suspect.mean, scale),
        "interval": format_interval(suspect.low, suspect.high, scale),
    }
    if found := suspect.correlation:
        facts["correlation"] = format_score(found.value)
        facts["correlation_interval"] = format_interval(found.low, found.high)
    return facts
