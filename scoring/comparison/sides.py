"""Two evaluations side by side: every metric with its paired test, and the differences by class.

All of it follows from the matrices that are kept with the scores. Tests over many units take seconds, so they
are kept, and made one at a time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.core.cache import caches

from citeboard.core.release import release
from scoring.board.comparisons import SEED, statistics_of, trials_for
from scoring.board.differences import natural_order
from scoring.metrics import Metric, known_metric
from scoring.models import Breakdown, Evaluation, class_numbers
from scoring.offline.compare import compare_runs, paired
from scoring.stats.breakdown import classes, has_support
from scoring.stats.significance import difference_interval

SECONDS = 24 * 3600
#: With at most so many units a page makes its tests at once.
FEW_UNITS = 2_000
#: So long a reader waits for the tests of somebody else.
PATIENCE = 20.0

Told = dict[str, dict[str, Any]]
_one_at_a_time = threading.Lock()


class Busy(Exception):
    """Somebody else's tests take long; the same can be asked for again."""


@dataclass(frozen=True)
class Two:
    """Two evaluations under one rule set and gold, and the metrics whose numbers may be compared."""

    a: Evaluation
    b: Evaluation
    metrics: list[Metric]

    @property
    def pooled(self) -> list[Metric]:
        """What has a value in a class or an instance; averages over units have not, nor has MAUVE."""
        return [metric for metric in self.metrics if not metric.per_unit and metric.is_exchangeable]


def two(a: Evaluation, b: Evaluation) -> Two:
    """Both with their scores; metrics that were computed otherwise, or are no longer known, are left out."""
    own = {score.metric: score.column for score in a.scores.all()}
    theirs = {score.metric: score.column for score in b.scores.all()}
    task_type = a.phase.task.task_type
    options = task_type.checked_options(a.options)
    shared = [
        known_metric(task_type, name, a.rules, options)
        for name, key in own.items()
        if theirs.get(name) == key
    ]
    return Two(a, b, [metric for metric in shared if metric is not None])


def tests(pair: Two, *, at_once: bool) -> Told | None:
    """What `compare --json` prints of the metrics; None where that takes long and is not to be done now.

    Raises Busy, and Unreadable.
    """
    key = f"tests:{release()}:{pair.a.statistics}:{pair.b.statistics}:{pair.a.rules}"
    found: Told | None = caches["results"].get(key)
    if found is None:
        a, b = statistics_of(pair.a), statistics_of(pair.b)
        units = len({*a.unit_names, *b.unit_names})
        takes_long = units > FEW_UNITS
        if takes_long and not at_once:
            return None
        with _alone() if takes_long else nullcontext():
            found = compare_runs(pair.metrics, a, b, trials=trials_for(units), seed=SEED)
        caches["results"].set(key, found, SECONDS)
    return found


@contextmanager
def _alone() -> Iterator[None]:
    """No other tests that take long are made in this process meanwhile. Raises Busy."""
    if not _one_at_a_time.acquire(timeout=PATIENCE):
        raise Busy
    try:
        yield
    finally:
        _one_at_a_time.release()


@dataclass(frozen=True, kw_only=True)
class ClassDifference:
    """One class: both values, a minus b with its interval where there is one, and the support."""

    label: str
    n: int
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None

    @property
    def has_support(self) -> bool:
        return has_support(self.n)


def by_class(
    pair: Two, dimension: str, metric: Metric, hidden: Collection[str] = ()
) -> list[ClassDifference]:
    """Without the classes that are hidden. Raises Unreadable."""
    found: dict[str, dict[int, tuple[float | None, int]]] = {}
    for label, evaluation, number in class_numbers([pair.a.pk, pair.b.pk], dimension, metric.name):
        if label not in hidden:
            found.setdefault(label, {})[evaluation] = (number.value, number.n)
    intervals = _class_intervals(pair, dimension, metric)
    return [
        _difference(pair, label, found[label], intervals.get(label, (None, None)))
        for label in natural_order(list(found))
    ]


def _difference(
    pair: Two,
    label: str,
    own: Mapping[int, tuple[float | None, int]],
    ends: tuple[float | None, float | None],
) -> ClassDifference:
    (a, n), (b, m) = (own.get(side.pk, (None, 0)) for side in (pair.a, pair.b))
    known = a is not None and b is not None
    return ClassDifference(
        label=label,
        n=max(n, m),
        a=a,
        b=b,
        difference=a - b if a is not None and b is not None else None,
        low=ends[0] if known else None,
        high=ends[1] if known else None,
    )


def dimensions(evaluations: Sequence[Evaluation]) -> list[str]:
    """The dimensions that all were broken down by, in the order of the task type: those with two classes or
    more, where any has so many.
    """
    labels: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    rows = Breakdown.objects.filter(evaluation__in=[own.pk for own in evaluations]).order_by()
    for dimension, names in rows.values_list("classes__dimension", "classes__labels"):
        counts[dimension] += 1
        labels.setdefault(dimension, set()).update(names)
    order = evaluations[0].phase.task.task_type.dimensions
    known = [dimension for dimension in order if counts[dimension] == len(evaluations)]
    return [dimension for dimension in known if len(labels[dimension]) > 1] or known


def _class_intervals(pair: Two, dimension: str, metric: Metric) -> dict[str, tuple[float, float]]:
    """By class the interval of the difference, over the units that the class occurs in."""
    if not metric.is_decomposable:
        return {}
    a, b = (statistics_of(side, [metric.statistic]) for side in (pair.a, pair.b))
    own, theirs = (classes(statistics.features.get(dimension, [])) for statistics in (a, b))
    found: dict[str, tuple[float, float]] = {}
    for label in own.keys() & theirs.keys():
        rows = paired(
            metric, a.of_rows(metric.statistic, own[label]), b.of_rows(metric.statistic, theirs[label])
        )
        ends = difference_interval(rows)
        if ends is not None:
            found[label] = ends
    return found
