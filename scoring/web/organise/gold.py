"""Versions of the gold with their reasons, a new one, and how far the runs have been scored against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.words import counted, sentence
from citeboard.teams.models import User
from scoring.board.power import gold_power
from scoring.board.visibility import may_see_submission
from scoring.tools.baselines import baselines
from scoring.web.organise.overview import lines
from scoring.worker import baseline_runs
from scoring.worker.rescoring import (
    GoldRefused,
    NotScored,
    Progress,
    ask_for_phase,
    ask_for_season,
    progress,
    publish_gold,
    score_again,
    stop,
)
from tasks.gold.gold_files import EarlierGold
from tasks.models import Gold, Phase, Season, Submission, Task
from tasks.seasons.access import may_organise, season_to_organise
from tasks.submissions.uploads import UploadTooLarge, received, upload_limit
from tasks.types.problems import capped


class GoldForm(forms.Form):
    """A new version of one split's gold."""

    split = forms.ChoiceField(label=gettext_lazy("Task and split"))
    also = forms.MultipleChoiceField(
        label=gettext_lazy("The same file is also the gold of"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy(
            "One publication for several tasks, such as 1A and 1B: all of them get it, or none."
        ),
    )
    file = forms.FileField(
        label=gettext_lazy("Gold"),
        error_messages={
            "required": gettext_lazy("Choose the file that holds the gold."),
            "empty": gettext_lazy("The file is empty."),
        },
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        help_text=gettext_lazy(
            "What is new or was corrected. Teams read it beside the change of their scores."
        ),
        error_messages={"required": gettext_lazy("Say what is new or was corrected.")},
    )
    again = forms.BooleanField(
        label=gettext_lazy("Publish what an earlier version holds again"),
        required=False,
        widget=forms.HiddenInput,
    )

    def __init__(self, data: Any, files: Any, *, splits: list[tuple[Task, str]]) -> None:
        super().__init__(data, files, label_suffix="")
        self.splits = {f"{task.pk}/{split}": (task, split) for task, split in splits}
        for name in ("split", "also"):
            choice = self.fields[name]
            assert isinstance(choice, forms.ChoiceField)
            choice.choices = [(key, f"{task}, {split}") for key, (task, split) in self.splits.items()]
        if len(self.splits) < 2:
            del self.fields["also"]
        self.fields["file"].help_text = _(
            "One file, or a zip of files, at most %(megabytes)s. Larger gold is loaded by "
            "manage.py load_gold where the site runs."
        ) % {"megabytes": counted(upload_limit() >> 20, "megabyte")}

    @property
    def chosen(self) -> list[tuple[Task, str]]:
        """Each once, in the order of the form."""
        keys = dict.fromkeys([self.cleaned_data["split"], *self.cleaned_data.get("also", ())])
        return [self.splits[key] for key in keys]

    def ask_again(self, earlier: EarlierGold) -> None:
        self.fields["again"].widget = forms.CheckboxInput()
        self.add_error("again", sentence(earlier))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def gold(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    form = GoldForm(
        request.POST if request.method == "POST" else None,
        request.FILES if request.method == "POST" else None,
        splits=_splits(found),
    )
    context: dict[str, Any] = {}
    if form.is_bound and form.is_valid():
        try:
            _publish(request, form)
        except GoldRefused as refused:
            problems, more = capped(refused.problems)
            several = len({problem.file for problem in problems}) > 1
            context = {"problems": problems, "more": more, "several_files": several}
        except EarlierGold as earlier:
            form.ask_again(earlier)
        except (UploadTooLarge, ValidationError) as refused:
            form.add_error("file", sentence(refused))
        else:
            return redirect("organise-gold", found.slug)
    splits = _shown(found)
    context |= {
        "season": found,
        "part": "gold",
        "form": form,
        "splits": splits,
        "is_moving": any(phase.is_moving for split in splits for phase in split["phases"]),
    }
    status = 422 if form.errors or context.get("problems") else 200
    return render(request, "organise/gold.html", context, status=status)


@require_POST
@login_required
def rescore(request: HttpRequest, season: str, phase: int, how: str) -> HttpResponse:
    """Score the runs of a phase again, or stop doing so."""
    found = season_to_organise(request.user, season)
    own = get_object_or_404(Phase.objects.select_related("task__season"), pk=phase, task__season=found)
    if how == "stop":
        taken = stop(phase=own, by=_person(request))
        messages.success(
            request,
            _("%(task)s, %(phase)s: %(scorings)s taken out of the queue. It can go on.")
            % {"task": own.task, "phase": own, "scorings": counted(taken, "scoring")},
        )
    else:
        ask_for_phase(phase=own, by=_person(request))
        messages.success(
            request,
            _("%(task)s, %(phase)s: what is out of date is scored again.") % {"task": own.task, "phase": own},
        )
    return redirect("organise-gold", found.slug)


@require_POST
@login_required
def rescore_season(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    orders = ask_for_season(season=found, by=_person(request))
    said = _("Runs of %(phases)s are looked through and scored again.")
    messages.success(request, said % {"phases": counted(len(orders), "phase")})
    return redirect("organise-gold", found.slug)


@require_POST
@login_required
def rescore_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Score one run anew: for organisers, who come from its page."""
    run = get_object_or_404(Submission.objects.select_related("phase__task__season", "team"), pk=pk)
    if not may_see_submission(run, request.user) or not may_organise(request.user, run.phase.task.season):
        raise Http404(_("There is no run of yours to organise at this address."))
    try:
        queued = score_again(submission=run, by=_person(request))
    except NotScored as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request, _("The run is scored again.") if queued else _("The run is being scored again already.")
        )
    return redirect("submission", pk)


def _publish(request: HttpRequest, form: GoldForm) -> None:
    given = form.cleaned_data
    with received(given["file"]) as upload:
        made = publish_gold(
            splits=form.chosen,
            upload=upload,
            reason=given["reason"],
            by=_person(request),
            again=given["again"],
        )
    for new in made:
        number, task = new.gold.number, new.gold.task
        if not new.is_new:
            said = (
                _("This is gold v%(number)s of %(task)s as it is; nothing has changed.")
                if len(made) > 1
                else _("This is gold v%(number)s as it is; nothing has changed.")
            )
            messages.info(request, said % {"number": number, "task": task})
        else:
            said = _("Gold v%(number)s of %(task)s has %(instances)s. All runs are scored against it.")
            instances = counted(new.gold.instances, "instance")
            messages.success(request, said % {"number": number, "task": task, "instances": instances})


def _splits(season: Season) -> list[tuple[Task, str]]:
    """Every split that a phase of the season scores with."""
    phases = Phase.objects.filter(task__season=season).select_related("task")
    return list(
        dict.fromkeys((phase.task, phase.split) for phase in phases.order_by("task__position", "position"))
    )


def _shown(season: Season) -> list[dict[str, Any]]:
    """By split its versions, newest first, and the progress of its phases."""
    versions: dict[tuple[int, str], list[Gold]] = {}
    for version in Gold.objects.filter(task__season=season).select_related("task").order_by("-number"):
        versions.setdefault((version.task_id, version.split), []).append(version)
    phases: dict[tuple[int, str], list[Progress]] = {}
    for phase in Phase.objects.filter(task__season=season).select_related("task__season"):
        phases.setdefault((phase.task_id, phase.split), []).append(progress(phase))
    return [
        {
            "task": task,
            "split": split,
            "versions": versions.get((task.pk, split), []),
            "power": gold_power(own[0]) if (own := versions.get((task.pk, split))) else None,
            "phases": phases.get((task.pk, split), []),
        }
        for task, split in _splits(season)
    ]


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


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
        asked = baseline_runs.ask(phase=own, names=[name] if name else None, by=request.user)
    except baseline_runs.NotPossible as reason:
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
    for run in baseline_runs.built_in_runs(phase).select_related("phase__task", "team"):
        latest.setdefault(run.built_in, run)
    values = {line["run"].built_in: line["value"] for line in lines(latest.values())}
    names = baseline_runs.names_for(phase)
    return PhaseLines(
        phase=phase,
        gold=Gold.objects.current(phase),
        lines=[_line(name, latest.get(name), values.get(name, "")) for name in names],
        has_sweep=any(name in baselines() and baselines()[name].sweep for name in names),
    )


def _line(name: str, run: Submission | None, value: str) -> Line:
    if name == baseline_runs.HUMAN:
        summary, source, sees = baseline_runs.HUMAN_DESCRIPTION, "", _("gold of several annotators")
    else:
        own = baselines()[name]
        summary, source, sees = own.summary, own.source, own.sees
    return Line(name=name, summary=summary, source=source, sees=sees, run=run, value=value)
