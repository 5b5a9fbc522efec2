"""Where organisers' programs are told of events, and each time that they were."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from citeboard.teams.models import User
from tasks.models.seasons import Season


class Webhook(models.Model):
    """An address that is posted to. Its secret is made of this nonce and the site's key, and kept nowhere."""

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=400)
    nonce = models.CharField(max_length=32)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]
        constraints = [models.UniqueConstraint(fields=["season", "url"], name="webhook_once_an_address")]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """One event for one webhook, written in the event's transaction and posted at least once."""

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        SENDING = "sending", _("being sent")
        DELIVERED = "delivered", _("delivered")
        FAILED = "failed", _("given up")

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=160)
    kind = models.CharField(max_length=30)
    payload: models.JSONField[dict[str, Any]] = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    due_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    owner = models.CharField(max_length=80, blank=True, default="")
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    response_code = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True, default="")
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "-id"]
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["state", "due_at"], name="delivery_due")]
        constraints = [models.UniqueConstraint(fields=["webhook", "event"], name="delivery_once_an_event")]

    def __str__(self) -> str:
        return f"{self.kind} to {self.webhook}"
