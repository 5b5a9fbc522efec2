"""A board as it stood: what a citation leads to, whatever the board shows later."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import zlib
from typing import Any, ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from tasks.models import Gold, Phase

#: Boards of a phase that are kept within an hour because somebody asks how to cite them.
MAX_CITED_AN_HOUR = 60


class CitedTooOften(Exception):
    """Anybody may ask how to cite a board, and what is kept is never deleted."""

    def __init__(self) -> None:
        super().__init__(
            f"boards of this phase were kept {MAX_CITED_AN_HOUR} times within the hour, which is as often as "
            "they are; please cite it by its own address, or ask again later"
        )


class SnapshotQuerySet(models.QuerySet["Snapshot"]):
    def keep(self, content: str, **facts: Any) -> Snapshot:
        """The same content is kept once for each occasion and audience. Raises CitedTooOften."""
        packed = content.encode()
        same = {name: facts.pop(name) for name in ("phase", "audience", "occasion")}
        same["digest"] = hashlib.sha256(packed).hexdigest()
        if found := self.filter(**same).first():
            return found
        if same["occasion"] == Snapshot.Occasion.CITED and self._cited_lately(same["phase"]):
            raise CitedTooOften
        kept, _ = self.get_or_create(**same, defaults={**facts, "packed": zlib.compress(packed, 6)})
        return kept

    def _cited_lately(self, phase: Phase) -> bool:
        """As often as it may be."""
        since = timezone.now() - dt.timedelta(hours=1)
        cited = self.filter(phase=phase, occasion=Snapshot.Occasion.CITED, created_at__gt=since)
        return cited.count() >= MAX_CITED_AN_HOUR


class Snapshot(models.Model):
    """The rows of a board as JSON, as ``audience`` saw them then; it never changes."""

    class Occasion(models.TextChoices):
        CITED = "cited", _("somebody cited the board")
        GOLD = "gold", _("a newer version of the gold took its place")
        CLOSE = "close", _("the phase closed")
        FREEZE = "freeze", _("the board was frozen")
        REVEAL = "reveal", _("the frozen board was revealed")

    phase = models.ForeignKey(Phase, on_delete=models.PROTECT, related_name="snapshots")
    audience = models.CharField(max_length=12, help_text="As whom the board was read.")
    occasion = models.CharField(max_length=8, choices=Occasion)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the JSON; its beginning is the address.")
    packed = models.BinaryField(help_text="The JSON, compressed by zlib.")
    has_scores = models.BooleanField(help_text="False where ranks alone were shown.")
    has_names = models.BooleanField(help_text="False where it did not say whose the systems are.")
    rules = models.CharField(max_length=60)
    gold = models.ForeignKey(Gold, on_delete=models.PROTECT, related_name="snapshots")
    version = models.PositiveBigIntegerField(help_text="The phase's, when the board was kept.")
    frozen_at = models.DateTimeField(null=True, help_text="The instant at which a frozen board stood so.")
    created_at = models.DateTimeField(default=timezone.now)

    objects = SnapshotQuerySet.as_manager()

    #: So much of the digest stands in the address.
    LETTERS: ClassVar[int] = 16

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["phase", "audience", "occasion", "digest"], name="snapshot_once_an_occasion"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.phase}, version {self.version}"

    @property
    def short(self) -> str:
        return self.digest[: self.LETTERS]

    @property
    def text(self) -> bytes:
        """The JSON, byte by byte as its digest says."""
        return zlib.decompress(self.packed)

    @property
    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found
