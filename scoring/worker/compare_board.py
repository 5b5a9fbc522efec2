"""Comparing the rows of a board, then the runs within each class."""

import itertools
import logging
import os
import time
from collections import Counter
from collections.abc import Mapping

from django.db import transaction

from citeboard.core.database import from_now
from citeboard.core.processes import group_name
from scoring.board import comparisons
from scoring.board.comparison_state import finish, give_way
from scoring.board.counting import board_gold
from scoring.board.leaders import answered, open_questions, save_leaders
from scoring.board.standings import standings
from scoring.board.visibility import Audience
from scoring.metrics import Metric, metric_of, metrics_by, metrics_of
from scoring.models import BoardOrder, Breakdown, Evaluation
from scoring.stats.breakdown import class_intervals
from scoring.stats.resampling import Bounds
from tasks.jobs import interruptions
from tasks.jobs.engine import JobLost, heartbeat, row_of
from tasks.jobs.queue_choice import claimable, served
from tasks.jobs.work import JobWaits, take_jobs
from tasks.models import Gold, Job, Phase
from tasks.models.seasons import bump_version

#: Seconds after which the queue may have its worker back, and after which it is asked whether it wants it.
LONGEST, MOMENT = 10.0, 0.1

#: By dimension, class and metric.
Found = Mapping[str, Mapping[str, Mapping[str, Bounds | None]]]

log = logging.getLogger(__name__)

#: Wakes of earlier releases name it.
compare_board = take_jobs


def compare(job: Job) -> None:
    """What is missing; after a while, or where a job of a smaller priority waits, the rest another time."""
    order: BoardOrder = row_of(job)
    until = time.monotonic() + LONGEST
    unreadable: set[int] = set()
    group = group_name(os.getpgrp())
    at_a_time = 1
    while True:
        began = time.monotonic()
        interruptions.check()
        phase = Phase.objects.select_related("task__season").get(pk=order.phase_id)
        # What the board stands on, and what it will stand on when all runs have been scored again.
        golds = {gold.pk: gold for gold in (board_gold(phase), Gold.objects.current(phase)) if gold}
        priority = Job.Priority.COMPARISON
        try:
            has_found = any(
                _compare_some(job, order, phase, gold, unreadable, at_a_time) for gold in golds.values()
            )
            # As many as a moment is enough for, going by how long these have taken.
            fitting = int(at_a_time * MOMENT / max(time.monotonic() - began, 0.001))
            at_a_time = max(1, min(fitting, 2 * at_a_time, comparisons.AT_A_TIME))
            if not has_found and any(some_classes(phase, order.rules, gold) for gold in golds.values()):
                has_found, priority = True, Job.Priority.CLASSES
                _renew(job)
                # Pages of classes find out by themselves that something was found.
                BoardOrder.objects.filter(pk=order.pk).update(classes_at=from_now())
        except comparisons.StatisticsAway as reason:
            raise JobWaits(str(reason)) from reason
        if not has_found:
            if finish(order, job, phase.version):
                return
        elif time.monotonic() > until or any(
            jobs.filter(priority__lt=priority).exists()
            # Those of its own kind may be taken as soon as it is given up.
            for jobs in (claimable(group), served().filter(kind=job.kind))
        ):
            give_way(job, priority)
            return


