"""The operator's page: how the site stands, for its staff alone."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from citeboard.core.words import counted, sentence
from citeboard.teams.models import User
from scoring.ops.site_state import site_state
from tasks.notifications.sending import try_again


@login_required
@never_cache
@require_safe
def operate(request: HttpRequest) -> HttpResponse:
    """Queues, workers, what waits and failed, storage, sweep, backup and versions."""
    _require_staff(request)
    return render(request, "operate.html", {"state": site_state()})


@require_POST
@login_required
def mails(request: HttpRequest) -> HttpResponse:
    """Send again the e-mails that were given up."""
    _require_staff(request)
    assert isinstance(request.user, User)
    queued = try_again(by=request.user)
    retried = _("%(mails)s will be tried again") % {"mails": counted(queued, "e-mail")}
    messages.success(request, sentence(retried))
    return redirect("operate")


def _require_staff(request: HttpRequest) -> None:
    assert isinstance(request.user, User)
    if not request.user.is_staff:
        raise Http404(_("This page is for those who run the site."))
