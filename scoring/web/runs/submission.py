"""A run's own page: what it is, where it stands on its way, what came out, and what its team can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from citeboard.core import storage
from citeboard.core.query import whole_number
from citeboard.core.storage.downloads import download
from citeboard.core.words import sentence
from citeboard.teams.access import team_for_lead
from citeboard.teams.models import Membership, User
from scoring.board.confirming import why_not
from scoring.board.differences import hidden_classes
from scoring.board.gold_changes import change_of_run
from scoring.board.label_shares import run_shares
from scoring.board.manual_scores import reported_of
from scoring.board.visibility import (
    Visibility,
    audience_of,
    frozen_at,
    may_see_instances,
    may_see_scores,
    may_see_submission,
    visibility_of,
)
from scoring.runs import results
from scoring.runs.claims import has_claims
from scoring.runs.confirming import MAX_MESSAGE, confirm_result, contest_result, result_of
from scoring.runs.events import events
from scoring.runs.progress import progress_of, received_alone
from scoring.runs.reliability import reliability
from scoring.runs.team_view import RECEIVED, as_told, hides_outcome
from scoring.web.breadcrumbs import place_of
from scoring.worker.rescoring import ENDED
from tasks.models import Phase, Submission
from tasks.models.run_cards import CARD, card_lines
from tasks.seasons.access import may_organise
from tasks.seasons.cards import card
from tasks.submissions.forms import CardForm
from tasks.submissions.run_acts import (
    MAY_BE_CHOSEN,
    NotInThisState,
    accept_late,
    cancel,
    delete_file,
    describe_run,
    disqualify,
    hide,
    in_priority,
    reinstate,
    select_run,
    set_priority,
    take_back,
    withdraw,
)

Status = Submission.Status
#: What organisers do and teams do not.
BY_ORGANISERS = {"accept": accept_late, "disqualify": disqualify, "hide": hide, "reinstate": reinstate}
CHANGES: dict[str, Callable[..., Submission]] = {
    "cancel": cancel,
    "withdraw": withdraw,
    "select": select_run,
    "priority": set_priority,
    **BY_ORGANISERS,
}
DONE = {
    "select": gettext_lazy("Run %(number)s counts for %(team)s now."),
    "priority": gettext_lazy("Run %(number)s of %(team)s has priority %(priority)s now."),
    "accept": gettext_lazy("Run %(number)s of %(team)s is accepted as if it had come in time."),
    "disqualify": gettext_lazy("Run %(number)s of %(team)s is disqualified."),
    "hide": gettext_lazy("Run %(number)s of %(team)s stands on no board now."),
    "reinstate": gettext_lazy("Run %(number)s of %(team)s may stand on the board again."),
}


@login_required
@require_safe
def submission(request: HttpRequest, pk: int) -> HttpResponse:
    found = _own(request, pk)
    context = {
        **_context(request, found),
        **confirming(found, request.user),
        "team_reported": reported_of(found),
        "events": events(found, request.user),
        "may_describe": _is_member(found, request.user),
        "run_card": card_lines(found.card),
        "card_form": CardForm(initial=found.card, auto_id="run-%s"),
    }
    return render(request, "runs/submission.html", context)


@login_required
@require_safe
def status(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the page that changes; it asks for itself again until the run has come to rest.

    A page that shows what there is already is told so, and stays as it is.
    """
    found = _own(request, pk)
    context = _context(request, found)
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=204)
    return render(request, "runs/_status.html", {**context, "is_update": True})


@login_required
@require_safe
def run_file(request: HttpRequest, pk: int) -> HttpResponseBase:
    found = _own(request, pk)
    if not found.file:
        raise Http404(_("This run has no file."))
    return download(
        request, storage.runs, found.file, filename=found.filename, content_type="application/octet-stream"
    )


@require_POST
@login_required
def change(request: HttpRequest, pk: int, how: str) -> HttpResponse:
    """Cancel, withdraw or choose: for its team while the phase is open, for organisers with a reason."""
    found = _own(request, pk)
    user = request.user
    assert isinstance(user, User)
    if not _acts_as_organiser(found, user) and (how in BY_ORGANISERS or not _is_member(found, user)):
        raise Http404(_("There is no run of yours at this address."))
    reason = request.POST.get("reason", "").strip() if _acts_as_organiser(found, user) else ""
    if _acts_as_organiser(found, user) and not reason:
        messages.error(request, _("Say why: the team reads it."))
        return redirect("submission", pk)
    service = take_back if how in ("cancel", "withdraw") and hides_outcome(found, user) else CHANGES[how]
    if how == "priority":
        service = partial(set_priority, place=whole_number(request.POST.get("priority", "")) or 0)
    try:
        done = service(found, user, reason)
    except NotInThisState as refused:
        messages.error(request, f"{_sentence(refused)}.")
    else:
        words = str(DONE.get(how, _("The run is %(status)s.")))
        facts = {
            "number": done.number,
            "team": done.team,
            "priority": done.priority,
            "status": done.get_status_display(),
        }
        messages.success(request, words % facts)
    return redirect("submission", pk)


