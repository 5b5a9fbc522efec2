"""Compare the evaluations of two runs by a paired test for each metric, and by the
difference in each class.
"""

import threading
import zipfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.core.cache import caches
from numpy.typing import NDArray

from citeboard.core.release import compute_release_digest
from scoring.metrics import (
    Metric,
    base,
    build_metric_if_known,
    select_instance_metrics,
    select_metrics_for_dimension,
)
from scoring.models import (
    WITHHELD_SMALL_CLASS_SCORE,
    Breakdown,
    Evaluation,
    load_class_scores_of_evaluations,
)
from scoring.offline.compare import align_two_runs, compare_runs
from scoring.offline.evaluate import StoredStatistics, load_instance_names
from scoring.results.board.comparisons import (
    build_statistics_error,
    open_statistics_file,
    read_statistics_of_run,
)
from scoring.results.board.differences import (
    find_gold_determined_classes,
    sort_labels_naturally,
)
from scoring.stats.breakdown import (
    NO_CLASS_LABEL,
    find_instances_by_class,
    has_enough_instances,
)
from scoring.stats.jackknife import ROUNDING_TOLERANCE
from scoring.stats.significance import (
    SEED,
    choose_number_of_exchanges,
    compute_difference_error,
    compute_difference_interval,
)

PAIRED_SCORES_CACHE_SECONDS = 24 * 3600
#: A page shows INSTANCES_PER_PAGE instances.
INSTANCES_PER_PAGE = 50
#: If a test has at most MAX_UNITS_TESTED_AT_ONCE units, the page computes the test immediately.
MAX_UNITS_TESTED_AT_ONCE = 2_000
#: A request waits at most MAX_WAIT_FOR_SLOW_TEST_SECONDS seconds while tests for another request run.
MAX_WAIT_FOR_SLOW_TEST_SECONDS = 20.0

PairedTestResults = dict[str, dict[str, Any]]
_slow_test_lock = threading.Lock()


class SlowTestLockTimeout(Exception):
    pass


@dataclass(frozen=True)
class EvaluationPair:
    a: Evaluation
    b: Evaluation
    metrics: list[Metric]

    @property
    def metrics_with_instance_values(self) -> list[Metric]:
        """Return the metrics that have a value on each single instance."""
        return select_instance_metrics(self.metrics)

    def by(self, dimension: str) -> list[Metric]:
        measured = select_metrics_for_dimension(
            self.a.phase.task.task_type, dimension, self.metrics
        )
        return [metric for metric in measured if metric.is_exchangeable]


def pair_evaluations(a: Evaluation, b: Evaluation) -> EvaluationPair:
    """Return the evaluations of two runs together with the metrics that both
    evaluations have. The result does not contain metrics that the two evaluations
    computed differently or that no longer exist.
    """
    columns = {score.metric: score.column for score in a.scores.all()}
    theirs = {score.metric: score.column for score in b.scores.all()}
    task_type = a.phase.task.task_type
    options = task_type.validate_options(a.options)
    shared = [
        build_metric_if_known(task_type, name, a.rules, options)
        for name, key in columns.items()
        if theirs.get(name) == key
    ]
    return EvaluationPair(a, b, [metric for metric in shared if metric is not None])


def compute_or_load_paired_tests(
    pair: EvaluationPair, *, at_once: bool
) -> PairedTestResults | None:
    """Return the output of `compare --json` for two runs, or None if computing the
    tests would take too long for a page. Raises Busy, Unreadable.
    """
    key = f"tests:{compute_release_digest()}:{pair.a.statistics}:{pair.b.statistics}:{pair.a.rules}"
    tests: PairedTestResults | None = caches["results"].get(key)
    if tests is None:
        a, b = read_statistics_of_run(pair.a), read_statistics_of_run(pair.b)
        units = len({*a.resampled_units[0], *b.resampled_units[0]})
        takes_long = units > MAX_UNITS_TESTED_AT_ONCE
        if takes_long and not at_once:
            return None
        # A server process computes only one slow test at a time.
        if takes_long and not _slow_test_lock.acquire(
            timeout=MAX_WAIT_FOR_SLOW_TEST_SECONDS
        ):
            raise SlowTestLockTimeout
        try:
            stored = (one.as_stored(a.matrices, b.matrices) for one in pair.metrics)
            metrics = [one for one in stored if one is not None]
            tests = compare_runs(
                metrics, a, b, trials=choose_number_of_exchanges(units), seed=SEED
            )
        finally:
            if takes_long:
                _slow_test_lock.release()
        caches["results"].set(key, tests, PAIRED_SCORES_CACHE_SECONDS)
    return tests


