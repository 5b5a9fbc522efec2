"""Manage the webhooks of a season. Webhooks can be created and removed, their secrets
renewed, and deliveries repeated.
"""

import datetime as dt
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.audit import convert_to_json_value
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from tasks.delivery.webhooks.posting import validate_webhook_url
from tasks.models import Delivery, Job, Season, Webhook

MAX_WEBHOOKS_PER_SEASON = 10
#: Organisers can undo an action within `UNDO_GRACE_PERIOD`.
#: E-mails and webhooks about an action are sent `UNDO_GRACE_PERIOD` after the action.
UNDO_GRACE_PERIOD = dt.timedelta(minutes=10)
_delayed_event_names: ContextVar[tuple[list[str], dt.datetime | None] | None] = (
    ContextVar("held", default=None)
)


@contextmanager
def delay_messages_until_undo_ends(
    since: dt.datetime | None = None,
) -> Iterator[list[str]]:
    """Delay the e-mails and webhooks that the block creates until the user can no
    longer undo the action. Yield a list to which the event names of the block's e-mails
    and webhooks are appended.

    ``since`` is the time of the action, by default now.
    """
    events: list[str] = []
    token = _delayed_event_names.set((events, since))
    try:
        yield events
    finally:
        _delayed_event_names.reset(token)


def compute_message_send_time(event: str, at: dt.datetime) -> dt.datetime:
    """Return the time at which e-mails and webhooks about an event are sent."""
    held = _delayed_event_names.get()
    if held is None:
        return at
    events, since = held
    events.append(event)
    return max(at, (since or at) + UNDO_GRACE_PERIOD)


def derive_webhook_secret(webhook: Webhook) -> str:
    return salted_hmac(
        "tasks.webhooks", f"{webhook.pk}.{webhook.nonce}", algorithm="sha256"
    ).hexdigest()


def make_webhook(*, season: Season, url: str, by: User) -> Webhook:
    url = validate_webhook_url(url)
    try:
        with transaction.atomic():
            season = Season.objects.select_for_update().get(pk=season.pk)
            if season.webhooks.count() >= MAX_WEBHOOKS_PER_SEASON:
                message = _(
                    "a season has %(number)s webhooks at most; remove one first"
                )
                raise ActionRefused(message % {"number": MAX_WEBHOOKS_PER_SEASON})
            webhook = Webhook.objects.create(
                season=season, url=url, nonce=secrets.token_hex(12), created_by=by
            )
            _record_webhook_change(webhook, by, "webhook-made", None, url)
    except IntegrityError as same:
        raise ActionRefused(
            _("the season has a webhook with this address already")
        ) from same
    return webhook


def renew_secret(*, webhook: Webhook, by: User) -> Webhook:
    """Replace the secret of a webhook. Signatures with the old secret become invalid."""
    with transaction.atomic():
        changed = Webhook.objects.select_for_update().get(pk=webhook.pk)
        changed.nonce = secrets.token_hex(12)
        changed.save(update_fields=["nonce"])
        _record_webhook_change(changed, by, "webhook-renewed", changed.url, changed.url)
    return changed


def remove_webhook(*, webhook: Webhook, by: User) -> None:
    with transaction.atomic():
        _record_webhook_change(webhook, by, "webhook-removed", webhook.url, None)
        Webhook.objects.filter(pk=webhook.pk).delete()


def repeat_delivery(*, delivery: Delivery, by: User) -> Delivery:
    with transaction.atomic():
        job = Job.all_kinds.filter(pk=delivery.job_id).exclude(state=Job.State.RUNNING)
        if job.update(state=Job.State.QUEUED, due_at=timezone.now(), attempt=0):
            before, queued = delivery.state.value, Delivery.State.QUEUED.value
            _record_webhook_change(
                delivery.webhook,
                by,
                "webhook-repeated",
                before,
                queued,
                kind=delivery.kind,
            )
    delivery.refresh_from_db()
    return delivery


def _record_webhook_change(
    webhook: Webhook, by: User, key: str, before: object, after: object, **facts: str
) -> None:
    change = audit.SettingChange("webhook", before, after)
    audit.record_action(
        key,
        actor=by,
        subject=webhook,
        place=webhook.season,
        facts=facts,
        changes=[change],
    )


def queue_webhook_event(
    kind: str, event: str, season: Season | int, **facts: Any
) -> None:
    """Queue one delivery of an event for each active webhook. Repeated calls for an
    event add no deliveries.
    """
    number = season if isinstance(season, int) else season.pk
    told = Delivery.objects.filter(webhook=OuterRef("pk"), event=event)
    webhooks = Webhook.objects.filter(
        ~Exists(told), season=number, is_active=True
    ).select_related("season")
    now = timezone.now()
    columns: dict[str, Any] = {"event": event, "kind": kind, "created_at": now}
    payload = {"kind": kind, "event": event, "at": convert_to_json_value(now), **facts}
    with transaction.atomic():
        jobs = Job.create_webhook_or_mail_jobs(
            Job.Kind.WEBHOOK, len(webhooks), now, compute_message_send_time(event, now)
        )
        rows = [
            Delivery(
                webhook=hook,
                job=job,
                payload={**payload, "season": hook.season.slug},
                **columns,
            )
            for hook, job in zip(webhooks, jobs, strict=True)
        ]
        Delivery.objects.bulk_create(rows, ignore_conflicts=True)