@require_POST
@login_required
def describe(request: HttpRequest, pk: int) -> HttpResponse:
    """Another description, other links: for its team, at any time."""
    found = _of_member(request, pk)
    said = request.POST
    try:
        describe_run(
            submission=found,
            description=said.get("description", ""),
            links=said.get("links", "").splitlines(),
            card={**found.card, **{name: said[name] for name in CARD if name in said}},
            by=_person(request),
        )
    except ValidationError as faults:
        messages.error(request, " ".join(_faults(faults)))
    else:
        messages.success(request, _("What you say of the run is saved."))
    return redirect("submission", pk)


def _faults(faults: ValidationError) -> Iterator[str]:
    """Each with the name of its field, since the page has many."""
    for name, errors in faults.message_dict.items():
        label = CARD[name].label if name in CARD else name
        yield f"{_sentence(label)}: {'; '.join(errors)}."


@require_POST
@login_required
def delete_run_file(request: HttpRequest, pk: int) -> HttpResponse:
    """The file of a withdrawn run: for its team."""
    found = _of_member(request, pk)
    try:
        delete_file(submission=found, by=_person(request))
    except NotInThisState as refused:
        messages.error(request, f"{_sentence(refused)}.")
    else:
        messages.success(request, _("The file is deleted. Its digest and its numbers stay."))
    return redirect("submission", pk)


def _of_member(request: HttpRequest, pk: int) -> Submission:
    """Raises Http404 for whoever is not in its team."""
    found = _own(request, pk)
    if not _is_member(found, request.user):
        raise Http404(_("There is no run of yours at this address."))
    return found


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _sentence(refused: object) -> str:
    text = str(refused)
    return f"{text[:1].upper()}{text[1:]}"


def _acts_as_organiser(submission: Submission, user: User) -> bool:
    """Organisers who take part act for their team while they still can."""
    if submission.team_id is None or not may_organise(user, submission.phase.task.season):
        return False
    return not (_is_member(submission, user) and submission.phase.closes > timezone.now())


def _own(request: HttpRequest, pk: int) -> Submission:
    """A run that the viewer may see. Raises Http404."""
    runs = Submission.objects.select_related("phase__task__season", "team", "submitted_by")
    found = runs.filter(pk=pk).first()
    if found is None or not may_see_submission(found, request.user):
        raise Http404(_("There is no run of yours at this address."))
    return found


def _priorities(found: Submission) -> int:
    """How many runs of the team have a priority, this one among them; 0 where it has none."""
    if found.phase.counting != Phase.Counting.PRIORITY or found.team is None:
        return 0
    runs = list(in_priority(found.phase, found.team).values_list("pk", flat=True))
    return len(runs) if found.pk in runs else 0


def _is_member(submission: Submission, user: object) -> bool:
    return (
        isinstance(user, User)
        and submission.team_id is not None
        and Membership.objects.filter(team_id=submission.team_id, user_id=user.pk).exists()
    )


def _context(request: HttpRequest, found: Submission) -> dict[str, Any]:
    user = request.user
    as_organiser = isinstance(user, User) and _acts_as_organiser(found, user)
    may_change = as_organiser or (_is_member(found, user) and found.phase.closes > timezone.now())
    progress = progress_of(found)
    share = None if progress.share is None else round(progress.share * 100)
    context: dict[str, Any] = {
        **place_of(found.phase),
        "submission": found,
        "progress": progress,
        "several_files": len({problem["file"] for problem in (*found.problems, *found.warnings)}) > 1,
        "per_cent": share,
        "seen": f"{found.status}-{found.status_since.timestamp():.3f}-{share}-{progress.sentence}",
        "as_organiser": as_organiser,
        "may_accept": as_organiser and found.is_late,
        "may_exclude": as_organiser and found.status in (*Submission.MOVING, Status.SCORED),
        "may_cancel": may_change and found.is_moving,
        "may_withdraw": may_change and found.status == Status.SCORED,
        "may_select": may_change
        and not found.is_selected
        and not found.exclusion
        and found.status in MAY_BE_CHOSEN
        and found.kind == Submission.Kind.PRIMARY
        and found.phase.counting == Phase.Counting.SELECTED,
        "priorities": _priorities(found),
        "may_set_priority": may_change,
        "may_rescore": found.status in ENDED
        and not (found.status == Status.FAILED and found.problems)
        and may_organise(request.user, found.phase.task.season),
        "sees_scores": may_see_scores(found, request.user),
    }
    if found.status in (Status.SCORED, Status.WITHDRAWN) and context["sees_scores"]:
        context |= _result(request, found)
    if hides_outcome(found, user):
        told = received_alone(found)
        context |= {
            "submission": as_told(found, user),
            "progress": told,
            "per_cent": None,
            "seen": RECEIVED,
            "may_cancel": False,
            "may_withdraw": may_change,
        }
    return context


