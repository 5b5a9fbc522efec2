"""From gold and answers side by side to every number: scores, intervals, breakdowns, signatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics import Metric, metrics_of
from scoring.metrics.base import Floats, unit_sums, value_of
from scoring.metrics.entailment.labels import labels_digest
from scoring.stats import jackknife
from scoring.stats.breakdown import breakdown, number
from scoring.stats.interval_methods import RESAMPLED, WILSON_JACKKNIFE
from scoring.stats.resampling import Bounds, Measured, Resampler, refuse_not_finite
from scoring.stats.signature import ENTAILMENT_LABELS, column_key, signature
from tasks.types import Options, Pairs, TaskType
from tasks.types.columns import Classes, present


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How intervals are made; 0 resamples for none. Their number and the seed concern those that resample."""

    resamples: int = 1000
    seed: int = 0
    method: str = WILSON_JACKKNIFE

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """What the signature says."""
        if self.resamples and self.method not in RESAMPLED:
            return {"interval": self.method}
        return {"resamples": self.resamples, "interval": self.method, "seed": self.seed}


@dataclass(frozen=True, kw_only=True)
class Value:
    """A metric's value on one run, unrounded. ``value`` is NaN where it is undefined."""

    value: float
    low: float | None
    high: float | None
    n: int
    scale: float
    higher_is_better: bool | None
    column: str
    signature: str

    def as_dict(self) -> dict[str, Any]:
        return {
            **number(self.value),
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "scale": self.scale or 1,
            **({} if self.scale else {"is_count": True}),
            "higher_is_better": self.higher_is_better,
            "column": self.column,
            "signature": self.signature,
        }


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Every number of one run under one rule set, and the matrices that they follow from."""

    metrics: Mapping[str, Value]
    breakdowns: Mapping[str, Mapping[str, Mapping[str, dict[str, Any]]]]
    notes: Mapping[str, int]
    statistics: Mapping[str, Floats]
    units: NDArray[np.intp]
    unit_names: list[str] = field(default_factory=list)


def evaluate(
    task_type: TaskType,
    pairs: Pairs,
    *,
    rules: str,
    options: Options,
    gold: str,
    resampling: Resampling,
    progress: Callable[[float], None] = lambda share: None,
) -> Scores:
    """Score the pairs under a rule set; ``gold`` is the digest of the gold, for the signatures.

    ``progress`` is told the share of the matrices that are computed.
    """
    metrics = metrics_of(task_type, rules, options)
    statistics = matrices(metrics, pairs, progress)
    unit_names, units = numbered_units(pairs)
    has_gold = present(pairs.gold)
    intervals = _intervals(metrics, statistics, units, len(unit_names), resampling)
    provenance: dict[str, str | int | float] = {
        "units": len(unit_names),
        "missing": int((~present(pairs.answers)).sum()),
        **resampling.provenance,
    }
    labels = _labels_used(metrics, pairs)
    values = {}
    for metric, bounds in zip(metrics, intervals, strict=True):
        stats = statistics[metric.statistic]
        n = metric.instances(stats, has_gold)
        column = column_key(metric, gold=gold)
        low, high = bounds or (None, None)
        values[metric.name] = Value(
            value=value_of(metric, stats, units),
            low=low,
            high=high,
            n=n,
            scale=metric.scale,
            higher_is_better=metric.higher_is_better,
            column=column,
            signature=signature(
                column, {"n": n, **provenance, **labels.get(metric.statistic, {})}, metric.packages
            ),
        )
    notes = {name: int(count) for name, count in pairs.notes.items()}
    for metric in metrics:
        notes |= metric.notes(statistics[metric.statistic])
    return Scores(
        metrics=values,
        breakdowns={
            dimension: breakdown(metrics, statistics, labels, has_gold)
            for dimension, labels in pairs.features.items()
        },
        notes=notes,
        statistics=statistics,
        units=units,
        unit_names=unit_names,
    )


def _labels_used(metrics: Sequence[Metric], pairs: Pairs) -> dict[str, dict[str, str]]:
    """By statistic, of those that labels of a file decide, the digest of all labels that decided the run."""
    used = {
        name: labels
        for name, metric in {metric.statistic: metric for metric in metrics}.items()
        if (labels := metric.labels_used(pairs.gold, pairs.answers)) is not None
    }
    if not used:
        return {}
    digest = labels_digest({key: entailed for labels in used.values() for key, entailed in labels.items()})
    return {name: {ENTAILMENT_LABELS: digest} for name in used}


def numbered_units(pairs: Pairs) -> tuple[list[str], NDArray[np.intp]]:
    """The names of the units in the order of the alphabet, and each row's unit as a number."""
    if isinstance(pairs.units, Classes):
        return pairs.units.names_and_numbers()
    names, numbers = np.unique(np.array(pairs.units, dtype=str), return_inverse=True)
    return names.tolist(), numbers


def matrices(
    metrics: Sequence[Metric], pairs: Pairs, progress: Callable[[float], None] = lambda share: None
) -> dict[str, Floats]:
    """One matrix for each statistic that the metrics name, computed once. Raises NotFinite."""
    statistics: dict[str, Floats] = {}
    for place, metric in enumerate(metrics):
        progress(place / len(metrics))
        if metric.statistic not in statistics:
            stats = metric.instance_stats(pairs.gold, pairs.answers)
            assert len(stats) == len(pairs.gold), f"{metric.name} gives {len(stats)} rows"
            refuse_not_finite(stats, f"the rows of {metric.name}")
            statistics[metric.statistic] = stats
    return statistics


def _intervals(
    metrics: Sequence[Metric],
    statistics: Mapping[str, Floats],
    units: NDArray[np.intp],
    count: int,
    resampling: Resampling,
) -> list[Bounds | None]:
    """Every metric's interval; metrics of one statistic share its rows."""
    if not resampling.resamples:
        return [None] * len(metrics)
    sums = {name: unit_sums(stats, units) for name, stats in statistics.items()}
    measured: list[Measured] = [
        (metric, metric.unit_stats(sums[metric.statistic]) if metric.per_unit else sums[metric.statistic])
        for metric in metrics
    ]
    if resampling.method == WILSON_JACKKNIFE:
        return jackknife.intervals(measured)
    resampler = Resampler(count, resamples=resampling.resamples, seed=resampling.seed)
    return resampler.intervals(measured, method=resampling.method)
