"""Pages on which users read messages, change notification settings, and unsubscribe
from e-mails.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from citeboard.core.query import parse_whole_number
from citeboard.core.words import as_sentence, count_with_noun
from citeboard.teams.membership import (
    secret_of_mailed_invitation,
    waiting_invitations_for,
)
from citeboard.teams.models import User
from citeboard.web.pages import (
    Answer,
    forbid_caching,
    paginate_rows,
    require_known_fields,
    signed_in,
)
from tasks.delivery.notifications import reading, wording
from tasks.delivery.notifications.reading import end_mails_of_kind as end_mails
from tasks.models.notifications import Channel


@signed_in.page("notifications/list.html")
def inbox(request: HttpRequest, user: User) -> Answer:
    """List the user's messages, newest first. Viewing the list of messages does not
    mark messages as read.
    """
    notifications = reading.notifications_of(user)
    page = paginate_rows(request, notifications)
    return {
        "page": page,
        "lines": [
            {"told": told, "words": wording.write_notification_text(told)}
            for told in page.object_list
        ],
        "invitations": [
            (invitation, secret_of_mailed_invitation(invitation))
            for invitation in waiting_invitations_for(user)
        ],
        "unread": notifications.unread().count(),
    }


@signed_in.act("messages", fields=("message",))
def read(request: HttpRequest, user: User) -> Answer:
    chosen = [
        number
        for text in request.POST.getlist("message")
        if (number := parse_whole_number(text))
    ]
    count = reading.mark_read(user=user, ids=chosen or None)
    return as_sentence(
        _("%(messages)s marked as read")
        % {"messages": count_with_noun(count, "message")}
    )


@signed_in.form("notifications/choices.html")
def choices(request: HttpRequest, user: User) -> Answer:
    chosen = reading.channels_by_kind(user)
    if request.method == "POST":
        require_known_fields(request, names=chosen)
        posted = {kind: request.POST.get(kind, "") for kind in chosen}
        reading.set_channels(
            user=user,
            wanted={kind: way for kind, way in posted.items() if way in Channel.values},
        )
        return _("Your notification settings are saved.")
    lines = [{"kind": kind, "channel": channel} for kind, channel in chosen.items()]
    return {"lines": lines, "channels": Channel.choices}


# The view is exempt from CSRF checks, because mail programs send no CSRF token.
# The signed link authorises the request.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_from_mails(request: HttpRequest, secret: str) -> HttpResponse:
    """Unsubscribe from e-mails of one kind by POST.

    A GET request changes nothing, because mail programs open links automatically.
    """
    try:
        user, kind = reading.subscription_in_link(secret)
    except reading.InvalidUnsubscribeLink as unknown:
        raise Http404(_("This link to unsubscribe does not work.")) from unknown
    is_done = request.method == "POST"
    if is_done:
        end_mails(user, kind)
    has_ended = is_done or reading.channels_by_kind(user)[kind] != Channel.MAIL
    response = render(
        request,
        "notifications/unsubscribe.html",
        {"kind": kind, "has_ended": has_ended},
    )
    # Other sites must not learn the secret in the URL of the page from the referrer.
    response["Referrer-Policy"] = "no-referrer"
    return forbid_caching(response)
