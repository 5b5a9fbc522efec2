"""The metrics that a task type declares, built."""

from __future__ import annotations

from scoring.metrics.base import Metric, UnknownMetric
from tasks.types.base import Options, TaskType


def metrics_of(task_type: TaskType, rules: str, options: Options) -> list[Metric]:
    """Those of a rule set, the ranking one first, under checked options."""
    return [_built(metric.build(rules, options)) for metric in task_type.metrics_of(rules, options)]


def metric_of(task_type: TaskType, name: str, rules: str, options: Options) -> Metric:
    """One of them by its name. Raises UnknownMetric."""
    if rules in task_type.rules:
        for metric in task_type.metrics_of(rules, options):
            if metric.name == name:
                return _built(metric.build(rules, options))
    raise UnknownMetric(f"{task_type.slug} has no metric “{name}” under the rules {rules}")


def known_metric(task_type: TaskType, name: str, rules: str, options: Options) -> Metric | None:
    """None where the program has no such metric any more; its scores are still shown."""
    try:
        return metric_of(task_type, name, rules, options)
    except UnknownMetric:
        return None


def _built(metric: object) -> Metric:
    assert isinstance(metric, Metric)
    return metric
