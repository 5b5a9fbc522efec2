"""What participants and organisers are told of a season: deadlines, limits, announcements, entries, roles."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Self

from django.utils import timezone

from citeboard.core.audit import as_json
from citeboard.teams.models import User
from tasks.models import Announcement, Notification, Phase, Registration, Season
from tasks.models.notifications import Kind
from tasks.notifications.writing import members_of, notify, participants_of, runners_of, without
from tasks.webhooks.queueing import queue_event

#: So long before its end participants are reminded of a phase.
AHEAD = dt.timedelta(hours=48)


@dataclass(frozen=True)
class PhaseFacts:
    """What participants plan by, of a phase as it was."""

    closes: dt.datetime
    runs_per_day: int | None
    runs_in_total: int | None

    @classmethod
    def of(cls, phase: Phase) -> Self:
        return cls(phase.closes, phase.runs_per_day, phase.runs_in_total)

    @property
    def limits(self) -> tuple[int | None, int | None]:
        return self.runs_per_day, self.runs_in_total


def tell_changed_phase(phase: Phase, before: PhaseFacts, *, at: dt.datetime, by: User | None) -> None:
    """That its end or its limits are others now; of what was over and stays over nobody is told."""
    season = phase.task.season
    if not season.is_public:
        return
    if phase.closes != before.closes and max(phase.closes, before.closes) > at:
        facts = {"before": as_json(before.closes), "after": as_json(phase.closes)}
        event = f"phase-{phase.pk}-moved-{at.timestamp()}"
        queue_event(Kind.MOVED, event, season, task=phase.task.slug, phase=phase.slug, **facts)
        people = without(participants_of(season), by)
        notify(Kind.MOVED, event, people, season=season, phase=phase, facts=facts)
    after = PhaseFacts.of(phase).limits
    if after != before.limits and phase.closes > at:
        event = f"phase-{phase.pk}-limits-{at.timestamp()}"
        limits = {"before": list(before.limits), "after": list(after)}
        people = without(participants_of(season), by)
        notify(Kind.LIMITS, event, people, season=season, phase=phase, facts=limits)


def remind_of_deadlines(at: dt.datetime | None = None) -> int:
    """Tell participants once of each phase that closes within 48 hours; how many were told."""
    at = at or timezone.now()
    soon = Phase.objects.open(at).filter(
        closes__lte=at + AHEAD, task__season__is_public=True, task__is_reported_only=False
    )
    told = 0
    for phase in soon.select_related("task__season"):
        event = f"phase-{phase.pk}-closes-{phase.closes.timestamp()}"
        if not Notification.objects.filter(event=event).exists():
            people = participants_of(phase.task.season)
            facts = {"closes": as_json(phase.closes)}
            told += notify(Kind.DEADLINE, event, people, season=phase.task.season, phase=phase, facts=facts)
    return told


def tell_announced(season: Season, announcement: Announcement, *, by: User | None) -> None:
    """Participants, and those who run the season besides."""
    people = without([*participants_of(season), *runners_of(season)], by)
    notify(Kind.ANNOUNCED, announcement.event, people, season=season, facts={"text": announcement.text})
    queue_event(Kind.ANNOUNCED, announcement.event, season, text=announcement.text)


def reword_announced(announcement: Announcement) -> None:
    """Who was told reads what it says now; nobody is told once more."""
    told = Notification.objects.filter(event=announcement.event)
    told.update(facts={"text": announcement.text})


def forget_announced(announcement: Announcement) -> None:
    """An e-mail that was not sent yet is not sent any more."""
    Notification.objects.filter(event=announcement.event).delete()


def tell_asked(registration: Registration, *, by: User | None) -> None:
    """Those who decide on the entry."""
    season, event = registration.season, f"registration-{registration.pk}-asked"
    queue_event(Kind.ASKED, event, season, team=registration.team.slug)
    notify(
        Kind.ASKED,
        event,
        without(runners_of(season), by),
        season=season,
        team=registration.team,
        facts={"message": registration.message},
    )


def tell_decided(registration: Registration) -> None:
    """The team, in the transaction of the decision."""
    assert registration.decided_at is not None
    event = f"registration-{registration.pk}-decided-{registration.decided_at.timestamp()}"
    decided = {"team": registration.team.slug, "is_approved": registration.is_approved}
    queue_event(Kind.DECIDED, event, registration.season, **decided)
    notify(
        Kind.DECIDED,
        event,
        members_of(registration.team),
        season=registration.season,
        team=registration.team,
        facts={"is_approved": registration.is_approved, "reason": registration.reason},
    )


def tell_role(season: Season, user: User, role: str, *, at: dt.datetime, by: User | None) -> None:
    """Whoever was made an organiser or a helper."""
    event = f"season-{season.pk}-role-{role}-{at.timestamp()}"
    notify(Kind.ROLE, event, without([user.pk], by), season=season, facts={"role": role})


def sheet_event(sheet: int) -> str:
    return f"sheet-{sheet}"


def tell_sheet(sheet: int, phase: Phase, person: int) -> None:
    """Whoever shall rate a sheet, which is given by its number."""
    season = phase.task.season_id
    notify(Kind.SHEET, sheet_event(sheet), [person], season=season, phase=phase, facts={"sheet": sheet})
