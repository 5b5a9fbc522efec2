"""The official metrics, in plain Python; task types name them by reference."""

from scoring.metrics.base import Metric, UnknownMetric
from tasks.types.base import Options, TaskType
from tasks.types.references import MetricRef
from tasks.types.unavailable import Unavailable

__all__ = ["Metric", "Unavailable", "UnknownMetric", "known_metric", "metric_of", "metrics_of"]


def metrics_of(task_type: TaskType, rules: str, options: Options) -> list[Metric]:
    """Those of a rule set, the ranking one first, under checked options."""
    return [_built(task_type, metric, rules, options) for metric in task_type.metrics_of(rules, options)]


def _built(task_type: TaskType, reference: MetricRef, rules: str, options: Options) -> Metric:
    metric: Metric = reference.build(rules, options)
    metric.task = task_type.declared.digest if task_type.declared else ""
    return metric


def metric_of(task_type: TaskType, name: str, rules: str, options: Options) -> Metric:
    """One of them by its name. Raises UnknownMetric."""
    if rules in task_type.rules:
        for reference in task_type.metrics_of(rules, options):
            if reference.name == name:
                return _built(task_type, reference, rules, options)
    raise UnknownMetric(f"{task_type.slug} has no metric “{name}” under the rules {rules}")


def known_metric(task_type: TaskType, name: str, rules: str, options: Options) -> Metric | None:
    """None where the program has no such metric any more; its scores are still shown."""
    try:
        return metric_of(task_type, name, rules, options)
    except UnknownMetric:
        return None
