"""The data sheet of the human evaluation on a board, for whoever sees its numbers."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.board.human_columns import published_sheet
from scoring.board.visibility import Visibility, audience_of, frozen_at, visibility_of
from scoring.human.data_sheet import as_json, as_markdown, sections
from scoring.models import Sheet
from scoring.web.place import place_of
from tasks.models import Phase
from tasks.seasons.access import phase_for

FORMS = {
    "md": ("text/markdown; charset=utf-8", as_markdown),
    "json": ("application/json", as_json),
}


@require_safe
def data_sheet(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    sheet = _sheet(request, found)
    context = {**place_of(found), "sections": sections(sheet), "forms": list(FORMS)}
    return render(request, "boards/data_sheet.html", context)


@require_safe
def data_sheet_file(request: HttpRequest, season: str, task: str, phase: str, form: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    content_type, written = FORMS[form]
    response = HttpResponse(written(_sheet(request, found)), content_type=content_type)
    name = f"{found.task.season.slug}-{found.task.slug}-{found.slug}-human-evaluation.{form}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _sheet(request: HttpRequest, phase: Phase) -> Sheet:
    """Raises Http404."""
    audience = audience_of(phase, request.user)
    sheet = published_sheet(phase, frozen_at(phase, audience))
    if sheet is None or visibility_of(phase, audience) != Visibility.SCORES:
        raise Http404(_("No human evaluation stands on this board."))
    return sheet
