"""Select the entries of a season's history that a user can read, and undo entries."""

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.deletion import ProtectedError
from django.utils.translation import gettext as _

from citeboard.core import audit, refusals
from citeboard.core.audit import find_history_of_place
from citeboard.core.models import AuditEntry
from citeboard.teams.access import find_teams_of_user
from citeboard.teams.models import Team, User
from tasks.gold.early import refuse_early_disclosure
from tasks.models import Gold, Phase, Registration, Season, Submission, Task
from tasks.models.seasons import increment_board_versions
from tasks.registration.entries import TeamEntryRefused, approve_team_entry
from tasks.seasons.access import can_organise_season

#: Everybody can see entries with an action in PUBLIC_HISTORY_ACTIONS in a season's history.
PUBLIC_HISTORY_ACTIONS = (
    "phase-moved",
    "phase-opened",
    "phase-closed",
    "phase-changed",
    "board-changed",
    "announced",
    "entry-changed",
)


def list_readable_history(season: Season, user: object) -> QuerySet[AuditEntry]:
    return (
        find_history_of_place(season)
        if can_organise_season(user, season)
        else list_history_of_teams(season, list(find_teams_of_user(user)))
    )


def list_history_of_teams(season: Season, teams: list[Team]) -> QuerySet[AuditEntry]:
    runs = Submission.objects.filter(team__in=teams, phase__task__season=season).values(
        "pk"
    )
    about_teams = Q(
        subject_type="teams.team", subject_id__in=[team.pk for team in teams]
    )
    about_runs = Q(subject_type="tasks.submission", subject_id__in=runs)
    return find_history_of_place(season).filter(
        Q(action__in=PUBLIC_HISTORY_ACTIONS) | about_teams | about_runs
    )


#: An entry with the action TEAM_REFUSED_ACTION records that a team's entry was refused.
TEAM_REFUSED_ACTION = "team-refused"


def can_undo_history_entry(entry: AuditEntry) -> bool:
    return (
        _find_refused_registration(entry) is not None
        if entry.action == TEAM_REFUSED_ACTION
        else audit.can_restore_deleted_rows(entry)
    )


def undo_history_entry(*, season: Season, entry: AuditEntry, by: User) -> None:
    try:
        if entry.action == TEAM_REFUSED_ACTION:
            if registration := _find_refused_registration(entry, season):
                approve_team_entry(registration=registration, by=by)
        else:
            with transaction.atomic(), refuse_early_disclosure(season, by=by):
                # A restored phase keeps its old version, so boards are updated before.
                increment_board_versions(season)
                audit.restore_deleted_rows(entry=entry, by=by)
    except (audit.RowsNotRestored, TeamEntryRefused) as refused:
        raise refusals.ActionRefused(str(refused)) from refused


def _find_refused_registration(
    entry: AuditEntry, season: Season | None = None
) -> Registration | None:
    places = Registration.objects.refused().filter(team=entry.subject_id)
    return places.filter(season=season.pk if season else entry.place_id).first()


def delete_phase(*, phase: Phase, by: User) -> None:
    refusal = _("%(phase)s has runs, which stay; it can be closed and hidden") % {
        "phase": phase
    }
    _delete_and_record_in_history(phase, phase.task.season, by, refusal)


def delete_task(*, task: Task, by: User) -> None:
    refusal = _("%(task)s has runs, which stay; its phases can be closed and hidden")
    if Gold.objects.filter(task=task).exists():
        refusal = _(
            "%(task)s has gold, which stays; its phases can be closed and hidden"
        )
    _delete_and_record_in_history(task, task.season, by, refusal % {"task": task})


def _delete_and_record_in_history(
    row: Task | Phase, season: Season, by: User, refusal: str
) -> None:
    try:
        with transaction.atomic(), refuse_early_disclosure(season, by=by):
            audit.delete_row_and_record(row=row, place=season, by=by)
            increment_board_versions(season)
    except ProtectedError as kept:
        raise refusals.ActionRefused(refusal) from kept
