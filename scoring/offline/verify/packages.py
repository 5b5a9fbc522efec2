"""Compare archived values with the values of other packages that implement the same
metrics (`Metric.engine`).
"""

from collections.abc import Mapping

from scoring.metrics import Metric, metrics_of
from scoring.metrics.base import package_version, value_of
from scoring.offline.evaluate import measured
from scoring.offline.scoring import Scoring, read_scored
from scoring.offline.verify.numbers import NO_NUMBERS, Numbers
from scoring.offline.verify.report import Verified, is_same
from tasks.types.base import ENGINE, PACKAGE
from tasks.types.problems import Unavailable


def compare_with_packages(
    head: str, scoring: Scoring, printed: Mapping[str, Numbers], verified: Verified
) -> None:
    """Compare each recomputed value with the value from another package that implements
    the metric, unless this package computed the archived value.
    """
    if scoring.options.get(ENGINE.name, PACKAGE) == PACKAGE:
        return
    for package, metrics in _metrics_by_package(scoring, printed).items():
        try:
            name = f"{package} {package_version(package)}"
        except Unavailable:
            verified.unwitnessed[package] += len(metrics)
            continue
        again = measured(metrics, *read_scored(scoring).rows(scoring))
        for metric in metrics:
            value = value_of(metric, again.matrices[metric.statistic], again.units)
            values, is_model = printed[f"metrics {metric.name}"]
            if is_same("value", values["value"], value, is_model=is_model):
                verified.witnessed[name] += 1
            else:
                difference = f"the archive has {values['value']}, the package {name} gives {value}"
                verified.differs(f"{head} metrics {metric.name} value: {difference}")


def _metrics_by_package(
    scoring: Scoring, printed: Mapping[str, Numbers]
) -> dict[str, list[Metric]]:
    by_package: dict[str, list[Metric]] = {}
    options = {**scoring.options, ENGINE.name: PACKAGE}
    for metric in metrics_of(scoring.task_type, scoring.rules, options):
        numbers = printed.get(f"metrics {metric.name}", NO_NUMBERS)
        if metric.is_by_package and numbers.values.get("value") is not None:
            by_package.setdefault(metric.engine, []).append(metric)
    return by_package
