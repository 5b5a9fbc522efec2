from collections.abc import Iterable, Mapping
from typing import Any

from allauth.account.models import EmailAddress
from django.core.signing import BadSignature, Signer
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone

from citeboard.teams.membership import find_waiting_invitations
from citeboard.teams.models import MailedInvitation, User
from tasks.models import Notification, NotificationChoice
from tasks.models.notifications import (
    NotificationChannel,
    NotificationKind,
    NotificationQuerySet,
)

_UNREAD_COUNT_ATTRIBUTE = "_citeboard_unread"
_QUOTED_TABLE_NAMES = {
    model.__name__.lower(): connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001  (public by name)
    for model in (EmailAddress, MailedInvitation, Notification)
}
_UNREAD_AND_INVITATIONS_SQL = """
SELECT EXISTS (SELECT 1 FROM {notification} n WHERE n.user_id = %(user)s AND n.read_at IS NULL),
EXISTS (
    SELECT 1 FROM {mailedinvitation} i JOIN {emailaddress} a ON LOWER(a.email) = i.address
    WHERE a.user_id = %(user)s AND a.verified AND i.state = %(waiting)s
)
"""


def list_notifications_of_user(user: User) -> NotificationQuerySet:
    own = Notification.objects.filter(user=user).readable()
    return own.select_related("season", "team", "phase__task", "submission")


def mark_notifications_as_read(*, user: User, ids: Iterable[int] | None = None) -> int:
    own = Notification.objects.filter(user=user).unread()
    if ids is not None:
        own = own.filter(pk__in=list(ids))
    return own.update(read_at=timezone.now())


def count_unread_notifications(request: HttpRequest) -> int:
    if not isinstance(request.user, User):
        return 0
    found: int | None = getattr(request, _UNREAD_COUNT_ATTRIBUTE, None)
    if found is None:
        has_notifications, has_invitations = _query_unread_and_invitations(request.user)
        found = (
            list_notifications_of_user(request.user).unread().count()
            if has_notifications
            else 0
        )
        found += (
            find_waiting_invitations(request.user).count() if has_invitations else 0
        )
        setattr(request, _UNREAD_COUNT_ATTRIBUTE, found)
    return found


def _query_unread_and_invitations(user: User) -> tuple[bool, bool]:
    """Return one truth value for unread notifications of the user, and one for waiting
    invitations.
    """
    values: dict[str, int | str] = {
        "user": user.pk,
        "waiting": MailedInvitation.State.WAITING.value,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            _UNREAD_AND_INVITATIONS_SQL.format(**_QUOTED_TABLE_NAMES), values
        )
        notifications, invitations = cursor.fetchone()
    return bool(notifications), bool(invitations)


def add_unread_count_to_context(request: HttpRequest) -> dict[str, Any]:
    return {"unread_messages": lambda: count_unread_notifications(request)}


#: By default, users get no e-mails about the frequent events in `_KINDS_WITHOUT_MAIL`.
_KINDS_WITHOUT_MAIL = (NotificationKind.SCORED,)
_UNSUBSCRIBE_SIGNER = Signer(salt="tasks.notifications.unsubscribe", sep=".")


class InvalidUnsubscribeLink(Exception):
    pass


def get_default_channel(kind: str) -> NotificationChannel:
    return (
        NotificationChannel.SITE
        if kind in _KINDS_WITHOUT_MAIL
        else NotificationChannel.MAIL
    )


def load_channels_by_person(
    people: Iterable[int], kind: str
) -> dict[int, NotificationChannel]:
    chosen = NotificationChoice.objects.filter(user__in=list(people), kind=kind)
    by_person = {
        person: NotificationChannel(channel)
        for person, channel in chosen.values_list("user_id", "channel")
    }
    return {
        person: by_person.get(person, get_default_channel(kind)) for person in people
    }


def load_channels_by_kind(user: User) -> dict[NotificationKind, NotificationChannel]:
    chosen = dict(
        NotificationChoice.objects.filter(user=user).values_list("kind", "channel")
    )
    return {
        kind: NotificationChannel(chosen.get(kind, get_default_channel(kind)))
        for kind in NotificationKind
    }


def store_notification_channels(*, user: User, wanted: Mapping[str, str]) -> None:
    for kind, channel in wanted.items():
        chosen = {"channel": NotificationChannel(channel)}
        NotificationChoice.objects.update_or_create(
            user=user, kind=NotificationKind(kind), defaults=chosen
        )


def sign_unsubscribe_secret(user: User, kind: str) -> str:
    """Return the secret of an unsubscribe link. The link ends e-mails about one kind of
    event to one user.
    """
    return _UNSUBSCRIBE_SIGNER.sign(f"{user.pk}-{kind}")


def parse_unsubscribe_secret(secret: str) -> tuple[User, NotificationKind]:
    try:
        number, _, kind = _UNSUBSCRIBE_SIGNER.unsign(secret).partition("-")
        return User.objects.get(pk=int(number)), NotificationKind(kind)
    except (BadSignature, ValueError, User.DoesNotExist) as unknown:
        raise InvalidUnsubscribeLink from unknown


def unsubscribe_from_mails_of_kind(user: User, kind: NotificationKind) -> None:
    if load_channels_by_kind(user)[kind] == NotificationChannel.MAIL:
        store_notification_channels(user=user, wanted={kind: NotificationChannel.SITE})
