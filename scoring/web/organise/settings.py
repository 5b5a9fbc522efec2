"""The settings of a season, its tasks and its phases, by forms that refuse what a season file refuses."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.ops.pruning import delete_season
from scoring.web.organise.settings_form import SettingsForm
from tasks.models import Phase, Season, Task
from tasks.models.seasons import Configured
from tasks.seasons.access import season_to_organise
from tasks.seasons.file.entries import SEASON, phase_prefix, task_prefix
from tasks.seasons.file.load import SettingsRefused, change_settings
from tasks.seasons.history import NotDeleted, delete_phase, delete_task


@dataclass(frozen=True)
class Place:
    """What a form is of: the row, or None where it makes one; ``above`` is what its keys begin with."""

    season: Season
    model: type[Configured]
    row: Configured | None
    title: str
    prefix: str = ""
    above: str = ""

    def prefix_of(self, slug: str) -> str:
        return self.prefix or f"{self.above}.{slug}"


@login_required
@require_safe
def settings(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    tasks = Task.objects.filter(season=found).prefetch_related("phases")
    return render(request, "organise/settings.html", {"season": found, "part": "settings", "tasks": tasks})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def season_settings(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    return _form(request, Place(found, Season, found, found.title, prefix=SEASON))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_settings(request: HttpRequest, season: str, task: int) -> HttpResponse:
    found = season_to_organise(request.user, season)
    own = _task(found, task)
    return _form(request, Place(found, Task, own, own.title, prefix=task_prefix(own.slug)))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_task(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    return _form(request, Place(found, Task, None, _("A new task"), above="tasks"))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def phase_settings(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    found = season_to_organise(request.user, season)
    own = _phase(found, phase)
    prefix = phase_prefix(own.task.slug, own.slug)
    return _form(request, Place(found, Phase, own, f"{own.task}, {own}", prefix=prefix))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_phase(request: HttpRequest, season: str, task: int) -> HttpResponse:
    found = season_to_organise(request.user, season)
    own = _task(found, task)
    above = f"{task_prefix(own.slug)}.phases"
    return _form(
        request, Place(found, Phase, None, _("A new phase of %(task)s") % {"task": own}, above=above)
    )


@require_POST
@login_required
def delete(request: HttpRequest, season: str, what: str, number: int) -> HttpResponse:
    """A task or a phase that has no runs."""
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    gone = _task(found, number) if what == "task" else _phase(found, number)
    try:
        if isinstance(gone, Task):
            delete_task(task=gone, by=request.user)
        else:
            delete_phase(phase=gone, by=request.user)
    except NotDeleted as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(request, _("%(name)s is deleted. The history can bring it back.") % {"name": gone})
    return redirect("organise-settings", found.slug)


@require_POST
@login_required
def delete_draft(request: HttpRequest, season: str) -> HttpResponse:
    """A season that was never public; its name in addresses is typed, since it cannot be undone."""
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    if request.POST.get("slug", "").strip() != found.slug:
        messages.error(request, _("Type “%(name)s” to delete the season.") % {"name": found.slug})
        return redirect("organise-settings", found.slug)
    try:
        delete_season(season=found, by=request.user)
    except NotDeleted as refused:
        messages.error(request, sentence(refused))
        return redirect("organise-settings", found.slug)
    messages.success(request, _("The draft %(season)s is deleted.") % {"season": found})
    return redirect("home")


def _form(request: HttpRequest, place: Place) -> HttpResponse:
    assert isinstance(request.user, User)
    zone = place.row.zone if isinstance(place.row, Phase) else place.season.zone
    data = request.POST if request.method == "POST" else None
    form = SettingsForm(data, model=place.model, row=place.row, zone=zone)
    if data is not None and form.is_valid():
        prefix = place.prefix_of(form.cleaned_data.get("slug", ""))
        try:
            if form.is_new and _is_taken(place, form.cleaned_data["slug"]):
                form.add_error("slug", _("This name is taken."))
            else:
                change_settings(season=place.season, values=form.values(prefix), by=request.user)
        except SettingsRefused as refused:
            form.add_faults(refused.faults, prefix)
        if not form.errors:
            messages.success(request, _("%(title)s: the settings are saved.") % {"title": place.title})
            return redirect("organise-settings", place.season.slug)
    context = {"season": place.season, "part": "settings", "form": form, "title": place.title, "zone": zone}
    return render(request, "organise/settings_form.html", context, status=422 if form.errors else 200)


def _is_taken(place: Place, slug: str) -> bool:
    if place.model is Task:
        return Task.objects.filter(season=place.season, slug=slug).exists()
    task = place.above.split(".")[1]
    return Phase.objects.filter(task__season=place.season, task__slug=task, slug=slug).exists()


def _task(season: Season, number: int) -> Task:
    return get_object_or_404(Task, pk=number, season=season)


def _phase(season: Season, number: int) -> Phase:
    return get_object_or_404(Phase.objects.select_related("task"), pk=number, task__season=season)
