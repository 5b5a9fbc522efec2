"""Background work and boards become jobs as they stand: whether they wait, and who is at them until when."""

from importlib import import_module
from typing import Any

from django.db import migrations
from django.utils import timezone

carry = import_module("tasks.migrations.0037_posts_as_jobs").carry


def of_background(row: Any) -> dict[str, Any]:
    names = (
        "state", "reason", "attempt", "lease_owner", "lease_expires_at", "progress", "created_at", "woken_at",
        "finished_at",
    )  # fmt: skip
    return {"priority": 2, **{name: getattr(row, name) for name in names}}


def of_board(row: Any) -> dict[str, Any]:
    now = timezone.now()
    is_leased, is_asked = row.lease_expires_at is not None, row.asked_at is not None
    return {
        "priority": 3,
        "state": "running" if is_leased else "queued" if is_asked else "done",
        "attempt": int(is_leased),
        "lease_owner": row.lease_owner,
        "lease_expires_at": row.lease_expires_at,
        "created_at": row.asked_at or now,
        "woken_at": row.asked_at,
        "finished_at": None if is_leased or is_asked else now,
    }


class Migration(migrations.Migration):
    dependencies = [
        ("scoring", "0011_background_work_and_boards_name_their_job"),
        ("tasks", "0037_posts_as_jobs"),
    ]

    operations = [
        carry(("scoring", "BackgroundJob"), "background", of_background),
        carry(("scoring", "BoardOrder"), "compare", of_board),
    ]
