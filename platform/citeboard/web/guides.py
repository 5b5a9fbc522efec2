"""Pages with the documentation in `docs/`, with archives, with the client, and with the
log of receipts.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

from citeboard.core.markdown import group_guides, load_guides, search_guides
from citeboard.core.middleware import ENGLISH_LANGUAGE_CODE
from citeboard.web.pages import paginate_rows
from scoring.distribution.backend import build_wheel_archive, read_wheel_name
from scoring.exchange.mounted import (
    MountedArchive,
    find_mounted_archive,
    list_mounted_archives,
)
from scoring.models import LogEntry, SigningKey
from scoring.receipts import log
from scoring.receipts.log import find_signing_key_problem

API_GUIDE_SLUG = "api"
MAX_QUERY_LENGTH = 100


@require_safe
def list_guides(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("q", "").replace("\0", " ").strip()[:MAX_QUERY_LENGTH]
    return render(
        request,
        "guides/list.html",
        {"groups": group_guides(), "text": text, "found": search_guides(text)},
    )


@require_safe
def show_guide(request: HttpRequest, guide: str) -> HttpResponse:
    if (found := load_guides().get(guide)) is None:
        raise Http404(_("There is no guide at this address."))
    context = {
        "guide": found,
        "operations": describe_api_operations() if guide == API_GUIDE_SLUG else [],
    }
    return render(request, "guides/guide.html", context)


@cache
def describe_api_operations() -> list[dict[str, Any]]:
    with translation.override(ENGLISH_LANGUAGE_CODE):
        schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    components = schema["components"]["schemas"]
    return [
        {
            "method": method.upper(),
            "path": path,
            "name": operation["operationId"],
            "summary": operation["summary"],
            "fields": list(_list_request_fields(operation, components)),
            "answers": [
                (code, answer["description"])
                for code, answer in sorted(operation["responses"].items())
                if code != "default"
            ],
            "example": _build_request_example(operation),
        }
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def _list_request_fields(
    operation: Mapping[str, Any], components: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "header" or parameter.get("description"):
            yield {
                "name": parameter["name"],
                "kind": f"{parameter['schema'].get('type', '')}, {parameter['in']}",
                "is_required": parameter.get("required", False),
                "words": parameter.get("description", ""),
            }
    for media in operation.get("requestBody", {}).get("content", {}).values():
        form = components[media["schema"]["$ref"].rpartition("/")[2]]
        for name, part in form["properties"].items():
            kind = (
                "file" if part.get("format") == "binary" else part.get("type", "string")
            )
            is_required, words = (
                name in form.get("required", ()),
                part.get("description", ""),
            )
            yield {
                "name": name,
                "kind": kind,
                "is_required": is_required,
                "words": words,
            }


def _build_request_example(operation: Mapping[str, Any]) -> str:
    for code, answer in sorted(operation["responses"].items()):
        for media in answer.get("content", {}).values() if code.startswith("2") else ():
            if "example" in media:
                return json.dumps(media["example"], indent=2, ensure_ascii=False)
    return ""


CHECKSUM_SUFFIX = ".sha256"


@dataclass(frozen=True)
class ScorerWheel:
    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@cache
def build_site_wheel() -> ScorerWheel:
    """Return the Python wheel of the offline scorer, built once for each process."""
    return ScorerWheel(*build_wheel_archive(settings.BASE_DIR))


@cache
def find_site_wheel_name() -> str:
    """Return the file name of the wheel without building the wheel."""
    return read_wheel_name(settings.BASE_DIR)


@require_safe
def show_client_page(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "seasons/client.html",
        {"wheel": build_site_wheel(), "checksum": CHECKSUM_SUFFIX},
    )


@require_safe
def download_client_file(request: HttpRequest, file: str) -> HttpResponse:
    own = build_site_wheel()
    if file == own.name:
        response = HttpResponse(own.content, content_type="application/octet-stream")
    elif file == own.name + CHECKSUM_SUFFIX:
        response = HttpResponse(
            f"{own.sha256}  {own.name}\n", content_type="text/plain; charset=utf-8"
        )
    else:
        raise Http404(_("This site runs %(wheel)s.") % {"wheel": own.name})
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    return response


@require_safe
def list_archives(request: HttpRequest) -> HttpResponse:
    return render(request, "archives/list.html", {"archives": list_mounted_archives()})


@require_safe
def show_archive(request: HttpRequest, archive: str) -> HttpResponse:
    return render(
        request, "archives/archive.html", {"archive": _archive_or_404(archive)}
    )


@require_safe
def show_archive_board(request: HttpRequest, archive: str, board: str) -> HttpResponse:
    found = _archive_or_404(archive)
    if (shown := found.board(board)) is None:
        raise Http404(_("This archive has no such board."))
    return render(request, "archives/board.html", {"archive": found, "board": shown})


@require_safe
def download_archive_file(
    request: HttpRequest, archive: str, file: str
) -> HttpResponseBase:
    """Return a file of an archive as a download.

    Browsers only download the file, and must not display a file of another site as a
    page of this site.
    """
    path = _archive_or_404(archive).file(file)
    if path is None:
        raise Http404(_("This archive has no such file."))
    content_type = "application/octet-stream"
    return FileResponse(
        path.open("rb"),
        as_attachment=True,
        filename=path.name,
        content_type=content_type,
    )


def _archive_or_404(slug: str) -> MountedArchive:
    if (found := find_mounted_archive(slug)) is None:
        raise Http404(_("No archive is mounted here."))
    return found


@require_safe
def show_receipt_log(request: HttpRequest) -> HttpResponse:
    """Show the log of receipts, newest first."""
    head = log.read_signed_log_head()
    context = {
        "head": head and {**head, "signed": dt.datetime.fromisoformat(head["at"])},
        "lost": find_signing_key_problem(),
        "keys": SigningKey.objects.all(),
        "page": paginate_rows(
            request,
            LogEntry.objects.exclude(index=None)
            .select_related("key")
            .order_by("-index"),
        ),
        "site": settings.BASE_URL,
    }
    return render(request, "log.html", context)