@dataclass(frozen=True)
class ClassDifference:
    label: str
    n: int
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    withheld: str

    @property
    def has_support(self) -> bool:
        return has_enough_instances(self.n)


def compute_class_differences(
    pair: EvaluationPair, dimension: str, metric: Metric, hidden: Collection[str] = ()
) -> list[ClassDifference]:
    values: dict[str, dict[int, tuple[float | None, int]]] = {}
    why: dict[str, str] = {}
    fixed = find_gold_determined_classes(pair.a, dimension, metric.name)
    for label, evaluation, number in load_class_scores_of_evaluations(
        [pair.a.pk, pair.b.pk], dimension, metric.name
    ):
        told = WITHHELD_SMALL_CLASS_SCORE if label in hidden else number
        value = None if label in fixed else told.value
        values.setdefault(label, {})[evaluation] = (value, told.n)
        if told.withheld:
            why[label] = str(told.withheld)
    intervals: dict[str, tuple[float, float]] = {}
    if metric.is_decomposable:
        # The test uses all units that contain an instance of the class.
        first, second = (
            read_statistics_of_run(side, [metric.statistic])
            for side in (pair.a, pair.b)
        )
        rows, other_rows = (
            find_instances_by_class(side.features.get(dimension, []))
            for side in (first, second)
        )
        stored = metric.as_stored(first.matrices, second.matrices)
        for label in rows.keys() & other_rows.keys() if stored else ():
            own = stored.of_label(label) if stored else None
            if own is None:
                continue
            sides = (
                (
                    first.select_rows(own.statistic, rows[label]),
                    second.select_rows(own.statistic, other_rows[label]),
                )
                if own is stored
                else (first, second)
            )
            both = align_two_runs(own, *sides)
            if (
                _are_values_equal(values.get(label, {}))
                and not compute_difference_error(both) > 0
            ):
                # All jackknife differences are 0, so the standard error is not defined.
                continue
            if (ends := compute_difference_interval(both)) is not None:
                intervals[label] = ends
    differences = []
    for label in sort_labels_naturally(list(values)):
        (a, n), (b, m) = (
            values[label].get(side.pk, (None, 0)) for side in (pair.a, pair.b)
        )
        difference = a - b if a is not None and b is not None else None
        low, high = (
            intervals.get(label, (None, None))
            if difference is not None
            else (None, None)
        )
        differences.append(
            ClassDifference(
                label, max(n, m), a, b, difference, low, high, why.get(label, "")
            )
        )
    return differences


def _are_values_equal(values: Mapping[int, tuple[float | None, int]]) -> bool:
    return len({value for value, _ in values.values()}) == 1


