"""Find the best run of each class, and test if the run is significantly better than all
other runs of the board.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from scoring.metrics import (
    PART_BY_LABEL_METRIC_NAME,
    Metric,
    build_metric_if_known,
    select_metrics_for_dimension,
)
from scoring.models import (
    Breakdown,
    ClassLeader,
    Evaluation,
    load_class_scores_of_evaluations,
)
from scoring.offline import compare, evaluate
from scoring.results.board.comparisons import (
    EVALUATIONS_PER_BATCH,
    MAX_ROWS_PER_BATCH,
    StatisticsUnavailable,
    UnreadableStatistics,
    read_statistics_of_run,
)
from scoring.results.board.standings import Board, BoardRow
from scoring.stats.breakdown import find_instances_by_class
from scoring.stats.significance import (
    FAMILYWISE_ERROR_RATE,
    SEED,
    adjust_by_holm,
    choose_number_of_exchanges,
    run_randomisation_tests,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClassLeaderSearch:
    dimension: str
    metric: Metric
    evaluations: tuple[Evaluation, ...]
    keeps_sentences: bool = False

    @property
    def digest_of_compared_runs(self) -> str:
        runs = [
            (evaluation.pk, evaluation.statistics) for evaluation in self.evaluations
        ]
        return (
            _hash_runs_without_version(runs)
            if self.keeps_sentences
            else _hash_compared_runs(runs)
        )

    def build_unknown_leaders(self, board: Board) -> list[ClassLeader]:
        return [
            self.leader(board, label, []) for label in _sort_runs_of_each_class(self)
        ]

    def leader(
        self,
        board: Board,
        label: str,
        ordered: Sequence[Evaluation],
        p: float | None = None,
    ) -> ClassLeader:
        return ClassLeader(
            phase=board.phase,
            rules=board.rules or "",
            gold=board.gold,
            dimension=self.dimension,
            label=label,
            metric=self.metric.name,
            best=ordered[0] if ordered else None,
            p=p,
            systems=len(ordered),
            among=self.digest_of_compared_runs,
        )


def find_outdated_leader_searches(board: Board) -> Iterator[ClassLeaderSearch]:
    leaders = ClassLeader.objects.filter(
        phase=board.phase, rules=board.rules, gold=board.gold
    ).order_by()
    answers = leaders.values_list("dimension", "metric", "among").distinct()
    among = {(dimension, metric): systems for dimension, metric, systems in answers}
    for question in iterate_leader_searches_of_board(board):
        if (
            among.get((question.dimension, question.metric.name))
            != question.digest_of_compared_runs
        ):
            yield question


def iterate_leader_searches_of_board(board: Board) -> Iterator[ClassLeaderSearch]:
    evaluations = Evaluation.objects.in_bulk([row.evaluation for row in board.systems])
    broken_down = {
        (row.evaluation_id, row.classes.dimension, metric)
        for row in Breakdown.objects.filter(evaluation__in=evaluations)
        .defer("numbers")
        .prefetch_related("classes")
        for metric in row.classes.metrics
    }
    task_type = board.phase.task.task_type
    options = task_type.validate_options(board.phase.task.options)
    columns = [
        column.metric for column in board.columns if column.name == column.metric
    ]
    known = [
        build_metric_if_known(task_type, name, board.rules or "", options)
        for name in columns
    ]
    for dimension in sorted({dimension for _, dimension, _ in broken_down}):
        for metric in select_metrics_for_dimension(
            task_type, dimension, [one for one in known if one is not None]
        ):
            if metric.higher_is_better is None or not (
                metric.is_decomposable and metric.is_exchangeable
            ):
                continue
            runs = tuple(
                evaluations[row.evaluation]
                for row in _select_rows_with_metric(board, metric.name)
                if (row.evaluation, dimension, metric.name) in broken_down
            )
            if len(runs) > 1:
                yield ClassLeaderSearch(dimension, metric, runs, board.keeps_sentences)


def _select_rows_with_metric(board: Board, metric: str) -> list[BoardRow]:
    """Return the rows of a board with a score by the metric from the same version of
    the computation. The board has no column for metrics of single gold labels, so all
    rows are returned for these metrics.
    """
    return [
        row
        for row in board.systems
        if metric in row.scores or metric in PART_BY_LABEL_METRIC_NAME
    ]


@dataclass(frozen=True, kw_only=True)
class StoredClassLeaders:
    is_known: bool = False
    significant: Mapping[str, int] = field(default_factory=dict)

    def limit_to_classes(self, labels: Collection[str]) -> "StoredClassLeaders":
        significant = {
            label: best for label, best in self.significant.items() if label in labels
        }
        return replace(self, significant=significant)


def load_class_leaders(board: Board, dimension: str, metric: str) -> StoredClassLeaders:
    scored = {row.evaluation for row in _select_rows_with_metric(board, metric)}
    compared = Breakdown.objects.filter(
        evaluation__in=scored, classes__dimension=dimension
    ).defer("numbers")
    runs = [
        (row.evaluation_id, row.evaluation.statistics)
        for row in compared.select_related("evaluation").prefetch_related("classes")
        if metric in row.classes.metrics
    ]
    current = {_hash_compared_runs(runs)}
    if board.keeps_sentences:
        current.add(_hash_runs_without_version(runs))
    found = ClassLeader.objects.filter(
        phase=board.phase, rules=board.rules, gold=board.gold
    )
    of_these = found.filter(dimension=dimension, metric=metric)
    leaders = list(of_these.values_list("label", "best_id", "p", "among"))
    if not leaders or any(among not in current for _, _, _, among in leaders):
        return StoredClassLeaders()
    # A class with a p-value always has a leader.
    significant = {
        label: best
        for label, best, p, _ in leaders
        if p is not None and p <= FAMILYWISE_ERROR_RATE
    }
    return StoredClassLeaders(is_known=True, significant=significant)


def _hash_compared_runs(evaluations: Iterable[tuple[int, str]]) -> str:
    """Return a digest that identifies the runs compared in a search for the best run of
    each class. The digest contains a version number for the rule that constant runs
    cannot lead a class.
    """
    return hashlib.sha256(
        f"2:{_hash_runs_without_version(evaluations)}".encode()
    ).hexdigest()


def _hash_runs_without_version(evaluations: Iterable[tuple[int, str]]) -> str:
    named = ",".join(
        f"{number}:{statistics}" for number, statistics in sorted(evaluations)
    )
    return hashlib.sha256(named.encode()).hexdigest()


@dataclass
class StatisticMatrixCache:
    statistic: str
    dimension: str
    _kept: OrderedDict[
        int, tuple[evaluate.StoredStatistics, Mapping[str, NDArray[np.intp]]]
    ] = field(default_factory=OrderedDict)

    def rows(
        self, evaluation: Evaluation, label: str | None
    ) -> evaluate.RunMeasurements:
        """Return the matrix rows of a run for the instances of a class, or for all
        instances.
        """
        if evaluation.pk not in self._kept:
            statistics = read_statistics_of_run(evaluation, [self.statistic])
            if self.statistic not in statistics.matrices:
                raise UnreadableStatistics(evaluation.pk)
            self._kept[evaluation.pk] = (
                statistics,
                find_instances_by_class(statistics.features.get(self.dimension, [])),
            )
        self._kept.move_to_end(evaluation.pk)
        while (
            len(self._kept) > 1
            and sum(len(own.units) for own, _ in self._kept.values())
            > MAX_ROWS_PER_BATCH
        ):
            self._kept.popitem(last=False)
        statistics, places = self._kept[evaluation.pk]
        if label is None:
            return statistics
        return statistics.select_rows(
            self.statistic, places.get(label, np.array([], dtype=np.intp))
        )


def find_class_leaders(board: Board, question: ClassLeaderSearch) -> list[ClassLeader]:
    matrices = StatisticMatrixCache(question.metric.statistic, question.dimension)
    leaders = []
    for label, ordered in _sort_runs_of_each_class(question).items():
        try:
            if ordered and _is_constant_run(question, ordered[0], matrices):
                leaders.append(question.leader(board, label, []))
                continue
            p = find_largest_p_against_others(question.metric, label, ordered, matrices)
        except StatisticsUnavailable:
            raise
        except UnreadableStatistics as reason:
            log.warning("The best of %s stays open: %s", label, reason)
            p = None
        leaders.append(question.leader(board, label, ordered, p))
    return leaders


def _is_constant_run(
    question: ClassLeaderSearch, evaluation: Evaluation, matrices: StatisticMatrixCache
) -> bool:
    rows = matrices.rows(evaluation, None).matrices[question.metric.statistic]
    return not question.keeps_sentences and question.metric.is_constant(rows)


def _sort_runs_of_each_class(
    question: ClassLeaderSearch,
) -> dict[str, list[Evaluation]]:
    evaluations = [evaluation.pk for evaluation in question.evaluations]
    values: dict[str, dict[int, float]] = {}
    for label, evaluation, number in load_class_scores_of_evaluations(
        evaluations, question.dimension, question.metric.name
    ):
        by_run = values.setdefault(label, {})
        if number.value is not None:
            by_run[evaluation] = number.value
    sign = 1 if question.metric.higher_is_better is False else -1
    return {
        label: sorted(
            (
                evaluation
                for evaluation in question.evaluations
                if evaluation.pk in by_run
            ),
            key=lambda evaluation, by_run=by_run: sign * by_run[evaluation.pk],  # type: ignore[misc]
        )
        for label, by_run in values.items()
    }


def find_largest_p_against_others(
    metric: Metric,
    label: str,
    ordered: Sequence[Evaluation],
    matrices: StatisticMatrixCache,
) -> float | None:
    """Return the largest p-value of the tests of the best run of a class against all
    other runs.

    The first test is against the second best run, because the best run cannot be
    significantly better than all if this test fails.
    """
    if len(ordered) < 2:
        return None
    best, others = ordered[0], ordered[1:]
    own = metric.of_label(label)
    if own is None:
        return None
    where = label if own is metric else None

    def p_values_against_best(some: Sequence[Evaluation]) -> list[float]:
        rows = matrices.rows(best, where)
        pairs = [
            compare.align_two_runs(own, rows, matrices.rows(other, where))
            for other in some
        ]
        units = max(len(pair.a) for pair in pairs)
        most = choose_number_of_exchanges(units, len(others))
        tests = run_randomisation_tests(
            pairs, trials=choose_number_of_exchanges(units), max_trials=most, seed=SEED
        )
        return [test.p for test in tests]

    tests = p_values_against_best(others[:1])
    if not tests[0] <= FAMILYWISE_ERROR_RATE:
        return None if np.isnan(tests[0]) else tests[0]
    for start in range(1, len(others), EVALUATIONS_PER_BATCH):
        tests += p_values_against_best(others[start : start + EVALUATIONS_PER_BATCH])
    return None if np.isnan(tests).any() else max(adjust_by_holm(tests))


def save_class_leaders(
    board: Board, question: ClassLeaderSearch, leaders: Sequence[ClassLeader]
) -> None:
    """Replace the stored leaders of the classes of a board. A run that was deleted in
    the meantime is not stored as leader.
    """
    with transaction.atomic():
        best = [leader.best_id for leader in leaders if leader.best_id]
        there = set(
            Evaluation.objects.select_for_update()
            .filter(pk__in=best)
            .values_list("pk", flat=True)
        )
        for leader in leaders:
            if leader.best_id not in there:
                leader.best, leader.p = None, None
        ClassLeader.objects.filter(
            phase=board.phase,
            rules=board.rules,
            gold=board.gold,
            dimension=question.dimension,
            metric=question.metric.name,
        ).delete()
        ClassLeader.objects.bulk_create(leaders, batch_size=500)
