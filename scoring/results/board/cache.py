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
    """A cached page. If ``hides_activity`` is True, readers must not notice that a run
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
    """Return a page about the board of a phase, from the cache if possible. The cache
    key contains ``query``, which are the parameters that the view reads, and the values
    in ``more``.
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
    """Return the values that determine the content of a phase's boards, as of the time
    when the phase was read from the database.
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
    """Return the key under which the cache stores a page. The argument ``query`` must
    contain exactly the parameters that the view reads.
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
    """Return the cached page, a response with status 304 if the browser's copy is
    current, or None if the page must be rendered.
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
    """Return the response with a newly rendered page, and store the page in the cache
    if all visitors share the page.
    """
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
    # A cache key reveals new activity, so such pages have a digest as ETag.
    if not page.hides_activity:
        entry = entry._replace(tag=f'"{key}"')
    caches["pages"].set(key, entry, seconds)
    return _for_everybody(_conditional(request, entry, content_type))


def _is_for_one_reader(request: HttpRequest) -> bool:
    """Return True if the reader is signed in, or if the page must display a message to
    the reader.
    """
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
