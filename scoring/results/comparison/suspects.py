"""Find instances whose gold organisers should check after a phase, by the values of all
systems on the board.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.core.cache import caches
from django.utils import timezone
from numpy.typing import NDArray

from citeboard.core.query import (
    PageParameters,
    declare_number_parameter,
    declare_text_parameter,
)
from citeboard.core.release import compute_release_digest
from scoring.metrics import Metric
from scoring.metrics.base import Floats
from scoring.models import Evaluation
from scoring.results.board.query import load_cached_board_or_404
from scoring.results.board.standings import Board
from scoring.results.comparison.contenders import InstancesQuery
from scoring.results.comparison.reading import (
    INSTANCES_PER_PAGE,
    MAX_ANSWERS_SHOWN,
    InstancePage,
    InstancesOfRunsReader,
    determine_instance_rights_to_board,
    list_comparable_evaluations,
    list_shared_instance_metrics,
)
from scoring.stats import items
from scoring.stats.correlation import Correlation, correlate_points
from tasks.models import Phase

SUSPICION_TEST_CACHE_SECONDS = 24 * 3600
#: An instance is suspicious if better systems score lower, or the best third is wrong.
SUSPICION_NEGATIVE_CORRELATION, SUSPICION_BEST_SYSTEMS_WRONG = SUSPICION_REASONS = (
    "below-zero",
    "missed",
)


@dataclass(frozen=True, kw_only=True)
class SuspiciousInstancesQuery(PageParameters):
    rules: str | None = declare_text_parameter("rules", default=None)
    metric: str = declare_text_parameter("metric")
    which: str = declare_text_parameter("which", choices=SUSPICION_REASONS)
    page: int = declare_number_parameter("page", default=1)


@dataclass(frozen=True)
class SuspiciousInstance:
    """An instance whose gold may be wrong, with the mean value over all systems, the
    interval of the mean and, on large boards, a correlation.
    """

    mean: float
    low: float
    high: float
    correlation: Correlation | None


@dataclass(frozen=True)
class SuspiciousInstancePage:
    """The suspicious instances on one page, with the runs and answers that the page
    shows.
    """

    metric: Metric
    metrics: Sequence[Metric]
    offered: Sequence[str]
    page: InstancePage
    by_name: dict[str, SuspiciousInstance]


@dataclass(frozen=True)
class SuspiciousInstancesOfBoard:
    """The instances of a board whose gold may be wrong. ``suspects`` is None if too few
    systems are on the board, or if no metric has a worst and a best value.
    """

    board: Board
    systems: int
    suspects: SuspiciousInstancePage | None


def has_phase_closed(phase: Phase) -> bool:
    return phase.has_end and phase.closes <= timezone.now()


def find_suspicious_instances_of_board(
    phase: Phase, viewer: object, query: SuspiciousInstancesQuery
) -> SuspiciousInstancesOfBoard:
    """Return the instances of the board whose gold may be wrong, so that organisers
    should check the gold. Raises Unreadable.
    """
    board = load_cached_board_or_404(phase, viewer, query.rules, None)
    runs = list_comparable_evaluations(board)
    rights = determine_instance_rights_to_board(board, viewer, runs) if runs else None
    suspects = None
    if rights is not None and len(runs) >= items.MIN_SYSTEMS:
        metrics = [
            metric
            for metric in list_shared_instance_metrics(runs)
            if _is_bounded_metric(metric)
        ]
        if metrics:
            asked = InstancesQuery(metric=query.metric)
            reading = InstancesOfRunsReader(
                runs, metrics, asked, rights, drawn=MAX_ANSWERS_SHOWN
            )
            suspects = _build_suspicious_instance_page(reading, query)
    return SuspiciousInstancesOfBoard(board, len(runs), suspects)


def _build_suspicious_instance_page(
    reading: InstancesOfRunsReader, query: SuspiciousInstancesQuery
) -> SuspiciousInstancePage:
    metric = reading.metric
    assert metric is not None
    is_large = len(reading.runs) >= items.MIN_SYSTEMS_FOR_BEST_THIRD
    offered = SUSPICION_REASONS if is_large else (SUSPICION_NEGATIVE_CORRELATION,)
    which = query.which if query.which in offered else SUSPICION_NEGATIVE_CORRELATION
    merits = _orient_values_higher_better(
        metric, reading.compute_values_by_run_and_instance(metric)
    )
    defined = np.flatnonzero(np.isfinite(merits).all(axis=0))
    merits = merits[:, defined]
    places = _select_suspicious_instance_indices(reading.runs, metric, which, merits)
    names = [reading.names[defined[place]] for place in places]
    number = min(max(query.page, 1), max(1, -(-len(names) // INSTANCES_PER_PAGE)))
    shown = slice(INSTANCES_PER_PAGE * (number - 1), INSTANCES_PER_PAGE * number)
    described = _describe_suspicious_instances(metric, merits, places[shown])
    page = InstancePage(
        reading=reading,
        which=which,
        of_class=None,
        kind="",
        single="",
        chosen=names,
        number=number,
        instances=reading.read(names[shown]),
    )
    by_name = dict(zip(names[shown], described, strict=True))
    return SuspiciousInstancePage(metric, reading.metrics, offered, page, by_name)


def _is_bounded_metric(metric: Metric) -> bool:
    """Return True if the metric has a finite worst value and a finite best value."""
    is_bounded = all(map(math.isfinite, metric.value_range))
    return is_bounded and metric.higher_is_better is not None


def _orient_values_higher_better(metric: Metric, values: Floats) -> Floats:
    """Return the values of a metric, reflected within the metric's range if lower
    values are better, so that higher is better.
    """
    low, high = metric.value_range
    return values if metric.higher_is_better else low + high - values


def _select_suspicious_instance_indices(
    runs: Sequence[Evaluation], metric: Metric, which: str, values: Floats
) -> NDArray[np.intp]:
    if values.shape[1] == 0:
        return np.array([], dtype=np.intp)
    if which == SUSPICION_BEST_SYSTEMS_WRONG:
        is_missed = items.find_items_missed_by_best_third(values, metric.value_range[0])
        places = np.flatnonzero(is_missed)
        return places[np.argsort(-values[:, places].mean(axis=0), kind="stable")]
    tested = _load_or_compute_instance_tests(runs, metric, values)
    places = np.flatnonzero(tested.is_below_zero)
    return places[np.argsort(tested.p[places], kind="stable")]


def _load_or_compute_instance_tests(
    runs: Sequence[Evaluation], metric: Metric, values: Floats
) -> items.ItemRestTests:
    """Test which instances of the board are suspicious, or return the cached result for
    the same stored matrices.
    """
    parts = [
        compute_release_digest(),
        metric.name,
        metric.rules,
        *(run.statistics for run in runs),
    ]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    key = f"suspects:{digest}"
    tested: items.ItemRestTests | None = caches["results"].get(key)
    if tested is None:
        tested = items.run_item_rest_tests(values)
        caches["results"].set(key, tested, SUSPICION_TEST_CACHE_SECONDS)
    return tested


def _describe_suspicious_instances(
    metric: Metric, merits: Floats, places: NDArray[np.intp]
) -> list[SuspiciousInstance]:
    own = merits[:, places]
    difficulty = items.compute_item_difficulty(
        _orient_values_higher_better(metric, own), *metric.value_range
    )
    has_correlation = len(merits) >= items.MIN_SYSTEMS_FOR_ITEM_REST
    total = merits.sum(axis=1)
    return [
        SuspiciousInstance(
            float(difficulty.mean[number]),
            float(difficulty.low[number]),
            float(difficulty.high[number]),
            correlate_points("Pearson", own[:, number], total - own[:, number])
            if has_correlation
            else None,
        )
        for number in range(len(places))
    ]
