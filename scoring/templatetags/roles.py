"""What an organiser's page leaves out for those who only help."""

from __future__ import annotations

from django import template

from tasks.models import Season
from tasks.seasons.access import may_organise

register = template.Library()


@register.filter
def organises(user: object, season: Season) -> bool:
    """Whether the user may change everything of the season."""
    return may_organise(user, season)
