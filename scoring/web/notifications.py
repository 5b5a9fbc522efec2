"""What somebody was told: the list of it, how they want to be told, and the link that ends e-mails."""

from __future__ import annotations

from django.contrib import messages as flash
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.query import whole_number
from citeboard.core.words import counted, sentence
from citeboard.teams.mailed_invitations import invitations_for, mailed_secret
from citeboard.teams.models import User
from tasks.models.notifications import Channel
from tasks.notifications.preferences import (
    LinkNotValid,
    choices_of,
    choose,
    subscription_of,
)
from tasks.notifications.preferences import unsubscribe as end_mails
from tasks.notifications.reading import mark_read, notifications_of
from tasks.notifications.wording import words_of

MESSAGES_A_PAGE = 50


@login_required
@require_safe
def messages(request: HttpRequest) -> HttpResponse:
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
    flash.success(request, sentence(marked))
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
        flash.success(request, _("What you are told of is saved."))
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
