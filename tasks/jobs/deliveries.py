"""Posting the events that are due to organisers' programs: at least once, again with growing pauses."""

import logging
import time
from http.client import HTTPException

from django.db.models import QuerySet

from citeboard.core.database import from_now
from tasks.jobs.engine import DueKind
from tasks.models import Delivery, Webhook
from tasks.webhooks.posting import AddressRefused, body_of, post, target_of
from tasks.webhooks.services import secret_of

State = Delivery.State

MAX_AT_ONCE, BUDGET_SECONDS = 50, 15
#: The pauses before each further attempt; after the last it is given up.
PAUSES = (60, 300, 1800, 7200, 21_600, 86_400)
MAX_ERROR = 300

log = logging.getLogger(__name__)


class Deliveries(DueKind[Delivery]):
    model, lease = Delivery, 60
    related = ("webhook",)
    owner, attempt = "owner", "attempts"

    @property
    def due(self) -> QuerySet[Delivery]:
        return super().due.filter(webhook__in=Webhook.objects.filter(is_active=True))


DELIVERIES = Deliveries()


def send_deliveries() -> int:
    until = time.monotonic() + BUDGET_SECONDS
    return sum(_send(delivery) for delivery in DELIVERIES.take_due(most=MAX_AT_ONCE, until=until))


def _send(delivery: Delivery) -> bool:
    code, error = None, ""
    try:
        code = post(
            target_of(delivery.webhook.url),
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
    if is_taken:
        state, pause = State.DELIVERED, 0
    elif delivery.attempts > len(PAUSES):
        state, pause = State.FAILED, 0
    else:
        state, pause = State.QUEUED, PAUSES[delivery.attempts - 1]
    DELIVERIES.end_lease(
        delivery,
        state=state,
        due_at=from_now(pause),
        response_code=code,
        error=error,
        answered_at=from_now(),
    )
    if not is_taken:
        log.warning(
            "Delivery %s was not taken, attempt %s: %s", delivery.pk, delivery.attempts, code or error
        )
    return is_taken
