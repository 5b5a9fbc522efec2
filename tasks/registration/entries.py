"""Manage the entries (registrations) of teams in seasons, with the terms of
participation, requests to join a team, decisions of organisers, withdrawals, and
requirements for members.
"""

import datetime as dt
import json
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from citeboard.core import audit, instants, plain_text, refusals
from citeboard.core.models import AuditEntry
from citeboard.teams import membership
from citeboard.teams.models import Invitation, MailedInvitation, Membership, Team, User
from tasks.delivery.notifications import events
from tasks.models import (
    JoinRequest,
    Phase,
    Registration,
    Season,
    Submission,
    Terms,
    TermsAcceptance,
)
from tasks.models.seasons import increment_board_versions

MAX_ENTRY_MESSAGE_CHARACTERS = 2000


class TeamEntryRefused(refusals.ActionRefused):
    """An error about a team or person who cannot enter the season at present. The
    message states the reason.
    """


class TermsNotYetAccepted(TeamEntryRefused):
    """An error about a person who must accept the terms of the season before entering a
    team.
    """


def register_team(
    *, season: Season, team: Team, by: User | None = None, message: str = ""
) -> Registration:
    with transaction.atomic():
        # The team is locked before the season, as in the code that adds a member.
        membership.lock_team(team)
        season = Season.objects.select_for_update().get(pk=season.pk)
        if (
            present := Registration.objects.filter(season=season, team=team).first()
        ) is not None:
            return present
        if season.registration == Season.EntryPolicy.CLOSED:
            raise TeamEntryRefused(
                _("%(season)s takes no more teams") % {"season": season}
            )
        terms = find_terms_to_accept(season, by) if by else None
        if terms is not None:
            words = _(
                "accept version %(version)s of the terms of %(season)s before you enter a team"
            )
            raise TermsNotYetAccepted(
                words % {"version": terms.number, "season": season}
            )
        members = User.objects.filter(memberships__team=team)
        _require_no_other_team(season, team, members)
        _require_listed_addresses(season, members)
        require_allowed_team_size(season, members.count())
        is_approved = season.registration in (
            Season.EntryPolicy.OPEN,
            Season.EntryPolicy.LIST,
        )
        facts = {
            "is_approved": is_approved,
            "message": message.strip(),
            "alias": draw_free_team_alias(season),
        }
        registration = Registration.objects.create(season=season, team=team, **facts)
        key = "team-entered" if is_approved else "team-entered/asked"
        audit.record_action(
            key, actor=by, subject=team, place=season, facts={"team": team}
        )
        if not is_approved:
            events.notify_entry_requested(registration, by=by)
    return registration


def draw_free_team_alias(season: Season) -> int:
    taken = set(season.registrations.values_list("alias", flat=True))
    return secrets.choice(
        [
            number
            for number in range(1, max(99, 4 * len(taken)) + 1)
            if number not in taken
        ]
    )


def find_invitation_by_secret(secret: str) -> Invitation | MailedInvitation:
    """Return the invitation to a team whose secret is in the link of the team or in an
    e-mail. Raises InvalidInvitation.
    """
    try:
        return membership.invitation_for(secret)
    except membership.InvalidInvitation:
        return membership.find_mailed_invitation_by_secret(secret)


def join_team(*, invitation: Invitation | MailedInvitation, user: User) -> Membership:
    """Add the user to the team that sent the invitation. An invitation by e-mail can be
    used once, and is then deleted.
    """
    with transaction.atomic():
        membership.lock_team(invitation.team)
        standing: QuerySet[Invitation] | QuerySet[MailedInvitation] = (
            Invitation.objects.all()
        )
        if isinstance(invitation, MailedInvitation):
            standing = MailedInvitation.objects.filter(
                state=MailedInvitation.State.WAITING
            )
        # The invitation may have been renewed, answered or revoked since it was loaded.
        if not standing.filter(nonce=invitation.nonce).exists():
            raise membership.InvalidInvitation
        joined = add_user_to_team(invitation.team, user)
        if isinstance(invitation, MailedInvitation):
            invitation.delete()
    return joined


