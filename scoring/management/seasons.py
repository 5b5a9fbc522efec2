from django.core.management.base import CommandError

from tasks.models import Season


def season_named(slug: str) -> Season | None:
    found = Season.objects.filter(slug=slug).first() if slug else None
    if slug and found is None:
        raise CommandError(f"there is no season “{slug}”")
    return found
