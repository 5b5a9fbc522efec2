"""What participants agree to before they get a season's data: numbered versions, and who accepted which."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from citeboard.teams.models import User
from tasks.models.seasons import Season


class Terms(models.Model):
    """A version never changes; another text is a new version, which everybody is asked to accept again."""

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="terms")
    number = models.PositiveIntegerField()
    text = models.TextField(help_text="Markdown.")
    published_at = models.DateTimeField(default=timezone.now)
    published_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        verbose_name_plural = "terms"
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["season", "number"], name="terms_number_once")]

    def __str__(self) -> str:
        return f"version {self.number} of the terms"


class TermsAcceptance(models.Model):
    """Who accepted a version, and when; ``name`` is what the person was called then."""

    terms = models.ForeignKey(Terms, on_delete=models.CASCADE, related_name="acceptances")
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    name = models.CharField(max_length=120)
    accepted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["terms", "user"], name="terms_accepted_once")]

    def __str__(self) -> str:
        return f"{self.name} accepted {self.terms}"