def add_user_to_team(team: Team, user: User) -> Membership:
    """Add the user to the team. A request of the user to join the team is deleted."""
    with transaction.atomic():
        require_user_may_join_team(membership.lock_team(team), user)
        for asked in JoinRequest.objects.filter(team=team, user=user):
            events.delete_notifications(asked.event)
            asked.delete()
        return membership.add_member(team=team, user=user)


def require_user_may_join_team(
    team: Team, user: User, *, besides: Season | None = None, only: Season | None = None
) -> None:
    if Membership.objects.filter(team=team, user=user).exists():
        return
    seasons = (
        Season.objects.select_for_update(of=("self",))
        .filter(registrations__team=team)
        .order_by("pk")
    )
    if besides is not None:
        seasons = seasons.exclude(pk=besides.pk)
    if only is not None:
        seasons = seasons.filter(pk=only.pk)
    for season in seasons:
        person = User.objects.filter(pk=user.pk)
        _require_members_may_change(season)
        _require_no_other_team(season, team, person)
        _require_listed_addresses(season, person)
        require_allowed_team_size(
            season, Membership.objects.filter(team=team).count() + 1
        )


def remove_from_team(*, team: Team, user: User, by: User) -> None:
    with transaction.atomic():
        for season in Season.objects.filter(
            registrations__team=membership.lock_team(team)
        ).order_by("pk"):
            _require_members_may_change(season)
        membership.remove_member(team=team, user=user, by=by)


def approve_team_entry(*, registration: Registration, by: User) -> None:
    if registration.is_approved:
        return
    with transaction.atomic():
        team = membership.lock_team(registration.team)
        season = Season.objects.select_for_update().get(pk=registration.season_id)
        _require_no_other_team(
            season, team, User.objects.filter(memberships__team=team)
        )
        _store_entry_decision(registration, by, is_approved=True, reason="")


def refuse_team_entry(*, registration: Registration, by: User, reason: str) -> None:
    if registration.is_approved and not reason:
        raise ValidationError({"reason": _("say why: the team reads it")})
    _store_entry_decision(registration, by, is_approved=False, reason=reason)


def undo_entry_decision(
    *, season: Season, team: int, facts: Mapping[str, Any]
) -> Registration:
    """Undo an organiser's decision on the entry of a team. The previous state of the
    entry is read from the season's history. Raises TeamEntryRefused.
    """
    changed = (
        Registration.objects.select_for_update()
        .filter(season=season, team=team)
        .first()
    )
    if changed is None or audit.convert_to_json_value(changed.decided_at) != facts.get(
        "decided"
    ):
        raise TeamEntryRefused(_("it has been decided anew since"))
    for name, value in json.loads(facts["before"]).items():
        setattr(changed, name, value)
    if not changed.is_refused:
        _require_no_other_team(
            season, changed.team, User.objects.filter(memberships__team=team)
        )
    changed.save()
    increment_board_versions(season)
    return changed


def _update_season_settings(
    season: Season, by: User, key: str, wanted: dict[str, Any], **facts: object
) -> Season:
    with transaction.atomic():
        changed = Season.objects.select_for_update().get(pk=season.pk)
        if changes := audit.update_row_and_list_changes(changed, wanted):
            if key == "team-limits":
                named = {
                    change.key.replace("_", " "): audit.convert_to_json_value(
                        change.after
                    )
                    for change in changes
                }
                facts["limits"] = ", ".join(
                    f"{name} {limit or 'without'}" for name, limit in named.items()
                )
            audit.record_action(
                key,
                actor=by,
                subject=changed,
                place=changed,
                facts=facts,
                changes=changes,
            )
    return changed


def change_entry(*, season: Season, entry: str, by: User) -> Season:
    return _update_season_settings(
        season, by, f"entry-changed/{entry}", {"registration": entry}
    )


def change_entry_list(*, season: Season, addresses: str, by: User) -> Season:
    """Change the list of e-mail addresses whose owners may enter the season. Existing
    entries remain.
    """
    lines = parse_entry_list(addresses.splitlines())
    return _update_season_settings(
        season, by, "list-changed", {"entry_list": "\n".join(lines)}, lines=len(lines)
    )


def change_team_limits(
    *,
    season: Season,
    max_team_size: int | None,
    members_until: dt.datetime | None,
    by: User,
) -> Season:
    wanted = {"max_team_size": max_team_size, "members_until": members_until}
    return _update_season_settings(season, by, "team-limits", wanted)


