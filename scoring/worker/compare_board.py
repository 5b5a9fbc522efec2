"""Compare the rows of a board with each other, and then the runs within each class of
instances.
"""

import itertools
import logging
import os
import time
from collections.abc import Collection, Mapping

from django.db import transaction

from citeboard.core.database import database_time_expression
from citeboard.core.processes import build_process_group_name
from scoring.metrics import (
    Metric,
    build_metric,
    build_metrics,
    select_metrics_for_dimension,
)
from scoring.models import BoardOrder, Breakdown, Evaluation
from scoring.results.board import comparisons
from scoring.results.board.comparison_state import (
    finish_board_comparison,
    requeue_comparison_behind_others,
)
from scoring.results.board.counting import find_gold_on_board
from scoring.results.board.leaders import (
    find_class_leaders,
    find_outdated_leader_searches,
    save_class_leaders,
)
from scoring.results.board.standings import compute_board
from scoring.results.board.visibility import Audience
from scoring.stats.breakdown import compute_intervals_by_class
from scoring.stats.resampling import IntervalBounds
from scoring.worker.compare_seeds import MissingSeedMeans, compute_some_seed_means
from tasks.jobs import interruptions
from tasks.jobs.engine import JobClaimLost, get_related_row, renew_lease
from tasks.jobs.queue_choice import list_claimable_jobs, list_jobs_in_served_queues
from tasks.jobs.work import JobWaitsForDependency, take_jobs
from tasks.models import Gold, Job, Phase
from tasks.models.seasons import increment_board_version

#: After MAX_COMPARISON_SECONDS seconds, the comparison of a board lets other jobs run.
#: The size of a batch of comparisons is chosen so that a batch takes TARGET_BATCH_SECONDS seconds.
MAX_COMPARISON_SECONDS, TARGET_BATCH_SECONDS = 10.0, 0.1

#: Intervals of scores by dimension, class and metric.
IntervalsByDimensionClassAndMetric = Mapping[
    str, Mapping[str, Mapping[str, IntervalBounds | None]]
]

log = logging.getLogger(__name__)

#: Jobs that earlier releases have queued call the handler by this name.
compare_board = take_jobs


def compare(job: Job) -> None:
    """Compute the significance tests between rows of a board that no job has computed
    yet. When the time limit is reached or a more urgent job waits, a later job computes
    the rest of the tests.
    """
    order: BoardOrder = get_related_row(job)
    until = time.monotonic() + MAX_COMPARISON_SECONDS
    left_by_gold: dict[int, MissingComparisons] = {}
    missing_by_gold: dict[int, MissingSeedMeans] = {}
    unreadable: set[int] = set()
    group = build_process_group_name(os.getpgrp())
    at_a_time = 1
    while True:
        began = time.monotonic()
        interruptions.raise_if_stop_requested()
        phase = Phase.objects.select_related("task__season").get(pk=order.phase_id)
        # Use the gold of the displayed board, and the gold for scoring runs again.
        golds = {
            gold.pk: gold
            for gold in (find_gold_on_board(phase), Gold.objects.current(phase))
            if gold
        }
        priority = Job.Priority.COMPARISON
        try:
            has_found = any(
                _compute_some_comparisons(
                    job, order, phase, gold, left_by_gold, unreadable, at_a_time
                )
                for gold in golds.values()
            )
            # Choose the size of the next batch by the duration of the last batch.
            fitting = int(
                at_a_time * TARGET_BATCH_SECONDS / max(time.monotonic() - began, 0.001)
            )
            at_a_time = max(
                1, min(fitting, 2 * at_a_time, comparisons.EVALUATIONS_PER_BATCH)
            )
            if not has_found and any(
                compute_some_seed_means(phase, order.rules, gold, missing_by_gold)
                for gold in golds.values()
            ):
                has_found = True
                _renew_lease_or_stop(job)
                if not any(missing.left for missing in missing_by_gold.values()):
                    # Read the board again, because final ranks need all comparisons.
                    left_by_gold.clear()
            if not has_found and any(
                find_class_leaders_for_short_time(phase, order.rules, gold)
                for gold in golds.values()
            ):
                has_found, priority = True, Job.Priority.CLASSES
                _renew_lease_or_stop(job)
                # Pages about classes read this time to detect new results.
                BoardOrder.objects.filter(pk=order.pk).update(
                    classes_at=database_time_expression()
                )
        except comparisons.StatisticsUnavailable as reason:
            raise JobWaitsForDependency(str(reason)) from reason
        if not has_found:
            # If no comparison was missing, the final ranks have already been stored.
            if finish_board_comparison(order, job, phase.version):
                return
        elif time.monotonic() > until or any(
            jobs.filter(priority__lt=priority).exists()
            # Another job of the same kind can be claimed after this job has yielded.
            for jobs in (
                list_claimable_jobs(group),
                list_jobs_in_served_queues().filter(kind=job.kind),
            )
        ):
            requeue_comparison_behind_others(job, priority)
            return


