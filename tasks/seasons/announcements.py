"""What organisers say to everybody: the newest at the top of a season's page, all of it in a list."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from citeboard.core import audit
from citeboard.teams.models import User
from tasks.models import Announcement, AnnouncementEdit, Season
from tasks.notifications.of_seasons import forget_announced, reword_announced, tell_announced

LONGEST = 4000


def announce(*, season: Season, text: str, by: User | None) -> Season:
    """Put the text, Markdown, on the season's page; an empty one takes back what stands there.

    What stands there already changes nothing.
    """
    text = text.strip()
    with transaction.atomic():
        changed = Season.objects.select_for_update().get(pk=season.pk)
        if changed.announcement == text:
            return changed
        if not text:
            _take_back(changed, _newest(changed), by)
            return changed
        new = Announcement.objects.create(season=changed, text=text, announced_by=by)
        change = audit.Change("announcement", changed.announcement, text)
        _show(changed, new)
        words = f"announced: {' '.join(text.split())}"
        audit.note(
            actor=by, action="announced", words=words, subject=changed, place=changed, changes=[change]
        )
        tell_announced(changed, new, by=by)
    return changed


def edit_announcement(*, announcement: Announcement, text: str, by: User) -> Announcement:
    """Let it say something else; what it said before stays readable. Nobody is told once more."""
    text = text.strip()
    with transaction.atomic():
        season = Season.objects.select_for_update().get(pk=announcement.season_id)
        changed = Announcement.objects.get(pk=announcement.pk)
        if not text or changed.text == text or changed.taken_back_at is not None:
            return changed
        now = timezone.now()
        AnnouncementEdit.objects.create(announcement=changed, text=changed.text, until=now, edited_by=by)
        change = audit.Change("announcement", changed.text, text)
        changed.text, changed.edited_at = text, now
        changed.save(update_fields=["text", "edited_at"])
        if changed == _newest(season):
            _show(season, changed)
        words = f"edited an announcement: {' '.join(text.split())}"
        audit.note(
            actor=by,
            action="announcement-edited",
            words=words,
            subject=season,
            place=season,
            changes=[change],
        )
        reword_announced(changed)
    return changed


def take_back_announcement(*, announcement: Announcement, by: User) -> None:
    """It stands nowhere any more but in the history. Once more changes nothing."""
    with transaction.atomic():
        season = Season.objects.select_for_update().get(pk=announcement.season_id)
        _take_back(season, Announcement.objects.get(pk=announcement.pk), by)


def _take_back(season: Season, announcement: Announcement | None, by: User | None) -> None:
    if announcement is None or announcement.taken_back_at is not None:
        return
    is_newest = announcement == _newest(season)
    announcement.taken_back_at = timezone.now()
    announcement.save(update_fields=["taken_back_at"])
    if is_newest:
        season.announcement, season.announced_at = "", None
        season.save(update_fields=["announcement", "announced_at"])
    audit.note(
        actor=by,
        action="announced",
        words="removed the announcement",
        subject=season,
        place=season,
        changes=[audit.Change("announcement", announcement.text, "")],
    )
    forget_announced(announcement)


def _show(season: Season, announcement: Announcement) -> None:
    season.announcement, season.announced_at = announcement.text, announcement.announced_at
    season.save(update_fields=["announcement", "announced_at"])


def _newest(season: Season) -> Announcement | None:
    return Announcement.objects.filter(season=season).first()
