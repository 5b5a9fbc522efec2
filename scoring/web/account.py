"""One's own data as a file, and deleting one's account."""

from __future__ import annotations

import logging
from smtplib import SMTPException
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.core.mail import send_mail
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.query import whole_number
from citeboard.core.words import counted, sentence
from citeboard.teams.access import teams_of
from citeboard.teams.mailed_invitations import invitations_for, mailed_secret
from citeboard.teams.models import Membership, User
from scoring.background.access import begun_from, job_for, outcome_of, waits_for
from scoring.models import BackgroundJob
from scoring.ops.accounts import delete_account, own_data
from scoring.runs.told import as_told
from scoring.worker.background import State
from tasks.models import Phase, Registration, Submission
from tasks.models.notifications import Channel
from tasks.notifications.reading import (
    LinkNotValid,
    choices_of,
    choose,
    mark_read,
    notifications_of,
    subscription_of,
)
from tasks.notifications.reading import unsubscribe as end_mails
from tasks.notifications.wording import words_of

log = logging.getLogger(__name__)


class DeleteForm(forms.Form):
    """The password once more, or the address of who has none."""

    proof = forms.CharField(
        label=gettext_lazy("Your password"), widget=forms.PasswordInput(render_value=False)
    )

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(data, label_suffix="")
        self.user = user
        if not user.has_usable_password():
            self.fields["proof"] = forms.EmailField(label=gettext_lazy("Your e-mail address"))

    def clean_proof(self) -> str:
        proof: str = self.cleaned_data["proof"]
        if self.user.has_usable_password():
            if not self.user.check_password(proof):
                raise forms.ValidationError(_("This is not your password."))
        elif proof.lower() != self.user.email.lower():
            raise forms.ValidationError(_("This is not your address."))
        return proof


@login_required
@require_safe
def data(request: HttpRequest) -> HttpResponse:
    """Everything that the site keeps of the reader, as JSON."""
    assert isinstance(request.user, User)
    response = JsonResponse(own_data(request.user), json_dumps_params={"ensure_ascii": False, "indent": 1})
    response["Content-Disposition"] = 'attachment; filename="citeboard-account.json"'
    response["Cache-Control"] = "private, no-store"
    return response


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = DeleteForm(request.POST if request.method == "POST" else None, user=request.user)
    if request.method == "POST" and form.is_valid():
        user, address = request.user, request.user.email
        called = delete_account(user)
        logout(request)
        _confirm(address, called)
        messages.success(request, _("Your account is deleted."))
        return redirect("home")
    own = Membership.objects.filter(user=request.user, role=Membership.Role.LEAD).select_related("team")
    context = {"form": form, "leads": [membership.team for membership in own]}
    return render(request, "account/delete.html", context, status=422 if form.errors else 200)


def _confirm(address: str, called: str) -> None:
    """A last mail; a mail server that is away does not bring the account back."""
    body = _(
        "Your Citeboard account is deleted, with your name, your addresses and your tokens.\n\n"
        "Runs stay with the teams that you sent them for. Where something of yours has to stay, it is said "
        "to be of “%(name)s”.\n"
    ) % {"name": called}
    try:
        send_mail(_("[Citeboard] Your account is deleted"), body, None, [address])
    except (OSError, SMTPException):
        log.exception("A deleted account could not be told so")


MESSAGES_A_PAGE = 50


@login_required
@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """Newest first; nothing is marked as read by looking at it."""
    own = notifications_of(_person(request))
    page = Paginator(own, MESSAGES_A_PAGE).get_page(request.GET.get("page"))
    lines = [{"told": told, "words": words_of(told)} for told in page.object_list]
    invitations = [(own, mailed_secret(own)) for own in invitations_for(_person(request))]
    context = {"page": page, "lines": lines, "invitations": invitations, "unread": own.unread().count()}
    return render(request, "notifications/list.html", context)


@require_POST
@login_required
def read(request: HttpRequest) -> HttpResponse:
    """Mark one message as read, or all."""
    chosen = [number for text in request.POST.getlist("message") if (number := whole_number(text))]
    count = mark_read(user=_person(request), ids=chosen or None)
    marked = _("%(messages)s marked as read") % {"messages": counted(count, "message")}
    messages.success(request, sentence(marked))
    return redirect("messages")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def choices(request: HttpRequest) -> HttpResponse:
    """How the reader is told of each kind of event."""
    user = _person(request)
    own = choices_of(user)
    if request.method == "POST":
        posted = {kind: request.POST.get(kind, "") for kind in own}
        choose(user=user, wanted={kind: way for kind, way in posted.items() if way in Channel.values})
        messages.success(request, _("What you are told of is saved."))
        return redirect("message-choices")
    lines = [{"kind": kind, "channel": channel} for kind, channel in own.items()]
    return render(request, "notifications/choices.html", {"lines": lines, "channels": Channel.choices})


# A mail program posts here without a form of ours; the signed link is what allows it.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, secret: str) -> HttpResponse:
    """Reading changes nothing, since programs open the links of mails; posting ends mails of one kind."""
    try:
        user, kind = subscription_of(secret)
    except LinkNotValid as unknown:
        raise Http404(_("This link to unsubscribe does not work.")) from unknown
    is_done = request.method == "POST"
    if is_done:
        end_mails(user, kind)
    has_ended = is_done or choices_of(user)[kind] != Channel.MAIL
    response = render(request, "notifications/unsubscribe.html", {"kind": kind, "has_ended": has_ended})
    response["Cache-Control"] = "private, no-store"
    # The address itself is the key.
    response["Referrer-Policy"] = "no-referrer"
    return response


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


RUNS_A_PAGE = 50


@login_required
@require_safe
def own_runs(request: HttpRequest) -> HttpResponse:
    """Latest first; what came of each stands on its own page."""
    teams = list(teams_of(request.user).order_by("name"))
    entered = Registration.objects.approved().filter(team__in=teams)
    open_phases = Phase.objects.open().filter(
        task__season__in=entered.values("season"), task__is_reported_only=False
    )
    runs = Submission.objects.filter(team__in=teams).select_related("team", "phase__task__season")
    page = Paginator(runs, RUNS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "teams": teams,
        "phases": open_phases.select_related("task__season").order_by("closes", "task__position", "position"),
        "page": page,
        "runs": [as_told(run, request.user) for run in page.object_list],
    }
    return render(request, "runs/own_runs.html", context)


@require_safe
def background_job(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, pk, "background/job.html")


@require_safe
def background_status(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the page that changes; it asks for itself again until the job has ended."""
    return _page(request, pk, "background/_status.html")


def _page(request: HttpRequest, pk: int, template: str) -> HttpResponse:
    try:
        job = job_for(request.user, pk)
    except Http404:
        if request.user.is_authenticated:
            raise
        return redirect_to_login(reverse("background-job", args=[pk]))
    response = render(request, template, {"season": job.season, "job": job, **_facts(job)})
    response["Cache-Control"] = "private, no-store"
    return response


def _facts(job: BackgroundJob) -> dict[str, Any]:
    words, path = outcome_of(job) if job.state == State.DONE else ("", "")
    return {
        "waits_for": waits_for(job),
        "outcome": words,
        "path": path,
        "is_file": path.partition("?")[0].endswith(".zip"),
        "again": begun_from(job),
        "problems": job.problems,
        "more": job.more,
    }
