"""Pages with a season's announcements, questions and terms."""

from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect

from citeboard.acts.questions import ASK_ORGANISERS
from citeboard.acts.terms import ACCEPT_TERMS, AcceptForm
from citeboard.core.words import format_as_sentence
from citeboard.teams.models import User
from citeboard.web.pages import (
    View,
    ViewResult,
    build_form_view,
    paginate_rows,
    require_known_fields,
    season_reader_pages,
)
from tasks.models import Announcement, Season
from tasks.registration.entries import (
    TermsVersionOutdated,
    find_terms_acceptance,
    get_newest_terms,
)
from tasks.seasons.access import can_help_season
from tasks.seasons.announcements import list_readable_questions


@season_reader_pages.page("seasons/announcements.html")
def show_announcements(request: HttpRequest, season: Season) -> ViewResult:
    standing = (
        Announcement.objects.filter(season=season).standing().prefetch_related("edits")
    )
    return {
        "page": paginate_rows(request, standing),
        "may_help": can_help_season(request.user, season),
    }


def require_sign_in_to_post(view: View) -> View:
    """Redirect POST requests of anonymous users to the sign-in page."""

    @wraps(view)
    def redirect_or_respond(request: HttpRequest, **address: str) -> HttpResponseBase:
        if request.method == "POST" and not request.user.is_authenticated:
            return redirect_to_login(request.path)
        return view(request, **address)

    return redirect_or_respond


def _build_questions_context(request: HttpRequest, season: Season) -> dict[str, Any]:
    page = paginate_rows(request, list_readable_questions(season, request.user))
    return {"page": page, "may_help": can_help_season(request.user, season)}


show_and_ask_questions = require_sign_in_to_post(
    build_form_view(
        ASK_ORGANISERS,
        "seasons/questions.html",
        at="text",
        shows=_build_questions_context,
        pages=season_reader_pages,
    )
)


@require_sign_in_to_post
@season_reader_pages.form("seasons/terms.html")
def show_and_accept_terms(request: HttpRequest, season: Season) -> ViewResult:
    """Show the terms of the season. Signed-in users can accept the terms on the page."""
    current, user = get_newest_terms(season), request.user
    known = {"version": current.number if current else None} | {
        name: getattr(user, name, "") for name in season.asks
    }
    form = AcceptForm(
        request.POST if request.method == "POST" else None, of=season, initial=known
    )
    require_known_fields(request, form)
    if form.is_valid():
        assert isinstance(user, User)
        try:
            accepted = ACCEPT_TERMS(season, user, **form.cleaned_data)
        except TermsVersionOutdated as refused:
            messages.error(request, format_as_sentence(refused))
            return redirect("terms", season.slug)
        messages.success(request, ACCEPT_TERMS.told(season, accepted, {}))
        return redirect("season", season.slug)
    return {
        "terms": current,
        "acceptance": find_terms_acceptance(current, user) if current else None,
        "form": form,
    }
