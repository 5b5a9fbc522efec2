"""The built-in baselines of a season's phases: what each does and sees, how far it is, and a button."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from citeboard.core.words import counted, sentence
from citeboard.teams.models import User
from scoring.tools.baselines import baselines
from scoring.web.organise.run_list import lines
from scoring.worker import baseline_requests
from tasks.models import Gold, Phase, Season, Submission
from tasks.seasons.access import season_to_organise


@dataclass(frozen=True, kw_only=True)
class Line:
    """A baseline in a phase; ``run`` is the latest that was asked for, ``value`` its ranking number."""

    name: str
    summary: str
    source: str
    sees: str
    run: Submission | None
    value: str


@dataclass(frozen=True, kw_only=True)
class PhaseLines:
    phase: Phase
    gold: Gold | None
    lines: list[Line]
    has_sweep: bool

    @property
    def sources(self) -> list[str]:
        """The papers that tell of them, each once."""
        return list(dict.fromkeys(line.source for line in self.lines if line.source))

    @property
    def is_moving(self) -> bool:
        return any(line.run is not None and line.run.is_moving for line in self.lines)


@login_required
@require_safe
def listed(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    phases = [_lines(phase) for phase in _phases(found)]
    context = {"season": found, "part": "baselines", "phases": phases}
    return render(request, "organise/baselines.html", context)


@require_POST
@login_required
def compute(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """Have the baseline that is named computed, or every one of the phase."""
    found = season_to_organise(request.user, season)
    own = get_object_or_404(Phase.objects.select_related("task__season"), pk=phase, task__season=found)
    assert isinstance(request.user, User)
    name = request.POST.get("name", "")
    try:
        asked = baseline_requests.ask(phase=own, names=[name] if name else None, by=request.user)
    except baseline_requests.NotPossible as reason:
        messages.error(request, sentence(reason))
    else:
        new = sum(request.is_new for request in asked)
        said = (
            _("%(task)s, %(phase)s: %(baselines)s queued.")
            if new
            else _("%(task)s, %(phase)s: they were computed before, or are under way.")
        )
        shown = {"task": own.task, "phase": own, "baselines": counted(new, "baseline")}
        messages.success(request, said % shown)
    return redirect("organise-baselines", found.slug)


def _phases(season: Season) -> list[Phase]:
    phases = Phase.objects.filter(task__season=season, task__is_reported_only=False)
    return list(phases.select_related("task__season").order_by("task__position", "position", "opens"))


def _lines(phase: Phase) -> PhaseLines:
    latest: dict[str, Submission] = {}
    for run in baseline_requests.built_in_runs(phase).select_related("phase__task", "team"):
        latest.setdefault(run.built_in, run)
    values = {line["run"].built_in: line["value"] for line in lines(latest.values())}
    names = baseline_requests.names_for(phase)
    return PhaseLines(
        phase=phase,
        gold=Gold.objects.current(phase),
        lines=[_line(name, latest.get(name), values.get(name, "")) for name in names],
        has_sweep=any(name in baselines() and baselines()[name].sweep for name in names),
    )


def _line(name: str, run: Submission | None, value: str) -> Line:
    if name == baseline_requests.HUMAN:
        summary, source, sees = baseline_requests.HUMAN_DESCRIPTION, "", _("gold of several annotators")
    else:
        own = baselines()[name]
        summary, source, sees = own.summary, own.source, own.sees
    return Line(name=name, summary=summary, source=source, sees=sees, run=run, value=value)
