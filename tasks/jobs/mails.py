"""Sending e-mails: of each row that has one at least once, by whoever holds the row's lease.

A mail server that does not answer is tried again for as long as it takes, and the operator's page says so; an
address that it refuses is given up after some attempts, and can be tried again from there.
"""

from __future__ import annotations

import datetime as dt
import logging
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException, SMTPServerDisconnected
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.db.models import F, Min, Q, QuerySet
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.database import database_now, from_now
from citeboard.core.models import Mailed
from citeboard.core.words import counted
from citeboard.teams.mailed_invitations import invitation_mail
from citeboard.teams.models import MailedInvitation, User
from tasks.models import Notification
from tasks.models.notifications import Channel, Kind
from tasks.notifications.reading import choices_of, unsubscribe_secret
from tasks.notifications.wording import words_of

Mail = Mailed.Mail

#: What e-mails are sent from, with the rows that each needs to be put into words.
SENT_FROM: dict[type[Mailed], tuple[str, ...]] = {
    Notification: ("user", "season", "team", "phase__task", "submission"),
    MailedInvitation: ("team", "created_by"),
}

LEASE_SECONDS = 120
#: Sent in one sweep, in at most so many seconds: the sweep has other work.
MAX_AT_ONCE, BUDGET_SECONDS = 200, 20
#: After which an address that the server refuses is given up.
MAX_REFUSALS = 6
MAX_ERROR = 300
SHOWN = 50

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An e-mail that was given up."""

    address: str
    what: str
    written_at: dt.datetime
    error: str


@dataclass(frozen=True, kw_only=True)
class MailState:
    """How the site's e-mails stand; ``error`` is the last trouble of one that waits."""

    waiting: int
    since: dt.datetime | None
    error: str
    failed: int
    failures: list[Failure]


def send_mails() -> int:
    """Send what is due; how many were sent. Ends where the mail server does not answer."""
    owner, begun, sent = secrets.token_hex(8), time.monotonic(), 0
    connection = get_connection()
    try:
        for model, pk in list(islice(_all_due(), MAX_AT_ONCE)):
            if time.monotonic() - begun > BUDGET_SECONDS:
                break
            row = _claim(model, pk, owner)
            if row is None:
                continue
            if not _is_wanted(row):
                _ended(row, Mail.NONE)
                continue
            mail = mail_of(row)
            mail.connection = connection
            try:
                mail.send()
            except (OSError, SMTPException) as trouble:
                if not _is_refusal(trouble):
                    _server_is_away(row, trouble)
                    break
                _refused(row, trouble)
            except ValueError as unwritable:
                # After OSError, since a certificate that is refused is both.
                words = f"no mail can be written to this address: {type(unwritable).__name__}"
                _ended(row, Mail.FAILED, mail_error=words)
            else:
                _ended(row, Mail.SENT, mail_sent_at=from_now(), mail_error="")
                sent += 1
    finally:
        connection.close()
    return sent


def try_again(*, by: User) -> int:
    """Queue the mails that were given up; how many there were."""
    with transaction.atomic():
        failed = [rows.filter(mail=Mail.FAILED).order_by() for rows in _all()]
        queued = sum(
            rows.update(mail=Mail.QUEUED, mail_attempts=0, mail_due_at=from_now(-1)) for rows in failed
        )
        if queued:
            with audit.in_english():
                words = f"queued {counted(queued, 'e-mail')} again that had been given up"
            audit.note(actor=by, action="mails-queued-again", words=words, subject=by, place=by)
    return queued


def mail_state() -> MailState:
    waiting = [rows.filter(mail__in=(Mail.QUEUED, Mail.SENDING)) for rows in _rows()]
    failed = [rows.filter(mail=Mail.FAILED) for rows in _rows()]
    since = [rows.aggregate(since=Min("created_at"))["since"] for rows in waiting]
    troubled = [rows.exclude(mail_error="").order_by("-mail_attempts", "-pk") for rows in waiting]
    errors = [rows.values_list("mail_error", flat=True).first() for rows in troubled]
    return MailState(
        waiting=sum(rows.count() for rows in waiting),
        since=min((first for first in since if first is not None), default=None),
        error=next((error for error in errors if error), ""),
        failed=sum(rows.count() for rows in failed),
        failures=[_failure(row) for rows in failed for row in rows[:SHOWN]][:SHOWN],
    )


def _all() -> list[QuerySet[Any]]:
    return [model._default_manager.all() for model in SENT_FROM]  # noqa: SLF001  (documented)


def _rows() -> list[QuerySet[Any]]:
    return [
        model._default_manager.select_related(*related)  # noqa: SLF001  (documented)
        for model, related in SENT_FROM.items()
    ]


def _failure(row: Notification | MailedInvitation) -> Failure:
    to, what = (
        (row.address, "invitation") if isinstance(row, MailedInvitation) else (row.user.email, row.kind)
    )
    return Failure(address=to, what=what, written_at=row.created_at, error=row.mail_error)


def _all_due() -> Iterator[tuple[type[Mailed], int]]:
    for model in SENT_FROM:
        yield from ((model, pk) for pk in _due(model).values_list("pk", flat=True)[:MAX_AT_ONCE])


