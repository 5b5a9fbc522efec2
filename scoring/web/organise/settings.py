"""The settings of a season, its tasks and its phases, by forms that refuse what a season file refuses."""

from django.contrib import messages
from django.http import HttpRequest
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _

from scoring.board.leak_budget import budget_of
from scoring.ops.pruning import delete_season
from scoring.web.organise.settings_form import SettingsForm
from scoring.web.pages import Answer, SignedInRequest, organisers
from tasks.gold.early import kept_back
from tasks.models import Phase, Season, Task
from tasks.models.seasons import Configured
from tasks.seasons.file.entries import SEASON, phase_prefix, rows_of, task_prefix
from tasks.seasons.file.load import SettingsRefused, change_settings
from tasks.seasons.history import NotDeleted, delete_phase, delete_task


@organisers.page("organise/settings.html", "settings")
def settings(request: HttpRequest, season: Season) -> Answer:
    return {"tasks": Task.objects.filter(season=season).prefetch_related("phases")}


@organisers.form("organise/settings_form.html", "settings", back="organise-settings season")
def edit(
    request: SignedInRequest, season: Season, what: str, task: Task | None = None, phase: Phase | None = None
) -> Answer:
    """Of the season, a task or a phase, or of a new one; ``{}`` in its keys is the name that it gets."""
    forms: dict[str, tuple[type[Configured], Configured | None, str, str]] = {
        "season": (Season, season, season.title, SEASON),
        "new-task": (Task, None, _("A new task"), task_prefix("{}")),
    }
    if task is not None:
        title = _("A new phase of %(task)s") % {"task": task}
        forms["task"] = (Task, task, task.title, task_prefix(task.slug))
        forms["new-phase"] = (Phase, None, title, phase_prefix(task.slug, "{}"))
    if phase is not None:
        forms["phase"] = (Phase, phase, f"{phase.task}, {phase}", phase_prefix(phase.task.slug, phase.slug))
    model, row, title, prefix = forms[what]
    zone = phase.zone if phase else season.zone
    form = SettingsForm(request.POST if request.method == "POST" else None, model=model, row=row, zone=zone)
    if form.is_valid():
        prefix = prefix.format(form.cleaned_data.get("slug", ""))
        try:
            if form.is_new and prefix in rows_of(season, held=False):
                form.add_error("slug", _("This name is taken."))
            else:
                change_settings(season=season, values=form.values(prefix), by=request.user)
        except SettingsRefused as refused:
            form.add_faults(refused.faults, prefix)
        if not form.errors:
            saved = Phase.objects.filter(task__season=season).select_related("task__season")
            for early in kept_back(row for row in saved if phase in (None, row)):
                messages.warning(request, _("Not shown yet: %(what)s.") % {"what": early.words})
            return _("%(title)s: the settings are saved.") % {"title": title}
    budget = budget_of(phase) if phase is not None else None
    return {"form": form, "title": title, "zone": zone, "budget": budget}


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
