"""Which evaluations stood on a board when it was frozen."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from tasks.models import Gold, Phase


class FrozenBoard(models.Model):
    """Kept soon after the instant, so that withdrawing or choosing a run changes nothing of what is shown."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="frozen_boards")
    rules = models.CharField(max_length=60)
    gold = models.ForeignKey(Gold, on_delete=models.PROTECT, related_name="+")
    frozen_from = models.DateTimeField()
    evaluations: models.JSONField[list[int]] = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["phase", "rules", "frozen_from"], name="frozen_board_once_an_instant"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.phase}, frozen at {self.frozen_from:%Y-%m-%d %H:%M}"
