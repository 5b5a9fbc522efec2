"""A season's teams over all its tasks, where its organisers want that."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.board import overall_exports
from scoring.board.numbers import ranks
from scoring.board.overall import Overall
from scoring.board.overall import overall as overall_table
from tasks.models import Season
from tasks.seasons.access import season_for

FORMS = {
    "csv": ("text/csv; charset=utf-8", overall_exports.as_csv),
    "json": ("application/json", overall_exports.as_json),
    "tex": ("application/x-tex; charset=utf-8", overall_exports.as_latex),
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
