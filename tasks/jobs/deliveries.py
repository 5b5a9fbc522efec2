"""Posting what is due: at least once, by whoever holds the row's lease, again with growing pauses."""

from __future__ import annotations

import datetime as dt
import logging
import secrets
import time
from http.client import HTTPException

from django.db.models import F, Q, QuerySet

from citeboard.core.database import database_now, from_now
from tasks.models import Delivery
from tasks.webhooks.posting import AddressRefused, body_of, post, target_of
from tasks.webhooks.services import secret_of

State = Delivery.State

LEASE_SECONDS = 60
MAX_AT_ONCE, BUDGET_SECONDS = 50, 15
#: The pauses before each further attempt; after the last it is given up.
PAUSES = (60, 300, 1800, 7200, 21_600, 86_400)
MAX_ERROR = 300

log = logging.getLogger(__name__)


def send_deliveries() -> int:
    """How many were taken by their programs."""
    owner, begun, taken = secrets.token_hex(8), time.monotonic(), 0
    for pk in list(_due().values_list("pk", flat=True)[:MAX_AT_ONCE]):
        if time.monotonic() - begun > BUDGET_SECONDS:
            break
        delivery = _claim(pk, owner)
        if delivery is not None:
            taken += _send(delivery)
    return taken


def _due() -> QuerySet[Delivery]:
    # A second more, since SQLite counts in milliseconds.
    now = database_now() + dt.timedelta(seconds=1)
    due = Q(state=State.QUEUED, due_at__lte=now) | Q(state=State.SENDING, lease_expires_at__lt=now)
    return Delivery.objects.filter(due, webhook__is_active=True).order_by("due_at", "pk")


def _claim(pk: int, owner: str) -> Delivery | None:
    claimed = Delivery.objects.filter(pk__in=_due().order_by().filter(pk=pk).values("pk")).update(
        state=State.SENDING,
        owner=owner,
        lease_expires_at=from_now(LEASE_SECONDS),
        attempts=F("attempts") + 1,
    )
    return Delivery.objects.select_related("webhook").get(pk=pk) if claimed else None


def _send(delivery: Delivery) -> bool:
    code, error = None, ""
    try:
        target = target_of(delivery.webhook.url)
        code = post(
            target,
            body=body_of(delivery.payload),
            secret=secret_of(delivery.webhook),
            timestamp=int(time.time()),
            delivery=delivery.pk,
        )
    except AddressRefused as refused:
        error = str(refused)
    except (OSError, HTTPException, UnicodeError) as trouble:
        error = f"{type(trouble).__name__}: {trouble}"[:MAX_ERROR]
    is_taken = code is not None and 200 <= code < 300
    state, due = _next(delivery, is_taken)
    leased = Delivery.objects.filter(
        pk=delivery.pk, state=State.SENDING, owner=delivery.owner, attempts=delivery.attempts
    )
    leased.update(
        state=state,
        due_at=from_now(due),
        lease_expires_at=None,
        response_code=code,
        error=error,
        answered_at=from_now(),
    )
    if not is_taken:
        log.warning(
            "Delivery %s was not taken, attempt %s: %s", delivery.pk, delivery.attempts, code or error
        )
    return is_taken


def _next(delivery: Delivery, is_taken: bool) -> tuple[Delivery.State, int]:
    if is_taken:
        return State.DELIVERED, 0
    if delivery.attempts > len(PAUSES):
        return State.FAILED, 0
    return State.QUEUED, PAUSES[delivery.attempts - 1]
