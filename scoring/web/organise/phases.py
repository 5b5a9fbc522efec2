"""When runs are accepted: the phases as a time line, opened, closed and moved."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.words import sentence
from citeboard.teams.models import User
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
from scoring.web.organise.forms import BoardForm, FreezeForm, TimesForm
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import season_to_organise
from tasks.seasons.phase_acts import (
    BoardRefused,
    FreezeRefused,
    TimesRefused,
    change_board,
    close_now,
    freeze_board,
    freeze_now,
    move_phase,
    open_now,
    reveal_frozen,
    reveal_now,
)
from tasks.seasons.phase_acts import describe_board as board_words
from tasks.seasons.phase_acts import describe_freeze as freeze_words
from tasks.seasons.timeline import TimeLine
from tasks.submissions.run_acts import NotInThisState


@login_required
@require_safe
def phases(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    return render(request, "organise/phases.html", {"season": found, "part": "phases", **drawn(found)})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def times(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """The form for the times of one phase, in its own time zone."""
    found = season_to_organise(request.user, season)
    moved = _phase(found, phase)
    form = TimesForm(request.POST or None, phase=moved)
    if request.method == "POST" and form.is_valid():
        try:
            move_phase(phase=moved, by=_person(request), **form.instants)
        except TimesRefused as refused:
            form.add_error("closes", sentence(refused))
        else:
            messages.success(
                request,
                _("%(task)s, %(phase)s: the times are changed.") % {"task": moved.task, "phase": moved},
            )
            return redirect("organise-phases", found.slug)
    context = {"season": found, "part": "phases", "phase": moved, "form": form}
    return render(request, "organise/times.html", context, status=422 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def board(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """The form for who sees the board of a phase, and from when somebody else."""
    found = season_to_organise(request.user, season)
    changed = _phase(found, phase)
    form = BoardForm(request.POST or None, phase=changed)
    if request.method == "POST" and form.is_valid():
        chosen = {name: form.cleaned_data[name] for name in ("board", "board_then")}
        try:
            done = change_board(
                phase=changed, board_from=form.moment("board_from"), by=_person(request), **chosen
            )
        except BoardRefused as refused:
            form.add_error("board_from", sentence(refused))
        else:
            messages.success(
                request,
                _("Who sees the board of %(task)s, %(phase)s: %(who)s.")
                % {"task": done.task, "phase": done, "who": board_words(done)},
            )
            return redirect("organise-phases", found.slug)
    context = {"season": found, "part": "phases", "phase": changed, "form": form}
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/board.html", context, status=status)


@require_POST
@login_required
def reveal(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """Show the board to everybody at once."""
    found = season_to_organise(request.user, season)
    shown = reveal_now(phase=_phase(found, phase), by=_person(request))
    messages.success(
        request,
        _("Everybody sees the board of %(task)s, %(phase)s, now.") % {"task": shown.task, "phase": shown},
    )
    return redirect("organise-phases", found.slug)


@require_POST
@login_required
def switch(request: HttpRequest, season: str, phase: int, how: str) -> HttpResponse:
    """Open or close a phase at once."""
    found = season_to_organise(request.user, season)
    changed = _phase(found, phase)
    service = {"open": open_now, "close": close_now}[how]
    try:
        service(phase=changed, by=_person(request))
    except TimesRefused as refused:
        messages.error(request, sentence(refused))
    else:
        done = (
            _("%(task)s, %(phase)s, is open now.")
            if how == "open"
            else _("%(task)s, %(phase)s, is closed now.")
        )
        messages.success(request, done % {"task": changed.task, "phase": changed})
    return redirect("organise-phases", found.slug)


def drawn(season: Season) -> dict[str, Any]:
    """The phases of a season with their bars, as a template shows them."""
    at = now()
    found = list(
        Phase.objects.filter(task__season=season)
        .select_related("task__season")
        .order_by("task__position", "task_id", "position", "opens")
    )
    line = TimeLine.over(found, at)
    lines = [
        {
            "phase": phase,
            "task": phase.task,
            "bar": line.bar(phase) if line else "",
            "is_open": phase.is_open(at),
            "is_ahead": at < phase.opens,
        }
        for phase in found
    ]
    return {"lines": lines, "scale": line.scale if line else "", "is_uneven": line and not line.is_even}


def _phase(season: Season, number: int) -> Phase:
    phases = Phase.objects.select_related("task__season")
    return get_object_or_404(phases, pk=number, task__season=season)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def freeze(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """The form for the instants, and the buttons for this moment."""
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    frozen = _phase(found, phase)
    form = FreezeForm(request.POST or None, phase=frozen)
    if request.method == "POST" and form.is_valid():
        instants = {name: form.moment(name) for name in ("frozen_from", "frozen_until")}
        try:
            done = freeze_board(phase=frozen, by=request.user, **instants)
        except FreezeRefused as refused:
            form.add_error("frozen_from", sentence(refused))
        else:
            messages.success(
                request,
                _("When the board of %(task)s, %(phase)s, is frozen: %(when)s.")
                % {"task": done.task, "phase": done, "when": freeze_words(done)},
            )
            return redirect("organise-freeze", found.slug, done.pk)
    context = {"season": found, "part": "phases", "phase": frozen, "task": frozen.task, "form": form}
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/freeze.html", context, status=status)


@require_POST
@login_required
def freeze_at_once(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    frozen = freeze_now(phase=_phase(found, phase), by=request.user)
    save_frozen_board(frozen)
    messages.success(
        request, _("The board of %(task)s, %(phase)s, is frozen.") % {"task": frozen.task, "phase": frozen}
    )
    return redirect("organise-freeze", found.slug, frozen.pk)


@require_POST
@login_required
def unfreeze(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    own = _phase(found, phase)
    try:
        reveal_frozen(phase=own, by=request.user)
    except FreezeRefused as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request, _("The board of %(task)s, %(phase)s, is revealed.") % {"task": own.task, "phase": own}
        )
    return redirect("organise-freeze", found.slug, own.pk)


class EndForm(forms.Form):
    """Why the results are official without every team's word."""

    reason = forms.CharField(max_length=MAX_REASON)


