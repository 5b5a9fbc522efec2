"""Boards that others than organisers see as they stood when they were frozen: what stood on them."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils.timezone import now

from scoring.board.counting import gold_at
from scoring.board.sql import counting_runs
from scoring.models import FrozenBoard
from tasks.models import Phase


def frozen_phases() -> QuerySet[Phase]:
    found = Phase.objects.filter(frozen_from__lte=now()).exclude(frozen_until__lte=now())
    return found.select_related("task__season")


def keep_frozen(*phases: Phase) -> int:
    """Notes what stood on the boards that are frozen, of these phases or all; how many.

    Until then it follows from when each run was scored.
    """
    wanted = phases or tuple(frozen_phases())
    return sum(_kept(phase, rules) for phase in wanted for rules in phase.task.rules)


def _kept(phase: Phase, rules: str) -> bool:
    at = phase.frozen_from
    if at is None or FrozenBoard.objects.filter(phase=phase, rules=rules, frozen_from=at).exists():
        return False
    gold = gold_at(phase, at)
    if gold is None:
        return False
    stood = sorted(run.evaluation for run in counting_runs(phase, rules, gold, at))
    _, is_new = FrozenBoard.objects.get_or_create(
        phase=phase, rules=rules, frozen_from=at, defaults={"gold": gold, "evaluations": stood}
    )
    return is_new
