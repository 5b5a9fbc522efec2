"""A season's tables, charts and facts for its overview paper, for everybody who may see them."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

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
    context = {
        "season": paper.season,
        "parts": [_part(part) for part in paper.parts],
        "has_boards": bool(paper.boards),
        "choices": [
            ("what I may see", query.with_(for_everybody=False), not query.for_everybody),
            ("what everybody may see", query.with_(for_everybody=True), query.for_everybody),
        ]
        if may_help(request.user, paper.season)
        else [],
        "carried": query.with_().removesuffix("?"),
    }
    return render(request, "seasons/overview_paper.html", context)


@require_safe
def archive(request: HttpRequest, season: str) -> HttpResponse:
    """Everything in one zip."""
    paper, _ = _asked(request, season)
    return _file(paper.archive(), ZIP, f"{season}-overview-paper.zip")


@require_safe
def one_file(request: HttpRequest, season: str, rest: str) -> HttpResponse:
    """One of the files of the zip, by its path there."""
    paper, _ = _asked(request, season)
    found = paper.files.get(rest)
    if found is None:
        raise Http404("There is no such file for this season's overview paper.")
    return _file(found.written(), found.content_type, f"{season}-{rest.replace('/', '-')}")


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
