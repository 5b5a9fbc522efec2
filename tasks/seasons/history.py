"""Select the entries of a season's history that a user can read, and undo entries."""

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.deletion import ProtectedError
from django.utils.translation import gettext as _

from citeboard.core import audit, refusals
from citeboard.core.audit import history
from citeboard.core.models import AuditEntry
from citeboard.teams.access import teams_of
from citeboard.teams.models import Team, User
from tasks.gold.early import nothing_early
from tasks.models import Gold, Phase, Registration, Season, Submission, Task
from tasks.models.seasons import bump_versions
from tasks.registration.entries import EntryRefused, approve_team
from tasks.seasons.access import may_organise

#: Everybody can see entries with an action in OF_EVERYBODY in a season's history.
OF_EVERYBODY = (
    "phase-moved",
    "phase-opened",
    "phase-closed",
    "phase-changed",
    "board-changed",
    "announced",
    "entry-changed",
)


def readable_history(season: Season, user: object) -> QuerySet[AuditEntry]:
    return (
        history(season)
        if may_organise(user, season)
        else concerning(season, list(teams_of(user)))
    )


def concerning(season: Season, teams: list[Team]) -> QuerySet[AuditEntry]:
    runs = Submission.objects.filter(team__in=teams, phase__task__season=season).values(
        "pk"
    )
    about_teams = Q(
        subject_type="teams.team", subject_id__in=[team.pk for team in teams]
    )
    about_runs = Q(subject_type="tasks.submission", subject_id__in=runs)
    return history(season).filter(Q(action__in=OF_EVERYBODY) | about_teams | about_runs)


#: An entry with the action REFUSED records that a team's entry was refused.
REFUSED = "team-refused"


def may_undo(entry: AuditEntry) -> bool:
    return (
        _refused(entry) is not None
        if entry.action == REFUSED
        else audit.may_be_restored(entry)
    )


def undo(*, season: Season, entry: AuditEntry, by: User) -> None:
    try:
        if entry.action == REFUSED:
            if registration := _refused(entry, season):
                approve_team(registration=registration, by=by)
        else:
            with transaction.atomic(), nothing_early(season, by=by):
                # A restored phase keeps its old version, so boards are updated before.
                bump_versions(season)
                audit.restore(entry=entry, by=by)
    except (audit.NotRestored, EntryRefused) as refused:
        raise refusals.Refused(str(refused)) from refused


def _refused(entry: AuditEntry, season: Season | None = None) -> Registration | None:
    places = Registration.objects.refused().filter(team=entry.subject_id)
    return places.filter(season=season.pk if season else entry.place_id).first()


def delete_phase(*, phase: Phase, by: User) -> None:
    refusal = _("%(phase)s has runs, which stay; it can be closed and hidden") % {
        "phase": phase
    }
    _delete(phase, phase.task.season, by, refusal)


def delete_task(*, task: Task, by: User) -> None:
    refusal = _("%(task)s has runs, which stay; its phases can be closed and hidden")
    if Gold.objects.filter(task=task).exists():
        refusal = _(
            "%(task)s has gold, which stays; its phases can be closed and hidden"
        )
    _delete(task, task.season, by, refusal % {"task": task})


def _delete(row: Task | Phase, season: Season, by: User, refusal: str) -> None:
    try:
        with transaction.atomic(), nothing_early(season, by=by):
            audit.delete(row=row, place=season, by=by)
            bump_versions(season)
    except ProtectedError as kept:
        raise refusals.Refused(refusal) from kept
