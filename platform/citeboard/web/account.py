"""Pages on which users see and change their account, API tokens, personal data, runs
and background jobs.
"""

import logging
from smtplib import SMTPException
from typing import Any

from allauth.core.internal.ratelimit import consume
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_required
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.views import redirect_to_login
from django.core.mail import send_mail
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from citeboard.background.kinds import (
    describe_job_result,
    describe_why_job_waits,
    find_page_of_job,
    visible_job_or_404,
)
from citeboard.core import middleware
from citeboard.ops.accounts import collect_user_data, delete_account
from citeboard.teams import access, accounts
from citeboard.teams.models import Membership, Token, User
from citeboard.web.pages import (
    ViewResult,
    add_refusals_to_form,
    forbid_caching,
    paginate_rows,
    require_known_fields,
    signed_in_pages,
)
from scoring.results.runs.team_view import copy_run_without_hidden_outcome
from scoring.worker.background import BackgroundJobState
from tasks.models import Phase, Registration, Submission
from tasks.seasons.organisers import create_first_organiser, is_first_organiser_missing

log = logging.getLogger(__name__)


class DeleteAccountForm(forms.Form):
    proof = forms.CharField(
        label=gettext_lazy("Your password"),
        widget=forms.PasswordInput(render_value=False),
    )

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(data, label_suffix="")
        self.user = user
        if not user.has_usable_password():
            self.fields["proof"] = forms.EmailField(
                label=gettext_lazy("Your e-mail address")
            )

    def clean_proof(self) -> str:
        proof: str = self.cleaned_data["proof"]
        if self.user.has_usable_password():
            if not self.user.check_password(proof):
                raise forms.ValidationError(_("This is not your password."))
        elif proof.lower() != self.user.email.lower():
            raise forms.ValidationError(_("This is not your address."))
        return proof