@login_required
@require_safe
def confirmation(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """What the lead of each team says of the results that count."""
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    own = _phase(found, phase)
    results = results_of(own)
    confirmed, teams = teams_confirmed(results)
    refused = why_not(own)
    context = {
        "season": found,
        "part": "phases",
        "phase": own,
        "task": own.task,
        "results": results,
        "confirmed": confirmed,
        "teams": teams,
        "official_since": official_since(own, results),
        "refused": sentence(refused) if refused else "",
        "may_end": own.confirms_results and own.closes <= now() and own.confirmation_ended_at is None,
    }
    return render(request, "organise/confirmation.html", context)


@require_POST
@login_required
def end(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    own = _phase(found, phase)
    form = EndForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("The reason: %(fault)s") % {"fault": form.errors["reason"][0]})
        return redirect("organise-confirmation", found.slug, own.pk)
    try:
        end_confirmation(phase=own, reason=form.cleaned_data["reason"], by=request.user)
    except ValidationError as faults:
        messages.error(request, sentence(faults.messages[0]))
    except NotInThisState as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request, _("The results of %(task)s, %(phase)s, are official.") % {"task": own.task, "phase": own}
        )
    return redirect("organise-confirmation", found.slug, own.pk)


@require_POST
@login_required
def reopen(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    own = _phase(found, phase)
    try:
        reopen_confirmation(phase=own, by=request.user)
    except NotInThisState as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request,
            _("The results of %(task)s, %(phase)s, wait for their teams again.")
            % {"task": own.task, "phase": own},
        )
    return redirect("organise-confirmation", found.slug, own.pk)


class ErratumForm(forms.Form):
    """It cannot be changed later; another one can follow."""

    text = forms.CharField(
        label=gettext_lazy("What was wrong, and what holds now"),
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 6}),
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def errata(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    phases = Phase.objects.select_related("task__season")
    own = get_object_or_404(phases, pk=phase, task__season=found)
    form = ErratumForm(request.POST or None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        publish_erratum(phase=own, text=form.cleaned_data["text"], by=request.user)
        messages.success(
            request,
            _("The erratum stands on the board of %(task)s, %(phase)s.") % {"task": own.task, "phase": own},
        )
        return redirect("organise-errata", found.slug, own.pk)
    context = {
        "season": found,
        "part": "phases",
        "phase": own,
        "form": form,
        "errata": all_errata(own),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/errata.html", context, status=status)


DIRECTIONS = (("up", gettext_lazy("higher is better")), ("down", gettext_lazy("lower is better")))


class MeasureForm(forms.Form):
    """What is wrong with it is said by `enter_measure`."""

    name = forms.CharField(
        label=gettext_lazy("Measure"),
        max_length=MAX_NAME,
        help_text=gettext_lazy("One of the same name takes its place."),
    )
    better = forms.ChoiceField(label=gettext_lazy("Direction"), choices=DIRECTIONS)
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


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def outside(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    own = get_object_or_404(Phase.objects.select_related("task__season"), pk=phase, task__season=found)
    form = MeasureForm(request.POST or None, label_suffix="")
    if request.method == "POST" and form.is_valid() and _entered(form, own, request):
        return redirect("organise-outside", found.slug, own.pk)
    runs = Submission.objects.filter(phase=own, status=Submission.Status.SCORED).select_related("team")
    context = {
        "season": found,
        "part": "phases",
        "phase": own,
        "form": form,
        "measures": [(one, lines_of(one)) for one in OutsideMeasure.objects.filter(phase=own)],
        "runs": runs.order_by("pk"),
    }
    return render(request, "organise/outside.html", context, status=422 if request.method == "POST" else 200)


def _entered(form: MeasureForm, phase: Phase, request: HttpRequest) -> bool:
    assert isinstance(request.user, User)
    said = form.cleaned_data
    try:
        made = enter_measure(
            phase=phase,
            name=said["name"],
            higher_is_better=said["better"] == "up",
            source=said["source"],
            values=said["values"],
            by=request.user,
        )
    except ValidationError as faults:
        for name, errors in faults.message_dict.items():
            form.add_error(name, [sentence(error) for error in errors])
        return False
    done = _("“%(name)s” stands beside the board.") if made else _("“%(name)s” is taken away.")
    messages.success(request, done % {"name": said["name"]})
    return True
