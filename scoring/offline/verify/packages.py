"""Compare archived values with the values of other packages that implement the same
metrics (`Metric.engine`).
"""

from collections.abc import Mapping

from scoring.metrics import Metric, build_metrics
from scoring.metrics.base import compute_metric_value, find_package_version
from scoring.offline.evaluate import measure_run
from scoring.offline.scoring import ScoringRequest, read_gold_and_run
from scoring.offline.verify.numbers import NO_METRIC_NUMBERS, MetricNumbers
from scoring.offline.verify.report import VerificationReport, is_equal_number
from tasks.types.base import ENGINE, PACKAGE_ENGINE
from tasks.types.problems import SoftwareUnavailable


def compare_with_packages(
    head: str,
    scoring: ScoringRequest,
    printed: Mapping[str, MetricNumbers],
    verified: VerificationReport,
) -> None:
    """Compare each recomputed value with the value from another package that implements
    the metric, unless this package computed the archived value.
    """
    if scoring.options.get(ENGINE.name, PACKAGE_ENGINE) == PACKAGE_ENGINE:
        return
    for package, metrics in _group_metrics_by_package(scoring, printed).items():
        try:
            name = f"{package} {find_package_version(package)}"
        except SoftwareUnavailable:
            verified.unwitnessed[package] += len(metrics)
            continue
        again = measure_run(metrics, *read_gold_and_run(scoring).rows(scoring))
        for metric in metrics:
            value = compute_metric_value(
                metric, again.matrices[metric.statistic], again.units
            )
            values, is_model = printed[f"metrics {metric.name}"]
            if is_equal_number("value", values["value"], value, is_model=is_model):
                verified.witnessed[name] += 1
            else:
                difference = f"the archive has {values['value']}, the package {name} gives {value}"
                verified.differs(f"{head} metrics {metric.name} value: {difference}")


def _group_metrics_by_package(
    scoring: ScoringRequest, printed: Mapping[str, MetricNumbers]
) -> dict[str, list[Metric]]:
    by_package: dict[str, list[Metric]] = {}
    options = {**scoring.options, ENGINE.name: PACKAGE_ENGINE}
    for metric in build_metrics(scoring.task_type, scoring.rules, options):
        numbers = printed.get(f"metrics {metric.name}", NO_METRIC_NUMBERS)
        if metric.is_by_package and numbers.values.get("value") is not None:
            by_package.setdefault(metric.engine, []).append(metric)
    return by_package
