"""A score with all that a reader needs to trust it: its meaning, its signature, how to compute it again."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from scoring.board.names import metric_label
from scoring.board.numbers import interval, shown
from scoring.metrics import Metric, known_metric
from scoring.metrics.entailment.labels import with_labels
from scoring.models import Evaluation, Score
from scoring.stats.signature import offline_command
from tasks.types import task_type as the_type
from tasks.types.printed_options import printed_options

UPWARD = {True: _("higher is better"), False: _("lower is better"), None: ""}


@dataclass(frozen=True, kw_only=True)
class Explained:
    """One number, ready to be shown."""

    id: int
    metric: str
    label: str
    value: str
    interval: str
    n: int
    is_percentage: bool
    upward: str
    definition: str
    citation: str
    signature: str
    parts: list[tuple[str, str]]
    command: str


def explained(score: Score, evaluation: Evaluation, task_type: str, filename: str) -> Explained:
    own = the_type(task_type)
    metric = known_metric(own, score.metric, evaluation.rules, own.checked_options(evaluation.options))
    parts = signature_parts(score.signature)
    return Explained(
        id=score.pk,
        metric=score.metric,
        label=metric_label(score.metric),
        value=shown(score.value, score.scale, is_infinite=score.is_infinite),
        interval=interval(score.low, score.high, score.scale),
        n=score.n,
        is_percentage=score.scale == 100,
        upward=str(UPWARD[metric.higher_is_better if metric else None]),
        definition=definition(metric) if metric else "",
        citation=metric.citation if metric else "",
        signature=score.signature,
        parts=parts,
        command=offline_command(
            task_type,
            rules=evaluation.rules,
            options=printed_options(with_labels(evaluation.options, "LABELS")),
            signature=score.signature,
            gold=["GOLD"],
            run=filename,
        ),
    )


def definition(metric: Metric) -> str:
    """What the metric says of itself, in its first sentences."""
    text = inspect.getdoc(type(metric)) or ""
    return " ".join(text.replace("*", "").split())


def signature_parts(signature: str) -> list[tuple[str, str]]:
    """The words of a signature by name; the first, which has none, is the metric."""
    head, *rest = signature.split("|")
    pairs = [part.partition(":") for part in rest]
    return [("metric", head), *((name, value) for name, _, value in pairs)]
