"""Taking back what the history says: a deletion, or that a team was kept out."""

from __future__ import annotations

from django.db import transaction

from citeboard.core import deleted
from citeboard.core.models import AuditEntry
from citeboard.teams.models import User
from tasks.models import Registration, Season
from tasks.models.seasons import bump_versions
from tasks.registration.entries import EntryRefused, approve_team

#: The action of an entry that says that a team was kept out.
REFUSED = "team-refused"


class NotUndone(Exception):
    """It cannot be taken back as things stand; the message says why."""


def may_undo(entry: AuditEntry) -> bool:
    if entry.action == REFUSED:
        return _refused(entry) is not None
    return deleted.may_be_restored(entry)


def undo(*, season: Season, entry: AuditEntry, by: User) -> None:
    """Once more changes nothing. Raises NotUndone."""
    try:
        if entry.action == REFUSED:
            if registration := _refused(entry, season):
                approve_team(registration=registration, by=by)
        else:
            with transaction.atomic():
                # What comes back is as it was.
                bump_versions(season)
                deleted.restore(entry=entry, by=by)
    except (deleted.NotRestored, EntryRefused) as refused:
        raise NotUndone(str(refused)) from refused


def _refused(entry: AuditEntry, season: Season | None = None) -> Registration | None:
    """The team's place, where it is still kept out."""
    places = Registration.objects.refused().filter(team=entry.subject_id)
    return places.filter(season=season.pk if season else entry.place_id).first()
