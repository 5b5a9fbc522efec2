"""A notification as an e-mail, with the headers that let mail programs unsubscribe (RFC 8058)."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from citeboard.teams.mailed_invitations import invitation_mail
from citeboard.teams.models import MailedInvitation
from tasks.models import Notification
from tasks.models.notifications import Kind
from tasks.notifications.preferences import unsubscribe_secret
from tasks.notifications.wording import words_of


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
