"""Everything that was announced in a season, newest first."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from tasks.models import Announcement
from tasks.seasons.access import may_help, season_for

ANNOUNCEMENTS_A_PAGE = 50


@require_safe
def announcements(request: HttpRequest, season: str) -> HttpResponse:
    found = season_for(request.user, season)
    own = Announcement.objects.filter(season=found).standing().prefetch_related("edits")
    page = Paginator(own, ANNOUNCEMENTS_A_PAGE).get_page(request.GET.get("page"))
    context = {"season": found, "page": page, "may_help": may_help(request.user, found)}
    return render(request, "seasons/announcements.html", context)
