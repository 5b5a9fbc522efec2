"""Names of systems that must not look like those of other teams."""

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from citeboard.core.lookalikes import written_otherwise
from citeboard.teams.models import Team
from tasks.models import Season, Submission


def check_look(season: Season, team: Team, name: str, *, field: str = "system") -> None:
    """Raise ValidationError for a name in other letters than a system of another team has.

    ASCII is what another name would be made to look like.
    """
    others: QuerySet[Submission] = Submission.objects.filter(
        phase__task__season=season
    ).exclude(team=team)
    if not name.isascii() and written_otherwise(others, "system", name):
        words = _(
            "a system of others in this season has a name that looks like this one in other letters"
        )
        raise ValidationError({field: words})