def take_back_entry(*, registration: Registration, by: User) -> None:
    season, team = registration.season, registration.team
    with transaction.atomic():
        Registration.objects.select_for_update().get(pk=registration.pk)
        if Submission.objects.filter(team=team, phase__task__season=season).exists():
            message = _(
                "%(team)s has submitted runs in %(season)s; they can be withdrawn, the "
                "entry stays"
            )
            raise TeamEntryRefused(message % {"team": team, "season": season})
        registration.delete()
        audit.record_action(
            "entry-taken-back",
            actor=by,
            subject=team,
            place=season,
            facts={"team": team},
        )


_DECISION_FIELDS = ("is_approved", "reason", "decided_at", "decided_by_id")


def _store_entry_decision(
    registration: Registration, by: User, *, is_approved: bool, reason: str
) -> None:
    with transaction.atomic():
        changed = Registration.objects.select_for_update().get(pk=registration.pk)
        before = {
            name: audit.convert_to_json_value(getattr(changed, name))
            for name in _DECISION_FIELDS
        }
        changed.is_approved, changed.reason = is_approved, reason
        changed.decided_at, changed.decided_by = timezone.now(), by
        changed.save()
        key = "team-approved" if is_approved else "team-refused"
        facts = {"team": changed.team, "reason": reason, "before": json.dumps(before)}
        facts["decided"] = audit.convert_to_json_value(changed.decided_at)
        audit.record_action(
            key, actor=by, subject=changed.team, place=changed.season, facts=facts
        )
        events.notify_entry_decided(changed)
        increment_board_versions(changed.season)
    registration.refresh_from_db()


def _require_members_may_change(season: Season) -> None:
    until = season.members_until
    if until is not None and until <= timezone.now():
        message = _("the teams of %(season)s keep their members since %(instant)s")
        raise TeamEntryRefused(
            message % {"season": season, "instant": instants.format_utc_minute(until)}
        )


def require_allowed_team_size(season: Season, members: int) -> None:
    if season.max_team_size is not None and members > season.max_team_size:
        message = ngettext(
            "a team has at most %(number)s member in %(season)s",
            "a team has at most %(number)s members in %(season)s",
            season.max_team_size,
        )
        raise TeamEntryRefused(
            message % {"number": season.max_team_size, "season": season}
        )


def _require_listed_addresses(season: Season, people: QuerySet[User]) -> None:
    if season.registration != Season.EntryPolicy.LIST:
        return
    allowed = set(season.entry_list.split())
    confirmed = EmailAddress.objects.filter(user__in=people, verified=True)
    listed: set[int] = set()
    for user, address in confirmed.values_list("user_id", "email"):
        own = address.lower()
        if own in allowed or f"@{own.rpartition('@')[2]}" in allowed:
            listed.add(user)
    missing = next((person for person in people if person.pk not in listed), None)
    if missing is not None:
        message = _(
            "%(season)s is open to a list of addresses, and %(person)s has confirmed none of them; "
            "ask the organisers to add yours"
        )
        raise TeamEntryRefused(message % {"season": season, "person": missing})


def _require_no_other_team(season: Season, team: Team, people: QuerySet[User]) -> None:
    if season.allows_several_teams:
        return
    rivals = Registration.objects.filter(season=season).exclude(team=team).not_refused()
    taken = Membership.objects.filter(
        team__in=rivals.values("team"), user__in=people
    ).first()
    if taken is not None:
        message = _("%(person)s already takes part in %(season)s with another team")
        raise TeamEntryRefused(message % {"person": taken.user, "season": season})


def lock_approved_entry(phase: Phase, team: Team) -> Registration | None:
    """Return the team's entry in the phase's season if the entry is approved, otherwise
    None. The row of the entry is locked until the end of the transaction.
    """
    entries = Registration.objects.select_for_update().approved()
    return entries.filter(season=phase.task.season_id, team=team).first()


MAX_TERMS_CHARACTERS = 30_000


class TermsVersionOutdated(refusals.ActionRefused):
    """An error about accepting a version of the terms that is not the newest version."""


