from dataclasses import dataclass

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@dataclass(frozen=True)
class Notice:
    name: str
    title: str
    text: str


def list_legal_notices() -> list[Notice]:
    written = [
        Notice("privacy", "Privacy notice", settings.PRIVACY_NOTICE),
        Notice("imprint", "Imprint", settings.IMPRINT),
    ]
    return [notice for notice in written if notice.text]


@require_safe
def show_legal_notice(request: HttpRequest, name: str) -> HttpResponse:
    page = next((one for one in list_legal_notices() if one.name == name), None)
    if page is None:
        raise Http404("The site has no such page.")
    return render(request, "notice.html", {"notice": page})
