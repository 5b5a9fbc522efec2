"""A phase as its organisers set it: times, board, freezing, confirmation, errata, scores by hand."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from citeboard.core.words import sentence
from scoring.board.confirming import (
    MAX_TEXT,
    all_errata,
    official_since,
    publish_erratum,
    results_of,
    teams_confirmed,
    why_not,
)
from scoring.board.manual_scores import MAX_NAME, MAX_SOURCE, enter_measure, lines_of
from scoring.board.manual_scores import MAX_TEXT as MAX_VALUES
from scoring.board.snapshots import save_frozen_board
from scoring.models import OutsideMeasure
from scoring.runs.confirming import MAX_REASON, end_confirmation, reopen_confirmation
from scoring.web.organise.settings_form import MomentField, MomentsForm
from scoring.web.pages import Answer, SignedInRequest, organisers, refusals_at
from tasks.models import Phase, Season, Submission
from tasks.seasons.phase_acts import (
    change_board,
    close_now,
    describe_board,
    describe_freeze,
    freeze_board,
    freeze_now,
    move_phase,
    open_now,
    reveal_frozen,
    reveal_now,
)
from tasks.seasons.timeline import TimeLine


class TimesForm(MomentsForm):
    def __init__(self, data: Any = None, *, phase: Phase) -> None:
        super().__init__(data, initial={"opens": phase.opens, "closes": phase.closes}, label_suffix="")
        self.fields["opens"] = MomentField(label=_("Opens"), zone=phase.zone)
        self.fields["closes"] = MomentField(label=_("Closes"), zone=phase.zone)


class BoardForm(MomentsForm):
    board = forms.ChoiceField(label=gettext_lazy("Who sees the board"), choices=Phase.Audience.choices)

    def __init__(self, data: Any = None, *, phase: Phase) -> None:
        initial = {name: getattr(phase, name) for name in ("board", "board_from", "board_then")}
        super().__init__(data, initial=initial, label_suffix="")
        self.fields["board_from"] = MomentField(
            label=_("Until"),
            required=False,
            help_text=_("Leave it empty where that does not change."),
            zone=phase.zone,
        )
        self.fields["board_then"] = forms.ChoiceField(
            label=_("Who sees it from then on"),
            required=False,
            choices=[("", _("the same")), *Phase.Audience.choices],
        )


class FreezeForm(MomentsForm):
    def __init__(self, data: Any = None, *, phase: Phase) -> None:
        initial = {"frozen_from": phase.frozen_from, "frozen_until": phase.frozen_until}
        super().__init__(data, initial=initial, label_suffix="")
        self.fields["frozen_from"] = MomentField(
            label=_("Frozen from"), required=False, help_text=_("Empty: it is not frozen."), zone=phase.zone
        )
        self.fields["frozen_until"] = MomentField(
            label=_("Revealed at"), required=False, help_text=_("Empty: when you reveal it."), zone=phase.zone
        )


class EndForm(forms.Form):
    reason = forms.CharField(max_length=MAX_REASON)


class ErratumForm(forms.Form):
    """It cannot be changed later; another one can follow."""

    text = forms.CharField(
        label=gettext_lazy("What was wrong, and what holds now"),
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 6}),
    )


class MeasureForm(forms.Form):
    """What is wrong with it is said by `enter_measure`."""

    name = forms.CharField(
        label=gettext_lazy("Measure"),
        max_length=MAX_NAME,
        help_text=gettext_lazy("One of the same name takes its place."),
    )
    better = forms.ChoiceField(
        label=gettext_lazy("Direction"),
        choices=(("up", gettext_lazy("higher is better")), ("down", gettext_lazy("lower is better"))),
    )
    source = forms.CharField(
        label=gettext_lazy("Source"),
        max_length=MAX_SOURCE,
        required=False,
        help_text=gettext_lazy(
            "Who measured it, how, and where that is written. Everybody who sees the scores reads it."
        ),
    )
    values = forms.CharField(
        label=gettext_lazy("Values"),
        max_length=MAX_VALUES,
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=gettext_lazy(
            "On each line the number of a run and its value, such as “41 0.532”. Left empty, the "
            "measure of this name is taken away."
        ),
    )


@organisers.page("organise/phases.html", "phases")
def phases(request: HttpRequest, season: Season) -> Answer:
    return time_line(season)


def time_line(season: Season) -> dict[str, Any]:
    at = now()
    rows = Phase.objects.filter(task__season=season).select_related("task__season")
    ordered = list(rows.order_by("task__position", "task_id", "position", "opens"))
    line = TimeLine.over(ordered, at)
    lines = [
        {
            "phase": phase,
            "task": phase.task,
            "bar": line.bar(phase) if line else "",
            "is_open": phase.is_open(at),
            "is_ahead": at < phase.opens,
        }
        for phase in ordered
    ]
    return {"lines": lines, "scale": line.scale if line else "", "is_uneven": line and not line.is_even}


def _named(phase: Phase) -> dict[str, object]:
    return {"task": phase.task, "phase": phase}


@organisers.form("organise/times.html", "phases", back="organise-phases season")
def times(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    form = TimesForm(request.POST or None, phase=phase)
    with refusals_at(form, "closes"):
        if form.is_valid():
            moments = {name: form.moment(name) for name in ("opens", "closes")}
            given = {name: moment for name, moment in moments.items() if moment is not None}
            move_phase(phase=phase, by=request.user, **given)
            return _("%(task)s, %(phase)s: the times are changed.") % _named(phase)
    return {"form": form}


@organisers.act("organise-phases season")
def switch(request: SignedInRequest, season: Season, phase: Phase, how: str) -> Answer:
    if how == "open":
        open_now(phase=phase, by=request.user)
        return _("%(task)s, %(phase)s, is open now.") % _named(phase)
    close_now(phase=phase, by=request.user)
    return _("%(task)s, %(phase)s, is closed now.") % _named(phase)


@organisers.form("organise/board.html", "phases", back="organise-phases season")
def board(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    form = BoardForm(request.POST or None, phase=phase)
    with refusals_at(form, "board_from"):
        if form.is_valid():
            done = change_board(
                phase=phase,
                board=form.cleaned_data["board"],
                board_from=form.moment("board_from"),
                board_then=form.cleaned_data["board_then"],
                by=request.user,
            )
            who = describe_board(done)
            return _("Who sees the board of %(task)s, %(phase)s: %(who)s.") % {**_named(done), "who": who}
    return {"form": form}


@organisers.act("organise-phases season")
def reveal(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    shown = reveal_now(phase=phase, by=request.user)
    return _("Everybody sees the board of %(task)s, %(phase)s, now.") % _named(shown)


@organisers.form("organise/freeze.html", "phases")
def freeze(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    form = FreezeForm(request.POST or None, phase=phase)
    with refusals_at(form, "frozen_from"):
        if form.is_valid():
            instants = {name: form.moment(name) for name in ("frozen_from", "frozen_until")}
            done = freeze_board(phase=phase, by=request.user, **instants)
            words = _("When the board of %(task)s, %(phase)s, is frozen: %(when)s.")
            return words % {**_named(done), "when": describe_freeze(done)}
    return {"task": phase.task, "form": form}


@organisers.act("organise-freeze season phase")
def freeze_at_once(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    frozen = freeze_now(phase=phase, by=request.user)
    save_frozen_board(frozen)
    return _("The board of %(task)s, %(phase)s, is frozen.") % _named(frozen)


@organisers.act("organise-freeze season phase")
def unfreeze(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    reveal_frozen(phase=phase, by=request.user)
    return _("The board of %(task)s, %(phase)s, is revealed.") % _named(phase)


@organisers.page("organise/confirmation.html", "phases")
def confirmation(request: HttpRequest, season: Season, phase: Phase) -> Answer:
    results = results_of(phase)
    confirmed, teams = teams_confirmed(results)
    refused = why_not(phase)
    return {
        "task": phase.task,
        "results": results,
        "confirmed": confirmed,
        "teams": teams,
        "official_since": official_since(phase, results),
        "refused": sentence(refused) if refused else "",
        "may_end": phase.confirms_results and phase.closes <= now() and phase.confirmation_ended_at is None,
    }


@organisers.act("organise-confirmation season phase")
def end(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    form = EndForm(request.POST)
    if not form.is_valid():
        raise forms.ValidationError(_("The reason: %(fault)s") % {"fault": form.errors["reason"][0]})
    end_confirmation(phase=phase, reason=form.cleaned_data["reason"], by=request.user)
    return _("The results of %(task)s, %(phase)s, are official.") % _named(phase)


@organisers.act("organise-confirmation season phase")
def reopen(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    reopen_confirmation(phase=phase, by=request.user)
    return _("The results of %(task)s, %(phase)s, wait for their teams again.") % _named(phase)


@organisers.form("organise/errata.html", "phases")
def errata(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    form = ErratumForm(request.POST or None, label_suffix="")
    if form.is_valid():
        publish_erratum(phase=phase, text=form.cleaned_data["text"], by=request.user)
        return _("The erratum stands on the board of %(task)s, %(phase)s.") % _named(phase)
    return {"form": form, "errata": all_errata(phase)}


@organisers.form("organise/outside.html", "phases")
def manual_scores(request: SignedInRequest, season: Season, phase: Phase) -> Answer:
    form = MeasureForm(request.POST or None, label_suffix="")
    with refusals_at(form, None):
        if form.is_valid():
            given = dict(form.cleaned_data)
            higher_is_better = given.pop("better") == "up"
            made = enter_measure(phase=phase, higher_is_better=higher_is_better, by=request.user, **given)
            done = _("“%(name)s” stands beside the board.") if made else _("“%(name)s” is taken away.")
            return done % {"name": given["name"]}
    runs = Submission.objects.filter(phase=phase, status=Submission.Status.SCORED).select_related("team")
    return {
        "form": form,
        "measures": [(measure, lines_of(measure)) for measure in OutsideMeasure.objects.filter(phase=phase)],
        "runs": runs.order_by("pk"),
    }
