"""Look up the metrics of a task type. Metrics are implemented in plain Python, and task
types refer to metrics by `MetricRef`.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from scoring.metrics.base import PRECISION_RECALL_F1, Metric, UnknownMetric
from scoring.metrics.classification import (
    Accuracy,
    ClassAverage,
    Classification,
    EachClass,
)
from scoring.metrics.entities import EachType, Entities
from tasks.types import task_type
from tasks.types.base import (
    OptionRefused,
    Options,
    TaskType,
    remove_judge_from_rule_set,
)
from tasks.types.problems import SoftwareUnavailable
from tasks.types.references import MetricRef

__all__ = [
    "PART_BY_LABEL_METRIC_NAME",
    "Metric",
    "SoftwareUnavailable",
    "UnknownMetric",
    "build_label_metrics",
    "build_metric",
    "build_metric_if_known",
    "build_metrics",
    "list_metric_names_for_dimension",
    "select_instance_metrics",
    "select_metrics_for_dimension",
]
#: Reserved names of metrics that are reported for each gold label.
PART_BY_LABEL_METRIC_NAME = {
    f"class_{part}": part for part in reversed(PRECISION_RECALL_F1)
}
_LABEL_METRIC_CLASS_BY_KIND = {own.kind: own for own in (EachClass, EachType)}


def build_metrics(task_type: TaskType, rules: str, options: Options) -> list[Metric]:
    """Build the metrics of a rule set from checked options. The first metric of the
    list determines the ranking of runs.
    """
    return [
        _build_metric(task_type, metric, rules, options)
        for metric in task_type.list_metrics_of_rule_set(rules, options)
    ]


def _build_metric(
    task_type: TaskType, reference: MetricRef, rules: str, options: Options
) -> Metric:
    metric: Metric = reference.build_metric(remove_judge_from_rule_set(rules), options)
    metric.task = task_type.declared.digest if task_type.declared else ""
    return metric


def build_metric(
    task_type: TaskType, name: str, rules: str, options: Options
) -> Metric:
    """Build a metric by its name. Raises UnknownMetric."""
    if task_type.has_rule_set(rules):
        for reference in task_type.list_metrics_of_rule_set(rules, options):
            if reference.name == name:
                return _build_metric(task_type, reference, rules, options)
        for metric in (
            build_label_metrics(build_metrics(task_type, rules, options))
            if name in PART_BY_LABEL_METRIC_NAME
            else ()
        ):
            if metric.name == name:
                return metric
    raise UnknownMetric(
        f"{task_type.slug} has no metric “{name}” under the rules {rules}"
    )


def build_metric_if_known(
    task_type: TaskType, name: str, rules: str, options: Options
) -> Metric | None:
    """Build a metric by its name. Return None if a stored score's metric no longer
    exists.
    """
    try:
        return build_metric(task_type, name, rules, options)
    except UnknownMetric:
        return None


def select_metrics_for_dimension(
    task_type: TaskType, dimension: str, metrics: Sequence[Metric]
) -> list[Metric]:
    """Return the metrics that can be computed for each class of instances in a
    breakdown. The result excludes averages over units such as topics.

    If the classes are gold labels, return precision, recall and F1 of each label, and
    all metrics that are valid on instances with one gold label.
    """
    pooled = [metric for metric in metrics if not metric.per_unit]
    if dimension not in task_type.label_dimensions:
        return pooled
    return [
        *build_label_metrics(metrics),
        *(metric for metric in pooled if metric.is_valid_in_one_label),
    ]


def select_instance_metrics(metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics that can be computed for a single instance. The result
    excludes means over units or labels, kappas and correlations.

    If a classification task has no accuracy, insert micro F1 first, which is 1 for an
    instance with the right label, else 0.
    """
    pooled = [
        metric for metric in metrics if not metric.per_unit and metric.is_exchangeable
    ]
    own = [
        metric
        for metric in pooled
        if metric.is_valid_in_one_label or isinstance(metric, Accuracy | Entities)
    ]
    counted = [
        metric
        for metric in pooled
        if isinstance(metric, Classification) and metric.kind == "classes"
    ]
    if counted and not any(isinstance(metric, Accuracy) for metric in own):
        labels, rules = counted[0].labels, counted[0].rules
        own.insert(
            0,
            ClassAverage("micro_f1", rules, part="f1", average="micro", labels=labels),
        )
    return own


def list_metric_names_for_dimension(
    task_type: TaskType,
    dimension: str,
    names: Iterable[str],
    rules: str,
    options: Options,
) -> list[str]:
    """Return the names of the metrics that pages show for each class of instances. If
    the classes are gold labels, exclude metrics that are not valid on instances with a
    single gold label.
    """
    if dimension not in task_type.label_dimensions:
        return list(names)
    known = {
        name: build_metric_if_known(task_type, name, rules, options) for name in names
    }
    valid = [
        name
        for name, metric in known.items()
        if metric and metric.is_valid_in_one_label
    ]
    return sorted(valid, key=lambda name: name not in PART_BY_LABEL_METRIC_NAME)


def build_label_metrics(metrics: Sequence[Metric]) -> list[EachClass]:
    """Return the metrics precision, recall and F1 of a single class, F1 first. The list
    is empty if none of ``metrics`` counts the instances of each class.
    """
    for metric in metrics:
        if (
            isinstance(metric, Classification)
            and metric.kind in _LABEL_METRIC_CLASS_BY_KIND
            and metric.labels
        ):
            own, parts = (
                _LABEL_METRIC_CLASS_BY_KIND[metric.kind],
                PART_BY_LABEL_METRIC_NAME.items(),
            )
            return [
                own(name, metric.rules, part=part, labels=metric.labels)
                for name, part in parts
            ]
    return []


def needs_models(slug: str, rules: Sequence[str], options: Mapping[str, str]) -> bool:
    """Return True if a rule set of the task needs a language model under the task's
    options, without loading the model.
    """
    return _needs_language_models(slug, tuple(rules), tuple(sorted(options.items())))


@lru_cache(maxsize=256)
def _needs_language_models(
    slug: str, rules: tuple[str, ...], values: tuple[tuple[str, str], ...]
) -> bool:
    kind = task_type(slug)
    try:
        options = kind.validate_options(dict(values))
    except OptionRefused:
        # Refused options cause the same scoring error with and without language models.
        return False
    return any(
        metric.needs_model
        for name in rules
        for metric in build_metrics(kind, name, options)
    )
