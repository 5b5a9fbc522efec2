"""Writing notifications: in the transaction of the event, one for each person, however often it is tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils import timezone

from citeboard.teams.models import Membership, Team, User
from tasks.models import Notification, Organiser, Phase, Registration, Season, Submission
from tasks.models.notifications import Channel, Kind
from tasks.notifications.preferences import channels


def notify(
    kind: Kind,
    event: str,
    people: Iterable[int],
    *,
    season: Season | int | None,
    phase: Phase | None = None,
    team: Team | None = None,
    submission: Submission | None = None,
    facts: Mapping[str, Any] | None = None,
) -> int:
    """Tell the people, given by id, of an event; who was told of it already is not told again.

    To be called in the transaction of the event. Gives how many wanted to be told.
    """
    told = channels(sorted(set(people)), kind)
    now = timezone.now()
    rows = [
        Notification(
            user_id=person,
            kind=kind,
            event=event,
            season_id=season.pk if isinstance(season, Season) else season,
            phase=phase,
            team=team,
            submission=submission,
            facts=dict(facts or {}),
            created_at=now,
            mail=Notification.Mail.QUEUED if channel == Channel.MAIL else Notification.Mail.NONE,
            mail_due_at=now if channel == Channel.MAIL else None,
        )
        for person, channel in told.items()
        if channel != Channel.NONE
    ]
    Notification.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def take_back(event: str, person: int) -> None:
    """What the person was told of holds no more."""
    Notification.objects.filter(event=event, user=person).delete()


def members_of(team: Team) -> list[int]:
    return list(Membership.objects.filter(team=team).values_list("user_id", flat=True))


def leads_of(team: Team) -> list[int]:
    lead = Membership.objects.filter(team=team, role=Membership.Role.LEAD)
    return list(lead.values_list("user_id", flat=True))


def runners_of(season: Season) -> list[int]:
    """Its organisers and helpers."""
    return list(Organiser.objects.filter(season=season).values_list("user_id", flat=True))


def participants_of(season: Season) -> list[int]:
    """The members of its teams, those that wait for approval included."""
    entries = Registration.objects.filter(season=season).not_refused()
    teams = Membership.objects.filter(team__in=entries.values("team"), user__is_active=True)
    return list(teams.values_list("user_id", flat=True))


def without(people: Iterable[int], person: User | None) -> list[int]:
    """Nobody is told of what they did themselves."""
    return [own for own in people if person is None or own != person.pk]
