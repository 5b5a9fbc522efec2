"""Published results: those of a task, and every table of a publication as it is printed."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core.any_origin import readable_anywhere
from scoring.exchange.citations import of_paper
from scoring.exchange.figure_files import figure_response
from scoring.models import Paper, Reported, ReportedTable
from scoring.publications import exports as published_exports
from scoring.publications.published import Published, measures_of, published_of, rows_of
from scoring.publications.query import PublishedQuery
from scoring.publications.reproduced import is_reproduced, tables_of
from scoring.publications.tables import as_printed, by_class, headline, measures_by_class
from tasks.models import Task
from tasks.seasons.access import season_for, task_for


@require_safe
def published(request: HttpRequest, season: str, task: str) -> HttpResponse:
    """What publications report of a task, as tables of systems and by class."""
    found, results = _results(request, season, task)
    query = PublishedQuery.of(request.GET)
    classes = [by_class(published, query) for published in results.by_class]
    figures = {
        f"{kind}-{place}": own[key]
        for place, own in enumerate(classes, start=1)
        for kind, key in (("heat-map", "heat"), ("bars", "bars"))
    }
    if query.figure:
        return figure_response(figures, query.figure)
    context = {
        "season": found.season,
        "task": found,
        "papers": results.papers,
        "headlines": [headline(published, query) for published in results.headlines],
        "by_class": classes,
        "figures": figures,
        "figure_address": lambda name: query.with_(figure=name),
        "several": len(results.by_class) > 1,
        "measures": measures_by_class(results.by_class, query),
        "others": [_whole(other.table) for other in results.others],
        "phases": found.phases.all(),
    }
    return render(request, "publications/published.html", context)


@require_safe
def published_csv(request: HttpRequest, season: str, task: str) -> HttpResponse:
    found, results = _results(request, season, task)
    return _file(published_exports.as_csv(results), "text/csv; charset=utf-8", found, "csv")


@readable_anywhere
@require_safe
def published_json(request: HttpRequest, season: str, task: str) -> HttpResponse:
    found, results = _results(request, season, task)
    return _file(published_exports.as_json(results), "application/json", found, "json")


@require_safe
def reproduced(request: HttpRequest, season: str) -> HttpResponse:
    """A season's published tables beside what the same systems score on its boards."""
    found = season_for(request.user, season)
    tasks = list(found.tasks.select_related("season"))
    if not any(is_reproduced(task) for task in tasks):
        raise Http404(_("Nothing of this season is computed again beside published results."))
    tables = tables_of(tasks, request.user)
    figures = {
        f"reproduced-chart-{place}": table.bars
        for place, table in enumerate(tables, start=1)
        if table.phase and len(table.lines) > 1
    }
    if wanted := request.GET.get("figure"):
        return figure_response(figures, wanted)
    context = {
        "season": found,
        "tables": tables,
        "figures": figures,
        "figure_address": lambda name: f"?figure={name}",
    }
    return render(request, "publications/reproduced.html", context)


@require_safe
def papers(request: HttpRequest) -> HttpResponse:
    """The publications whose tables are known here."""
    context = {"papers": Paper.objects.prefetch_related("tables")}
    return render(request, "publications/papers.html", context)


@require_safe
def paper(request: HttpRequest, key: str) -> HttpResponse:
    found = get_object_or_404(Paper, key=key)
    tables = [_whole(table) for table in found.tables.all()]
    return render(
        request, "publications/paper.html", {"paper": found, "tables": tables, "citation": of_paper(found)}
    )


def _whole(table: ReportedTable) -> dict[str, Any]:
    rows = rows_of(table, Reported.objects.filter(table=table))
    return as_printed(table, rows, measures_of(table))


def _results(request: HttpRequest, season: str, task: str) -> tuple[Task, Published]:
    found = task_for(request.user, season, task)
    results = published_of(found)
    if results.is_empty:
        raise Http404(_("No published results are known of this task."))
    return found, results


def _file(content: str, content_type: str, task: Task, suffix: str) -> HttpResponse:
    response = HttpResponse(content, content_type=content_type)
    name = f"{task.season.slug}-{task.slug}-published.{suffix}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