def get_newest_terms(season: Season) -> Terms | None:
    return Terms.objects.filter(season=season).order_by("-number").first()


def find_terms_acceptance(terms: Terms, user: object) -> TermsAcceptance | None:
    if not isinstance(user, User):
        return None
    return TermsAcceptance.objects.filter(terms=terms, user=user).first()


def find_terms_to_accept(season: Season, user: object) -> Terms | None:
    """Return the version of the season's terms that the user must still accept. Return
    None if the season has no terms, and for organisers.
    """
    terms = get_newest_terms(season)
    if terms is None:
        return None
    least = terms.number
    if terms.counts_from and terms.counts_from > timezone.now():
        # The previous version of the terms suffices until the new version applies.
        in_force = (
            Terms.objects.filter(season=season)
            .exclude(counts_from__gt=timezone.now())
            .first()
        )
        least = in_force.number if in_force else 0
    accepted = TermsAcceptance.objects.filter(
        terms__season=season, terms__number__gte=least
    )
    if not least or (isinstance(user, User) and accepted.filter(user=user).exists()):
        return None
    return (
        None
        if Season.objects.organised_by_user(user).filter(pk=season.pk).exists()
        else terms
    )


def normalise_terms_text(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def publish_terms(
    *,
    season: Season,
    text: str,
    by: User | None,
    counts_from: dt.datetime | None = None,
) -> Terms:
    """Publish a new version of the terms and notify all participants."""
    with transaction.atomic():
        Season.objects.select_for_update().get(pk=season.pk)
        before, text = get_newest_terms(season), normalise_terms_text(text)
        if before is not None and normalise_terms_text(before.text) == text:
            return before
        number = before.number + 1 if before else 1
        facts = {"number": number, "text": text, "counts_from": counts_from}
        terms = Terms.objects.create(season=season, published_by=by, **facts)
        audit.record_action(
            "terms-published",
            actor=by,
            subject=terms,
            place=season,
            facts={"version": number},
        )
        events.notify_new_terms_published(terms, by=by)
    return terms


def accept_terms(
    *, season: Season, number: int, user: User, **given: str
) -> TermsAcceptance:
    """Accept the terms of the season for the user. Answers that are not given are taken
    from the user's profile.

    Raises TermsVersionOutdated if a newer version of the terms was published meanwhile. Raises
    ValidationError if a required answer is missing.
    """
    with transaction.atomic():
        season = Season.objects.select_for_update().get(pk=season.pk)
        terms = get_newest_terms(season)
        if terms is None:
            raise TermsVersionOutdated(
                _("%(season)s has no terms to accept") % {"season": season}
            )
        if terms.number != number:
            message = _(
                "version %(version)s of the terms holds now; read it and accept it"
            )
            raise TermsVersionOutdated(message % {"version": terms.number})
        asked = {
            name: " ".join((given.get(name) or getattr(user, name)).split())
            for name in season.asks
        }
        message = _("%(season)s asks for it with its terms") % {"season": season}
        acceptance, is_new = TermsAcceptance.objects.get_or_create(
            terms=terms, user=user, defaults={"name": str(user), "given": asked}
        )
        if is_new:
            if lacking := {name: message for name, text in asked.items() if not text}:
                raise ValidationError(lacking)
            User.objects.filter(pk=user.pk).update(**asked)
            facts = {"version": terms.number}
            audit.record_action(
                "terms-accepted", actor=user, subject=user, place=season, facts=facts
            )
    return acceptance


def list_terms_acceptances(season: Season) -> QuerySet[TermsAcceptance]:
    found = TermsAcceptance.objects.filter(terms__season=season).select_related(
        "terms", "user"
    )
    return found.order_by("-accepted_at", "-pk")


def parse_entry_list(lines: Iterable[str]) -> tuple[str, ...]:
    found = dict.fromkeys(line.strip().lower() for line in lines if line.strip())
    refused = []
    for line in found:
        try:
            validate_email(f"somebody{line}" if line.startswith("@") else line)
        except ValidationError:
            refused.append(
                _("“%(line)s” is neither an address nor @ and a domain")
                % {"line": line}
            )
    if refused:
        raise ValidationError(refused)
    return tuple(found)


MAX_JOIN_REQUEST_CHARACTERS = 1000
MAX_OPEN_JOIN_REQUESTS = 5
#: A person may make MAX_JOIN_REQUESTS_PER_DAY requests per day, including withdrawn requests.
#: The limit exists because each request notifies the whole team.
MAX_JOIN_REQUESTS_PER_DAY = 20


def ask_to_join(*, season: Season, team: Team, user: User, message: str) -> JoinRequest:
    with transaction.atomic():
        team = membership.lock_team(team)
        if Membership.objects.filter(team=team, user=user).exists():
            raise TeamEntryRefused(_("you are in %(team)s already") % {"team": team})
        join_request = JoinRequest.objects.filter(team=team, user=user).first()
        if join_request is not None and join_request.declined_at is not None:
            raise TeamEntryRefused(
                _("%(team)s has declined; it can still invite you") % {"team": team}
            )
        if join_request is not None:
            return join_request
        User.objects.select_for_update().get(pk=user.pk)
        since = timezone.now() - dt.timedelta(days=1)
        if (
            AuditEntry.objects.filter(
                actor=user, action="join-asked", at__gt=since
            ).count()
            >= MAX_JOIN_REQUESTS_PER_DAY
        ):
            words = _("you have asked %(number)s times within a day; go on tomorrow")
            raise TeamEntryRefused(words % {"number": MAX_JOIN_REQUESTS_PER_DAY})
        if (
            JoinRequest.objects.filter(user=user, declined_at=None).count()
            >= MAX_OPEN_JOIN_REQUESTS
        ):
            words = _(
                "%(number)s requests of yours wait for an answer; take one back first"
            )
            raise TeamEntryRefused(words % {"number": MAX_OPEN_JOIN_REQUESTS})
        # An error about other seasons of the team would reveal these seasons.
        # The team's other seasons are checked when a member answers the request.
        require_user_may_join_team(team, user, only=season)
        said = plain_text.clean_multiline_text(message)
        asked = JoinRequest.objects.create(
            team=team, user=user, season=season, message=said
        )
        audit.record_action("join-asked", actor=user, subject=asked, place=team)
        events.notify_join_requested(asked)
    return asked


def accept_join_request(*, asked: JoinRequest, by: User) -> Membership:
    with transaction.atomic():
        asked = _require_open_join_request(asked)
        joined = add_user_to_team(asked.team, asked.user)
        facts = {"person": asked.user}
        audit.record_action(
            "join-accepted", actor=by, subject=asked.user, place=asked.team, facts=facts
        )
        events.notify_join_decided(asked, is_accepted=True)
    return joined


def decline_join_request(*, asked: JoinRequest, by: User) -> None:
    with transaction.atomic():
        asked = _require_open_join_request(asked)
        asked.declined_at = timezone.now()
        asked.save(update_fields=["declined_at"])
        facts = {"person": asked.user}
        audit.record_action(
            "join-declined", actor=by, subject=asked.user, place=asked.team, facts=facts
        )
        events.delete_notifications(asked.event)
        events.notify_join_decided(asked, is_accepted=False)


def take_back_request(*, asked: JoinRequest) -> None:
    with transaction.atomic():
        asked = _require_open_join_request(asked)
        audit.record_action(
            "join-taken-back", actor=asked.user, subject=asked, place=asked.team
        )
        events.delete_notifications(asked.event)
        asked.delete()


def list_open_join_requests_of_team(team: Team) -> QuerySet[JoinRequest]:
    return JoinRequest.objects.filter(team=team, declined_at=None).select_related(
        "user", "season"
    )


def list_open_join_requests_of_user(user: object) -> QuerySet[JoinRequest]:
    if not isinstance(user, User):
        return JoinRequest.objects.none()
    return JoinRequest.objects.filter(user=user, declined_at=None).select_related(
        "team", "season"
    )


def _require_open_join_request(join_request: JoinRequest) -> JoinRequest:
    membership.lock_team(join_request.team)
    present = (
        list_open_join_requests_of_team(join_request.team)
        .select_related("team", "user")
        .filter(pk=join_request.pk)
        .first()
    )
    if present is None:
        raise TeamEntryRefused(_("this has been answered or taken back already"))
    return present
