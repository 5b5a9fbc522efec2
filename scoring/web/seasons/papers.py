"""Published results: those of a task, and every table of a publication as it is printed."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from citeboard.core import storage
from citeboard.core.api import readable_anywhere
from citeboard.core.storage.downloads import download
from scoring.background.kinds import ask_for_paper, is_current, kept_paper, moving_paper
from scoring.board import exports
from scoring.board.differences import metrics_of, offered_dimensions
from scoring.board.names import dimension_label, metric_label
from scoring.board.numbers import ranks
from scoring.board.overall import Overall
from scoring.board.overall import overall as overall_table
from scoring.board.standings import Board
from scoring.exchange.citations import of_paper
from scoring.exchange.figure_files import figure_response
from scoring.exchange.formats import ZIP
from scoring.exchange.overview_paper import OverviewPaper, PaperFiles, PaperQuery
from scoring.models import Paper, Reported, ReportedTable
from scoring.publications import published as published_exports
from scoring.publications.published import Published, PublishedQuery, measures_of, published_of, rows_of
from scoring.publications.reproduced import is_reproduced, tables_of
from scoring.publications.tables import as_printed, by_class, headline, measures_by_class
from scoring.web.breadcrumbs import place_of
from scoring.web.pages import Answer, season_readers
from tasks.models import Season, Task
from tasks.seasons.access import may_help, season_for, task_for


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
    return _published_file(published_exports.published_csv(results), "text/csv; charset=utf-8", found, "csv")


@readable_anywhere
@require_safe
def published_json(request: HttpRequest, season: str, task: str) -> HttpResponse:
    found, results = _results(request, season, task)
    return _published_file(published_exports.published_json(results), "application/json", found, "json")


@season_readers.page("publications/reproduced.html")
def reproduced(request: HttpRequest, season: Season) -> Answer:
    """A season's published tables beside what the same systems score on its boards."""
    tasks = list(season.tasks.select_related("season"))
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
    return {
        "tables": tables,
        "figures": figures,
        "figure_address": lambda name: f"?figure={name}",
    }


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


def _published_file(content: str, content_type: str, task: Task, suffix: str) -> HttpResponse:
    response = HttpResponse(content, content_type=content_type)
    name = f"{task.season.slug}-{task.slug}-published.{suffix}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_safe
def overview_paper(request: HttpRequest, season: str) -> HttpResponse:
    paper, query = _asked(request, season)
    made = kept_paper(paper)
    context = {
        "season": paper.season,
        "parts": [_part(part) for part in paper.parts],
        "has_boards": bool(paper.boards),
        "choices": [
            (_("what I may see"), query.with_(for_everybody=False), not query.for_everybody),
            (_("what everybody may see"), query.with_(for_everybody=True), query.for_everybody),
        ]
        if may_help(request.user, paper.season)
        else [],
        "carried": _carried(query),
        "made": made,
        "is_current": made is not None and is_current(made, paper),
        "jobs": [moving] if (moving := moving_paper(paper)) else [],
    }
    return render(request, "seasons/overview_paper.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def archive(request: HttpRequest, season: str) -> HttpResponseBase:
    """The zip that was made; a post has it made, unless there is one of what the season shows now."""
    paper, query = _asked(request, season)
    if request.method == "POST":
        return redirect("background-job", ask_for_paper(paper).pk)
    made = kept_paper(paper)
    if made is None:
        return redirect(f"{reverse('overview-paper', args=[season])}{_carried(query)}#zip")
    name = f"{season}-overview-paper.zip"
    return download(request, storage.statistics, made.file, filename=name, content_type=ZIP)


@require_safe
def one_file(request: HttpRequest, season: str, rest: str) -> HttpResponse:
    """One of the files of the zip, by its path there."""
    paper = _asked(request, season)[0]
    found = paper.files.get(rest)
    if found is None:
        raise Http404(_("There is no such file for this season's overview paper."))
    return _file(found.written(), found.content_type, f"{season}-{rest.replace('/', '-')}")


def _carried(query: PaperQuery) -> str:
    return query.with_().removesuffix("?")


def _asked(request: HttpRequest, season: str) -> tuple[OverviewPaper, PaperQuery]:
    query = PaperQuery.of(request.GET)
    return OverviewPaper.of(season_for(request.user, season), request.user, query), query


def _file(content: str | bytes, content_type: str, name: str) -> HttpResponse:
    response = HttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    return response


def _part(part: PaperFiles) -> dict[str, Any]:
    return {"part": part} | (_tables(part.board) if part.board else {})


def _tables(board: Board) -> dict[str, Any]:
    """What the forms for tables of one's own offer."""
    dimensions = offered_dimensions(board)
    metrics = {metric: metric_label(metric) for own in dimensions for metric in metrics_of(board, own)}
    return {
        **place_of(board.phase),
        "rules": board.rules,
        "columns": [(column.name, _label(column.name, column.metric)) for column in board.main_first],
        "main": {column.name for column in board.main},
        "dimensions": [(own, dimension_label(own)) for own in dimensions],
        "metrics": list(metrics.items()),
        "rows": board.systems,
    }


def _label(name: str, metric: str) -> str:
    return metric_label(metric) if name == metric else f"{metric_label(metric)} ({name})"


FORMS = {
    "csv": ("text/csv; charset=utf-8", exports.overall_csv),
    "json": ("application/json", exports.overall_json),
    "tex": ("application/x-tex; charset=utf-8", exports.overall_latex),
}


@require_safe
def overall(request: HttpRequest, season: str) -> HttpResponse:
    found, table = _table(request, season)
    lines = [
        {"row": row, "places": [_place(table, place, row.slug) for place in range(len(table.boards))]}
        for row in table.rows
    ]
    context = {"season": found, "table": table, "lines": lines, "forms": list(FORMS)}
    return render(request, "seasons/overall.html", context)


@require_safe
def overall_file(request: HttpRequest, season: str, form: str) -> HttpResponse:
    found, table = _table(request, season)
    content_type, written = FORMS[form]
    response = HttpResponse(written(found, table), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{found.slug}-overall.{form}"'
    return response


def _table(request: HttpRequest, season: str) -> tuple[Season, Overall]:
    found = season_for(request.user, season)
    if not found.shows_overall:
        raise Http404(_("This season does not rank teams over its tasks."))
    return found, overall_table(found)


def _place(table: Overall, place: int, slug: str) -> str:
    """`2–4`, or nothing where the team is not on the board."""
    own = table.boards[place].places.get(slug)
    return ranks(own.low, own.high) if own else ""
