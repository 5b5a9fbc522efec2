"""A season's tables, charts and facts for its overview paper, for everybody who may see them."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from citeboard.core import storage
from citeboard.core.storage.downloads import download
from scoring.background.papers import ask_for_paper, is_current, kept_paper, moving_paper
from scoring.board.differences import metrics_of, offered_dimensions
from scoring.board.names import dimension_label, metric_label
from scoring.board.standings import Board
from scoring.exchange.formats import ZIP
from scoring.exchange.overview_paper import OverviewPaper, PaperFiles, PaperQuery
from scoring.web.place import place_of
from tasks.seasons.access import may_help, season_for


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