class MissingComparisons:
    """The comparisons of rows that are missing at one version of a board. The
    dictionary ``pairs`` maps each row to the rows with which the row must still be
    compared.
    """

    def __init__(
        self, order: BoardOrder, phase: Phase, gold: Gold, unreadable: set[int]
    ) -> None:
        self.version, self.metric, self.rows = phase.version, "", list[int]()
        self.pairs: dict[int, set[int]] = {}
        if order.rules not in phase.task.rules:
            return
        board = compute_board(
            phase,
            None,
            order.rules,
            gold=gold,
            audience=Audience.ORGANISER,
            stores_ranks=True,
        )
        ranked = [
            row.evaluation
            for row in board.rows
            if row.rank is not None and not row.runs
        ]
        self.rows = sorted(
            Evaluation.objects.filter(pk__in=ranked, withheld="").values_list(
                "pk", flat=True
            )
        )
        if board.ranking is None:
            return
        self.metric = board.ranking.metric
        pairs = comparisons.find_stored_comparisons(self.rows, self.metric)
        known = set(pairs.values_list("first", "second"))
        known -= comparisons.find_run_pairs_with_too_few_trials(self.rows, self.metric)
        for first, second in itertools.combinations(self.rows, 2):
            if (first, second) not in known and unreadable.isdisjoint((first, second)):
                self.pairs.setdefault(first, set()).add(second)
                self.pairs.setdefault(second, set()).add(first)

    def remove_comparisons_of_row(self, one: int, others: Collection[int]) -> None:
        """Remove a row's comparisons with ``others`` from the missing comparisons."""
        for row, rest in ((one, others), *((other, (one,)) for other in others)):
            self.pairs[row].difference_update(rest)
            if not self.pairs[row]:
                del self.pairs[row]


def _compute_some_comparisons(
    job: Job,
    order: BoardOrder,
    phase: Phase,
    gold: Gold,
    left_by_gold: dict[int, MissingComparisons],
    unreadable: set[int],
    at_a_time: int,
) -> bool:
    left = left_by_gold.get(gold.pk)
    if left is None or phase.list_teams_changed_since(left.version) != set():
        left = left_by_gold[gold.pk] = MissingComparisons(
            order, phase, gold, unreadable
        )
    left.version = phase.version
    if not left.pairs:
        return False
    one = max(left.pairs, key=lambda row: len(left.pairs[row]))
    others = sorted(left.pairs[one])[:at_a_time]
    evaluations = Evaluation.objects.in_bulk([one, *others])
    if len(evaluations) <= len(others):
        del left_by_gold[gold.pk]
        return True
    task_type = phase.task.task_type
    options = task_type.validate_options(evaluations[one].options)
    metric = build_metric(task_type, left.metric, order.rules, options)
    if not metric.is_exchangeable:
        return False
    try:
        rest = [evaluations[other] for other in others]
        results = comparisons.compare_evaluation_with_others(
            metric, evaluations[one], rest, comparisons=len(left.rows) - 1
        )
    except comparisons.StatisticsUnavailable:
        raise
    except comparisons.UnreadableStatistics as reason:
        log.warning("Ranks stay open: %s", reason)
        unreadable.add(reason.evaluation)
        left.remove_comparisons_of_row(
            reason.evaluation, left.pairs[reason.evaluation].copy()
        )
    except Exception:
        log.exception("Ranks stay open: evaluation %s cannot be compared", one)
        unreadable.add(one)
        left.remove_comparisons_of_row(one, left.pairs[one].copy())
    else:
        # Save the results only if this worker still holds the lease of the job.
        # A new version of the phase invalidates the cached pages of the board.
        with transaction.atomic():
            comparisons.save_comparisons(results)
            _renew_lease_or_stop(job)
            increment_board_version(order.phase_id, 0)
        left.remove_comparisons_of_row(one, others[: len(results)])
    if not left.pairs:
        del left_by_gold[gold.pk]
    return True


