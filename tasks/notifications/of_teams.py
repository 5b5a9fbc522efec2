"""What members are told of people who ask to join and teams that would merge, and who asked of the answer."""

from __future__ import annotations

import datetime as dt

from citeboard.teams.models import Team
from tasks.models import JoinRequest, MergeProposal, Notification, Season
from tasks.models.notifications import Kind
from tasks.notifications.writing import leads_of, members_of, notify


def tell_join_asked(asked: JoinRequest) -> None:
    notify(
        Kind.JOIN_ASKED,
        _event(asked),
        members_of(asked.team),
        season=asked.season,
        team=asked.team,
        facts={"person": str(asked.user), "message": asked.message},
    )


def forget_join_asked(asked: JoinRequest) -> None:
    """An e-mail that was not sent yet is not sent any more."""
    Notification.objects.filter(event=_event(asked)).delete()


def tell_join_decided(asked: JoinRequest, *, is_accepted: bool) -> None:
    notify(
        Kind.JOIN_DECIDED,
        f"{_event(asked)}-decided",
        [asked.user_id],
        season=asked.season,
        team=asked.team,
        facts={"is_accepted": is_accepted},
    )


def _event(asked: JoinRequest) -> str:
    return f"join-{asked.pk}-{asked.asked_at.timestamp()}"


def tell_merge_asked(proposal: MergeProposal) -> None:
    """The lead of the team that would stay."""
    notify(
        Kind.MERGE_ASKED,
        _merge_event(proposal),
        leads_of(proposal.into),
        season=proposal.season,
        team=proposal.into,
        facts={"other": proposal.team.name},
    )


def forget_merge_asked(proposal: MergeProposal) -> None:
    Notification.objects.filter(event=_merge_event(proposal)).delete()


def tell_merged(season: Season, team: Team, into: Team, *, at: dt.datetime, reason: str) -> None:
    """All members of the team that stays, those who came with the other included."""
    event = f"season-{season.pk}-merged-{team.pk}-{at.timestamp()}"
    facts = {"other": team.name, "reason": reason}
    notify(Kind.MERGED, event, members_of(into), season=season, team=into, facts=facts)


def _merge_event(proposal: MergeProposal) -> str:
    return f"merge-{proposal.pk}-{proposal.proposed_at.timestamp()}"