def _compare_some(
    job: Job, order: BoardOrder, phase: Phase, gold: Gold, unreadable: set[int], at_a_time: int
) -> bool:
    """The evaluation with the most comparisons still to make, with some of them; False where none is left."""
    if order.rules not in phase.task.rules:
        return False
    board = standings(phase, None, order.rules, gold=gold, audience=Audience.ORGANISER)
    ranked = [row.evaluation for row in board.rows if row.rank is not None]
    rows = sorted(Evaluation.objects.filter(pk__in=ranked, withheld="").values_list("pk", flat=True))
    if board.ranking is None or len(rows) < 2:
        return False
    name = board.ranking.metric
    known = {(first, second) for first, second, *_ in comparisons.known_pairs(rows, name)}
    known -= comparisons.with_too_few_trials(rows, name)
    pairs = itertools.combinations(rows, 2)
    left = [pair for pair in pairs if pair not in known and unreadable.isdisjoint(pair)]
    if not left:
        return False
    one, _ = Counter(itertools.chain.from_iterable(left)).most_common(1)[0]
    others = [first if second == one else second for first, second in left if one in (first, second)]
    evaluations = Evaluation.objects.in_bulk([one, *others[:at_a_time]])
    task_type = phase.task.task_type
    metric = metric_of(task_type, name, order.rules, task_type.checked_options(evaluations[one].options))
    if not metric.is_exchangeable:
        return False
    evaluation = evaluations.pop(one)
    try:
        rest = list(evaluations.values())
        results = comparisons.compared(metric, evaluation, rest, comparisons=len(rows) - 1)
    except comparisons.StatisticsAway:
        raise
    except comparisons.Unreadable as reason:
        log.warning("Ranks stay open: %s", reason)
        unreadable.add(reason.evaluation)
    except Exception:
        log.exception("Ranks stay open: evaluation %s cannot be compared", one)
        unreadable.add(one)
    else:
        # While the board is ours; pages that show its order are made anew.
        with transaction.atomic():
            comparisons.save_comparisons(results)
            _renew(job)
            bump_version(order.phase_id)
    return True


def _renew(job: Job) -> None:
    if not heartbeat(job):
        raise JobLost


def some_classes(phase: Phase, rules: str, gold: Gold) -> bool:
    if rules not in phase.task.rules:
        return False
    board = standings(phase, None, rules, gold=gold, audience=Audience.ORGANISER)
    until, leaders = time.monotonic() + MOMENT, None
    for question in open_questions(board):
        try:
            leaders = answered(board, question)
        except comparisons.StatisticsAway:
            raise
        except Exception:
            log.exception("Nobody is said to lead %s by %s", question.dimension, question.metric.name)
            leaders = question.unanswered(board)
        save_leaders(board, question, leaders)
        if time.monotonic() > until:
            break
    if leaders is not None:
        return True
    left = Evaluation.objects.filter(pk__in=[row.evaluation for row in board.rows], has_class_intervals=False)
    if (evaluation := left.select_related("phase__task").order_by("pk").first()) is not None:
        try:
            give_intervals(evaluation)
        except comparisons.StatisticsAway:
            raise
        except Exception:
            log.exception("The classes of evaluation %s have no intervals", evaluation.pk)
            Evaluation.objects.filter(pk=evaluation.pk).update(has_class_intervals=True)
    return evaluation is not None


def give_intervals(evaluation: Evaluation) -> None:
    try:
        found = intervals_of(evaluation)
    except comparisons.StatisticsAway:
        raise
    except comparisons.Unreadable as reason:
        log.warning("The classes of evaluation %s have no intervals: %s", evaluation.pk, reason)
        found = {}
    with transaction.atomic():
        same = Evaluation.objects.filter(pk=evaluation.pk, statistics=evaluation.statistics)
        # One that was scored anew meanwhile has its turn again.
        if same.select_for_update().update(has_class_intervals=True):
            keep_intervals(evaluation, found)


def intervals_of(evaluation: Evaluation) -> Found:
    task_type = evaluation.phase.task.task_type
    options = task_type.checked_options(evaluation.options)
    metrics = metrics_of(task_type, evaluation.rules, options) if evaluation.rules in task_type.rules else []
    statistics = comparisons.statistics_of(evaluation)

    def measured(dimension: str) -> list[Metric]:
        by = metrics_by(task_type, dimension, metrics)
        return [one for one in by if one.is_decomposable and one.statistic in statistics.matrices]

    return {
        dimension: class_intervals(
            measured(dimension), statistics.matrices, statistics.units, labels, statistics.clusters
        )
        for dimension, labels in statistics.features.items()
    }


def keep_intervals(evaluation: Evaluation, found: Found) -> None:
    rows = evaluation.breakdowns.select_related("classes")
    changed = [row for row in rows if row.set_ends(found.get(row.classes.dimension, {}))]
    Breakdown.objects.bulk_update(changed, ["numbers"])
