"""Deleting a draft that only those who run it have seen."""

from __future__ import annotations

from django.db import transaction
from django.db.models.deletion import ProtectedError
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.teams.models import User
from scoring.models import Snapshot
from tasks.models import Gold, Season, Submission
from tasks.seasons.history import NotDeleted


def delete_season(*, season: Season, by: User) -> None:
    """With its gold, baselines, settings and entries of teams; it cannot be brought back.

    Files that nothing names any more go with the next pruning. Raises NotDeleted for a season that is or was
    public, or in which a team has sent a run, and where something of the site's hangs on it.
    """
    with transaction.atomic():
        season = Season.objects.select_for_update().get(pk=season.pk)
        if season.is_public or season.was_public:
            if season.is_public:
                words = _("%(season)s is public, and stays; its settings can make it a draft")
            else:
                words = _("%(season)s was public, and stays; its settings can make it a draft")
            raise NotDeleted(words % {"season": season})
        if Submission.objects.filter(phase__task__season=season, team__isnull=False).exists():
            raise NotDeleted(_("%(season)s has runs of teams, which stay") % {"season": season})
        words = f"deleted the draft {season} ({season.slug})"
        audit.note(actor=by, action="season-deleted", words=words, subject=season, place=season)
        try:
            Snapshot.objects.filter(phase__task__season=season).delete()
            Submission.objects.filter(phase__task__season=season).delete()
            Gold.objects.filter(task__season=season).delete()
            season.delete()
        except ProtectedError as kept:
            names = {str(row._meta.verbose_name_plural) for row in kept.protected_objects}  # noqa: SLF001
            refused = _("%(season)s has what the site keeps: %(names)s")
            raise NotDeleted(refused % {"season": season, "names": ", ".join(sorted(names))}) from kept
