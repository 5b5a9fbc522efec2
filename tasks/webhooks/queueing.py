"""Writing an event for the webhooks of its season, in its transaction. No score is part of it."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from citeboard.core.audit import as_json
from tasks.models import Delivery, Season, Webhook


def queue_event(kind: str, event: str, season: Season | int, **facts: Any) -> None:
    """Each webhook gets an event once, however often it is written."""
    number = season if isinstance(season, int) else season.pk
    webhooks = list(Webhook.objects.filter(season=number, is_active=True).select_related("season"))
    now = timezone.now()
    Delivery.objects.bulk_create(
        (
            Delivery(
                webhook=webhook,
                event=event,
                kind=kind,
                payload={
                    "kind": kind,
                    "event": event,
                    "season": webhook.season.slug,
                    "at": as_json(now),
                    **facts,
                },
                created_at=now,
                due_at=now,
            )
            for webhook in webhooks
        ),
        ignore_conflicts=True,
    )
