"""Organisers and staff may have to turn on a second factor before they use the site as such."""

from __future__ import annotations

from collections.abc import Callable

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from citeboard.core.api_errors import is_for_programs, json_error
from citeboard.teams.api import asking_user
from citeboard.teams.models import User
from tasks.models import Organiser

GetResponse = Callable[[HttpRequest], HttpResponse]
WORDS = _("Organisers of this site sign in with a second factor; turn yours on first.")


class SecondFactorMiddleware:
    """Sends whoever organises and has none to where it is turned on; their tokens do nothing until then."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not settings.ORGANISERS_NEED_SECOND_FACTOR or _is_of_the_account(request):
            return self.get_response(request)
        if not lacks_second_factor(asking_user(request)):
            return self.get_response(request)
        if is_for_programs(request):
            return json_error(request, str(WORDS), 403)
        messages.warning(request, WORDS)
        return redirect("mfa_index")


def lacks_second_factor(user: object) -> bool:
    """Whether somebody who organises a season, or is staff, signs in by a password alone."""
    if not isinstance(user, User):
        return False
    organises = user.is_staff or Organiser.objects.filter(user=user).exists()
    return organises and not is_mfa_enabled(user, [Authenticator.Type.TOTP])


def _is_of_the_account(request: HttpRequest) -> bool:
    return request.path.startswith(
        (reverse("mfa_index"), reverse("account_logout"), settings.STATIC_URL)
    ) or (request.path == reverse("account_reauthenticate"))
