"""What organisers announce, what participants ask, and what people report to those who run the site."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from citeboard.teams.models import User
from tasks.models.seasons import Season


class AnnouncementQuerySet(models.QuerySet["Announcement"]):
    def standing(self) -> AnnouncementQuerySet:
        return self.filter(taken_back_at=None)


class Announcement(models.Model):
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


class QuestionQuerySet(models.QuerySet["Question"]):
    def unanswered(self) -> QuestionQuerySet:
        return self.filter(answered_at=None)

    def public(self) -> QuestionQuerySet:
        return self.filter(is_public=True, answered_at__isnull=False)


class Question(models.Model):
    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="questions")
    text = models.TextField()
    asked_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    asked_at = models.DateTimeField(default=timezone.now)
    answer = models.TextField(blank=True, default="", help_text="Markdown.")
    answered_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    answered_at = models.DateTimeField(null=True, blank=True)
    is_public = models.BooleanField(default=False, help_text="Everybody reads question and answer.")

    objects = QuestionQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["-asked_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(answered_at=None, answer="", is_public=False)
                | (Q(answered_at__isnull=False) & ~Q(answer="")),
                name="question_public_once_answered",
            ),
        ]

    def __str__(self) -> str:
        return f"question {self.pk} on {self.season}"


class Report(models.Model):
    address = models.CharField(max_length=400, blank=True, help_text="The page that it is about.")
    text = models.TextField()
    reported_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    reported_at = models.DateTimeField(default=timezone.now)
    closed_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-reported_at", "-id"]

    def __str__(self) -> str:
        return f"report {self.pk}"
