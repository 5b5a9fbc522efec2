"""List the numbers of an archived evaluation that verification compares."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scoring.stats.interval_methods import WILSON_JACKKNIFE
from scoring.stats.signature import INTERVAL_VERSION, provenance_of

#: Results of the packages in MODELS differ in the last digits between machines.
MODELS = {"torch", "transformers"}

Evaluation = Mapping[str, Any]


class Numbers(NamedTuple):
    """The numbers of a metric over all instances or in one class, keyed by name.
    ``is_model`` is True if a model (a neural network) computes the numbers.
    """

    values: dict[str, Any]
    is_model: bool


NO_NUMBERS = Numbers({}, is_model=False)


def numbers(evaluation: Evaluation) -> Iterator[tuple[str, Numbers]]:
    """Yield the path in the archive and the numbers of each metric, over all instances
    and in each class.
    """
    models = {}
    for name, metric in evaluation["metrics"].items():
        models[name] = uses_model(metric)
        values = number_parts(metric, "low", "high", "n")
        yield f"metrics {name}", Numbers(values, models[name])
    for dimension, classes in evaluation["breakdowns"].items():
        for label, cells in classes.items():
            for name, cell in cells.items():
                place = f"breakdowns {dimension} {label} {name}"
                yield place, Numbers(number_parts(cell, "n"), models.get(name, False))


def number_parts(cell: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the value of an archived score, which may be infinite, and the fields with
    these names.
    """
    value = math.inf if cell.get("infinite") else cell["value"]
    return {"value": value, **{name: cell[name] for name in names}}


def uses_model(metric: Mapping[str, Any]) -> bool:
    return bool(MODELS & provenance_of(metric["signature"]).keys())


def interval_version(metric: Mapping[str, Any]) -> str:
    return provenance_of(metric["signature"]).get(INTERVAL_VERSION, "")


def has_intervals_of(metric: Mapping[str, Any], version: str) -> bool:
    """Return False if the default interval of an archived metric was computed by
    another version.
    """
    is_default = provenance_of(metric["signature"]).get("interval") == WILSON_JACKKNIFE
    return interval_version(metric) == version or not is_default


def has_earlier_version(metric: Mapping[str, Any], column: str) -> bool:
    """Return True if the archived column key and the present column key differ only by
    an earlier version of the metric.
    """
    archived, today = (key.rpartition("|v:") for key in (metric["column"], column))
    is_same = archived[0] == today[0] and archived[2].isdecimal()
    return is_same and 1 <= int(archived[2]) < int(today[2] or 0)
