"""Deleting somebody's account: runs stay with the team, without a name."""

from __future__ import annotations

import json
import re
from typing import Any

from allauth.account.models import EmailAddress
from django.contrib.admin.models import LogEntry
from django.db import transaction
from django.db.models import Q

from citeboard.core import audit
from citeboard.core.models import AuditEntry
from citeboard.teams.invitations import revoke_invitation
from citeboard.teams.membership import hand_over, locked
from citeboard.teams.models import MailedInvitation, Membership, Team, User
from scoring.models import Annotator, Rating, ResultConfirmation
from tasks.models import (
    JoinRequest,
    Notification,
    Organiser,
    Question,
    Registration,
    Report,
    Season,
    SeasonFile,
    Submission,
    TermsAcceptance,
)
from tasks.notifications.events import forget_join_asked

_USER = "teams.user"


def delete_account(user: User) -> str:
    """Delete the person, and give what they are called from now on where something of theirs stays.

    A lead is handed to whoever is longest in the team. The last of a team that took part leaves it without
    members, its runs where they are; a team that took part nowhere goes too.
    """
    called = f"deleted account {user.pk}"
    with transaction.atomic():
        for membership in Membership.objects.filter(user=user).select_related("team").order_by("team_id"):
            _leave(membership.team, user)
        for organiser in Organiser.objects.filter(user=user).select_related("season"):
            changes = [audit.Change("role", organiser.role, None)]
            audit.record(
                f"{organiser.role}-left", actor=user, subject=user, place=organiser.season, changes=changes
            )
        for asked in JoinRequest.objects.filter(user=user):
            forget_join_asked(asked)
        MailedInvitation.objects.filter(address__in=confirmed_addresses(user)).delete()
        _forget_in_history(user, called)
        _forget_address(user.email, called)
        Annotator.objects.filter(user=user).update(user=None, name=called)
        TermsAcceptance.objects.filter(user=user).update(name=called)
        LogEntry.objects.filter(content_type__app_label="teams", object_id=str(user.pk)).delete()
        user.delete()
    return called


def _leave(team: Team, user: User) -> None:
    team = locked(team)
    others = Membership.objects.filter(team=team).exclude(user=user).order_by("joined_at", "pk")
    heir = others.first()
    own = Membership.objects.get(team=team, user=user)
    if heir is not None and own.role == Membership.Role.LEAD:
        hand_over(team=team, to=heir.user, by=user)
    revoke_invitation(team=team, by=user)
    took_part = Registration.objects.filter(team=team).exists() or team.submissions.exists()
    if heir is None and not took_part:
        team.delete()
        return
    Membership.objects.filter(team=team, user=user).delete()
    audit.record("member-left", actor=user, subject=user, place=team)


def _forget_in_history(user: User, called: str) -> None:
    """In what they did, what was done to them, and in the reasons of runs that they took back."""
    own = AuditEntry.objects.filter(actor=user)
    names = {str(user), *own.values_list("actor_name", flat=True).distinct()}
    runs = own.filter(subject_type="tasks.submission").values_list("subject_id", flat=True)
    for run in Submission.objects.filter(pk__in=list(runs)).exclude(reason=""):
        reason = run.reason
        for name in names:
            reason = re.sub(
                rf"^(Cancelled|Withdrawn) by (the organiser )?{re.escape(name)}(?=[.:])",
                lambda found: f"{found[1]} by {found[2] or ''}{called}",
                reason,
            )
        Submission.objects.filter(pk=run.pk).update(reason=reason)
    about = AuditEntry.objects.filter(subject_type=_USER, subject_id=user.pk)
    named = AuditEntry.objects.filter(
        action__in=("organiser-added", "organiser-removed"), facts__person__in=list(names)
    )
    for entry in (about | named).distinct():
        for name in names:
            audit.replace(entry, re.compile(rf"(?<!\w){re.escape(name)}(?!\w)"), called)
        entry.subject = called
        entry.save(update_fields=["text", "facts", "subject"])
    own.update(actor_name=called)


def _forget_address(address: str, called: str) -> None:
    """Where organisers wrote it: season files that were loaded, lists of who may enter, and the history."""
    written = re.compile(re.escape(address), re.IGNORECASE)
    for file in SeasonFile.objects.filter(season__in=Season.objects.all()):
        others = {key: value for key, value in file.values.items() if not written.search(key)}
        if others != file.values:
            SeasonFile.objects.filter(pk=file.pk).update(values=others)
    for season in Season.objects.filter(entry_list__icontains=address):
        lines = [line for line in season.entry_list.splitlines() if line.lower() != address.lower()]
        Season.objects.filter(pk=season.pk).update(entry_list="\n".join(lines))
    entries = AuditEntry.objects.filter(
        Q(text__icontains=address) | Q(facts__icontains=address) | Q(changes__icontains=address)
    )
    for entry in entries:
        audit.replace(entry, written, called)
        entry.changes = json.loads(written.sub(lambda _: called, json.dumps(entry.changes)))
        entry.save(update_fields=["text", "facts", "changes"])


