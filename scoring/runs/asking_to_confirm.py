"""Telling the leads of teams that results of theirs wait to be confirmed: when that begins, and anew."""

from __future__ import annotations

from collections import defaultdict

from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.utils.timezone import now

from citeboard.teams.models import Team, User
from scoring.board.confirming import results_of, why_not
from scoring.board.snapshots import UNSETTLED
from tasks.models import Phase, Submission
from tasks.notifications.events import tell_to_confirm


def ask_to_confirm() -> int:
    """Tell the leads whose results wait and who were not told; how many were told.

    That is once the phase has closed, its runs are scored and its teams see their scores. A phase is looked
    at again where something of its results has changed.
    """
    told = 0
    for number in _due():
        with transaction.atomic():
            phases = Phase.objects.select_for_update(of=("self",)).select_related("task__season")
            phase = phases.get(pk=number)
            if phase.confirmation_ended_at is None and not why_not(phase):
                told += tell_waiting(phase)
    return told


def _due() -> list[int]:
    under_way = Submission.objects.filter(phase=OuterRef("pk"), status__in=UNSETTLED)
    asking = Phase.objects.filter(
        ~Exists(under_way),
        confirms_results=True,
        confirmation_ended_at=None,
        closes__lte=now(),
        task__season__is_public=True,
    ).exclude(confirmation_told=F("version"))
    return list(asking.values_list("pk", flat=True))


def tell_waiting(phase: Phase, *, by: User | None = None) -> int:
    """The leads whose results wait; of every team with a result where somebody has begun that anew (``by``).

    Inside a transaction that holds the phase, where teams can say something of their results.
    """
    results = results_of(phase)
    waiting = {result.run.submission for result in results if by is not None or result.said is None}
    runs: dict[Team, list[Submission]] = defaultdict(list)
    found = Submission.objects.filter(pk__in=waiting, team__isnull=False).select_related("team")
    for run in found.order_by("team_id", "number"):
        assert run.team is not None
        runs[run.team].append(run)
    told = tell_to_confirm(phase, runs, gold=results[0].gold.number, by=by) if runs else 0
    if results:
        Phase.objects.filter(pk=phase.pk).update(confirmation_told=F("version"))
    return told
