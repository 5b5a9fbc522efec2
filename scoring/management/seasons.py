"""The season that a command is for."""

from __future__ import annotations

from django.core.management.base import CommandError

from tasks.models import Season


def season_named(slug: str) -> Season | None:
    """None where none is named. Raises CommandError."""
    found = Season.objects.filter(slug=slug).first() if slug else None
    if slug and found is None:
        raise CommandError(f"there is no season “{slug}”")
    return found