Entries = list[dict[str, Any]]


def own_data(user: User) -> dict[str, Any]:
    """As JSON has it; no secrets, which the site does not know."""
    return {
        "account": {
            "address": user.email,
            "name": user.name,
            "affiliation": user.affiliation,
            "orcid": user.orcid,
            "is_listed": user.is_listed,
            "language": user.language,
            "joined": _when(user.date_joined),
            "last_signed_in": _when(user.last_login),
        },
        "addresses": list(EmailAddress.objects.filter(user=user).values("email", "verified", "primary")),
        "teams": _teams(user),
        **_in_seasons(user),
        **_joining(user),
        "tokens": [
            {"name": token.name, "scope": token.scope, "created": _when(token.created_at)}
            for token in user.tokens.all()
        ],
        "runs": _runs(user),
        "ratings": _ratings(user),
        "confirmed_results": [
            {"run": own.submission_id, "said": _when(own.at), "state": own.state, "message": own.message}
            for own in ResultConfirmation.objects.filter(by=user)
        ],
        "asked_for": [
            {
                "what": job.kind,
                "season": job.season.slug,
                "asked": _when(job.created_at),
                "file": job.filename,
            }
            for job in user.background_jobs.select_related("season")
        ],
        "messages": [
            {"at": _when(told.created_at), "kind": told.kind, "read": _when(told.read_at)}
            for told in Notification.objects.filter(user=user)
        ],
        "history": [
            {"at": _when(act.at), "did": act.words}
            for act in AuditEntry.objects.filter(actor=user).order_by("at", "pk")
        ],
    }


def confirmed_addresses(user: User) -> list[str]:
    """In small letters."""
    confirmed = EmailAddress.objects.filter(user=user, verified=True)
    return [address.lower() for address in confirmed.values_list("email", flat=True)]


def _teams(user: User) -> Entries:
    return [
        {
            "team": place.team.name,
            "description": place.team.description,
            "links": place.team.links,
            "role": place.role,
            "joined": _when(place.joined_at),
        }
        for place in Membership.objects.filter(user=user).select_related("team")
    ]


def _in_seasons(user: User) -> dict[str, Entries]:
    return {
        "organises": [
            {"season": own.season.slug, "role": own.role}
            for own in Organiser.objects.filter(user=user).select_related("season")
        ],
        "questions": [
            {"season": own.season.slug, "asked": _when(own.asked_at), "text": own.text, "answer": own.answer}
            for own in Question.objects.filter(asked_by=user).select_related("season")
        ],
        "reports": [
            {"about": own.address, "reported": _when(own.reported_at), "text": own.text}
            for own in Report.objects.filter(reported_by=user)
        ],
        "terms": [
            {
                "season": accepted.terms.season.slug,
                "version": accepted.terms.number,
                "accepted": _when(accepted.accepted_at),
            }
            for accepted in TermsAcceptance.objects.filter(user=user).select_related("terms__season")
        ],
    }


def _joining(user: User) -> dict[str, Entries]:
    invitations = MailedInvitation.objects.select_related("team")
    return {
        "invited_to": [
            {"team": own.team.name, "written": _when(own.created_at), "state": own.state}
            for own in invitations.filter(address__in=confirmed_addresses(user))
        ],
        "invited": [
            {"team": own.team.name, "address": own.address, "written": _when(own.created_at)}
            for own in invitations.filter(created_by=user)
        ],
        "asked_to_join": [
            {"team": own.team.name, "asked": _when(own.asked_at), "message": own.message}
            for own in JoinRequest.objects.filter(user=user).select_related("team")
        ],
    }


def _runs(user: User) -> Entries:
    own_teams = set(Membership.objects.filter(user=user).values_list("team_id", flat=True))
    sent = Submission.objects.filter(submitted_by=user).select_related("phase__task__season", "team")
    found: Entries = []
    for run in sent:
        # Of a team that they have left it is the team's, and may have been changed since.
        said = {"system": run.system, "description": run.description, "card": run.card}
        found.append(
            {
                "id": run.pk,
                "phase": f"{run.phase.task.season.slug}/{run.phase.task.slug}/{run.phase.slug}",
                "team": run.team.name if run.team else None,
                **(said if run.team_id in own_teams else {}),
                "filename": run.filename,
                "sha256": run.sha256,
                "submitted": _when(run.submitted_at),
            }
        )
    return found


def _ratings(user: User) -> Entries:
    return [
        {
            "text": rating.text.code,
            "readability": rating.readability,
            "consistency": rating.consistency,
            "rated": _when(rating.rated_at),
        }
        for rating in Rating.objects.filter(annotator__user=user).select_related("text")
    ]


def _when(instant: Any) -> str | None:
    return audit.as_json(instant) if instant is not None else None
