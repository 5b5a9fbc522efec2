"""Store the judges that the site may ask in a phase, with the organisers' consent and
budget.
"""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any, ClassVar

from django.db import models

from citeboard.core.models import build_text_field_with_default
from citeboard.teams.models import User
from scoring.judges.declared import CHAT_JUDGE_KIND
from scoring.models.ledger import Judge, JudgementImport
from tasks.models import Phase
from tasks.types.ledger import JUDGEMENT_KINDS_BY_NAME, MAX_JUDGE_NAME_CHARACTERS

COST_FIELD_PRECISION: dict[str, Any] = {"max_digits": 14, "decimal_places": 6}


class PhaseJudgeQuerySet(models.QuerySet["PhaseJudge"]):
    def with_current_consent(self) -> PhaseJudgeQuerySet:
        """Return the judges that organisers have chosen and not removed."""
        return self.filter(ended_at=None)


class PhaseJudge(models.Model):
    """A judge of a phase, with the prompt, the organisers' consent, the budget, and the
    cost so far.

    ``reserved`` is the maximum cost of requests that are still running. If the worker
    is killed, the reserved cost is treated as spent.
    """

    phase = models.ForeignKey(
        Phase, on_delete=models.CASCADE, related_name="phase_judges"
    )
    name = models.CharField(max_length=MAX_JUDGE_NAME_CHARACTERS)
    kind = build_text_field_with_default(
        10, choices=[(kind, kind) for kind in JUDGEMENT_KINDS_BY_NAME]
    )
    instrument = models.CharField(max_length=20, help_text="chat or entailment")
    host = build_text_field_with_default(
        300, help_text="Host that receives the texts; empty for none."
    )
    model = build_text_field_with_default(300)
    prompt = models.TextField(blank=True, default="")
    answers: models.JSONField[dict[str, str]] = models.JSONField(
        default=dict, blank=True, help_text="Labels by the words of a reply."
    )
    signature: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)
    digest = build_text_field_with_default(
        MAX_JUDGE_NAME_CHARACTERS, help_text="Of the signature."
    )
    currency = build_text_field_with_default(3)
    budget = models.DecimalField(null=True, blank=True, **COST_FIELD_PRECISION)
    spent = models.DecimalField(default=Decimal(0), **COST_FIELD_PRECISION)
    reserved = models.DecimalField(default=Decimal(0), **COST_FIELD_PRECISION)
    replies = models.PositiveBigIntegerField(default=0)
    unlabelled = models.PositiveBigIntegerField(
        default=0, help_text="Questions without a label after two replies."
    )
    failures: models.JSONField[dict[str, int]] = models.JSONField(
        default=dict, blank=True, help_text="Questions without a reply, by cause."
    )
    source = models.ForeignKey(
        JudgementImport,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="The import that its rows belong to.",
    )
    agreed_at = models.DateTimeField()
    agreed_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = PhaseJudgeQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["phase", "name", "kind"]
        constraints = [
            models.UniqueConstraint(
                fields=["phase", "name", "kind"], name="phase_judge_once_a_kind"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def sends_texts_to_other_server(self) -> bool:
        """Return True if the texts of runs are sent to another server."""
        return self.instrument == CHAT_JUDGE_KIND

    @property
    def prompt_digest(self) -> str:
        return hashlib.sha256(self.prompt.encode()).hexdigest() if self.prompt else ""

    @property
    def cost_text(self) -> str:
        return f"{self.spent:.4f}"

    @property
    def budget_text(self) -> str:
        return f"{self.budget or 0:.2f}"

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    def get_or_create_ledger_judge(self) -> Judge:
        """Return the row of the table `Judge` for this judge, to which the ledger's
        labels refer, and create the row if it is missing.
        """
        return Judge.objects.get_or_create(
            kind=self.kind,
            name=self.name,
            digest=self.digest,
            season=self.phase.task.season,
        )[0]
