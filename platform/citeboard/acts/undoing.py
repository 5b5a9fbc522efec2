"""Undo a change in a season's history."""

from django.utils.translation import gettext

from citeboard.acts.declared import build_organiser_action
from citeboard.core.models import AuditEntry
from citeboard.ops.undoing import find_entries_to_undo, undo_action
from citeboard.teams.models import User
from tasks import models
from tasks.seasons.history import can_undo_history_entry, undo_history_entry


def _undo_change(*, change: AuditEntry, by: User) -> str:
    season = models.Season.objects.get(pk=change.place_id)
    if change not in find_entries_to_undo(season) and can_undo_history_entry(change):
        undo_history_entry(season=season, entry=change, by=by)
        return gettext("%(subject)s: as before.") % {"subject": change.subject}
    stays = undo_action(season=season, entry=change, by=by)
    return f"{gettext('Taken back: %(what)s.') % {'what': change.words.rstrip('.')}} {stays}".strip()


UNDO_RECENT_CHANGE = build_organiser_action(
    _undo_change,
    "Take back a deletion, that a team was kept out, or what was done within the last minutes.",
    lambda said, _filled: ("%(said)s", {"said": said}),
    subject="change",
)
