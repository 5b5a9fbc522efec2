"""Mounted archives: past seasons of other sites, read-only."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.exchange.mounted import Mounted, mounted_archive, mounted_archives


@require_safe
def archives(request: HttpRequest) -> HttpResponse:
    return render(request, "archives/list.html", {"archives": mounted_archives()})


@require_safe
def archive(request: HttpRequest, archive: str) -> HttpResponse:
    return render(request, "archives/archive.html", {"archive": _found(archive)})


@require_safe
def archive_board(request: HttpRequest, archive: str, board: str) -> HttpResponse:
    found = _found(archive)
    shown = found.board(board)
    if shown is None:
        raise Http404(_("This archive has no such board."))
    return render(request, "archives/board.html", {"archive": found, "board": shown})


@require_safe
def archive_file(request: HttpRequest, archive: str, file: str) -> HttpResponseBase:
    """To be kept, never shown: what others wrote is no page of this site."""
    path = _found(archive).file(file)
    if path is None:
        raise Http404(_("This archive has no such file."))
    content_type = "application/octet-stream"
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name, content_type=content_type)


def _found(slug: str) -> Mounted:
    found = mounted_archive(slug)
    if found is None:
        raise Http404(_("No archive is mounted here."))
    return found
