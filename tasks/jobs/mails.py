"""Sending e-mails: of each row that has one at least once, by whoever holds the row's lease.

A mail server that does not answer is tried again for as long as it takes, and the operator's page says so; an
address that it refuses is given up after some attempts, and can be tried again from there.
"""

import datetime as dt
import logging
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
from django.db.models import Min
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.database import from_now
from citeboard.core.models import Mailed
from citeboard.teams.invitations import invitation_mail
from citeboard.teams.models import MailedInvitation, User
from tasks.jobs.engine import DueKind
from tasks.models import Notification
from tasks.models.notifications import Channel, Kind
from tasks.notifications.reading import choices_of, unsubscribe_secret
from tasks.notifications.wording import words_of

Mail = Mailed.Mail


class Mails(DueKind[Mailed]):
    state, owner, expires = "mail", "mail_owner", "mail_lease_expires_at"
    attempt, due_at = "mail_attempts", "mail_due_at"
    lease = 120

    def __init__(self, model: type[Mailed], *related: str) -> None:
        self.model = model
        self.related = related


#: What e-mails are sent from, with the rows that each needs to be put into words.
KINDS = (
    Mails(Notification, "user", "season", "team", "phase__task", "submission"),
    Mails(MailedInvitation, "team", "created_by"),
)

#: Sent in one sweep, in at most so many seconds: the sweep has other work.
MAX_AT_ONCE, BUDGET_SECONDS = 200, 20
#: After which an address that the server refuses is given up.
MAX_REFUSALS = 6
MAX_ERROR = 300
SHOWN = 50

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Failure:
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
    sent, until = 0, time.monotonic() + BUDGET_SECONDS
    connection = get_connection()
    try:
        due: Iterator[tuple[Mails, Any]] = (
            (kind, row) for kind in KINDS for row in kind.take_due(most=MAX_AT_ONCE, until=until)
        )
        for kind, row in islice(due, MAX_AT_ONCE):
            if not _is_wanted(row):
                kind.end_lease(row, mail=Mail.NONE)
                continue
            mail = mail_of(row)
            mail.connection = connection
            pause = from_now(int(min(30 * 60, 60 * 2 ** min(row.mail_attempts - 1, 10))))
            try:
                mail.send()
            except (OSError, SMTPException) as trouble:
                error = _described(trouble)
                if not _is_refusal(trouble):
                    log.warning("The mail server does not answer: %s", error)
                    kind.end_lease(row, mail=Mail.QUEUED, mail_error=error, mail_due_at=pause)
                    # All that is due waits, so that a server that does not answer is asked once at a time.
                    for other in KINDS:
                        other.due.filter(mail=Mail.QUEUED).order_by().update(mail_due_at=pause)
                    break
                log.warning(
                    "The mail of %s %s was refused, attempt %s",
                    type(row).__name__, row.pk, row.mail_attempts,
                )  # fmt: skip
                state = Mail.FAILED if row.mail_attempts >= MAX_REFUSALS else Mail.QUEUED
                kind.end_lease(row, mail=state, mail_error=error, mail_due_at=pause)
            except ValueError as unwritable:
                # After OSError, since a certificate that is refused is both.
                error = f"no mail can be written to this address: {type(unwritable).__name__}"
                kind.end_lease(row, mail=Mail.FAILED, mail_error=error)
            else:
                kind.end_lease(row, mail=Mail.SENT, mail_sent_at=from_now(), mail_error="")
                sent += 1
    finally:
        connection.close()
    return sent


def try_again(*, by: User) -> int:
    with transaction.atomic():
        facts = {"mail": Mail.QUEUED, "mail_attempts": 0, "mail_due_at": from_now(-1)}
        queued = sum(kind.rows.filter(mail=Mail.FAILED).order_by().update(**facts) for kind in KINDS)
        if queued:
            audit.record("mails-queued-again", actor=by, subject=by, place=by, facts={"mails": queued})
    return queued


def mail_state() -> MailState:
    rows = [kind.rows.select_related(*kind.related) for kind in KINDS]
    waiting = [mails.filter(mail__in=(Mail.QUEUED, Mail.SENDING)) for mails in rows]
    failed = [mails.filter(mail=Mail.FAILED) for mails in rows]
    since = [mails.aggregate(since=Min("created_at"))["since"] for mails in waiting]
    troubled = [mails.exclude(mail_error="").order_by("-mail_attempts", "-pk").first() for mails in waiting]
    return MailState(
        waiting=sum(mails.count() for mails in waiting),
        since=min((first for first in since if first is not None), default=None),
        error=next((mail.mail_error for mail in troubled if mail is not None), ""),
        failed=sum(mails.count() for mails in failed),
        failures=[_failure(row) for mails in failed for row in mails[:SHOWN]][:SHOWN],
    )


def _failure(row: Any) -> Failure:
    if isinstance(row, MailedInvitation):
        address, what = row.address, "invitation"
    else:
        address, what = row.user.email, row.kind
    return Failure(address=address, what=what, written_at=row.created_at, error=row.mail_error)


def _is_wanted(row: Notification | MailedInvitation) -> bool:
    if isinstance(row, MailedInvitation):
        return row.state == MailedInvitation.State.WAITING and not row.has_expired
    if not row.user.is_active or not Notification.objects.readable().filter(pk=row.pk).exists():
        return False
    return any(kind == row.kind and way == Channel.MAIL for kind, way in choices_of(row.user).items())


def _is_refusal(trouble: Exception) -> bool:
    if isinstance(trouble, SMTPRecipientsRefused):
        return True
    return isinstance(trouble, SMTPResponseException) and trouble.smtp_code in (550, 551, 552, 553, 554)


def _described(trouble: Exception) -> str:
    """What a server says of an address is not repeated: it may hold more than the operator should read."""
    if isinstance(trouble, SMTPRecipientsRefused):
        codes = sorted({str(code) for code, _ in trouble.recipients.values()})
        return f"The mail server refuses the address ({', '.join(codes)})."
    kind = "the connection was closed" if isinstance(trouble, SMTPServerDisconnected) else str(trouble)
    return f"{type(trouble).__name__}: {kind}"[:MAX_ERROR]


def mail_of(row: Notification | MailedInvitation) -> EmailMessage:
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
