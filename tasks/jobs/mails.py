"""Send e-mails about events and invitations, each at least once. After MAX_SERVER_REFUSALS
refusals by the mail server, an e-mail is not sent again.
"""

import datetime as dt
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from smtplib import (
    SMTPException,
    SMTPRecipientsRefused,
    SMTPResponseException,
    SMTPServerDisconnected,
)
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.db.models import Max, Min, Q, QuerySet
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.database import database_time_expression, fetch_database_time
from citeboard.teams.membership import build_invitation_mail
from citeboard.teams.models import MailedInvitation, User
from tasks.delivery.notifications.events import PHASE_DATE_NOTIFICATION_KINDS
from tasks.delivery.notifications.reading import (
    load_channels_by_kind,
    sign_unsubscribe_secret,
)
from tasks.delivery.notifications.wording import write_notification_text
from tasks.jobs.engine import SweeperJobKind, claim_job, create_job, end_lease
from tasks.models import Job, Notification
from tasks.models.notifications import NotificationChannel, NotificationKind

State = Job.State


class MailJobKind(SweeperJobKind):
    lease = 120

    def __init__(
        self,
        name: Job.Kind,
        model: type[Notification | MailedInvitation],
        *related: str,
    ) -> None:
        self.name = name
        self.model = model
        self.related = related


NOTIFICATION_MAIL_JOBS = MailJobKind(
    Job.Kind.MAIL, Notification, "user", "season", "team", "phase__task", "submission"
)
INVITATION_MAIL_JOBS = MailJobKind(
    Job.Kind.INVITATION, MailedInvitation, "team", "created_by"
)
MAIL_JOB_KINDS = (NOTIFICATION_MAIL_JOBS, INVITATION_MAIL_JOBS)

#: A sweep sends at most MAX_MAILS_PER_SWEEP e-mails for at most MAIL_SENDING_BUDGET_SECONDS seconds.
#: The limits leave time for the other work of a sweep.
MAX_MAILS_PER_SWEEP, MAIL_SENDING_BUDGET_SECONDS = 200, 20
#: E-mails to a person are at least MIN_INTERVAL_BETWEEN_MAILS apart, except for e-mails about dates.
MIN_INTERVAL_BETWEEN_MAILS = dt.timedelta(minutes=10)
#: After MAX_SERVER_REFUSALS refusals by the mail server, an e-mail has failed.
MAX_SERVER_REFUSALS = 6
MAX_ERROR_CHARACTERS = 300
MAX_FAILURES_SHOWN = 50

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class OutgoingMailState:
    """The state of the site's outgoing e-mails. ``error`` is the last error of an
    e-mail that is still waiting.
    """

    waiting: int
    since: dt.datetime | None
    error: str
    failed: int
    failures: list[dict[str, Any]]


def send_due_mails() -> int:
    """Send due e-mails and return the number of sent e-mails. If the mail server does
    not answer, sending stops until the next call.
    """
    sent, until = 0, time.monotonic() + MAIL_SENDING_BUDGET_SECONDS
    connection = get_connection()
    try:
        due = (
            taken
            for kind in MAIL_JOB_KINDS
            for taken in kind.claim_due_jobs(most=MAX_MAILS_PER_SWEEP, until=until)
        )
        for job, row in islice(due, MAX_MAILS_PER_SWEEP):
            if not _is_mail_still_wanted(row):
                end_lease(
                    job, state=State.CANCELLED, finished_at=database_time_expression()
                )
                continue
            if not (together := _claim_due_mails(job, row)):
                continue
            mail = build_email_message(*(told for _job, told in together))
            mail.connection = connection
            pause = database_time_expression(
                int(min(30 * 60, 60 * 2 ** min(job.attempt - 1, 10)))
            )
            try:
                mail.send()
            except (OSError, SMTPException) as trouble:
                error = _describe_mail_error(trouble)
                if not _is_mail_refusal(trouble):
                    log.warning("The mail server does not answer: %s", error)
                    _end_mail_jobs(
                        together, state=State.QUEUED, reason=error, due_at=pause
                    )
                    # All due e-mails are postponed, so each pause has one connection.
                    for kind in MAIL_JOB_KINDS:
                        kind.due.order_by().update(due_at=pause)
                    break
                log.warning(
                    "The mail of %s %s was refused, attempt %s",
                    job.kind,
                    row.pk,
                    job.attempt,
                )
                state = (
                    State.FAILED if job.attempt >= MAX_SERVER_REFUSALS else State.QUEUED
                )
                _end_mail_jobs(together, state=state, reason=error, due_at=pause)
            except ValueError as unwritable:
                # A bad certificate is a ValueError too, so OSError is handled first.
                error = f"no mail can be written to this address: {type(unwritable).__name__}"
                _end_mail_jobs(together, state=State.FAILED, reason=error)
            else:
                _end_mail_jobs(
                    together,
                    state=State.DONE,
                    finished_at=database_time_expression(),
                    reason="",
                )
                sent += 1
    finally:
        connection.close()
    return sent


