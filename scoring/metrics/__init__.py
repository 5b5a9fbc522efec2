"""The official metrics, in plain Python; task types name them by reference."""

from scoring.metrics.base import Metric, UnknownMetric
from tasks.types.base import Options, TaskType
from tasks.types.unavailable import Unavailable

__all__ = ["Metric", "Unavailable", "UnknownMetric", "known_metric", "metric_of", "metrics_of"]


def metrics_of(task_type: TaskType, rules: str, options: Options) -> list[Metric]:
    """Those of a rule set, the ranking one first, under checked options."""
    return [metric.build(rules, options) for metric in task_type.metrics_of(rules, options)]


def metric_of(task_type: TaskType, name: str, rules: str, options: Options) -> Metric:
    """One of them by its name. Raises UnknownMetric."""
    if rules in task_type.rules:
        for reference in task_type.metrics_of(rules, options):
            if reference.name == name:
                metric: Metric = reference.build(rules, options)
                return metric
    raise UnknownMetric(f"{task_type.slug} has no metric “{name}” under the rules {rules}")


def known_metric(task_type: TaskType, name: str, rules: str, options: Options) -> Metric | None:
    """None where the program has no such metric any more; its scores are still shown."""
    try:
        return metric_of(task_type, name, rules, options)
    except UnknownMetric:
        return None
