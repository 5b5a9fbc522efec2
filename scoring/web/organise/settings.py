"""The settings of a season, its tasks and its phases, by forms that refuse what a season file refuses."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _

from scoring.ops.pruning import delete_season
from scoring.web.organise.settings_form import SettingsForm
from scoring.web.pages import Answer, SignedInRequest, organisers
from tasks.models import Phase, Season, Task
from tasks.models.seasons import Configured
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


@organisers.page("organise/settings.html", "settings")
def settings(request: HttpRequest, season: Season) -> Answer:
    return {"tasks": Task.objects.filter(season=season).prefetch_related("phases")}


@organisers.form("organise/settings_form.html", "settings", back="organise-settings season")
def season_settings(request: SignedInRequest, season: Season) -> Answer:
    return _form(request, Place(season, Season, season, season.title, prefix=SEASON))


@organisers.form("organise/settings_form.html", "settings", back="organise-settings season")
def task_settings(request: SignedInRequest, season: Season, task: Task) -> Answer:
    return _form(request, Place(season, Task, task, task.title, prefix=task_prefix(task.slug)))


@organisers.form("organise/settings_form.html", "settings", back="organise-settings season")
def new_task(request: SignedInRequest, season: Season) -> Answer:
    return _form(request, Place(season, Task, None, _("A new task"), above="tasks"))


@organisers.form("organise/settings_form.html", "settings", back="organise-settings season")
def phase_settings(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    prefix = phase_prefix(phase.task.slug, phase.slug)
    return _form(request, Place(season, Phase, phase, f"{phase.task}, {phase}", prefix=prefix))


@organisers.form("organise/settings_form.html", "settings", back="organise-settings season")
def new_phase(request: SignedInRequest, season: Season, task: Task) -> Answer:
    title, above = _("A new phase of %(task)s") % {"task": task}, f"{task_prefix(task.slug)}.phases"
    return _form(request, Place(season, Phase, None, title, above=above))


def _form(request: SignedInRequest, place: Place) -> Answer:
    zone = place.row.zone if isinstance(place.row, Phase) else place.season.zone
    data = request.POST if request.method == "POST" else None
    form = SettingsForm(data, model=place.model, row=place.row, zone=zone)
    if form.is_valid():
        prefix = place.prefix_of(form.cleaned_data.get("slug", ""))
        try:
            if form.is_new and _is_taken(place, form.cleaned_data["slug"]):
                form.add_error("slug", _("This name is taken."))
            else:
                change_settings(season=place.season, values=form.values(prefix), by=request.user)
        except SettingsRefused as refused:
            form.add_faults(refused.faults, prefix)
        if not form.errors:
            return _("%(title)s: the settings are saved.") % {"title": place.title}
    return {"form": form, "title": place.title, "zone": zone}


def _is_taken(place: Place, slug: str) -> bool:
    if place.model is Task:
        return Task.objects.filter(season=place.season, slug=slug).exists()
    task = place.above.split(".")[1]
    return Phase.objects.filter(task__season=place.season, task__slug=task, slug=slug).exists()


@organisers.act("organise-settings season")
def delete(request: SignedInRequest, season: Season, what: str, number: int) -> Answer:
    """A task or a phase that has no runs."""
    deleted: Task | Phase
    if what == "task":
        deleted = get_object_or_404(Task, pk=number, season=season)
        delete_task(task=deleted, by=request.user)
    else:
        phases = Phase.objects.select_related("task")
        deleted = get_object_or_404(phases, pk=number, task__season=season)
        delete_phase(phase=deleted, by=request.user)
    return _("%(name)s is deleted. The history can bring it back.") % {"name": deleted}


@organisers.act("organise-settings season")
def delete_draft(request: SignedInRequest, season: Season) -> Answer:
    """A season that was never public; its name in addresses is typed, since it cannot be undone."""
    if request.POST.get("slug", "").strip() != season.slug:
        raise NotDeleted(_("Type “%(name)s” to delete the season.") % {"name": season.slug})
    delete_season(season=season, by=request.user)
    messages.success(request, _("The draft %(season)s is deleted.") % {"season": season})
    return redirect("home")
