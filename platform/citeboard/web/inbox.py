"""Pages on which users read messages, change notification settings, and unsubscribe
from e-mails.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from citeboard.core.query import parse_whole_number
from citeboard.core.words import count_with_noun, format_as_sentence
from citeboard.teams.membership import (
    find_waiting_invitations,
    sign_mailed_invitation_secret,
)
from citeboard.teams.models import User
from citeboard.web.pages import (
    ViewResult,
    forbid_caching,
    paginate_rows,
    require_known_fields,
    signed_in_pages,
)
from tasks.delivery.notifications import reading, wording
from tasks.delivery.notifications.reading import (
    unsubscribe_from_mails_of_kind as end_mails,
)
from tasks.models.notifications import NotificationChannel


@signed_in_pages.page("notifications/list.html")
def show_inbox(request: HttpRequest, user: User) -> ViewResult:
    """List the user's messages, newest first. Viewing the list of messages does not
    mark messages as read.
    """
    notifications = reading.list_notifications_of_user(user)
    page = paginate_rows(request, notifications)
    return {
        "page": page,
        "lines": [
            {"told": told, "words": wording.write_notification_text(told)}
            for told in page.object_list
        ],
        "invitations": [
            (invitation, sign_mailed_invitation_secret(invitation))
            for invitation in find_waiting_invitations(user)
        ],
        "unread": notifications.unread().count(),
    }


@signed_in_pages.act("messages", fields=("message",))
def mark_messages_as_read(request: HttpRequest, user: User) -> ViewResult:
    chosen = [
        number
        for text in request.POST.getlist("message")
        if (number := parse_whole_number(text))
    ]
    count = reading.mark_notifications_as_read(user=user, ids=chosen or None)
    return format_as_sentence(
        _("%(messages)s marked as read")
        % {"messages": count_with_noun(count, "message")}
    )


@signed_in_pages.form("notifications/choices.html")
def edit_message_choices(request: HttpRequest, user: User) -> ViewResult:
    chosen = reading.load_channels_by_kind(user)
    if request.method == "POST":
        require_known_fields(request, names=chosen)
        posted = {kind: request.POST.get(kind, "") for kind in chosen}
        reading.store_notification_channels(
            user=user,
            wanted={
                kind: way
                for kind, way in posted.items()
                if way in NotificationChannel.values
            },
        )
        return _("Your notification settings are saved.")
    lines = [{"kind": kind, "channel": channel} for kind, channel in chosen.items()]
    return {"lines": lines, "channels": NotificationChannel.choices}


# The view is exempt from CSRF checks, because mail programs send no CSRF token.
# The signed link authorises the request.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_from_mails(request: HttpRequest, secret: str) -> HttpResponse:
    """Unsubscribe from e-mails of one kind by POST.

    A GET request changes nothing, because mail programs open links automatically.
    """
    try:
        user, kind = reading.parse_unsubscribe_secret(secret)
    except reading.InvalidUnsubscribeLink as unknown:
        raise Http404(_("This link to unsubscribe does not work.")) from unknown
    is_done = request.method == "POST"
    if is_done:
        end_mails(user, kind)
    has_ended = (
        is_done or reading.load_channels_by_kind(user)[kind] != NotificationChannel.MAIL
    )
    response = render(
        request,
        "notifications/unsubscribe.html",
        {"kind": kind, "has_ended": has_ended},
    )
    # Other sites must not learn the secret in the URL of the page from the referrer.
    response["Referrer-Policy"] = "no-referrer"
    return forbid_caching(response)
