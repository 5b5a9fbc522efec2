"""Cache pages that depend only on scores, times and settings, and compute the `ETag`
headers of these pages.

All visitors who are not signed in share the cached pages. The cache key of a page
contains the board's version, the audience, the query parameters and the language. The
server renders pages for signed-in users on each request.
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
from citeboard.core.release import compute_release_digest
from citeboard.teams.models import User
from scoring.results.board.counting import query_team_memberships_of_organisers
from scoring.results.board.visibility import (
    Audience,
    hides_run_activity,
    is_current_board_public,
)
from tasks.gold.secrecy import get_embargoes_of_phase
from tasks.models import Phase

PAGE_CACHE_SECONDS = 3600
HTML_CONTENT_TYPE = "text/html; charset=utf-8"
VARY_HEADER_VALUE = "Cookie, HX-Request"


class RenderedPage(NamedTuple):
    """A cached page. If ``hides_activity`` is True, readers must not notice that a run
    was submitted or scored.
    """

    content: str | bytes
    hides_activity: bool = False


class _CachedPageWithETag(NamedTuple):
    content: bytes
    tag: str


def load_or_render_phase_page(
    request: HttpRequest,
    phase: Phase,
    audience: Audience,
    query: object,
    body: Callable[[], str | bytes],
    *more: object,
    content_type: str = HTML_CONTENT_TYPE,
) -> HttpResponse:
    """Return a page about the board of a phase, from the cache if possible. The cache
    key contains ``query``, which are the parameters that the view reads, and the values
    in ``more``.
    """
    key = build_page_cache_key(request, query, board_version(phase), audience, *more)
    response = find_cached_response(request, key, content_type=content_type)
    if response is not None:
        return response
    page = RenderedPage(body(), hides_run_activity(phase, audience))
    return cache_and_return_page(
        request,
        key,
        page,
        is_public=is_current_board_public(phase),
        content_type=content_type,
    )


def board_version(phase: Phase) -> tuple[object, ...]:
    """Return the values that determine the content of a phase's boards, as of the time
    when the phase was read from the database.
    """
    at, task = now(), phase.task
    return (
        phase.pk,
        phase.version,
        phase.confirmation_ended_at,
        query_team_memberships_of_organisers(task.season_id),
        get_embargoes_of_phase(phase).facts(),
        *(
            fact
            for row in (phase, task, task.season)
            for fact in row.board_cache_key_values(at)
        ),
    )


def build_page_cache_key(request: HttpRequest, query: object, *facts: object) -> str:
    """Return the key under which the cache stores a page. The argument ``query`` must
    contain exactly the parameters that the view reads.
    """
    is_part = bool(request.headers.get("HX-Request"))
    foot = settings.PRIVACY_NOTICE, settings.IMPRINT
    return hash_cache_key_values(
        facts,
        request.path,
        query,
        is_part,
        get_language(),
        compute_release_digest(),
        foot,
    )


def hash_cache_key_values(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def is_signed_in(request: HttpRequest) -> bool:
    return isinstance(request.user, User)


def find_cached_response(
    request: HttpRequest, key: str, *, content_type: str = HTML_CONTENT_TYPE
) -> HttpResponse | None:
    """Return the cached page, a response with status 304 if the browser's copy is
    current, or None if the page must be rendered.
    """
    if _has_personal_content(request):
        return None
    tag = f'"{key}"'
    response = get_conditional_response(request, etag=tag)
    if response is not None and response.status_code == 304:
        instruments.BOARD_PAGES_SERVED_COUNTER.labels("reader").inc()
        return _set_cache_control_and_vary(response)
    entry: _CachedPageWithETag | None = caches["pages"].get(key)
    if entry is None:
        return None
    instruments.BOARD_PAGES_SERVED_COUNTER.labels("cache").inc()
    return _set_cache_control_and_vary(_respond_with_etag(request, entry, content_type))


def cache_and_return_page(
    request: HttpRequest,
    key: str,
    page: RenderedPage,
    *,
    is_public: bool,
    content_type: str = HTML_CONTENT_TYPE,
    seconds: int = PAGE_CACHE_SECONDS,
) -> HttpResponse:
    """Return the response with a newly rendered page, and store the page in the cache
    if all visitors share the page.
    """
    instruments.BOARD_PAGES_SERVED_COUNTER.labels("made").inc()
    content = page.content.encode() if isinstance(page.content, str) else page.content
    if request.COOKIES.get("messages"):
        return HttpResponse(content, content_type=content_type)
    entry = _CachedPageWithETag(
        content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    )
    if is_signed_in(request):
        response = _respond_with_etag(request, entry, content_type)
        if is_public:
            response["Cache-Control"] = "private, no-cache"
        response["Vary"] = VARY_HEADER_VALUE
        return response
    # A cache key reveals new activity, so such pages have a digest as ETag.
    if not page.hides_activity:
        entry = entry._replace(tag=f'"{key}"')
    caches["pages"].set(key, entry, seconds)
    return _set_cache_control_and_vary(_respond_with_etag(request, entry, content_type))


def _has_personal_content(request: HttpRequest) -> bool:
    """Return True if the reader is signed in, or if the page must display a message to
    the reader.
    """
    return bool(request.COOKIES.get("messages")) or is_signed_in(request)


def _set_cache_control_and_vary(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-cache"
    response["Vary"] = VARY_HEADER_VALUE
    return response


def _respond_with_etag(
    request: HttpRequest, entry: _CachedPageWithETag, content_type: str
) -> HttpResponse:
    response = HttpResponse(entry.content, content_type=content_type)
    answer = get_conditional_response(request, etag=entry.tag, response=response)
    assert answer is not None
    answer["ETag"] = entry.tag
    return answer
