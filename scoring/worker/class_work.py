"""What a worker finds out of a board's classes once its rows are compared, a step at a time.

Who leads each class, and the intervals of each run's scores by class, from the matrices kept with it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from django.db import transaction

from scoring.board.comparisons import StatisticsAway, Unreadable, statistics_of
from scoring.board.leaders import Question, answered, open_question, save_leaders
from scoring.board.standings import Board, standings
from scoring.board.visibility import Audience
from scoring.metrics import Metric, known_metric
from scoring.models import Breakdown, ClassLeader, Evaluation
from scoring.stats.breakdown import class_intervals
from scoring.stats.resampling import Bounds
from tasks.models import Gold, Phase

#: By dimension, class and metric.
Found = Mapping[str, Mapping[str, Mapping[str, Bounds | None]]]

log = logging.getLogger(__name__)


def some_classes(phase: Phase, rules: str, gold: Gold) -> bool:
    """Who leads the classes of one dimension, or the intervals of one run; False where nothing is left."""
    if rules not in phase.task.rules:
        return False
    board = standings(phase, None, rules, gold=gold, audience=Audience.ORGANISER)
    question = open_question(board)
    if question is not None:
        save_leaders(board, question, _leaders(board, question))
        return True
    waiting = Evaluation.objects.filter(
        pk__in=[row.evaluation for row in board.rows], has_class_intervals=False
    ).select_related("phase__task")
    evaluation = waiting.order_by("pk").first()
    if evaluation is not None:
        _try_intervals(evaluation)
    return evaluation is not None


def _leaders(board: Board, question: Question) -> list[ClassLeader]:
    try:
        return answered(board, question)
    except StatisticsAway:
        raise
    except Exception:
        log.exception("Nobody is said to lead %s by %s", question.dimension, question.metric.name)
        return question.unanswered(board)


def _try_intervals(evaluation: Evaluation) -> None:
    try:
        give_intervals(evaluation)
    except StatisticsAway:
        raise
    except Exception:
        log.exception("The classes of evaluation %s have no intervals", evaluation.pk)
        Evaluation.objects.filter(pk=evaluation.pk).update(has_class_intervals=True)


def give_intervals(evaluation: Evaluation) -> None:
    """Look for the intervals and keep them; what cannot be read has none, and is not looked at again."""
    try:
        found = intervals_of(evaluation)
    except StatisticsAway:
        raise
    except Unreadable as reason:
        log.warning("The classes of evaluation %s have no intervals: %s", evaluation.pk, reason)
        found = {}
    with transaction.atomic():
        same = Evaluation.objects.select_for_update().filter(
            pk=evaluation.pk, statistics=evaluation.statistics
        )
        # One that was scored anew meanwhile has its turn again.
        if same.update(has_class_intervals=True):
            _keep(evaluation, found)


def intervals_of(evaluation: Evaluation) -> Found:
    """Raises Unreadable."""
    statistics = statistics_of(evaluation)
    metrics = [metric for metric in _metrics(evaluation) if metric.statistic in statistics.matrices]
    return {
        dimension: class_intervals(metrics, statistics.matrices, statistics.units, labels)
        for dimension, labels in statistics.features.items()
    }


def _metrics(evaluation: Evaluation) -> list[Metric]:
    task_type = evaluation.phase.task.task_type
    options = task_type.checked_options(evaluation.options)
    rows = evaluation.breakdowns.select_related("classes")
    names = {metric for row in rows for metric in row.classes.metrics}
    known = (known_metric(task_type, name, evaluation.rules, options) for name in sorted(names))
    return [metric for metric in known if metric is not None and metric.is_decomposable]


def _keep(evaluation: Evaluation, found: Found) -> None:
    rows = evaluation.breakdowns.select_related("classes")
    changed = [row for row in rows if row.set_ends(found.get(row.classes.dimension, {}))]
    Breakdown.objects.bulk_update(changed, ["numbers"])
