"""Gold and its versions, how far the runs have been scored against it, and the built-in baselines."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from citeboard.core.words import counted, sentence
from scoring.board.comparisons import counted_units, gold_power
from scoring.board.planning import PlanForm
from scoring.board.visibility import may_see_submission
from scoring.tools.baselines import baselines_of, has_papers
from scoring.web.organise.overview import lines
from scoring.web.pages import Answer, Pages, SignedInRequest, organisers, refusals_at, sent
from scoring.worker import baseline_runs
from scoring.worker.rescoring import (
    GoldRefused,
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
from tasks.seasons.access import may_organise
from tasks.submissions.uploads import received, upload_limit
from tasks.types.problems import capped


class GoldForm(forms.Form):
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

    def __init__(self, data: Any = None, files: Any = None, *, splits: list[tuple[Task, str]]) -> None:
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


@organisers.form("organise/gold.html", "gold")
def gold(request: SignedInRequest, season: Season) -> Answer:
    """Versions of the gold, a new one, and how far the runs have been scored against it."""
    form = GoldForm(**sent(request), splits=_splits(season))
    context: dict[str, Any] = {}
    if form.is_valid():
        with refusals_at(form, "file"):
            try:
                _publish(request, form)
                return redirect("organise-gold", season.slug)
            except GoldRefused as refused:
                problems, more = capped(refused.problems)
                several = len({problem.file for problem in problems}) > 1
                context = {"problems": problems, "more": more, "several_files": several}
            except EarlierGold as earlier:
                form.fields["again"].widget = forms.CheckboxInput()
                form.add_error("again", sentence(earlier))
    splits = _versions_by_split(season)
    is_moving = any(phase.is_moving for split in splits for phase in split["phases"])
    return {**context, "form": form, "splits": splits, "is_moving": is_moving}


def _publish(request: SignedInRequest, form: GoldForm) -> None:
    keys = dict.fromkeys([form.cleaned_data["split"], *form.cleaned_data.get("also", ())])
    with received(form.cleaned_data["file"]) as upload:
        made = publish_gold(
            splits=[form.splits[key] for key in keys],
            upload=upload,
            reason=form.cleaned_data["reason"],
            by=request.user,
            again=form.cleaned_data["again"],
        )
    for new in made:
        number, task = new.gold.number, new.gold.task
        if new.is_new:
            words = _("Gold v%(number)s of %(task)s has %(instances)s. All runs are scored against it.")
            instances = counted(new.gold.instances, "instance")
            messages.success(request, words % {"number": number, "task": task, "instances": instances})
        else:
            words = (
                _("This is gold v%(number)s of %(task)s as it is; nothing has changed.")
                if len(made) > 1
                else _("This is gold v%(number)s as it is; nothing has changed.")
            )
            messages.info(request, words % {"number": number, "task": task})


@organisers.act("organise-gold season")
def rescore(request: SignedInRequest, season: Season, phase: Phase, how: str) -> Answer:
    named = {"task": phase.task, "phase": phase}
    if how == "stop":
        scorings = counted(stop(phase=phase, by=request.user), "scoring")
        words = _("%(task)s, %(phase)s: %(scorings)s taken out of the queue. It can go on.")
        return words % {**named, "scorings": scorings}
    ask_for_phase(phase=phase, by=request.user)
    return _("%(task)s, %(phase)s: what is out of date is scored again.") % named


@organisers.act("organise-gold season")
def rescore_season(request: SignedInRequest, season: Season) -> Answer:
    orders = ask_for_season(season=season, by=request.user)
    words = _("Runs of %(phases)s are looked through and scored again.")
    return words % {"phases": counted(len(orders), "phase")}


def _run_to_organise(user: object, pk: int) -> Submission:
    run = get_object_or_404(Submission.objects.select_related("phase__task__season", "team"), pk=pk)
    if not may_see_submission(run, user) or not may_organise(user, run.phase.task.season):
        raise Http404(_("There is no run of yours to organise at this address."))
    return run


@Pages(_run_to_organise, "pk").act("submission pk")
def rescore_run(request: SignedInRequest, run: Submission) -> Answer:
    if score_again(submission=run, by=request.user):
        return _("The run is scored again.")
    return _("The run is being scored again already.")


def _splits(season: Season) -> list[tuple[Task, str]]:
    phases = Phase.objects.filter(task__season=season).select_related("task")
    return list(
        dict.fromkeys((phase.task, phase.split) for phase in phases.order_by("task__position", "position"))
    )


def _versions_by_split(season: Season) -> list[dict[str, Any]]:
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
            "power": gold_power(known[0]) if (known := versions.get((task.pk, split))) else None,
            "phases": phases.get((task.pk, split), []),
        }
        for task, split in _splits(season)
    ]


@organisers.page("organise/power.html", "gold")
def power(request: HttpRequest, season: Season) -> Answer:
    """How large a test set must be for differences of the organisers' choice."""
    form = PlanForm(season, request.GET if "source" in request.GET else None)
    plan = form.plan() if form.is_valid() else None
    if plan is None:
        return {"form": form}
    size = counted_units(plan.known.units, plan.known.unit)
    return {"form": form, "plan": plan, "size": size, "figures": {"power": plan.figure}}


@organisers.page("organise/baselines.html", "baselines")
def listed(request: HttpRequest, season: Season) -> Answer:
    """The built-in baselines of the season's phases: what each does and sees, and how far it is."""
    phases = Phase.objects.filter(task__season=season, task__is_reported_only=False)
    ordered = phases.select_related("task__season").order_by("task__position", "position", "opens")
    return {"phases": [_phase_lines(phase) for phase in ordered], "has_papers": has_papers()}


def _phase_lines(phase: Phase) -> dict[str, Any]:
    latest: dict[str, Submission] = {}
    for run in baseline_runs.built_in_runs(phase).select_related("phase__task", "team"):
        latest.setdefault(run.built_in, run)
    values = {line["run"].built_in: line["value"] for line in lines(latest.values())}
    names, known = baseline_runs.names_for(phase), baselines_of(phase.task.task_type)
    shown = []
    for name in names:
        if name == baseline_runs.HUMAN:
            summary, source, sees = baseline_runs.HUMAN_DESCRIPTION, "", _("gold of several annotators")
        else:
            baseline = known[name]
            summary, source, sees = baseline.summary, baseline.source, baseline.sees
        line = {"name": name, "summary": summary, "source": source, "sees": sees, "run": latest.get(name)}
        shown.append({**line, "value": values.get(name, "")})
    return {
        "phase": phase,
        "gold": Gold.objects.current(phase),
        "lines": shown,
        "has_sweep": any(baseline.sweep for baseline in known.values()),
        "sources": list(dict.fromkeys(line["source"] for line in shown if line["source"])),
        "is_moving": any(run.is_moving for name, run in latest.items() if name in names),
    }


@organisers.act("organise-baselines season")
def compute(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    name = request.POST.get("name", "")
    orders = baseline_runs.ask(phase=phase, names=[name] if name else None, by=request.user)
    new = sum(order.is_new for order in orders)
    words = (
        _("%(task)s, %(phase)s: %(baselines)s queued.")
        if new
        else _("%(task)s, %(phase)s: they were computed before, or are under way.")
    )
    return words % {"task": phase.task, "phase": phase, "baselines": counted(new, "baseline")}
