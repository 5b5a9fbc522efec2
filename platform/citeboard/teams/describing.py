"""What a team says of itself on its public page."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from citeboard.core import audit
from citeboard.core.plain_text import checked_description, checked_links
from citeboard.teams.membership import locked
from citeboard.teams.models import Team, User


def describe_team(*, team: Team, description: str, links: Iterable[str], by: User) -> Team:
    """Raises ValidationError by field. The same words once more change nothing."""
    wanted = {"description": checked_description(description), "links": checked_links(links)}
    with transaction.atomic():
        found = locked(team)
        changes = [
            audit.Change(name, before, value)
            for name, value in wanted.items()
            if (before := getattr(found, name)) != value
        ]
        if changes:
            Team.objects.filter(pk=found.pk).update(**wanted)
            audit.record("team-described", actor=by, subject=found, place=found, changes=changes)
    team.refresh_from_db()
    return team
