"""The page cache and its `ETag` headers, for pages that depend only on scores, times
and settings.

All visitors share cached pages. A cache key contains everything that the page depends
on: board version, audience, query parameters and language. Pages of signed-in users are
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
VARY = "Cookie, HX-Request"


class Page(NamedTuple):
    """A cached page. ``hides_activity`` is True if readers must not notice that a run
    was submitted or scored.
    """

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
    """Return a page about a board. The cache key includes ``query``, the parameters
    that the view reads, and ``more``.
    """
    key = page_key(request, query, board_version(phase), audience, *more)
    response = cached_response(request, key, content_type=content_type)
    if response is not None:
        return response
    page = Page(body(), hides_activity(phase, audience))
    return made_response(
        request, key, page, is_public=is_public(phase), content_type=content_type
    )


def board_version(phase: Phase) -> tuple[object, ...]:
    """Return the values that boards of the phase depend on, at the time when the phase
    was read.
    """
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
    """Return the cache key of a page. ``query`` must contain exactly the parameters
    that the view reads.
    """
    is_part = bool(request.headers.get("HX-Request"))
    foot = settings.PRIVACY_NOTICE, settings.IMPRINT
    return digest_of(
        facts, request.path, query, is_part, get_language(), release(), foot
    )


def digest_of(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def is_signed_in(request: HttpRequest) -> bool:
    return isinstance(request.user, User)


def cached_response(
    request: HttpRequest, key: str, *, content_type: str = HTML
) -> HttpResponse | None:
    """Return the cached page, status 304 if the reader's copy is current, or None if
    the page must be rendered.
    """
    if _is_for_one_reader(request):
        return None
    tag = f'"{key}"'
    response = get_conditional_response(request, etag=tag)
    if response is not None and response.status_code == 304:
        instruments.PAGES.labels("reader").inc()
        return _for_everybody(response)
    entry: _Entry | None = caches["pages"].get(key)
    if entry is None:
        return None
    instruments.PAGES.labels("cache").inc()
    return _for_everybody(_conditional(request, entry, content_type))


def made_response(
    request: HttpRequest,
    key: str,
    page: Page,
    *,
    is_public: bool,
    content_type: str = HTML,
    seconds: int = SECONDS,
) -> HttpResponse:
    """Return a newly rendered page. Cache the page if all visitors share the page."""
    instruments.PAGES.labels("made").inc()
    content = page.content.encode() if isinstance(page.content, str) else page.content
    if request.COOKIES.get("messages"):
        return HttpResponse(content, content_type=content_type)
    entry = _Entry(content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
    if is_signed_in(request):
        response = _conditional(request, entry, content_type)
        if is_public:
            response["Cache-Control"] = "private, no-cache"
        response["Vary"] = VARY
        return response
    # Cache keys change with activity, so pages that hide activity get a digest as ETag.
    if not page.hides_activity:
        entry = entry._replace(tag=f'"{key}"')
    caches["pages"].set(key, entry, seconds)
    return _for_everybody(_conditional(request, entry, content_type))


def _is_for_one_reader(request: HttpRequest) -> bool:
    """Return True if the reader is signed in, or if a message must be displayed."""
    return bool(request.COOKIES.get("messages")) or is_signed_in(request)


def _for_everybody(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-cache"
    response["Vary"] = VARY
    return response


def _conditional(
    request: HttpRequest, entry: _Entry, content_type: str
) -> HttpResponse:
    response = HttpResponse(entry.content, content_type=content_type)
    answer = get_conditional_response(request, etag=entry.tag, response=response)
    assert answer is not None
    answer["ETag"] = entry.tag
    return answer
