"""The page cache: pages that change only when a score, an instant or a setting does, and their `ETag`.

A page is cached for visitors, who all get the same. Its key consists of everything the page depends on: the
version of its board, the audience, the reader's choices and the language. Pages of signed-in users are
rendered for each request.
"""

import hashlib
from collections.abc import Callable
from typing import NamedTuple

from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.timezone import now
from django.utils.translation import get_language

from citeboard.core import instruments
from citeboard.core.release import release
from citeboard.teams.models import User
from scoring.results.board.counting import organisers_in_teams
from scoring.results.board.visibility import Audience, hides_activity, is_public
from tasks.gold.secrecy import secrecy_of
from tasks.models import Phase

SECONDS = 3600
HTML = "text/html; charset=utf-8"


class Page(NamedTuple):
    """``hides_activity``: its readers may not learn that a run came or was scored."""

    content: str | bytes
    hides_activity: bool = False


class _Entry(NamedTuple):
    content: bytes
    tag: str


def phase_page(
    request: HttpRequest,
    phase: Phase,
    audience: Audience,
    query: object,
    body: Callable[[], str | bytes],
    *more: object,
    content_type: str = HTML,
) -> HttpResponse:
    """Return a page about a board. ``query`` are the parameters that the view reads; the page also depends
    on ``more``.
    """
    return page_response(
        request,
        page_key(request, query, board_version(phase), audience, *more),
        lambda: Page(body(), hides_activity(phase, audience)),
        is_public=is_public(phase),
        content_type=content_type,
    )


def board_version(phase: Phase) -> tuple[object, ...]:
    """Return what boards of the phase depend on, as far as it was known when the phase was read."""
    at, task = now(), phase.task
    return (
        phase.pk,
        phase.version,
        phase.confirmation_ended_at,
        organisers_in_teams(task.season_id),
        secrecy_of(phase).facts(),
        *(fact for row in (phase, task, task.season) for fact in row.board_facts(at)),
    )


def page_key(request: HttpRequest, query: object, *facts: object) -> str:
    """Return the key of a page. Parameters that no view reads change no page, so they are no part of it."""
    is_part = bool(request.headers.get("HX-Request"))
    foot = settings.PRIVACY_NOTICE, settings.IMPRINT
    return digest_of(
        facts, request.path, query, is_part, get_language(), release(), foot
    )


def digest_of(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def is_signed_in(request: HttpRequest) -> bool:
    return isinstance(request.user, User)


def page_response(
    request: HttpRequest,
    key: str,
    make: Callable[[], Page],
    *,
    is_public: bool,
    content_type: str = HTML,
    seconds: int = SECONDS,
) -> HttpResponse:
    """Return the cached page, 304 if the reader has it, or a page made for this request alone: for a
    signed-in user, or with a message to show.
    """
    if request.COOKIES.get("messages"):
        return HttpResponse(_made(make()).content, content_type=content_type)
    if is_signed_in(request):
        response = _conditional(request, _made(make()), content_type)
        if is_public:
            response["Cache-Control"] = "private, no-cache"
    else:
        response = _cached(request, key, make, content_type, seconds)
        response["Cache-Control"] = "no-cache"
    response["Vary"] = "Cookie, HX-Request"
    return response


def _cached(
    request: HttpRequest,
    key: str,
    make: Callable[[], Page],
    content_type: str,
    seconds: int,
) -> HttpResponse:
    tag = f'"{key}"'
    unchanged = get_conditional_response(request, etag=tag)
    if unchanged is not None and unchanged.status_code == 304:
        instruments.PAGES.labels("reader").inc()
        return unchanged
    entry: _Entry | None = caches["pages"].get(key)
    if entry is None:
        page = make()
        entry = _made(page)
        # The key of a page that hides activity changes with it, so that the content is the validator.
        if not page.hides_activity:
            entry = entry._replace(tag=tag)
        caches["pages"].set(key, entry, seconds)
    else:
        instruments.PAGES.labels("cache").inc()
    return _conditional(request, entry, content_type)


def _made(page: Page) -> _Entry:
    instruments.PAGES.labels("made").inc()
    content = page.content
    encoded = content.encode() if isinstance(content, str) else content
    return _Entry(encoded, f'"{hashlib.sha256(encoded).hexdigest()[:32]}"')


def _conditional(
    request: HttpRequest, entry: _Entry, content_type: str
) -> HttpResponse:
    response = HttpResponse(entry.content, content_type=content_type)
    answer = get_conditional_response(request, etag=entry.tag, response=response)
    assert answer is not None
    answer["ETag"] = entry.tag
    return answer
