"""Saying something on top of the season's page, editing it, taking it back."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.teams.models import User
from scoring.web.organise.forms import AnnouncementForm
from tasks.models import Announcement
from tasks.seasons.access import season_to_help
from tasks.seasons.announcements import announce, edit_announcement, take_back_announcement

SHOWN = 50


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def announcement(request: HttpRequest, season: str) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_help(request.user, season)
    form = AnnouncementForm(request.POST or None, initial={"text": found.announcement}, label_suffix="")
    if request.method == "POST" and form.is_valid():
        changed = announce(season=found, text=form.cleaned_data["text"], by=request.user)
        messages.success(
            request,
            _("The announcement stands on the season's page now.")
            if changed.announcement
            else _("The announcement is taken away."),
        )
        return redirect("organise-announcement", found.slug)
    earlier = Announcement.objects.filter(season=found).select_related("announced_by")[:SHOWN]
    context = {"season": found, "part": "announcement", "form": form, "announcements": earlier}
    return render(request, "organise/announcement.html", context, status=422 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, season: str, announcement: int) -> HttpResponse:
    """Change what an announcement says; readers see what it said before."""
    assert isinstance(request.user, User)
    found = season_to_help(request.user, season)
    own = get_object_or_404(Announcement.objects.standing(), pk=announcement, season=found)
    form = AnnouncementForm(request.POST or None, initial={"text": own.text}, label_suffix="")
    form.fields["text"].required = True
    if request.method == "POST" and form.is_valid():
        edit_announcement(announcement=own, text=form.cleaned_data["text"], by=request.user)
        messages.success(request, _("The announcement is edited; what it said before can be read too."))
        return redirect("organise-announcement", found.slug)
    context = {"season": found, "part": "announcement", "form": form, "announcement": own}
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/announcement_edit.html", context, status=status)


@require_POST
@login_required
def take_back(request: HttpRequest, season: str, announcement: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_help(request.user, season)
    own = get_object_or_404(Announcement, pk=announcement, season=found)
    take_back_announcement(announcement=own, by=request.user)
    messages.success(request, _("The announcement is taken back."))
    return redirect("organise-announcement", found.slug)
