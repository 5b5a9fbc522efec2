"""The result of a run, confirmed or contested by the lead of its team."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from citeboard.core.words import sentence
from citeboard.teams.access import team_for_lead
from citeboard.teams.models import Membership, User
from scoring.board.confirming import why_not
from scoring.board.visibility import audience_of, frozen_at, may_see_scores
from scoring.runs.confirming import MAX_MESSAGE, confirm_result, contest_result, result_of
from tasks.models import Submission
from tasks.submissions.withdraw import NotInThisState


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
