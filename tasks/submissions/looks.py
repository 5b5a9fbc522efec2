"""Check if the name of a system looks like the name of another team's system."""

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from citeboard.core.lookalikes import has_lookalike_name, skeleton
from citeboard.teams.models import Team
from tasks.models import Season, Submission


def refuse_lookalike_system_name(
    season: Season, team: Team, name: str, *, field: str = "system"
) -> None:
    """Raise ValidationError if a name looks like the name of another team's system in
    the season.

    ASCII names are allowed, since only names with other characters can imitate a name.
    """
    others: QuerySet[Submission] = Submission.objects.filter(
        phase__task__season=season
    ).exclude(team=team)
    if not name.isascii() and _is_name_similar_to_other_system(others, name):
        message = _(
            "a system of others in this season has a name that looks like this one in other letters"
        )
        raise ValidationError({field: message})


def _is_name_similar_to_other_system(runs: QuerySet[Submission], name: str) -> bool:
    if has_lookalike_name(runs, "system", name):
        return True
    own = skeleton(name)
    systems = runs.exclude(seeds_of="").values_list("seeds_of", flat=True).distinct()
    return any(
        skeleton(system) == own and system.casefold() != name.casefold()
        for system in systems
    )
