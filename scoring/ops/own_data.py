"""Everything that the site keeps of a person, as one file."""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress

from citeboard.core import audit
from citeboard.core.models import AuditEntry
from citeboard.teams.models import MailedInvitation, Membership, User
from scoring.models import Rating, ResultConfirmation
from tasks.models import (
    JoinRequest,
    Notification,
    Organiser,
    Question,
    Report,
    Submission,
    TermsAcceptance,
)

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