def _end_mail_jobs(together: Sequence[tuple[Job, Any]], **facts: Any) -> None:
    for job, _row in together:
        end_lease(job, **facts)


def _claim_due_mails(
    job: Job, row: Notification | MailedInvitation
) -> list[tuple[Job, Any]]:
    """Claim the jobs of all due e-mails to the same person, in order to send one
    e-mail. If the last e-mail to the person was sent less than MIN_INTERVAL_BETWEEN_MAILS ago, postpone
    the job and return an empty list.
    """
    taken: list[tuple[Job, Any]] = [(job, row)]
    if (
        isinstance(row, MailedInvitation)
        or row.kind in PHASE_DATE_NOTIFICATION_KINDS
        or not MIN_INTERVAL_BETWEEN_MAILS
    ):
        return taken
    own = Notification.objects.filter(user=row.user).exclude(
        kind__in=PHASE_DATE_NOTIFICATION_KINDS
    )
    # A process that sends to this person goes first, to send one e-mail at a time.
    if own.filter(
        job__state=State.RUNNING, job__started_at__lt=job.started_at
    ).exists():
        end_lease(
            job,
            state=State.QUEUED,
            due_at=database_time_expression(NOTIFICATION_MAIL_JOBS.lease),
            is_counted=False,
        )
        return []
    last = own.filter(job__state=State.DONE).aggregate(last=Max("job__finished_at"))[
        "last"
    ]
    if last is not None and last + MIN_INTERVAL_BETWEEN_MAILS > fetch_database_time():
        end_lease(
            job,
            state=State.QUEUED,
            due_at=last + MIN_INTERVAL_BETWEEN_MAILS,
            is_counted=False,
        )
        return []
    # Organisers can undo the cause of an e-mail for some time.
    # An older e-mail waits for newer e-mails whose cause can still be undone.
    if row.created_at + MIN_INTERVAL_BETWEEN_MAILS <= fetch_database_time():
        others = own.filter(
            job__state=State.QUEUED,
            created_at__lte=row.created_at + MIN_INTERVAL_BETWEEN_MAILS,
        )
        until = others.filter(
            job__due_at__gt=fetch_database_time(),
            job__due_at__lte=row.created_at + 2 * MIN_INTERVAL_BETWEEN_MAILS,
        )
        if (due_at := until.aggregate(last=Max("job__due_at"))["last"]) is not None:
            end_lease(job, state=State.QUEUED, due_at=due_at, is_counted=False)
            return []
    # The single e-mail includes e-mails that wait only because of the pause.
    waits = Q(
        job__state=State.QUEUED,
        job__reason="",
        created_at__lte=fetch_database_time() - MIN_INTERVAL_BETWEEN_MAILS,
    )
    for told in own.filter(
        waits | Q(job__in=NOTIFICATION_MAIL_JOBS.due.order_by())
    ).order_by("pk"):
        other = claim_job(told.job_id or 0, job.lease_owner)
        if other is not None and _is_mail_still_wanted(told):
            taken.append((other, told))
        elif other is not None:
            end_lease(
                other, state=State.CANCELLED, finished_at=database_time_expression()
            )
    return taken


def create_invitation_mail_job() -> int:
    return create_job(Job.Kind.INVITATION, Job.Priority.POST, due_at=timezone.now()).pk


def delete_invitation_mail_jobs(jobs: Sequence[int | None]) -> None:
    Job.all_kinds.filter(
        pk__in=[job for job in jobs if job], kind=Job.Kind.INVITATION
    ).delete()


def _list_mail_jobs(*states: Job.State) -> QuerySet[Job]:
    return Job.all_kinds.filter(
        kind__in=[kind.name for kind in MAIL_JOB_KINDS], state__in=states
    )


def requeue_failed_mails(*, by: User) -> int:
    with transaction.atomic():
        queued = _list_mail_jobs(State.FAILED).update(
            state=State.QUEUED, attempt=0, due_at=database_time_expression(-1)
        )
        if queued:
            audit.record_action(
                "mails-queued-again",
                actor=by,
                subject=by,
                place=by,
                facts={"mails": queued},
            )
    return queued


