"""Template tags for the parts of organisers' pages that only organisers see."""

import datetime as dt

from django import template

from citeboard.core.models import AuditEntry
from citeboard.ops.undoing import find_entries_to_undo
from tasks.delivery.webhooks.services import UNDO_GRACE_PERIOD
from tasks.models import Season
from tasks.seasons.access import can_organise_season

register = template.Library()


@register.filter
def organises(user: object, season: Season) -> bool:
    return can_organise_season(user, season)


@register.simple_tag
def taken_back_until(season: Season) -> list[tuple[AuditEntry, str, dt.datetime]]:
    """Return the season's history entries that can be undone, each with its text and
    its time limit.
    """
    return [
        (entry, entry.words.rstrip("."), entry.at + UNDO_GRACE_PERIOD)
        for entry in find_entries_to_undo(season)
    ]
