"""The language of a page: as its reader chose, else as the browser asks. What programs read is English."""

import re
from http import HTTPStatus

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from citeboard.core.middleware import Middleware

ENGLISH = "en"
#: Programs, probes and the operator's tables; and files, which are kept, cited and read by programs. The
#: figures of a page are had as files from the page's own address, with `?figure=`.
_IN_ENGLISH = re.compile(r"/(api|admin|health|metrics)(/|$)|.*\.[a-z]+$")
_SECONDS = 365 * 24 * 3600


class LanguageMiddleware(Middleware):
    """A page says which language it is in, and that browsers who ask for another get another."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _IN_ENGLISH.match(request.path) or request.GET.get("figure"):
            with translation.override(ENGLISH):
                return self.get_response(request)
        language = translation.get_language_from_request(request)
        with translation.override(language):
            response = self.get_response(request)
        is_page = response.get("Content-Type", "").startswith("text/html")
        if is_page:
            response.headers.setdefault("Content-Language", language)
        # What says that a page has not changed names what the page depends on, as the page does.
        if is_page or response.status_code == HTTPStatus.NOT_MODIFIED:
            patch_vary_headers(response, ["Accept-Language", "Cookie"])
        return response


def remember(response: HttpResponseBase, language: str) -> None:
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=_SECONDS,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )


@never_cache
@require_safe
def choose(request: HttpRequest, code: str) -> HttpResponse:
    if code not in dict(settings.LANGUAGES):
        raise Http404
    back = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    response = redirect(back if is_ours else "home")
    remember(response, code)
    return response
