"""What an organiser's page leaves out for those who only help."""

from django import template

from tasks.models import Season
from tasks.seasons.access import may_organise

register = template.Library()


@register.filter
def organises(user: object, season: Season) -> bool:
    return may_organise(user, season)