def load_outgoing_mail_state() -> OutgoingMailState:
    waiting, failed = (
        _list_mail_jobs(State.QUEUED, State.RUNNING),
        _list_mail_jobs(State.FAILED),
    )
    troubled = waiting.exclude(reason="").order_by("-attempt", "-pk").first()
    newest = failed.order_by("-created_at", "-pk").values_list("pk", "reason")[
        :MAX_FAILURES_SHOWN
    ]
    errors: dict[int | None, str] = dict(newest)
    rows = [row for kind in MAIL_JOB_KINDS for row in kind.rows.filter(job__in=errors)]
    return OutgoingMailState(
        waiting=waiting.count(),
        since=waiting.aggregate(since=Min("created_at"))["since"],
        error=troubled.reason if troubled else "",
        failed=failed.count(),
        failures=[_describe_mail_failure(row, errors) for row in rows],
    )


def _describe_mail_failure(
    row: Notification | MailedInvitation, errors: Mapping[int | None, str]
) -> dict[str, Any]:
    if isinstance(row, MailedInvitation):
        facts = {"address": row.address, "what": "invitation", "error": errors[row.job]}
    else:
        facts = {
            "address": row.user.email,
            "what": row.kind,
            "error": errors[row.job_id],
        }
    return {**facts, "written_at": row.created_at}


def _is_mail_still_wanted(row: Notification | MailedInvitation) -> bool:
    if isinstance(row, MailedInvitation):
        return row.state == MailedInvitation.State.WAITING and not row.has_expired
    if (
        not row.user.is_active
        or not Notification.objects.readable().filter(pk=row.pk).exists()
    ):
        return False
    return any(
        kind == row.kind and way == NotificationChannel.MAIL
        for kind, way in load_channels_by_kind(row.user).items()
    )


def _is_mail_refusal(trouble: Exception) -> bool:
    code = trouble.smtp_code if isinstance(trouble, SMTPResponseException) else None
    return isinstance(trouble, SMTPRecipientsRefused) or code in (
        550,
        551,
        552,
        553,
        554,
    )


def _describe_mail_error(trouble: Exception) -> str:
    """Describe an error without the server's reply, which may contain private data."""
    if isinstance(trouble, SMTPRecipientsRefused):
        codes = sorted({str(code) for code, _ in trouble.recipients.values()})
        return f"The mail server refuses the address ({', '.join(codes)})."
    kind = (
        "the connection was closed"
        if isinstance(trouble, SMTPServerDisconnected)
        else str(trouble)
    )
    return f"{type(trouble).__name__}: {kind}"[:MAX_ERROR_CHARACTERS]


def build_email_message(
    row: Notification | MailedInvitation, *others: Notification
) -> EmailMessage:
    person = row.created_by if isinstance(row, MailedInvitation) else row.user
    with translation.override((person and person.language) or settings.LANGUAGE_CODE):
        return (
            build_invitation_mail(row)
            if isinstance(row, MailedInvitation)
            else build_notification_email(row, *others)
        )


def build_notification_email(*told: Notification) -> EmailMessage:
    """Return a single e-mail for several notifications of a person, with an unsubscribe
    link for each kind.
    """
    person, words = told[0].user, [write_notification_text(row) for row in told]
    kinds = {
        row.kind: reverse(
            "unsubscribe", args=[sign_unsubscribe_secret(person, row.kind)]
        )
        for row in told
    }
    choose = f"{settings.BASE_URL}{reverse('message-choices')}"
    foot = [_("Change your notification settings: %(address)s") % {"address": choose}]
    for kind, path in kinds.items():
        foot.append(_("Sent for: %(kind)s.") % {"kind": NotificationKind(kind).label})
        foot.append(
            _("Stop these e-mails: %(address)s")
            % {"address": f"{settings.BASE_URL}{path}"}
        )
    # A subject must be one line, but a title may contain line breaks in names.
    subject = " ".join(words[0].title.split())
    if len(told) > 1:
        subject = _("%(first)s, and %(more)s more") % {
            "first": subject,
            "more": len(told) - 1,
        }
    headers = {
        # Attempts share an id, so that mail programs show the e-mail only once.
        "Message-ID": f"<notification-{told[0].pk}@{urlsplit(settings.BASE_URL).hostname}>",
        "Auto-Submitted": "auto-generated",
    }
    if len(kinds) == 1:
        headers["List-Unsubscribe"] = f"<{settings.BASE_URL}{kinds[told[0].kind]}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    parts = [
        f"{word.title}.\n\n{word.text}\n\n{settings.BASE_URL}{word.path}"
        for word in words
    ]
    body = "\n\n\n".join(parts) + "\n\n-- \n" + "\n".join(foot) + "\n"
    return EmailMessage(
        f"[Citeboard] {subject}", body, to=[person.email], headers=headers
    )
