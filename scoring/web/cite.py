"""BibTeX of what can be cited besides a board, which has its own among its exports."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.board.confirming import confirmation_of
from scoring.board.snapshots import keep_cited
from scoring.board.standings import standing_of
from scoring.exchange.citations import Citation, of_paper, of_run, of_season, of_snapshot, of_task
from scoring.models import Paper
from scoring.web.boards.snapshots import kept_at
from tasks.seasons.access import phase_for, season_for, task_for


@require_safe
def season_bib(request: HttpRequest, season: str) -> HttpResponse:
    return _bibtex(of_season(season_for(request.user, season)))


@require_safe
def task_bib(request: HttpRequest, season: str, task: str) -> HttpResponse:
    return _bibtex(of_task(task_for(request.user, season, task)))


@require_safe
def run_bib(request: HttpRequest, season: str, task: str, phase: str, submission: int) -> HttpResponse:
    found = standing_of(phase_for(request.user, season, task, phase), request.user, submission)
    if found is None:
        raise Http404(_("No row of this board is of that run."))
    board, row = found
    return _bibtex(of_run(board, row, keep_cited(board), confirmation=confirmation_of(board)))


@require_safe
def snapshot_bib(request: HttpRequest, season: str, task: str, phase: str, digest: str) -> HttpResponse:
    return _bibtex(of_snapshot(kept_at(request, phase_for(request.user, season, task, phase), digest)))


@require_safe
def paper_bib(request: HttpRequest, key: str) -> HttpResponse:
    return _bibtex(of_paper(get_object_or_404(Paper, key=key)))


def _bibtex(citation: Citation) -> HttpResponse:
    return HttpResponse(citation.bibtex, content_type="application/x-bibtex; charset=utf-8")
