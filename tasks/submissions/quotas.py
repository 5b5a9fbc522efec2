"""How many runs a team may still send: in a day of the phase's own time zone, and in total."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from django.db.models import Q, QuerySet
from django.utils import timezone

from citeboard.teams.models import Team
from tasks.models import ExtraTries, Phase, Submission
from tasks.submissions.refusals import QuotaExceeded


@dataclass(frozen=True, kw_only=True)
class Quota:
    """What is left of each limit, None where there is none; at ``renews_at`` the day's limit begins anew.

    ``extra`` are the tries that organisers have given to the team alone; the limits have them in already.
    """

    left_today: int | None
    left_in_total: int | None
    renews_at: dt.datetime | None
    extra: tuple[ExtraTries, ...] = ()

    @property
    def left(self) -> int | None:
        """How many runs would be accepted now, None for any number."""
        limits = [left for left in (self.left_today, self.left_in_total) if left is not None]
        return min(limits, default=None)


def quota(phase: Phase, team: Team, at: dt.datetime | None = None) -> Quota:
    now = at or timezone.now()
    begins, ends = day_of(now, phase.zone)
    counted = counted_runs(phase, team)
    extra = tuple(ExtraTries.objects.filter(phase=phase, team=team).select_related("given_by"))
    left_today = left_in_total = None
    if phase.runs_per_day is not None:
        today = counted.filter(submitted_at__gte=begins, submitted_at__lt=ends).count()
        given = sum(more.tries for more in extra if begins <= more.given_at < ends)
        left_today = max(0, phase.runs_per_day + given - today)
    if phase.runs_in_total is not None:
        given = sum(more.tries for more in extra)
        left_in_total = max(0, phase.runs_in_total + given - counted.count())
    is_renewed = left_today is not None and left_in_total != 0
    return Quota(
        left_today=left_today,
        left_in_total=left_in_total,
        renews_at=ends if is_renewed else None,
        extra=extra,
    )


def counted_runs(phase: Phase, team: Team) -> QuerySet[Submission]:
    """The runs that have used up a try.

    A failed one has not, unless its scoring ran into its limit of computing time or memory and an earlier one
    of the team did so before: such runs would otherwise keep a worker busy for ever.
    """
    own = Submission.objects.filter(phase=phase, team=team)
    is_over_limit = Q(status=Submission.Status.FAILED, hit_limit=True)
    forgiven = own.filter(is_over_limit).order_by("number").values("pk")[:1]
    return own.filter(Q(status__in=Submission.COUNTED) | is_over_limit).exclude(pk__in=forgiven)


def check_quota(phase: Phase, team: Team, at: dt.datetime) -> None:
    """Raises QuotaExceeded unless one more run may be sent."""
    now = quota(phase, team, at)
    if now.left == 0:
        raise QuotaExceeded(left=0, renews_at=now.renews_at)


def day_of(at: dt.datetime, zone: ZoneInfo) -> tuple[dt.datetime, dt.datetime]:
    """The instants at which the day begins and ends in a time zone; a day may have 23 or 25 hours."""
    date = at.astimezone(zone).date()
    return midnight(date, zone), midnight(date + dt.timedelta(days=1), zone)


def midnight(date: dt.date, zone: ZoneInfo) -> dt.datetime:
    """When the day begins, in UTC; where the clock skips midnight, that is the moment of the change."""
    return dt.datetime.combine(date, dt.time(), zone).astimezone(dt.UTC)
