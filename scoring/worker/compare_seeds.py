"""The intervals of means over seeds, and their comparisons with the other rows of a board."""

import logging
from collections.abc import Sequence

from django.db import transaction

from scoring.metrics import Metric, base, metric_of, metrics_of
from scoring.models import Evaluation, SystemComparison, SystemMean
from scoring.models.counting import has_seeds
from scoring.offline.compare import aligned
from scoring.offline.evaluate import Statistics
from scoring.results.board.comparisons import (
    StatisticsAway,
    Unreadable,
    statistics_of,
)
from scoring.results.board.standings import Board, Row, run_rows, standings
from scoring.results.board.visibility import Audience
from scoring.stats.seeds import MeanDifference, mean_difference, mean_interval
from tasks.models import Gold, Phase
from tasks.models.seasons import bump_version

#: Rows that a mean is compared with before the job renews its lease.
AT_A_TIME = 8

log = logging.getLogger(__name__)


def some_means(phase: Phase, rules: str, gold: Gold) -> bool:
    """Compute what is missing of one mean; False if nothing is. Raises StatisticsAway."""
    if rules not in phase.task.rules or not has_seeds(phase):
        return False
    audiences = [Audience.ORGANISER, *([Audience.PUBLIC] if phase.is_frozen() else [])]
    for audience in audiences:
        board = standings(phase, None, rules, gold=gold, audience=audience)
        means = [row for row in board.rows if row.runs]
        if means and (_one_mean(board, means) or _some_comparisons(board, means)):
            return True
    return False


def _one_mean(board: Board, means: Sequence[Row]) -> bool:
    known = set(
        SystemMean.objects.filter(
            phase=board.phase, system__in=[mean.scoring for mean in means]
        ).values_list("system", flat=True)
    )
    missing = next((mean for mean in means if mean.scoring not in known), None)
    if missing is None:
        return False
    found = SystemMean(phase=board.phase, system=missing.scoring)
    try:
        found.ends = _ends(board, missing)
    except StatisticsAway:
        raise
    except Unreadable as reason:
        log.warning("The mean of %s has no interval: %s", missing.system, reason)
    except Exception:
        log.exception("The mean of %s has no interval", missing.system)
    with transaction.atomic():
        SystemMean.objects.bulk_create([found], ignore_conflicts=True)
        bump_version(board.phase.pk, 0)
    return True


def _ends(board: Board, mean: Row) -> dict[str, list[float]]:
    evaluations = Evaluation.objects.in_bulk([run.evaluation for run in mean.runs])
    task_type = board.phase.task.task_type
    first = next(iter(evaluations.values()))
    metrics = metrics_of(
        task_type, board.rules or "", task_type.checked_options(first.options)
    )
    runs = [statistics_of(evaluation) for evaluation in evaluations.values()]
    ends = {}
    for metric in metrics:
        stored = metric.as_stored(*(run.matrices for run in runs))
        if stored is None or not stored.is_exchangeable or not stored.is_decomposable:
            continue
        bounds = mean_interval(stored, aligned(stored, runs))
        if isinstance(bounds, tuple):
            ends[metric.name] = list(bounds)
    return ends


def _some_comparisons(board: Board, means: Sequence[Row]) -> bool:
    """Compare the mean that lacks most of its comparisons with some rows that it is not compared with."""
    if board.ranking is None or not board.ranking.is_exchangeable:
        return False
    rows = {row.system_digest: row for row in _comparable(board)}
    known = set(
        SystemComparison.objects.filter(
            phase=board.phase, metric=board.ranking.metric, first__in=rows
        ).values_list("first", "second")
    )
    left = {
        mean.scoring: [
            other
            for other in rows
            if other != mean.scoring
            and (min(mean.scoring, other), max(mean.scoring, other)) not in known
        ]
        for mean in means
        if mean.scoring in rows
    }
    system = max(left, key=lambda own: len(left[own]), default="")
    if not left.get(system):
        return False
    found = [
        _comparison(board, rows[system], rows[other])
        for other in left[system][:AT_A_TIME]
    ]
    with transaction.atomic():
        SystemComparison.objects.bulk_create(found, ignore_conflicts=True)
        bump_version(board.phase.pk, 0)
    return True


def _comparable(board: Board) -> list[Row]:
    """Return the ranked rows of which no run is withheld: a comparison would tell of its score."""
    ranked = [row for row in board.rows if row.rank is not None]
    runs = [run.evaluation for run in run_rows(ranked)]
    withheld = set(
        Evaluation.objects.filter(pk__in=runs)
        .exclude(withheld="")
        .values_list("pk", flat=True)
    )
    return [
        row
        for row in ranked
        if withheld.isdisjoint(run.evaluation for run in row.runs or [row])
    ]


def _comparison(board: Board, one: Row, other: Row) -> SystemComparison:
    first, second = sorted((one, other), key=lambda row: row.system_digest)
    assert board.ranking is not None
    named = {
        "phase": board.phase,
        "metric": board.ranking.metric,
        "first": first.system_digest,
        "second": second.system_digest,
    }
    try:
        found = _difference(board, board.ranking.metric, first, second)
    except StatisticsAway:
        raise
    except Unreadable as reason:
        log.warning("Ranks stay open: %s", reason)
        return SystemComparison(**named)
    except Exception:
        log.exception("Ranks stay open: %s cannot be compared", one.system)
        return SystemComparison(**named)
    return SystemComparison(
        **named,
        difference=base.finite(found.difference),
        error=base.finite(found.error),
        df=base.finite(found.df),
        low=found.low,
        high=found.high,
        p=base.finite(found.p),
        units=found.units,
    )


def _difference(board: Board, metric: str, one: Row, other: Row) -> MeanDifference:
    sides = [[run.evaluation for run in row.runs or [row]] for row in (one, other)]
    evaluations = Evaluation.objects.in_bulk([pk for side in sides for pk in side])
    task_type = board.phase.task.task_type
    options = task_type.checked_options(evaluations[sides[0][0]].options)
    current = metric_of(task_type, metric, board.rules or "", options)
    read = [_rows_of(evaluations[pk], current) for side in sides for pk in side]
    own = current.as_stored(*(run.matrices for run in read))
    if own is None:
        raise Unreadable(sides[0][0])
    rows = aligned(own, read)
    return mean_difference(own, rows[: len(sides[0])], rows[len(sides[0]) :])


def _rows_of(evaluation: Evaluation, metric: Metric) -> Statistics:
    read = statistics_of(evaluation, [metric.statistic])
    if metric.as_stored(read.matrices) is None:
        raise Unreadable(evaluation.pk)
    return read
