"""List the numbers of an archived evaluation that verification compares."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scoring.stats.interval_methods import WILSON_JACKKNIFE
from scoring.stats.signature import INTERVAL_VERSION_KEY, parse_signature

#: Results of the packages in MODEL_PACKAGES differ in the last digits between machines.
MODEL_PACKAGES = {"torch", "transformers"}

ArchivedEvaluation = Mapping[str, Any]


class MetricNumbers(NamedTuple):
    """The numbers of a metric over all instances or in one class, keyed by name.
    ``is_model`` is True if a model (a neural network) computes the numbers.
    """

    values: dict[str, Any]
    is_model: bool


NO_METRIC_NUMBERS = MetricNumbers({}, is_model=False)


def numbers(evaluation: ArchivedEvaluation) -> Iterator[tuple[str, MetricNumbers]]:
    """Yield the path in the archive and the numbers of each metric, over all instances
    and in each class.
    """
    models = {}
    for name, metric in evaluation["metrics"].items():
        models[name] = uses_model(metric)
        values = select_number_fields(metric, "low", "high", "n")
        yield f"metrics {name}", MetricNumbers(values, models[name])
    for dimension, classes in evaluation["breakdowns"].items():
        for label, cells in classes.items():
            for name, cell in cells.items():
                place = f"breakdowns {dimension} {label} {name}"
                yield (
                    place,
                    MetricNumbers(
                        select_number_fields(cell, "n"), models.get(name, False)
                    ),
                )


def select_number_fields(cell: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the value of an archived score, which may be infinite, and the fields with
    these names.
    """
    value = math.inf if cell.get("infinite") else cell["value"]
    return {"value": value, **{name: cell[name] for name in names}}


def uses_model(metric: Mapping[str, Any]) -> bool:
    return bool(MODEL_PACKAGES & parse_signature(metric["signature"]).keys())


def read_interval_version(metric: Mapping[str, Any]) -> str:
    return parse_signature(metric["signature"]).get(INTERVAL_VERSION_KEY, "")


def has_intervals_of_version(metric: Mapping[str, Any], version: str) -> bool:
    """Return False if the default interval of an archived metric was computed by
    another version.
    """
    is_default = (
        parse_signature(metric["signature"]).get("interval") == WILSON_JACKKNIFE
    )
    return read_interval_version(metric) == version or not is_default


def has_earlier_version(metric: Mapping[str, Any], column: str) -> bool:
    """Return True if the archived column key and the present column key differ only by
    an earlier version of the metric.
    """
    archived, today = (key.rpartition("|v:") for key in (metric["column"], column))
    is_same = archived[0] == today[0] and archived[2].isdecimal()
    return is_same and 1 <= int(archived[2]) < int(today[2] or 0)
