"""Pages that change only when a score, a deadline or a choice does: strong validators, kept bodies."""

import hashlib
from collections.abc import Callable
from functools import partial

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
from tasks.delivery.notifications.reading import unread
from tasks.gold.secrecy import secrecy_of
from tasks.models import Phase

SECONDS = 3600
HTML = "text/html; charset=utf-8"


def phase_page(
    request: HttpRequest,
    phase: Phase,
    audience: Audience,
    query: object,
    body: Callable[[], str | bytes],
    *more: object,
    facts: tuple[object, ...] = (),
    content_type: str = HTML,
) -> HttpResponse:
    """``query`` is what the view has read from the address, ``more`` what the page follows from besides.
    ``facts`` are those of the phase, where they are known already.
    """
    tag = tag_of(
        request,
        query,
        *(facts or phase_facts(phase, audience)),
        _person(request),
        *more,
    )
    hides = partial(hides_activity, phase, audience)
    return answered(
        request,
        tag,
        body,
        is_public=is_public(phase),
        hides=hides,
        content_type=content_type,
    )


def phase_facts(phase: Phase, audience: Audience) -> tuple[object, ...]:
    at, task = now(), phase.task
    shown = [fact for row in (phase, task, task.season) for fact in row.board_facts(at)]
    marked = organisers_in_teams(task.season_id)
    others = secrecy_of(phase).facts()
    return (
        phase.pk,
        phase.version,
        audience,
        phase.confirmation_ended_at,
        marked,
        others,
        *shown,
    )


def kept_phase(facts: tuple[object, ...] | None, look_up: Callable[[], Phase]) -> Phase:
    if facts is None:
        return look_up()
    key = f"phase:{digest_of(facts)}"
    phase: Phase | None = caches["pages"].get(key)
    if phase is None:
        phase = look_up()
        # What others keep back of it goes by the same facts.
        secrecy_of(phase)
        caches["pages"].set(key, phase, SECONDS)
    return phase


def tag_of(request: HttpRequest, query: object, *facts: object) -> str:
    """A strong validator. Parameters that no view reads change no page, so they are no part of it."""
    part = bool(request.headers.get("HX-Request"))
    foot = settings.PRIVACY_NOTICE, settings.IMPRINT
    return f'"{digest_of(facts, request.path, query, part, get_language(), release(), foot)}"'


def digest_of(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def is_visitor(request: HttpRequest) -> bool:
    return settings.SESSION_COOKIE_NAME not in request.COOKIES


def answered(
    request: HttpRequest,
    tag: str,
    body: Callable[[], str | bytes],
    *,
    is_public: bool,
    hides: Callable[[], bool],
    content_type: str = HTML,
    seconds: int = SECONDS,
) -> HttpResponse:
    """The page, 304 or a kept body; a page that has a message to show is made for this once. The validator of
    a page that ``hides`` what happened is that of its content: another would tell it.
    """
    if request.COOKIES.get("messages"):
        return HttpResponse(_made(body), content_type=content_type)
    response = get_conditional_response(request, etag=tag)
    if response is None or response.status_code != 304:
        page, own_tag = _kept(request, tag, body, hides, seconds)
        if own_tag != tag:
            response = get_conditional_response(request, etag=own_tag)
        response = response or HttpResponse(page, content_type=content_type)
        response["ETag"] = own_tag
    else:
        instruments.PAGES.labels("reader").inc()
    if _person(request) is None:
        response["Cache-Control"] = "no-cache"
    elif is_public:
        response["Cache-Control"] = "private, no-cache"
    response["Vary"] = "Cookie, HX-Request"
    return response


def _kept(
    request: HttpRequest,
    tag: str,
    body: Callable[[], str | bytes],
    hides: Callable[[], bool],
    seconds: int,
) -> tuple[bytes, str]:
    entry: tuple[bytes, str] | None = (
        None if _person(request) else caches["pages"].get(tag)
    )
    if entry is not None:
        instruments.PAGES.labels("cache").inc()
        return entry
    page = _made(body)
    entry = page, f'"{hashlib.sha256(page).hexdigest()[:32]}"' if hides() else tag
    if _person(request) is None:
        caches["pages"].set(tag, entry, seconds)
    return entry


def _made(body: Callable[[], str | bytes]) -> bytes:
    instruments.PAGES.labels("made").inc()
    page = body()
    return page.encode() if isinstance(page, str) else page


def _person(request: HttpRequest) -> tuple[int, str, bool, int] | None:
    """What the shell of a page shows of who is signed in. A request to the API may bring a token instead."""
    asking: object = request
    if isinstance(asking, HttpRequest) and is_visitor(asking):
        return None
    user = request.user
    return (
        (user.pk, str(user), user.is_staff, unread(request))
        if isinstance(user, User)
        else None
    )
