"""How many runs a phase has, and which version of the gold its board stands on."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from django.core.cache import caches
from django.db.models import Exists, OuterRef, QuerySet

from scoring.board.sql import teams_and_runs
from scoring.models import Evaluation, FrozenBoard
from tasks.models import Gold, Job, Phase, Submission


class Turnout(NamedTuple):
    """How many teams have sent runs in a phase, and how many runs."""

    teams: int
    runs: int


def turnout(phase: Phase) -> Turnout:
    return Turnout(*teams_and_runs(phase))


def board_gold(phase: Phase) -> Gold | None:
    """The version a phase's board stands on: the newest against which all its scored runs have been settled.

    While a new version is being scored, the board stays as it was; it moves when the last run is through.
    """
    versions = list(Gold.objects.filter(task=phase.task_id, split=phase.split).order_by("-number")[:2])
    if len(versions) < 2:
        return versions[0] if versions else None
    key = f"board-gold:{phase.pk}:{phase.version}:{versions[0].pk}"
    found = caches["results"].get(key)
    if found is None:
        found = _newest_settled(phase).pk
        caches["results"].set(key, found, 600)
    return next((version for version in versions if version.pk == found), None) or Gold.objects.get(pk=found)


def gold_at(phase: Phase, instant: dt.datetime) -> Gold | None:
    """The version that the board stood on then: the newest against which all runs scored by then had been."""
    rules = phase.task.ranking_rules if phase.task.rules else ""
    noted = FrozenBoard.objects.filter(phase=phase, rules=rules, frozen_from=instant).select_related("gold")
    if found := noted.first():
        return found.gold
    versions = Gold.objects.filter(task=phase.task_id, split=phase.split, created_at__lte=instant)
    known = Evaluation.objects.known_at(instant).filter(
        phase=phase, rules=rules, submission__status=Submission.Status.SCORED
    )
    oldest = None
    for oldest in versions.order_by("-number"):
        scored = known.filter(submission=OuterRef("submission"), gold=oldest)
        failed = Job.objects.filter(
            submission=OuterRef("submission"),
            gold=oldest,
            rules=rules,
            state__in=(Job.State.FAILED, Job.State.CANCELLED),
        )
        if not known.filter(~Exists(scored), ~Exists(failed)).exists():
            break
    return oldest


def _newest_settled(phase: Phase) -> Gold:
    versions = list(Gold.objects.filter(task=phase.task_id, split=phase.split).order_by("-number"))
    return next(
        (version for version in versions[:-1] if not unsettled(phase, version).exists()), versions[-1]
    )


def unsettled(phase: Phase, gold: Gold) -> QuerySet[Submission]:
    """Scored runs that have neither been scored against this version nor failed to be."""
    rules = phase.task.ranking_rules if phase.task.rules else ""
    scored = Evaluation.objects.filter(submission=OuterRef("pk"), gold=gold, rules=rules)
    failed = Job.objects.filter(
        submission=OuterRef("pk"), gold=gold, rules=rules, state__in=(Job.State.FAILED, Job.State.CANCELLED)
    )
    runs = Submission.objects.filter(phase=phase, status=Submission.Status.SCORED)
    return runs.filter(~Exists(scored), ~Exists(failed)).order_by()
