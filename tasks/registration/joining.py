"""Asking to join a team that one finds in a season; any of its members answers."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.models import AuditEntry
from citeboard.core.plain_text import plain_paragraphs
from citeboard.teams.membership import locked
from citeboard.teams.models import Membership, Team, User
from tasks.models import JoinRequest, Season
from tasks.notifications.of_teams import forget_join_asked, tell_join_asked, tell_join_decided
from tasks.registration.entries import EntryRefused, check_joining, take_place

MAX_MESSAGE = 1000
#: Of one person that wait for an answer.
MAX_WAITING = 5
#: Also where each was taken back: every one is told to the whole team.
MAX_A_DAY = 20


class AskRefused(EntryRefused):
    """The person cannot ask this team; the message says why."""


class AnsweredAlready(EntryRefused):
    """Another member was quicker, or the person has taken it back."""


def ask_to_join(*, season: Season, team: Team, user: User, message: str) -> JoinRequest:
    """Ask a team of the season; once more changes nothing.

    Raises AskRefused, or what joining the team would raise as things stand.
    """
    with transaction.atomic():
        team = locked(team)
        if Membership.objects.filter(team=team, user=user).exists():
            raise AskRefused(_("you are in %(team)s already") % {"team": team})
        present = JoinRequest.objects.filter(team=team, user=user).first()
        if present is not None and present.declined_at is not None:
            raise AskRefused(_("%(team)s has declined; it can still invite you") % {"team": team})
        if present is not None:
            return present
        User.objects.select_for_update().get(pk=user.pk)
        since = timezone.now() - dt.timedelta(days=1)
        if AuditEntry.objects.filter(actor=user, action="join-asked", at__gt=since).count() >= MAX_A_DAY:
            raise AskRefused(
                _("you have asked %(number)s times within a day; go on tomorrow") % {"number": MAX_A_DAY}
            )
        if JoinRequest.objects.filter(user=user, declined_at=None).count() >= MAX_WAITING:
            raise AskRefused(
                _("%(number)s requests of yours wait for an answer; take one back first")
                % {"number": MAX_WAITING}
            )
        # What other seasons of the team say is for its members to read, when they answer.
        check_joining(team, user, only=season)
        said = plain_paragraphs(message)
        asked = JoinRequest.objects.create(team=team, user=user, season=season, message=said)
        audit.note(actor=user, action="join-asked", words="asked to join", subject=asked, place=team)
        tell_join_asked(asked)
    return asked


def accept_request(*, asked: JoinRequest, by: User) -> Membership:
    """Raises AnsweredAlready, or what joining raises."""
    with transaction.atomic():
        asked = _waiting(asked)
        membership = take_place(asked.team, asked.user)
        words = f"accepted {asked.user}, who had asked"
        audit.note(actor=by, action="join-accepted", words=words, subject=asked.user, place=asked.team)
        tell_join_decided(asked, is_accepted=True)
    return membership


def decline_request(*, asked: JoinRequest, by: User) -> None:
    """Raises AnsweredAlready."""
    with transaction.atomic():
        asked = _waiting(asked)
        asked.declined_at = timezone.now()
        asked.save(update_fields=["declined_at"])
        words = f"declined {asked.user}, who had asked"
        audit.note(actor=by, action="join-declined", words=words, subject=asked.user, place=asked.team)
        forget_join_asked(asked)
        tell_join_decided(asked, is_accepted=False)


def take_back_request(*, asked: JoinRequest) -> None:
    """By who asked. Raises AnsweredAlready."""
    with transaction.atomic():
        asked = _waiting(asked)
        words = "took back asking to join"
        audit.note(actor=asked.user, action="join-taken-back", words=words, subject=asked, place=asked.team)
        forget_join_asked(asked)
        asked.delete()


def waiting_requests(team: Team) -> QuerySet[JoinRequest]:
    """Those that a member has yet to answer, the first to ask first."""
    return JoinRequest.objects.filter(team=team, declined_at=None).select_related("user", "season")


def requests_of(user: object) -> QuerySet[JoinRequest]:
    """Somebody's own that wait for an answer."""
    if not isinstance(user, User):
        return JoinRequest.objects.none()
    return JoinRequest.objects.filter(user=user, declined_at=None).select_related("team", "season")


def _waiting(asked: JoinRequest) -> JoinRequest:
    """As it is now, its team held. Raises AnsweredAlready."""
    locked(asked.team)
    present = waiting_requests(asked.team).select_related("team", "user").filter(pk=asked.pk).first()
    if present is None:
        raise AnsweredAlready(_("this has been answered or taken back already"))
    return present
