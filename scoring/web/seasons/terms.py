"""A season's terms: read by everybody who may see the season, accepted by who is signed in."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from citeboard.core.query import whole_number
from citeboard.core.words import sentence
from citeboard.teams.models import User
from tasks.registration.terms import NotTheTerms, accept_terms, acceptance_of, current_terms
from tasks.seasons.access import season_for


@require_http_methods(["GET", "HEAD", "POST"])
def terms(request: HttpRequest, season: str) -> HttpResponse:
    if request.method == "POST" and not isinstance(request.user, User):
        return redirect_to_login(request.path)
    found = season_for(request.user, season)
    if request.method == "POST":
        assert isinstance(request.user, User)
        try:
            accept_terms(
                season=found, number=whole_number(request.POST.get("version", "")) or 0, user=request.user
            )
        except NotTheTerms as refused:
            messages.error(request, sentence(refused))
            return redirect("terms", found.slug)
        messages.success(request, _("You have accepted the terms of %(season)s.") % {"season": found})
        return redirect("season", found.slug)
    current = current_terms(found)
    acceptance = acceptance_of(current, request.user) if current else None
    context = {"season": found, "terms": current, "acceptance": acceptance}
    return render(request, "seasons/terms.html", context)
