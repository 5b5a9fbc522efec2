"""What the leads of teams are told of results that wait to be confirmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from citeboard.teams.models import Team, User
from tasks.models import Notification, Phase, Submission
from tasks.models.notifications import Kind
from tasks.notifications.writing import leads_of, notify, without
from tasks.webhooks.queueing import queue_event


def tell_to_confirm(
    phase: Phase,
    runs: Mapping[Team, Sequence[Submission]],
    *,
    gold: int,
    by: User | None = None,
) -> int:
    """That results of these teams, of these runs, wait; how many leads wanted to be told.

    Each team is told once of a gold, an end of the phase and a time that the confirmation was begun; whoever
    began it anew (``by``) is not.
    """
    event = f"{_prefix(phase)}{phase.confirmation_reopened}-{phase.closes.timestamp()}-{gold}"
    where = {"task": phase.task.slug, "phase": phase.slug}
    is_reopened = by is not None
    season = phase.task.season
    known = set(Notification.objects.filter(event__startswith=f"{event}-").values_list("event", flat=True))
    if not known:
        queue_event(Kind.CONFIRM, event, season, **where, is_reopened=is_reopened)
    return sum(
        notify(
            Kind.CONFIRM,
            f"{event}-{team.pk}",
            without(leads_of(team), by),
            season=season,
            phase=phase,
            team=team,
            facts={"is_reopened": is_reopened, "runs": {str(run.number): run.pk for run in own}},
        )
        for team, own in runs.items()
        if f"{event}-{team.pk}" not in known
    )


def forget_to_confirm(phase: Phase) -> None:
    """Once nobody is asked any more; an e-mail that was not sent yet is not sent any more."""
    Notification.objects.filter(kind=Kind.CONFIRM, event__startswith=_prefix(phase)).delete()


def _prefix(phase: Phase) -> str:
    return f"phase-{phase.pk}-confirm-"
