"""The one way by which a view gets a team."""

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from citeboard.teams.models import MailedInvitation, Membership, Team, User


def teams_of(user: object) -> QuerySet[Team]:
    if not isinstance(user, User):
        return Team.objects.none()
    return Team.objects.filter(memberships__user=user)


def team_for_member(user: object, slug: str) -> Team:
    team = teams_of(user).filter(slug=slug).first()
    if team is None:
        raise Http404(_("There is no team of yours at this address."))
    return team


def team_for_lead(user: object, slug: str) -> Team:
    """The team that the user leads. Raises Http404 for others, and PermissionDenied for its other members."""
    team = team_for_member(user, slug)
    sets_status = Membership.objects.filter(team=team, role=Membership.Role.LEAD)
    if not isinstance(user, User) or not sets_status.filter(user=user).exists():
        raise PermissionDenied(_("The lead of %(team)s alone may do this.") % {"team": team})
    return team


def member_of(team: Team, number: int) -> User:
    member = User.objects.filter(pk=number, memberships__team=team).first()
    if member is None:
        raise Http404(_("There is no such member of the team."))
    return member


def mailed_invitation_of(team: Team, number: int) -> MailedInvitation:
    found = MailedInvitation.objects.filter(pk=number, team=team).first()
    if found is None:
        raise Http404(_("There is no such invitation of the team."))
    return found


def members_in_order() -> QuerySet[Membership]:
    return Membership.objects.select_related("user").order_by("role", "joined_at", "pk")