class FirstOrganiserForm(accounts.NameForm):
    """The form that creates the first organiser of a new site.

    The command `serve` prints the token that the form requires.
    """

    secret = forms.CharField(
        label=gettext_lazy("Token"), max_length=100, widget=forms.PasswordInput
    )
    email = forms.EmailField(label=gettext_lazy("E-mail address"))
    password = forms.CharField(
        label=gettext_lazy("Password"),
        validators=[validate_password],
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    field_order = ("secret", "email", "name", "password")

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if User.objects.filter(email__iexact=email).exists():
            raise forms.ValidationError(
                _("An account has this address already; give another one.")
            )
        return email


FIRST_ORGANISER_FORM_RATE_LIMITS = {"first_organiser": "10/m/ip"}


@never_cache
@sensitive_post_parameters("secret", "password")
@require_http_methods(["GET", "HEAD", "POST"])
def show_first_organiser_form(request: HttpRequest) -> HttpResponse:
    if not is_first_organiser_missing():
        raise Http404(_("Somebody organises on this site already."))
    form = FirstOrganiserForm(
        request.POST if request.method == "POST" else None, label_suffix=""
    )
    require_known_fields(request, form)
    if not consume(
        request,
        app="citeboard",
        action="first_organiser",
        config=FIRST_ORGANISER_FORM_RATE_LIMITS,
    ):
        form.add_error(None, _("Too many tries; wait a minute."))
        return render(
            request, "account/first_organiser.html", {"form": form}, status=429
        )
    if form.is_valid():
        with add_refusals_to_form(form, "secret"):
            user = create_first_organiser(**form.cleaned_data)
            login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
            return redirect("new-season")
    return render(
        request,
        "account/first_organiser.html",
        {"form": form},
        status=422 if form.errors else 200,
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_profile(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    facts = {
        field: getattr(request.user, field)
        for field in accounts.ProfileForm.base_fields
    }
    facts["language"] = facts["language"] or settings.LANGUAGE_CODE
    form = accounts.ProfileForm(
        request.POST if request.method == "POST" else None, initial=facts
    )
    form.person = request.user
    require_known_fields(request, form)
    if request.method == "POST" and form.is_valid():
        accounts.update_profile(user=request.user, **form.cleaned_data)
        with translation.override(
            form.cleaned_data["language"] or translation.get_language()
        ):
            messages.success(
                request, _("You are called %(name)s here now.") % {"name": request.user}
            )
        response = redirect("account-name")
        if form.cleaned_data["language"]:
            middleware.set_persistent_cookie(
                response, settings.LANGUAGE_COOKIE_NAME, form.cleaned_data["language"]
            )
        return response
    return render(
        request, "account/name.html", {"form": form}, status=422 if form.errors else 200
    )


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def manage_api_tokens(request: HttpRequest) -> HttpResponse:
    assert request.user.is_authenticated
    form = accounts.TokenForm(request.POST if request.method == "POST" else None)
    require_known_fields(request, form)
    secret = None
    if form.is_valid():
        try:
            data = form.cleaned_data
            _token, secret = accounts.create_token(
                user=request.user,
                name=data["name"],
                scope=data["scope"],
                days=data["lifetime"],
            )
        except accounts.TooManyTokens as refused:
            form.add_error(None, str(refused))
        else:
            form = accounts.TokenForm()
    own = Token.objects.filter(user=request.user)
    code = 422 if form.errors else 200
    return render(
        request,
        "teams/tokens.html",
        {"form": form, "tokens": own, "secret": secret},
        status=code,
    )


@login_required
@require_POST
def revoke_api_token(request: HttpRequest, pk: int) -> HttpResponse:
    assert request.user.is_authenticated
    token = get_object_or_404(Token, pk=pk, user=request.user)
    require_known_fields(request)
    accounts.revoke_token(token)
    message = _("“%(token)s” is revoked; no program can use it any more.")
    messages.success(request, message % {"token": token.name})
    return redirect("tokens")


@signed_in_pages.page()
def show_account_data(request: HttpRequest, user: User) -> ViewResult:
    response = JsonResponse(
        collect_user_data(user), json_dumps_params={"ensure_ascii": False, "indent": 1}
    )
    response["Content-Disposition"] = 'attachment; filename="citeboard-account.json"'
    return forbid_caching(response)


@signed_in_pages.form("account/delete.html")
def delete_own_account(request: HttpRequest, user: User) -> ViewResult:
    form = DeleteAccountForm(
        request.POST if request.method == "POST" else None, user=user
    )
    require_known_fields(request, form)
    if form.is_valid():
        address, called = user.email, delete_account(user)
        logout(request)
        body = _(
            "Your Citeboard account is deleted, with your name, your addresses and your tokens.\n\n"
            "Runs stay with the teams that you sent them for. Where something of yours has to stay, it is "
            "said to be of “%(name)s”.\n"
        ) % {"name": called}
        try:
            send_mail(_("[Citeboard] Your account is deleted"), body, None, [address])
        except (OSError, SMTPException):
            # The account is deleted even if the mail server is unavailable.
            log.exception("A deleted account could not be told so")
        messages.success(request, _("Your account is deleted."))
        return redirect("home")
    leads = Membership.objects.filter(
        user=user, role=Membership.Role.LEAD
    ).select_related("team")
    return {"form": form, "leads": [membership.team for membership in leads]}


@signed_in_pages.page("runs/own_runs.html")
def list_own_runs(request: HttpRequest, user: User) -> ViewResult:
    teams = list(access.find_teams_of_user(user).order_by("name"))
    entered = Registration.objects.approved().filter(team__in=teams)
    open_phases = Phase.objects.open().filter(task__season__in=entered.values("season"))
    open_phases = open_phases.filter(task__is_reported_only=False).select_related(
        "task__season"
    )
    runs = Submission.objects.filter(team__in=teams).select_related(
        "team", "phase__task__season"
    )
    page = paginate_rows(request, runs)
    return {
        "teams": teams,
        "phases": open_phases.order_by("closes", "task__position", "position"),
        "page": page,
        "runs": [
            copy_run_without_hidden_outcome(run, user) for run in page.object_list
        ],
    }


@require_safe
def show_background_job(
    request: HttpRequest, pk: int, part: str = "job.html"
) -> HttpResponse:
    """Show the progress of a background job. The template `_status.html` polls the
    status until the job ends.
    """
    try:
        job = visible_job_or_404(request.user, pk)
    except Http404:
        if request.user.is_authenticated:
            raise
        return redirect_to_login(reverse("background-job", args=[pk]))
    words, path = (
        describe_job_result(job) if job.state == BackgroundJobState.DONE else ("", "")
    )
    context = {
        "season": job.season,
        "job": job,
        "waits_for": describe_why_job_waits(job),
        "outcome": words,
        "path": path,
        "is_file": path.partition("?")[0].endswith(".zip"),
        "again": find_page_of_job(job),
        "problems": job.problems,
        "more": job.more,
    }
    return forbid_caching(render(request, f"background/{part}", context))
