"""Compare the value of a metric on a class of instances with the value on all other
instances.

The two groups of instances are disjoint, so the interval of the difference follows from
the intervals of the two groups (Zou and Donner 2008). For several runs, the result is
the mean of the runs' differences, and its interval is the mean of the lower bounds to
the mean of the upper bounds. The interval for several runs is at least as wide as an
interval of the mean difference.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from scoring.metrics import build_metrics
from scoring.offline.evaluate import measure_run
from scoring.stats.breakdown import compute_intervals_by_class
from scoring.stats.finding import DifferenceFinding
from scoring.tools.builders.reading import make_refusal
from tasks.types.base import OptionRefused, Options, Pairs, TaskType

CLASS_INSTANCES, OTHER_INSTANCES = "instances of the class", "other instances"


def contrast_class_with_others(
    task_type: TaskType,
    runs: Sequence[Pairs],
    *,
    rules: str,
    options: Options,
    metric: str,
    dimension: str,
    label: str,
) -> DifferenceFinding:
    """Return the value of the metric on the class minus the value on all other
    instances.

    Raises OptionRefused if the metric, dimension or class does not exist, or if all
    instances belong to the class. Raises InputRefused if the value on the class or on
    the other instances has no interval.
    """
    metrics = {
        one.name: one
        for one in build_metrics(task_type, rules, options)
        if one.is_decomposable
    }
    classes = {name for row in runs[0].features.get(dimension, ()) for name in row}
    asked = {
        "metric": (metric, metrics),
        "dimension": (dimension, runs[0].features),
        "class": (label, classes if len(classes) > 1 else ()),
    }
    for option, (name, there) in asked.items():
        if name not in there:
            expected = (
                f"one of {', '.join(sorted(there))}"
                if there
                else "one of several classes"
            )
            raise OptionRefused(f"--{option} {name}: expected {expected}")
    chosen = metrics[metric]
    sign = -1 if chosen.higher_is_better is False else 1
    found = []
    for pairs in runs:
        own = measure_run([chosen], pairs)
        labels = [
            (CLASS_INSTANCES if label in row else OTHER_INSTANCES,)
            for row in pairs.features[dimension]
        ]
        intervals = compute_intervals_by_class(
            [chosen], own.matrices, own.units, labels, own.clusters
        )
        sides = []
        for side in (CLASS_INSTANCES, OTHER_INSTANCES):
            rows = [index for index, names in enumerate(labels) if side in names]
            value = float(
                chosen.aggregate(own.matrices[chosen.statistic][rows].sum(axis=0))
            )
            if (ends := intervals[side][metric]) is None:
                few = f"no interval: too few of {len(rows)} instances differ"
                raise make_refusal(few, expected=f"more {side}")
            sides.append(sorted(sign * one for one in (value, *ends)))
        (low, value, high), (other_low, other, other_high) = sides
        difference = value - other
        below = math.hypot(value - low, other_high - other)
        above = math.hypot(high - value, other - other_low)
        found.append((difference, difference - below, difference + above))
    mean, low, high = map(fmean, zip(*found, strict=True))
    return DifferenceFinding(
        len(found), sum(difference > 0 for difference, *_ in found), mean, low, high
    )