def _due(model: type[Mailed]) -> QuerySet[Any]:
    """Those whose time has come, and those whose sender is gone."""
    # A second more, since SQLite counts in milliseconds.
    now = database_now() + dt.timedelta(seconds=1)
    due = Q(mail=Mail.QUEUED, mail_due_at__lte=now) | Q(mail=Mail.SENDING, mail_lease_expires_at__lt=now)
    return model._default_manager.filter(due).order_by("mail_due_at", "pk")  # noqa: SLF001  (documented)


def _claim(model: type[Mailed], pk: int, owner: str) -> Any:
    """The row with its lease; None where another took it."""
    taken = _due(model).order_by().filter(pk=pk)
    claimed = taken.update(
        mail=Mail.SENDING,
        mail_owner=owner,
        mail_lease_expires_at=from_now(LEASE_SECONDS),
        mail_attempts=F("mail_attempts") + 1,
    )
    if not claimed:
        return None
    return model._default_manager.select_related(*SENT_FROM[model]).get(pk=pk)  # noqa: SLF001  (documented)


def _leased(row: Mailed) -> QuerySet[Any]:
    leased = {"mail": Mail.SENDING, "mail_owner": row.mail_owner, "mail_attempts": row.mail_attempts}
    return type(row)._default_manager.filter(pk=row.pk, **leased)  # noqa: SLF001  (documented)


def _is_wanted(row: Notification | MailedInvitation) -> bool:
    """Whether it may be told, and is still wanted, at the moment when it is sent."""
    if isinstance(row, MailedInvitation):
        return row.state == MailedInvitation.State.WAITING and not row.has_expired
    if not row.user.is_active or not Notification.objects.readable().filter(pk=row.pk).exists():
        return False
    return any(kind == row.kind and way == Channel.MAIL for kind, way in choices_of(row.user).items())


def _ended(row: Mailed, mail: Mailed.Mail, **changes: object) -> None:
    _leased(row).update(mail=mail, mail_lease_expires_at=None, **changes)


def _is_refusal(trouble: Exception) -> bool:
    """Whether the server answers, and takes this mail not."""
    if isinstance(trouble, SMTPRecipientsRefused):
        return True
    return isinstance(trouble, SMTPResponseException) and trouble.smtp_code in (550, 551, 552, 553, 554)


def _refused(row: Mailed, trouble: Exception) -> None:
    is_last = row.mail_attempts >= MAX_REFUSALS
    log.warning("The mail of %s %s was refused, attempt %s", type(row).__name__, row.pk, row.mail_attempts)
    _ended(
        row,
        Mail.FAILED if is_last else Mail.QUEUED,
        mail_error=_named(trouble),
        mail_due_at=from_now(_pause(row.mail_attempts)),
    )


def _server_is_away(row: Mailed, trouble: Exception) -> None:
    """All that is due waits, so that a server that does not answer is asked once at a time."""
    log.warning("The mail server does not answer: %s", _named(trouble))
    pause = _pause(row.mail_attempts)
    _ended(row, Mail.QUEUED, mail_error=_named(trouble), mail_due_at=from_now(pause))
    for model in SENT_FROM:
        _due(model).filter(mail=Mail.QUEUED).order_by().update(mail_due_at=from_now(pause))


def _pause(attempts: int) -> int:
    """A minute, doubled each time, up to half an hour."""
    return int(min(30 * 60, 60 * 2 ** min(attempts - 1, 10)))


def _named(trouble: Exception) -> str:
    """What a server says of an address is not repeated: it may hold more than the operator should read."""
    if isinstance(trouble, SMTPRecipientsRefused):
        codes = sorted({str(code) for code, _ in trouble.recipients.values()})
        return f"The mail server refuses the address ({', '.join(codes)})."
    kind = "the connection was closed" if isinstance(trouble, SMTPServerDisconnected) else str(trouble)
    return f"{type(trouble).__name__}: {kind}"[:MAX_ERROR]


def mail_of(row: Notification | MailedInvitation) -> EmailMessage:
    """In the language of who reads it; an invitation, whose reader is not known, in that of who invites."""
    person = row.created_by if isinstance(row, MailedInvitation) else row.user
    with translation.override((person and person.language) or settings.LANGUAGE_CODE):
        return invitation_mail(row) if isinstance(row, MailedInvitation) else notification_mail(row)


def notification_mail(told: Notification) -> EmailMessage:
    words = words_of(told)
    choose = f"{settings.BASE_URL}{reverse('message-choices')}"
    leave = f"{settings.BASE_URL}{reverse('unsubscribe', args=[unsubscribe_secret(told.user, told.kind)])}"
    foot = "\n".join(
        (
            _("Sent for: %(kind)s.") % {"kind": Kind(told.kind).label},
            _("Choose what you are told of: %(address)s") % {"address": choose},
            _("No more such e-mails: %(address)s") % {"address": leave},
        )
    )
    body = f"{words.title}.\n\n{words.text}\n\n{settings.BASE_URL}{words.path}\n\n-- \n{foot}\n"
    return EmailMessage(
        # A title holds names that people chose; a subject is one line.
        subject=f"[Citeboard] {' '.join(words.title.split())}",
        body=body,
        to=[told.user.email],
        headers={
            "List-Unsubscribe": f"<{leave}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            # The same each time, so that of a mail that is sent twice programs show one.
            "Message-ID": f"<notification-{told.pk}@{urlsplit(settings.BASE_URL).hostname}>",
            "Auto-Submitted": "auto-generated",
        },
    )
