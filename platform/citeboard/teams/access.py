"""Functions that look up teams for views."""

from typing import TypeVar

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from citeboard.teams.models import MailedInvitation, Membership, Team, User

ModelT = TypeVar("ModelT", bound=Model)


def find_teams_of_user(user: object) -> QuerySet[Team]:
    return (
        Team.objects.filter(memberships__user=user)
        if isinstance(user, User)
        else Team.objects.none()
    )


def first_or_404(rows: QuerySet[ModelT], words: str) -> ModelT:
    """Return the first row of a queryset.

    Raises Http404 with the message ``words`` if the queryset is empty.
    """
    row = rows.first()
    if row is None:
        raise Http404(words)
    return row


def own_team_or_404(user: object, slug: str) -> Team:
    return first_or_404(
        find_teams_of_user(user).filter(slug=slug),
        _("There is no team of yours at this address."),
    )


def led_team_or_error(user: object, slug: str) -> Team:
    """Return the team that the user leads.

    Raises PermissionDenied for other members of the team, and Http404 for other users.
    """
    team = own_team_or_404(user, slug)
    leads = Membership.objects.filter(team=team, role=Membership.Role.LEAD)
    if not isinstance(user, User) or not leads.filter(user=user).exists():
        raise PermissionDenied(
            _("The lead of %(team)s alone may do this.") % {"team": team}
        )
    return team


def member_or_404(team: Team, number: int) -> Membership:
    members = Membership.objects.select_related("user", "team").filter(
        user=number, team=team
    )
    return first_or_404(members, _("There is no such member of the team."))


def mailed_invitation_or_404(team: Team, number: int) -> MailedInvitation:
    invitations = MailedInvitation.objects.filter(pk=number, team=team)
    return first_or_404(invitations, _("There is no such invitation of the team."))


def order_memberships_by_role_and_time() -> QuerySet[Membership]:
    return Membership.objects.select_related("user").order_by("role", "joined_at", "pk")