def _result(request: HttpRequest, found: Submission) -> dict[str, Any]:
    audience = audience_of(found.phase, request.user)
    evaluations = results.latest_evaluations(found, frozen_at(found.phase, audience))
    if not evaluations:
        return {}
    first = next(iter(evaluations.values()))
    hidden = hidden_classes([first.pk], found.phase, audience)
    min_bin_size = 1 if may_see_instances(found.phase, audience) else found.phase.task.min_class_size
    lines = results.numbers(found, evaluations)
    breakdowns = results.by_class(first, hidden)
    calibration = reliability(first, min_bin_size)
    shares = run_shares(first, shows_gold=visibility_of(found.phase, audience) == Visibility.SCORES)
    figures = {
        **{f"chart-{breakdown['name']}": breakdown["figure"] for breakdown in breakdowns},
        **{share["id"]: share["bars"] for share in shares},
        **({"reliability": calibration["figure"]} if calibration else {}),
    }
    told = card(found.phase.task.type)
    return {
        "rule_sets": list(evaluations),
        "commands": results.commands(evaluations, lines),
        "lines": lines,
        "differ": [line for line in lines if line.differs],
        "rules_told": [(rules, told.rules(rules)) for rules in evaluations],
        "notes": results.notes(evaluations),
        "without_value": results.without_value(found, evaluations),
        "place": results.place(found, request.user) if found.status == Status.SCORED else None,
        "breakdowns": breakdowns,
        "reliability": calibration,
        "figures": figures,
        "min_class_size": found.phase.task.min_class_size if any(hidden.values()) else 0,
        "label_shares": shares,
        "gold": first.gold,
        "predecessor": results.predecessor(found, first.gold) if found.status == Status.SCORED else None,
        "has_claims": any(map(has_claims, evaluations.values())),
        "may_organise": may_organise(request.user, found.phase.task.season),
        "gold_change": change_of_run(found, first, request.user),
    }


class AnswerForm(forms.Form):
    """What is wrong with the result, where something is; `seen` is the digest of the numbers on the page."""

    seen = forms.CharField(required=False, max_length=64)
    message = forms.CharField(required=False, max_length=MAX_MESSAGE)


@require_POST
@login_required
def answer(request: HttpRequest, pk: int, how: str) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)
    run = get_object_or_404(Submission.objects.select_related("phase__task__season", "team"), pk=pk)
    if run.team is None:
        raise Http404(_("There is no run of yours at this address."))
    team_for_lead(user, run.team.slug)
    form = AnswerForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
        return redirect("submission", pk)
    said = form.cleaned_data
    try:
        if how == "confirm":
            confirm_result(submission=run, by=user, seen=said["seen"])
        else:
            contest_result(submission=run, message=said["message"], by=user, seen=said["seen"])
    except ValidationError as faults:
        messages.error(request, sentence(faults.messages[0]))
    except NotInThisState as refused:
        messages.error(request, sentence(refused))
    else:
        done = (
            _("The result of run %(number)s is confirmed.")
            if how == "confirm"
            else _("The result of run %(number)s is contested; the organisers read why.")
        )
        messages.success(request, done % {"number": run.number})
    return redirect("submission", pk)


def confirming(run: Submission, viewer: object) -> dict[str, Any]:
    """What the page of a run says of it; nothing where there is nothing to confirm."""
    phase = run.phase
    if not phase.confirms_results or now() < phase.closes or run.team_id is None:
        return {}
    refused = why_not(phase)
    is_told = frozen_at(phase, audience_of(phase, viewer)) is None and may_see_scores(run, viewer)
    result = result_of(run) if is_told else None
    if is_told and result is None:
        return {}
    leads = Membership.objects.filter(team=run.team_id, role=Membership.Role.LEAD)
    is_lead = isinstance(viewer, User) and leads.filter(user=viewer).exists()
    return {"result": result, "result_refused": sentence(refused) if refused else "", "is_lead": is_lead}
