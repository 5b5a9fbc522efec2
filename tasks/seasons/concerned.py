"""Who reads which part of a season's history: its organisers all of it, everybody else what concerns them."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from citeboard.core.audit import history
from citeboard.core.models import AuditEntry
from citeboard.teams.access import teams_of
from citeboard.teams.models import Team
from tasks.models import Season, Submission
from tasks.seasons.access import may_organise

#: Changes that everybody can see on the season's pages anyhow.
OF_EVERYBODY = (
    "phase-moved", "phase-opened", "phase-closed", "phase-changed", "board-changed",
    "announced", "entry-changed",
)  # fmt: skip


def readable_history(season: Season, user: object) -> QuerySet[AuditEntry]:
    """Newest first. ``user`` may see the season."""
    if may_organise(user, season):
        return history(season)
    return concerning(season, list(teams_of(user)))


def concerning(season: Season, teams: list[Team]) -> QuerySet[AuditEntry]:
    """What everybody may read, and what was done with the teams and their runs."""
    runs = Submission.objects.filter(team__in=teams, phase__task__season=season).values("pk")
    about_teams = Q(subject_type="teams.team", subject_id__in=[team.pk for team in teams])
    about_runs = Q(subject_type="tasks.submission", subject_id__in=runs)
    return history(season).filter(Q(action__in=OF_EVERYBODY) | about_teams | about_runs)
