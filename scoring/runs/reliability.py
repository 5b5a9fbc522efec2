"""The reliability chart of a run that gives probabilities: by confidence, how often it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from citeboard.core.words import in_decimals
from scoring.board.comparisons import Unreadable, statistics_of
from scoring.board.differences import too_small
from scoring.board.numbers import shown
from scoring.figures import Axis, Measured, Point, PointSeries, Scatter
from scoring.metrics import known_metric
from scoring.metrics.calibration import CalibrationError
from scoring.models import Evaluation


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Instances whose confidence is above ``low`` and at most ``high``."""

    low: float
    high: float
    count: int
    confidence: float
    right: float

    @property
    def label(self) -> str:
        ends = {"low": f"{self.low:.2g}", "high": f"{self.high:.2g}"}
        return in_decimals(_("%(low)s to %(high)s") % ends)


def reliability(evaluation: Evaluation, min_bin_size: int) -> dict[str, Any] | None:
    """Chart and table; None where the run gave no probabilities or its matrices are gone.

    Bins of fewer instances are left out, and those without which one of them would follow.
    """
    bins = _bins(evaluation)
    hidden = too_small({own.label: own.count for own in bins}, min_bin_size)
    seen = [own for own in bins if own.label not in hidden]
    if not bins:
        return None
    lines = [
        {
            "label": own.label,
            "count": own.count,
            "confidence": shown(own.confidence),
            "right": shown(own.right),
        }
        for own in seen
    ]
    return {"lines": lines, "figure": reliability_chart(seen), "min_size": min_bin_size if hidden else 0}


def _bins(evaluation: Evaluation) -> list[Bin]:
    """Those that have instances."""
    task_type = evaluation.phase.task.task_type
    options = task_type.checked_options(evaluation.options)
    named = (
        known_metric(task_type, score.metric, evaluation.rules, options) for score in evaluation.scores.all()
    )
    metric = next((metric for metric in named if isinstance(metric, CalibrationError)), None)
    if metric is None:
        return []
    try:
        stats = statistics_of(evaluation, [metric.statistic]).matrices[metric.statistic]
    except (Unreadable, KeyError):
        return []
    edges = np.linspace(0, 1, metric.bins + 1)
    return [
        Bin(
            low=float(edges[place]),
            high=float(edges[place + 1]),
            count=round(count),
            confidence=confidence / count,
            right=right / count,
        )
        for place, (count, confidence, right) in enumerate(stats.sum(axis=0).reshape(3, -1).T.tolist())
        if count
    ]


def reliability_chart(bins: Sequence[Bin]) -> Scatter:
    """Confidence across, the share that is right upwards; on the diagonal both are the same."""
    places = [
        Point(
            name=_("%(count)s instances") % {"count": in_decimals(f"{own.count:,}")},
            x=Measured(
                value=own.confidence, text=_("confidence %(value)s") % {"value": shown(own.confidence)}
            ),
            y=Measured(value=own.right, text=_("%(share)s right") % {"share": shown(own.right)}),
        )
        for own in bins
    ]
    ends = [Point(name="", x=Measured(value=end), y=Measured(value=end)) for end in (0.0, 1.0)]
    return Scatter(
        title=_("Share that is right by confidence"),
        series=[
            PointSeries(name=_("this run"), points=places, has_line=True),
            PointSeries(name=_("calibrated"), points=ends, has_points=False, is_reference=True),
        ],
        x=Axis(title=_("Mean confidence"), bounds=(0.0, 1.0), has_zero=True),
        y=Axis(title=_("Share that is right"), bounds=(0.0, 1.0), has_zero=True),
    )
