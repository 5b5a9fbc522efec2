"""One's own data as a file, and deleting one's account."""

from __future__ import annotations

import logging
from smtplib import SMTPException
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from citeboard.teams.models import Membership, User
from scoring.ops.accounts import delete_account
from scoring.ops.own_data import own_data

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
