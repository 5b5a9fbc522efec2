"""How a view finds what an address names; what somebody may not see is not there."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from citeboard.teams.access import teams_of
from citeboard.teams.models import Team
from tasks.models import JoinRequest, MergeProposal, Phase, Registration, Season, Task
from tasks.models.registrations import RegistrationQuerySet
from tasks.registration.terms import terms_to_accept
from tasks.submissions.refusals import InputsNotReleased, TermsNotAccepted


def season_for(user: object, season: str) -> Season:
    """A season that the user may see. Raises Http404."""
    found = Season.objects.filter(slug=season).first()
    if found is None or not _is_visible(found, user):
        raise Http404(_("There is no season at this address."))
    return found


def task_for(user: object, season: str, task: str) -> Task:
    """A task of a season that the user may see. Raises Http404."""
    found = Task.objects.select_related("season").filter(season__slug=season, slug=task).first()
    if found is None or not _is_visible(found.season, user):
        raise Http404(_("There is no task at this address."))
    return found


def phase_for(user: object, season: str, task: str, phase: str) -> Phase:
    """A phase of a season that the user may see, with its task and season, in one query. Raises Http404."""
    found = (
        Phase.objects.select_related("task__season")
        .filter(task__season__slug=season, task__slug=task, slug=phase)
        .first()
    )
    if found is None or not _is_visible(found.task.season, user):
        raise Http404(_("There is no phase at this address."))
    return found


def may_organise(user: object, season: Season) -> bool:
    return Season.objects.organised_by(user).filter(pk=season.pk).exists()


def may_create_seasons(user: object) -> bool:
    return bool(getattr(user, "is_staff", False))


def season_to_organise(user: object, season: str) -> Season:
    """A season that the user organises. Raises Http404: to everybody else these pages are not there."""
    found = season_for(user, season)
    if not may_organise(user, found):
        raise Http404(_("You do not organise a season at this address."))
    return found


def may_help(user: object, season: Season) -> bool:
    """Whether the user organises the season or helps with it."""
    return Season.objects.helped_by(user).filter(pk=season.pk).exists()


def season_to_help(user: object, season: str) -> Season:
    """A season that the user organises or helps with. Raises Http404, as for what is only to be organised."""
    found = season_for(user, season)
    if not may_help(user, found):
        raise Http404(_("You do not organise a season at this address."))
    return found


def may_have_inputs(user: object, phase: Phase) -> bool:
    """Organisers of the season and staff always; once the inputs are released everybody, or whoever has
    accepted the season's terms where it has some.
    """
    if may_organise(user, phase.task.season):
        return True
    return phase.has_released_inputs() and terms_to_accept(phase.task.season, user) is None


def require_inputs(user: object, phase: Phase) -> None:
    """Raises InputsNotReleased or TermsNotAccepted where a check would tell the user of inputs that they may
    not have.
    """
    if may_have_inputs(user, phase):
        return
    terms = terms_to_accept(phase.task.season, user)
    if terms is not None and phase.has_released_inputs():
        raise TermsNotAccepted(phase.task.season, terms.number)
    raise InputsNotReleased(phase.inputs_released_at)


def entered_teams(user: object, season: Season) -> QuerySet[Team]:
    """The user's teams that take part in the season, or wait for an organiser to approve them."""
    entries = Registration.objects.filter(season=season).not_refused()
    return teams_of(user).filter(registrations__in=entries)


def _is_visible(season: Season, user: object) -> bool:
    return season.is_public or Season.objects.visible_to(user).filter(pk=season.pk).exists()


def listed_entries(user: object, season: Season) -> RegistrationQuerySet:
    """The teams of a season that the user may read of, by name.

    Organisers read of all, others of those that were not refused; of their own alone where the season or a
    phase hides the names of teams.
    """
    entries = Registration.objects.filter(season=season).select_related("team", "season")
    entries = entries.order_by("team__name")
    if may_help(user, season):
        return entries
    hides_names = Phase.objects.filter(task__season=season, shows_teams=False)
    if season.is_anonymous() or hides_names.exists():
        return entries.not_refused().filter(team__in=teams_of(user).values("pk"))
    return entries.not_refused()


def teams_to_ask(user: object, season: Season) -> QuerySet[Team]:
    """Teams of others that the user may read of and ask to be taken in."""
    listed = listed_entries(user, season).not_refused().order_by()
    return Team.objects.filter(registrations__in=listed).exclude(pk__in=teams_of(user).values("pk"))


def join_request_of(team: Team, number: int) -> JoinRequest:
    """Who asks to join the team, by number. Raises Http404."""
    found = JoinRequest.objects.select_related("user", "team").filter(team=team, pk=number).first()
    if found is None:
        raise Http404(_("Nobody asks to join under this number."))
    return found


def merge_proposal_of(team: Team, number: int) -> MergeProposal:
    """One that the team made or is asked by. Raises Http404."""
    concerned = MergeProposal.objects.filter(Q(team=team) | Q(into=team), pk=number)
    found = concerned.select_related("season", "team", "into").first()
    if found is None:
        raise Http404(_("There is no such proposal."))
    return found
