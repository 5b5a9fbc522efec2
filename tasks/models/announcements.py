"""What organisers announced, with what it said before it was edited."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from citeboard.teams.models import User
from tasks.models.seasons import Season


class AnnouncementQuerySet(models.QuerySet["Announcement"]):
    def standing(self) -> AnnouncementQuerySet:
        return self.filter(taken_back_at=None)


class Announcement(models.Model):
    """A text to everybody. The newest stands at the top of its season's page unless it was taken back."""

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="announcements")
    text = models.TextField(help_text="Markdown.")
    announced_at = models.DateTimeField(default=timezone.now)
    announced_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    edited_at = models.DateTimeField(null=True, blank=True)
    taken_back_at = models.DateTimeField(null=True, blank=True)

    objects = AnnouncementQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["-announced_at", "-id"]

    def __str__(self) -> str:
        return f"announcement of {self.announced_at:%Y-%m-%d} in {self.season}"

    @property
    def event(self) -> str:
        """Under which people were told of it."""
        return f"announcement-{self.pk}"


class AnnouncementEdit(models.Model):
    """What an announcement said until it was edited."""

    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="edits")
    text = models.TextField()
    until = models.DateTimeField(default=timezone.now)
    edited_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["-until", "-id"]

    def __str__(self) -> str:
        return f"{self.announcement} until {self.until:%Y-%m-%d}"
