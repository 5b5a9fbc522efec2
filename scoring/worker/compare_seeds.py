"""Compute intervals of means over runs with different random seeds, and compare these
means with other rows of a board.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db import transaction

from scoring.metrics import Metric, base, build_metric, build_metrics
from scoring.models import Evaluation, SystemComparison, SystemMean
from scoring.models.counting import has_runs_with_declared_seeds
from scoring.offline.compare import align_runs_by_unit
from scoring.offline.evaluate import StoredStatistics
from scoring.results.board.comparisons import (
    StatisticsUnavailable,
    UnreadableStatistics,
    read_statistics_of_run,
)
from scoring.results.board.standings import (
    Board,
    BoardRow,
    compute_board,
    expand_rows_to_runs,
)
from scoring.results.board.visibility import Audience
from scoring.stats.seeds import (
    MeanDifference,
    compare_system_means,
    compute_system_mean_interval,
)
from tasks.models import Gold, Phase
from tasks.models.seasons import increment_board_version

#: The number of rows that are compared with a mean before the job's lease is renewed.
COMPARED_ROWS_PER_BATCH = 8

log = logging.getLogger(__name__)


@dataclass
class _MissingSeedMean:
    """The results that are missing for the mean of one system's runs, which are the
    interval and the comparisons with ``others``.
    """

    board: Board
    mean: BoardRow
    lacks_interval: bool
    others: list[BoardRow]


class MissingSeedMeans:
    """The results that are missing for the means of all systems with several runs, at
    one version of the phase. The boards of the phase are read only once.
    """

    def __init__(self, phase: Phase, rules: str, gold: Gold) -> None:
        self.version = phase.version
        self.left: list[_MissingSeedMean] = []
        if rules not in phase.task.rules or not has_runs_with_declared_seeds(phase):
            return
        is_frozen = phase.is_frozen()
        for audience in [Audience.ORGANISER, *([Audience.PUBLIC] if is_frozen else [])]:
            board = compute_board(phase, None, rules, gold=gold, audience=audience)
            self.left += _find_missing_seed_means(board)

    def compute_next_batch(self) -> None:
        """Compute one interval, or one batch of comparisons of a mean with other rows.
        After the last batch of a mean, update the board.
        """
        missing = self.left[0]
        means: list[SystemMean] = []
        comparisons: list[SystemComparison] = []
        if missing.lacks_interval:
            means, missing.lacks_interval = (
                [_compute_seed_mean(missing.board, missing.mean)],
                False,
            )
        else:
            others = missing.others[:COMPARED_ROWS_PER_BATCH]
            comparisons = _compare_mean_with_rows(missing.board, missing.mean, others)
            del missing.others[:COMPARED_ROWS_PER_BATCH]
        is_complete = not missing.others
        with transaction.atomic():
            SystemMean.objects.bulk_create(means, ignore_conflicts=True)
            SystemComparison.objects.bulk_create(comparisons, ignore_conflicts=True)
            if is_complete:
                increment_board_version(missing.board.phase.pk, 0)
        if is_complete:
            del self.left[0]


def compute_some_seed_means(
    phase: Phase, rules: str, gold: Gold, missing_by_gold: dict[int, MissingSeedMeans]
) -> bool:
    """Compute one batch of the missing intervals and comparisons of means over several
    runs. Return False if no such result is missing. Raises StatisticsUnavailable.

    The list of missing results is read from the database again if the runs on the board
    may have changed, and before the function returns False.
    """
    missing = missing_by_gold.get(gold.pk)
    if missing is None or phase.list_teams_changed_since(missing.version) != set():
        missing = missing_by_gold[gold.pk] = MissingSeedMeans(phase, rules, gold)
    missing.version = phase.version
    if not missing.left:
        return False
    missing.compute_next_batch()
    if not missing.left:
        del missing_by_gold[gold.pk]
    return True


def _find_missing_seed_means(board: Board) -> Iterator[_MissingSeedMean]:
    means = [row for row in board.rows if row.runs]
    known = set(
        SystemMean.objects.filter(
            phase=board.phase, system__in=[mean.scoring for mean in means]
        ).values_list("system", flat=True)
    )
    others = _find_rows_not_compared_with_means(board, means)
    for mean in means:
        lacks_interval = mean.scoring not in known
        if lacks_interval or others.get(mean.scoring):
            yield _MissingSeedMean(
                board, mean, lacks_interval, others.get(mean.scoring, [])
            )


def _find_rows_not_compared_with_means(
    board: Board, means: Sequence[BoardRow]
) -> dict[str, list[BoardRow]]:
    if board.ranking is None or not board.ranking.is_exchangeable or not means:
        return {}
    rows = {
        row.system_digest: row for row in _select_rows_without_withheld_scores(board)
    }
    known = set(
        SystemComparison.objects.filter(
            phase=board.phase, metric=board.ranking.metric, first__in=rows
        ).values_list("first", "second")
    )
    left: dict[str, list[BoardRow]] = {}
    for mean in means:
        for other, row in rows.items():
            pair = (min(mean.scoring, other), max(mean.scoring, other))
            if mean.scoring in rows and other != mean.scoring and pair not in known:
                known.add(pair)
                left.setdefault(mean.scoring, []).append(row)
    return left


def _compute_seed_mean(board: Board, row: BoardRow) -> SystemMean:
    found = SystemMean(phase=board.phase, system=row.scoring)
    try:
        found.ends = _compute_seed_mean_intervals(board, row)
    except StatisticsUnavailable:
        raise
    except UnreadableStatistics as reason:
        log.warning("The mean of %s has no interval: %s", row.system, reason)
    except Exception:
        log.exception("The mean of %s has no interval", row.system)
    return found


def _compute_seed_mean_intervals(
    board: Board, mean: BoardRow
) -> dict[str, list[float]]:
    evaluations = Evaluation.objects.in_bulk([run.evaluation for run in mean.runs])
    task_type = board.phase.task.task_type
    first = next(iter(evaluations.values()))
    metrics = build_metrics(
        task_type, board.rules or "", task_type.validate_options(first.options)
    )
    runs = [read_statistics_of_run(evaluation) for evaluation in evaluations.values()]
    ends = {}
    for metric in metrics:
        stored = metric.as_stored(*(run.matrices for run in runs))
        if stored is None or not stored.is_exchangeable or not stored.is_decomposable:
            continue
        bounds = compute_system_mean_interval(stored, align_runs_by_unit(stored, runs))
        if isinstance(bounds, tuple):
            ends[metric.name] = list(bounds)
    return ends


def _select_rows_without_withheld_scores(board: Board) -> list[BoardRow]:
    ranked = [row for row in board.rows if row.rank is not None]
    runs = [run.evaluation for run in expand_rows_to_runs(ranked)]
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


class _StoredStatisticsOfRows:
    """The stored statistics of the ranking metric for the runs behind some rows of a
    board.
    """

    def __init__(
        self, board: Board, mean: BoardRow, others: Sequence[BoardRow]
    ) -> None:
        self.board, self.mean = board, mean
        runs = [run.evaluation for run in expand_rows_to_runs([mean, *others])]
        self.evaluations = Evaluation.objects.in_bulk(runs)

    @cached_property
    def metric(self) -> Metric:
        assert self.board.ranking is not None
        task_type = self.board.phase.task.task_type
        first = self.evaluations[self.mean.runs[0].evaluation]
        options = task_type.validate_options(first.options)
        name, rules = self.board.ranking.metric, self.board.rules or ""
        return build_metric(task_type, name, rules, options)

    @cached_property
    def statistics_of_mean(self) -> list[StoredStatistics]:
        return self.of(self.mean)

    def of(self, row: BoardRow) -> list[StoredStatistics]:
        """Return the stored statistics of each run behind a row of the board. Raises
        Unreadable.
        """
        runs = [self.evaluations[run.evaluation] for run in row.runs or [row]]
        return [_load_metric_statistics(evaluation, self.metric) for evaluation in runs]


def _compare_mean_with_rows(
    board: Board, mean: BoardRow, others: Sequence[BoardRow]
) -> list[SystemComparison]:
    stored = _StoredStatisticsOfRows(board, mean, others)
    return [_compare_mean_with_row(stored, other) for other in others]


def _compare_mean_with_row(
    stored: _StoredStatisticsOfRows, other: BoardRow
) -> SystemComparison:
    board, mean = stored.board, stored.mean
    first, second = sorted((mean.system_digest, other.system_digest))
    assert board.ranking is not None
    row = SystemComparison(
        phase=board.phase, metric=board.ranking.metric, first=first, second=second
    )
    try:
        found = _compute_mean_difference(
            stored, other, is_first=first == mean.system_digest
        )
    except StatisticsUnavailable:
        raise
    except UnreadableStatistics as reason:
        log.warning("Ranks stay open: %s", reason)
        return row
    except Exception:
        log.exception("Ranks stay open: %s cannot be compared", mean.system)
        return row
    row.difference = base.finite_or_none(found.difference)
    row.error, row.df = base.finite_or_none(found.error), base.finite_or_none(found.df)
    row.low, row.high = found.low, found.high
    row.p, row.units = base.finite_or_none(found.p), found.units
    return row


def _compute_mean_difference(
    stored: _StoredStatisticsOfRows, other: BoardRow, *, is_first: bool
) -> MeanDifference:
    sides = [stored.statistics_of_mean, stored.of(other)]
    if not is_first:
        sides.reverse()
    read = [*sides[0], *sides[1]]
    own = stored.metric.as_stored(*(run.matrices for run in read))
    if own is None:
        raise UnreadableStatistics(stored.mean.runs[0].evaluation)
    rows = align_runs_by_unit(own, read)
    return compare_system_means(own, rows[: len(sides[0])], rows[len(sides[0]) :])


def _load_metric_statistics(evaluation: Evaluation, metric: Metric) -> StoredStatistics:
    read = read_statistics_of_run(evaluation, [metric.statistic])
    if metric.as_stored(read.matrices) is None:
        raise UnreadableStatistics(evaluation.pk)
    return read
