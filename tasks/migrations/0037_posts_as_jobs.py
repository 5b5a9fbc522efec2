"""E-mails, invitations and events become jobs as they stand: when they are due, and how often they were tried."""

from collections.abc import Callable
from typing import Any

from django.db import migrations
from django.utils import timezone

AT_ONCE = 1000
NOTIFICATION, DELIVERY = ("tasks", "Notification"), ("tasks", "Delivery")
INVITATION = ("teams", "MailedInvitation")
STATES = {"sending": "running", "sent": "done", "delivered": "done"}


def carry(rows: tuple[str, str], name: str, facts: Callable[[Any], dict[str, Any]]) -> migrations.RunPython:
    """Make each row's job by the facts; rows that have one already are left alone."""

    def forwards(apps: Any, schema_editor: Any) -> None:
        jobs_of_all_kinds = apps.get_model("tasks", "Job").all_kinds
        model = apps.get_model(*rows)
        waiting = model.objects.filter(job=None).order_by("pk")
        if hasattr(model, "mail"):
            waiting = waiting.exclude(mail="none")
        while batch := list(waiting[:AT_ONCE]):
            made = [jobs_of_all_kinds.model(kind=name, **facts(row)) for row in batch]
            for row, job in zip(batch, jobs_of_all_kinds.bulk_create(made), strict=True):
                # An invitation has no more than the number.
                row.job = job.pk if rows == INVITATION else job
            model.objects.bulk_update(batch, ["job"])
        if schema_editor.connection.vendor == "postgresql":
            # Tables with checks that are still to be made cannot be altered.
            schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")

    return migrations.RunPython(forwards, migrations.RunPython.noop)


def of_mail(row: Any) -> dict[str, Any]:
    state = STATES.get(row.mail, row.mail)
    return {
        "priority": 5,
        "state": state,
        "reason": row.mail_error,
        "attempt": row.mail_attempts,
        "lease_owner": row.mail_owner,
        "lease_expires_at": (row.mail_lease_expires_at or timezone.now()) if state == "running" else None,
        "created_at": row.created_at,
        "due_at": row.mail_due_at or row.created_at,
        "finished_at": row.mail_sent_at,
    }


def of_event(row: Any) -> dict[str, Any]:
    state = STATES.get(row.state, row.state)
    return {
        "priority": 5,
        "state": state,
        "attempt": row.attempts,
        "lease_owner": row.owner,
        "lease_expires_at": (row.lease_expires_at or timezone.now()) if state == "running" else None,
        "created_at": row.created_at,
        "due_at": row.due_at,
        "finished_at": row.answered_at if state in ("done", "failed") else None,
    }


class Migration(migrations.Migration):
    dependencies = [("tasks", "0036_one_job_table"), ("teams", "0007_invitations_name_their_job")]
    run_before = [("teams", "0008_mails_are_jobs")]

    operations = [
        carry(NOTIFICATION, "mail", of_mail),
        carry(INVITATION, "invitation", of_mail),
        carry(DELIVERY, "webhook", of_event),
    ]
