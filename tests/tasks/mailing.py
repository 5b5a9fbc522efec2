"""Mail servers that do what servers do."""

import datetime as dt
from unittest.mock import patch

from django.core import mail
from django.core.mail.backends.locmem import EmailBackend

from tasks.jobs import mails
from tasks.jobs.mails import send_due_mails


def refuse_connections(monkeypatch, trouble: Exception | None = None) -> None:
    """No mail goes out any more; ``trouble`` is what sending raises."""

    def away(backend, letters):
        raise trouble or ConnectionRefusedError("no mail server")

    monkeypatch.setattr(EmailBackend, "send_messages", away)


def letters_to(person) -> list[str]:
    """What the person was sent, each as its subject and its text, without the links at the end.

    Each goes at once; that several become one is in `test_notifications`.
    """
    with patch.object(mails, "MIN_INTERVAL_BETWEEN_MAILS", dt.timedelta()):
        send_due_mails()
    own = [letter for letter in mail.outbox if letter.to == [person.email]]
    return [
        f"{letter.subject}\n\n{letter.body.partition('-- ')[0]}".strip()
        for letter in own
    ]