def _renew_lease_or_stop(job: Job) -> None:
    if not renew_lease(job):
        raise JobClaimLost


def find_class_leaders_for_short_time(phase: Phase, rules: str, gold: Gold) -> bool:
    if rules not in phase.task.rules:
        return False
    board = compute_board(phase, None, rules, gold=gold, audience=Audience.ORGANISER)
    until, leaders = time.monotonic() + TARGET_BATCH_SECONDS, None
    for question in find_outdated_leader_searches(board):
        try:
            leaders = find_class_leaders(board, question)
        except comparisons.StatisticsUnavailable:
            raise
        except Exception:
            log.exception(
                "Nobody is said to lead %s by %s",
                question.dimension,
                question.metric.name,
            )
            leaders = question.build_unknown_leaders(board)
        save_class_leaders(board, question, leaders)
        if time.monotonic() > until:
            break
    if leaders is not None:
        return True
    left = Evaluation.objects.filter(
        pk__in=[row.evaluation for row in board.rows], has_class_intervals=False
    )
    if (
        evaluation := left.select_related("phase__task").order_by("pk").first()
    ) is not None:
        try:
            compute_and_save_class_intervals(evaluation)
        except comparisons.StatisticsUnavailable:
            raise
        except Exception:
            log.exception(
                "The classes of evaluation %s have no intervals", evaluation.pk
            )
            Evaluation.objects.filter(pk=evaluation.pk).update(has_class_intervals=True)
    return evaluation is not None


def compute_and_save_class_intervals(evaluation: Evaluation) -> None:
    try:
        found = compute_class_intervals(evaluation)
    except comparisons.StatisticsUnavailable:
        raise
    except comparisons.UnreadableStatistics as reason:
        log.warning(
            "The classes of evaluation %s have no intervals: %s", evaluation.pk, reason
        )
        found = {}
    with transaction.atomic():
        same = Evaluation.objects.filter(
            pk=evaluation.pk, statistics=evaluation.statistics
        )
        # If the evaluation was scored again, a later batch computes its intervals.
        if same.select_for_update().update(has_class_intervals=True):
            save_class_intervals(evaluation, found)


def compute_class_intervals(
    evaluation: Evaluation,
) -> IntervalsByDimensionClassAndMetric:
    task_type = evaluation.phase.task.task_type
    options = task_type.validate_options(evaluation.options)
    metrics = (
        build_metrics(task_type, evaluation.rules, options)
        if task_type.has_rule_set(evaluation.rules)
        else []
    )
    statistics = comparisons.read_statistics_of_run(evaluation)

    def list_decomposable_metrics(dimension: str) -> list[Metric]:
        by = select_metrics_for_dimension(task_type, dimension, metrics)
        stored = (
            one.as_stored(statistics.matrices) for one in by if one.is_decomposable
        )
        return [one for one in stored if one is not None]

    return {
        dimension: compute_intervals_by_class(
            list_decomposable_metrics(dimension),
            statistics.matrices,
            statistics.units,
            labels,
            statistics.clusters,
        )
        for dimension, labels in statistics.features.items()
    }


def save_class_intervals(
    evaluation: Evaluation, found: IntervalsByDimensionClassAndMetric
) -> None:
    rows = evaluation.breakdowns.select_related("classes")
    changed = [
        row for row in rows if row.add_intervals(found.get(row.classes.dimension, {}))
    ]
    Breakdown.objects.bulk_update(changed, ["numbers"])
