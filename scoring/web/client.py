"""The command line for participants: the wheel of the very code that this site runs, and how to use it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.distribution.backend import wheel

CHECKSUM = ".sha256"


@dataclass(frozen=True)
class Wheel:
    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@cache
def site_wheel() -> Wheel:
    """Built once a process, from the files that it runs."""
    return Wheel(*wheel(settings.BASE_DIR))


@require_safe
def client(request: HttpRequest) -> HttpResponse:
    """How to install the command line, and how to get from a run to the board with it."""
    return render(request, "seasons/client.html", {"wheel": site_wheel(), "checksum": CHECKSUM})


@require_safe
def client_file(request: HttpRequest, file: str) -> HttpResponse:
    """The wheel, or its checksum as `sha256sum --check` reads it."""
    own = site_wheel()
    if file == own.name:
        response = HttpResponse(own.content, content_type="application/octet-stream")
    elif file == own.name + CHECKSUM:
        response = HttpResponse(f"{own.sha256}  {own.name}\n", content_type="text/plain; charset=utf-8")
    else:
        raise Http404(_("This site runs %(wheel)s.") % {"wheel": own.name})
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    return response
