"""Post events that are due to webhooks. Each event is posted to a webhook at least
once. A failed post is repeated after increasing pauses.
"""

import logging
import time
from http.client import HTTPException
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from citeboard.core.database import from_now
from tasks.delivery.webhooks.posting import AddressRefused, body_of, post, target_of
from tasks.delivery.webhooks.services import secret_of
from tasks.jobs.engine import PostedKind, end_lease
from tasks.models import Delivery, Job, Webhook

State = Job.State

MAX_AT_ONCE, BUDGET_SECONDS = 50, 15
#: A failed delivery is repeated after each pause in `PAUSES`, in seconds.
PAUSES = (60, 300, 1800, 7200, 21_600, 86_400)
MAX_ERROR = 300

log = logging.getLogger(__name__)


class Deliveries(PostedKind):
    name, model, lease = Job.Kind.WEBHOOK, Delivery, 60
    related = ("webhook",)

    @property
    def due(self) -> QuerySet[Job]:
        return super().due.filter(
            delivery__webhook__in=Webhook.objects.filter(is_active=True)
        )


DELIVERIES = Deliveries()


def send_deliveries() -> int:
    until = time.monotonic() + BUDGET_SECONDS
    return sum(
        _send_delivery(*taken)
        for taken in DELIVERIES.take_due(most=MAX_AT_ONCE, until=until)
    )


def _send_delivery(job: Job, delivery: Delivery) -> bool:
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
        facts: dict[str, Any] = {"state": State.DONE, "finished_at": from_now()}
    elif job.attempt > len(PAUSES):
        facts = {"state": State.FAILED, "finished_at": from_now()}
    else:
        facts = {"state": State.QUEUED, "due_at": from_now(PAUSES[job.attempt - 1])}
    with transaction.atomic():
        if end_lease(job, **facts):
            answered = Delivery.objects.filter(pk=delivery.pk)
            answered.update(response_code=code, error=error, answered_at=from_now())
    if not is_taken:
        log.warning(
            "Delivery %s was not taken, attempt %s: %s",
            delivery.pk,
            job.attempt,
            code or error,
        )
    return is_taken