def list_shared_dimensions(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return the dimensions of classes that all evaluations have, in the order of the
    task type. A dimension with only one class is omitted if another dimension has
    several classes.
    """
    labels: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    rows = Breakdown.objects.filter(
        evaluation__in=[run.pk for run in evaluations]
    ).order_by()
    for dimension, names in rows.values_list("classes__dimension", "classes__labels"):
        counts[dimension] += 1
        labels.setdefault(dimension, set()).update(names)
    order = evaluations[0].phase.task.task_type.dimensions
    shared = [dimension for dimension in order if counts[dimension] == len(evaluations)]
    return [dimension for dimension in shared if len(labels[dimension]) > 1] or shared


@dataclass(frozen=True, kw_only=True)
class _InstanceValuesOfRun:
    values: base.Floats
    places: NDArray[np.intp]
    labels: Sequence[tuple[str, ...]]


def find_differing_instances(
    pair: EvaluationPair, metric: Metric, dimension: str, label: str, page: int
) -> dict[str, Any] | None:
    """Return the instances on which the values of two runs differ, or None if instances
    of the task type have no names.

    With a ``label``, the result only contains instances of this class. In the result,
    ``lines`` contains the name, the classes and the values by both runs of each
    instance on the page.
    """
    names = [load_instance_names_of_evaluation(side) for side in (pair.a, pair.b)]
    if names[0] is None or names[1] is None:
        return None
    numbers: dict[str, int] = {}
    places = [
        np.fromiter(
            (numbers.setdefault(name, len(numbers)) for name in side),
            dtype=np.intp,
            count=len(side),
        )
        for side in names
        if side is not None
    ]
    runs = [
        read_statistics_of_run(side, [metric.statistic]) for side in (pair.a, pair.b)
    ]
    a, b = (
        _compute_instance_values_of_run(run, rows, metric, dimension, len(numbers))
        for run, rows in zip(runs, places, strict=True)
    )
    with np.errstate(invalid="ignore"):
        # The difference between two infinite values is undefined and not shown.
        differences = np.abs(a.values - b.values)
    is_wanted = np.full(len(numbers), not label)
    for side in (a, b) if label else ():
        rows = [
            row
            for row, label_set in enumerate(side.labels)
            if label in (label_set or (NO_CLASS_LABEL,))
        ]
        is_wanted[side.places[rows]] = True
    labels = dict.fromkeys(
        one
        for side in (a, b)
        for labels in side.labels
        for one in labels or (NO_CLASS_LABEL,)
    )
    chosen = np.flatnonzero(
        is_wanted & (differences > ROUNDING_TOLERANCE * max(1.0, metric.scale))
    )
    order = chosen[np.argsort(-differences[chosen], kind="stable")]
    pages = max(1, -(-len(chosen) // INSTANCES_PER_PAGE))
    page, name_of, lines = min(page, pages), list(numbers), []
    for place in order[
        INSTANCES_PER_PAGE * (page - 1) : INSTANCES_PER_PAGE * page
    ].tolist():
        of_place = (
            (side, row)
            for side in (a, b)
            for row in np.flatnonzero(side.places == place).tolist()
        )
        of = tuple(
            dict.fromkeys(one for side, row in of_place for one in side.labels[row])
        )
        lines.append(
            (name_of[place], of, float(a.values[place]), float(b.values[place]))
        )
    return {
        # The label NO_CLASS_LABEL of instances without a class comes last.
        "labels": sorted(labels, key=lambda label: label == NO_CLASS_LABEL),
        "count": len(chosen),
        "of": int(is_wanted.sum()),
        "lines": lines,
        "page": page,
        "pages": pages,
    }


def load_values_by_instance(
    evaluation: Evaluation, metrics: Sequence[Metric]
) -> dict[str, dict[str, float]]:
    names = load_instance_names_of_evaluation(evaluation)
    if names is None:
        return {}
    numbers: dict[str, int] = {}
    places = np.array(
        [numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp
    )
    run = read_statistics_of_run(evaluation, {metric.statistic for metric in metrics})
    values = {
        metric.name: _compute_instance_values_of_run(
            run, places, metric, "", len(numbers)
        ).values.tolist()
        for metric in metrics
        if metric.as_stored(run.matrices)
    }
    return {name: dict(zip(numbers, own, strict=True)) for name, own in values.items()}


def load_classes_by_instance(
    evaluation: Evaluation, dimension: str
) -> dict[str, tuple[str, ...]]:
    names = load_instance_names_of_evaluation(evaluation)
    if names is None:
        return {}
    labels = read_statistics_of_run(evaluation, ()).features.get(
        dimension, [()] * len(names)
    )
    return dict(zip(names, labels, strict=True))


def load_instance_names_of_evaluation(evaluation: Evaluation) -> list[str] | None:
    try:
        with open_statistics_file(evaluation) as kept:
            return load_instance_names(kept)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as reason:
        raise build_statistics_error(evaluation, reason) from reason


def _compute_instance_values_of_run(
    run: StoredStatistics,
    places: NDArray[np.intp],
    metric: Metric,
    dimension: str,
    instances: int,
) -> _InstanceValuesOfRun:
    metric = metric.as_stored(run.matrices) or metric
    stats = run.matrices[metric.statistic]
    sums = np.zeros((instances, stats.shape[1]))
    for column in range(stats.shape[1]):
        sums[:, column] = np.bincount(
            places, weights=stats[:, column], minlength=instances
        )
    labels = run.features.get(dimension, [()] * len(places))
    return _InstanceValuesOfRun(
        values=metric.aggregate(sums), places=places, labels=labels
    )
