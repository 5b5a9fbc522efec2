"""A page that several people read alike is made once, and each is given it with a head of their own."""

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from django.core.cache import caches
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.translation import get_language

from citeboard.core.legal_pages import notices
from citeboard.core.release import release
from scoring.board.cache import SECONDS, digest_of


def page_alike(
    request: HttpRequest,
    template: str,
    context: Callable[[], Mapping[str, Any]],
    facts: object,
    seconds: int = SECONDS,
) -> str:
    """``facts`` are all that the page follows from besides its language, the release and the foot."""
    if request.COOKIES.get("messages"):
        return render_to_string(template, {**context(), "is_signed_in": True}, request)
    key = digest_of(template, facts, get_language(), release(), [notice.name for notice in notices()])
    found: tuple[str, str, str] | None = caches["pages"].get(key)
    if found is None:
        head, token = secrets.token_hex(), secrets.token_hex()
        shared = {**context(), "is_signed_in": True, "site_nav": head, "csrf_token": token}
        found = (render_to_string(template, shared), head, token)
        caches["pages"].set(key, found, seconds)
    page, head, token = found
    if token in page:
        page = page.replace(token, get_token(request))
    return page.replace(head, render_to_string("_site_nav.html", {}, request))
