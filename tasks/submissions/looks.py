"""Names of systems that must not look like those of other teams."""

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from citeboard.core.lookalikes import skeleton, written_otherwise
from citeboard.teams.models import Team
from tasks.models import Season, Submission


def check_look(season: Season, team: Team, name: str, *, field: str = "system") -> None:
    """Raise ValidationError for a name in other letters than a system of another team has.

    ASCII is what another name would be made to look like.
    """
    others: QuerySet[Submission] = Submission.objects.filter(
        phase__task__season=season
    ).exclude(team=team)
    if not name.isascii() and _looks_like_another(others, name):
        words = _(
            "a system of others in this season has a name that looks like this one in other letters"
        )
        raise ValidationError({field: words})


def _looks_like_another(runs: QuerySet[Submission], name: str) -> bool:
    """Return True if a run, or a system of seeds, has this name in other letters."""
    if written_otherwise(runs, "system", name):
        return True
    own = skeleton(name)
    systems = runs.exclude(seeds_of="").values_list("seeds_of", flat=True).distinct()
    return any(
        skeleton(system) == own and system.casefold() != name.casefold()
        for system in systems
    )
