"""Post events that are due to webhooks. Each event is posted to a webhook at least
once. A failed post is repeated after increasing pauses.
"""

import logging
import time
from http.client import HTTPException
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from citeboard.core.database import database_time_expression
from tasks.delivery.webhooks.posting import (
    WebhookUrlRefused,
    encode_payload,
    post_delivery,
    resolve_webhook_target,
)
from tasks.delivery.webhooks.services import derive_webhook_secret
from tasks.jobs.engine import SweeperJobKind, end_lease
from tasks.models import Delivery, Job, Webhook

State = Job.State

MAX_DELIVERIES_PER_SWEEP, SENDING_BUDGET_SECONDS = 50, 15
#: A failed delivery is repeated after each pause in `RETRY_PAUSES_SECONDS`, in seconds.
RETRY_PAUSES_SECONDS = (60, 300, 1800, 7200, 21_600, 86_400)
MAX_ERROR_CHARACTERS = 300

log = logging.getLogger(__name__)


class WebhookDeliveryJobKind(SweeperJobKind):
    name, model, lease = Job.Kind.WEBHOOK, Delivery, 60
    related = ("webhook",)

    @property
    def due(self) -> QuerySet[Job]:
        return super().due.filter(
            delivery__webhook__in=Webhook.objects.filter(is_active=True)
        )


WEBHOOK_DELIVERY_JOBS = WebhookDeliveryJobKind()


def send_due_deliveries() -> int:
    until = time.monotonic() + SENDING_BUDGET_SECONDS
    return sum(
        _send_delivery(*taken)
        for taken in WEBHOOK_DELIVERY_JOBS.claim_due_jobs(
            most=MAX_DELIVERIES_PER_SWEEP, until=until
        )
    )


def _send_delivery(job: Job, delivery: Delivery) -> bool:
    code, error = None, ""
    try:
        code = post_delivery(
            resolve_webhook_target(delivery.webhook.url),
            body=encode_payload(delivery.payload),
            secret=derive_webhook_secret(delivery.webhook),
            timestamp=int(time.time()),
            delivery=delivery.pk,
        )
    except WebhookUrlRefused as refused:
        error = str(refused)
    except (OSError, HTTPException, UnicodeError) as trouble:
        error = f"{type(trouble).__name__}: {trouble}"[:MAX_ERROR_CHARACTERS]
    is_taken = code is not None and 200 <= code < 300
    if is_taken:
        facts: dict[str, Any] = {
            "state": State.DONE,
            "finished_at": database_time_expression(),
        }
    elif job.attempt > len(RETRY_PAUSES_SECONDS):
        facts = {"state": State.FAILED, "finished_at": database_time_expression()}
    else:
        facts = {
            "state": State.QUEUED,
            "due_at": database_time_expression(RETRY_PAUSES_SECONDS[job.attempt - 1]),
        }
    with transaction.atomic():
        if end_lease(job, **facts):
            answered = Delivery.objects.filter(pk=delivery.pk)
            answered.update(
                response_code=code, error=error, answered_at=database_time_expression()
            )
    if not is_taken:
        log.warning(
            "Delivery %s was not taken, attempt %s: %s",
            delivery.pk,
            job.attempt,
            code or error,
        )
    return is_taken
