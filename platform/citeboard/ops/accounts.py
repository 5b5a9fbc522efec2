"""Functions that export a user's data as a file, and that delete an account. Runs of a
deleted account stay on the site without the user's name.
"""

import datetime as dt
import json
import re
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from allauth.account.models import EmailAddress
from django.contrib.admin.models import LogEntry
from django.db import transaction
from django.db.models import Q

from citeboard.core import audit
from citeboard.core.models import AuditEntry
from citeboard.teams.membership import lock_team, revoke_invitation, transfer_team_lead
from citeboard.teams.models import MailedInvitation, Membership, Team, User
from scoring.models import Annotator, Preference, Rating, ResultConfirmation
from tasks import models
from tasks.delivery.notifications.events import delete_notifications

_USER_MODEL_LABEL = "teams.user"


def delete_account(user: User) -> str:
    called = f"deleted account {user.pk}"
    with transaction.atomic():
        for membership in (
            Membership.objects.filter(user=user)
            .select_related("team")
            .order_by("team_id")
        ):
            _remove_from_team(membership.team, user)
        for organiser in models.Organiser.objects.filter(user=user).select_related(
            "season"
        ):
            changes = [audit.SettingChange("role", organiser.role, None)]
            audit.record_action(
                f"{organiser.role}-left",
                actor=user,
                subject=user,
                place=organiser.season,
                changes=changes,
            )
        for request in models.JoinRequest.objects.filter(user=user):
            delete_notifications(request.event)
        MailedInvitation.objects.filter(
            address__in=find_confirmed_addresses(user)
        ).delete()
        _remove_name_from_history(user, called)
        _remove_address_from_seasons(user.email, called)
        Annotator.objects.filter(user=user).update(user=None, name=called)
        models.TermsAcceptance.objects.filter(user=user).update(name=called, given={})
        LogEntry.objects.filter(
            content_type__app_label="teams", object_id=str(user.pk)
        ).delete()
        user.delete()
    return called


def _remove_from_team(team: Team, user: User) -> None:
    team = lock_team(team)
    heir = (
        Membership.objects.filter(team=team)
        .exclude(user=user)
        .order_by("joined_at", "pk")
        .first()
    )
    place = Membership.objects.get(team=team, user=user)
    if heir is not None and place.role == Membership.Role.LEAD:
        transfer_team_lead(team=team, to=heir.user, by=user)
    revoke_invitation(team=team, by=user)
    took_part = (
        models.Registration.objects.filter(team=team).exists()
        or team.submissions.exists()
    )
    if heir is None and not took_part:
        team.delete()
        return
    Membership.objects.filter(team=team, user=user).delete()
    audit.record_action("member-left", actor=user, subject=user, place=team)


def _remove_name_from_history(user: User, called: str) -> None:
    entries = AuditEntry.objects.filter(actor=user)
    names = {str(user), *entries.values_list("actor_name", flat=True).distinct()}
    runs = entries.filter(subject_type="tasks.submission").values_list(
        "subject_id", flat=True
    )
    for run in models.Submission.objects.filter(pk__in=list(runs)).exclude(reason=""):
        reason = run.reason
        for name in names:
            reason = re.sub(
                rf"^(Cancelled|Withdrawn) by (the organiser )?{re.escape(name)}(?=[.:])",
                lambda match: f"{match[1]} by {match[2] or ''}{called}",
                reason,
            )
        models.Submission.objects.filter(pk=run.pk).update(reason=reason)
    about = AuditEntry.objects.filter(
        subject_type=_USER_MODEL_LABEL, subject_id=user.pk
    )
    named = AuditEntry.objects.filter(
        action__in=("organiser-added", "organiser-removed")
    )
    for entry in (about | named.filter(facts__person__in=list(names))).distinct():
        for name in names:
            audit.replace_name_in_entry(
                entry, re.compile(rf"(?<!\w){re.escape(name)}(?!\w)"), called
            )
        entry.subject = called
        entry.save(update_fields=["text", "facts", "subject"])
    entries.update(actor_name=called)


def _remove_address_from_seasons(address: str, called: str) -> None:
    written = re.compile(re.escape(address), re.IGNORECASE)
    for file in models.SeasonFile.objects.filter(
        season__in=models.Season.objects.all()
    ):
        others = {
            key: value for key, value in file.values.items() if not written.search(key)
        }
        if others != file.values:
            models.SeasonFile.objects.filter(pk=file.pk).update(values=others)
    for season in models.Season.objects.filter(entry_list__icontains=address):
        lines = [
            line
            for line in season.entry_list.splitlines()
            if line.lower() != address.lower()
        ]
        models.Season.objects.filter(pk=season.pk).update(entry_list="\n".join(lines))
    mentions_address = (
        Q(text__icontains=address)
        | Q(facts__icontains=address)
        | Q(changes__icontains=address)
    )
    for entry in AuditEntry.objects.filter(mentions_address):
        audit.replace_name_in_entry(entry, written, called)
        entry.changes = json.loads(
            written.sub(lambda _: called, json.dumps(entry.changes))
        )
        entry.save(update_fields=["text", "facts", "changes"])


def collect_user_data(user: User) -> dict[str, Any]:
    organised = models.Organiser.objects.filter(user=user).select_related("season")
    reports = models.Report.objects.filter(reported_by=user)
    questions = models.Question.objects.filter(asked_by=user).select_related("season")
    terms = models.TermsAcceptance.objects.filter(user=user).select_related(
        "terms__season"
    )
    mailed = MailedInvitation.objects.select_related("team")
    memberships = Membership.objects.filter(user=user).select_related("team")
    own_teams = {membership.team_id for membership in memberships}
    runs = []
    for run in models.Submission.objects.filter(submitted_by=user).select_related(
        "phase__task__season", "team"
    ):
        # A user's export contains run descriptions only of the user's present teams.
        # Other members may change a run's description after the user has left the team.
        about = {"system": run.system, "description": run.description, "card": run.card}
        runs.append(
            {
                "id": run.pk,
                "phase": f"{run.phase.task.season.slug}/{run.phase.task.slug}/{run.phase.slug}",
                "team": run.team.name if run.team else None,
                **(about if run.team_id in own_teams else {}),
                "filename": run.filename,
                "sha256": run.sha256,
                "submitted": _convert_value_to_json(run.submitted_at),
            }
        )
    [account] = _convert_rows_to_json(
        [user],
        address="email",
        name="name",
        affiliation="affiliation",
        country="country",
        legal_name="legal_name",
        orcid="orcid",
        is_listed="is_listed",
        language="language",
        joined="date_joined",
        last_signed_in="last_login",
    )
    return {
        "account": account,
        "addresses": list(
            EmailAddress.objects.filter(user=user).values(
                "email", "verified", "primary"
            )
        ),
        "teams": _convert_rows_to_json(
            memberships,
            team="team.name",
            description="team.description",
            links="team.links",
            role="role",
            joined="joined_at",
        ),
        "organises": _convert_rows_to_json(
            organised, season="season.slug", role="role"
        ),
        "questions": _convert_rows_to_json(
            questions,
            season="season.slug",
            asked="asked_at",
            text="text",
            answer="answer",
        ),
        "reports": _convert_rows_to_json(
            reports, about="address", reported="reported_at", text="text"
        ),
        "terms": _convert_rows_to_json(
            terms,
            season="terms.season.slug",
            version="terms.number",
            accepted="accepted_at",
            given="given",
        ),
        "invited_to": _convert_rows_to_json(
            mailed.filter(address__in=find_confirmed_addresses(user)),
            team="team.name",
            written="created_at",
            state="state",
        ),
        "invited": _convert_rows_to_json(
            mailed.filter(created_by=user),
            team="team.name",
            address="address",
            written="created_at",
        ),
        "asked_to_join": _convert_rows_to_json(
            models.JoinRequest.objects.filter(user=user).select_related("team"),
            team="team.name",
            asked="asked_at",
            message="message",
        ),
        "tokens": _convert_rows_to_json(
            user.tokens.all(), name="name", scope="scope", created="created_at"
        ),
        "runs": runs,
        "ratings": _convert_rows_to_json(
            Rating.objects.filter(annotator__user=user).select_related("text"),
            text="text.code",
            readability="readability",
            consistency="consistency",
            rated="rated_at",
        ),
        "preferences": _convert_rows_to_json(
            Preference.objects.filter(annotator__user=user).select_related("pair"),
            sheet="annotator.sheet_id",
            pair="pair.position",
            label="label",
            judged="judged_at",
        ),
        "confirmed_results": _convert_rows_to_json(
            ResultConfirmation.objects.filter(by=user),
            run="submission_id",
            said="at",
            state="state",
            message="message",
        ),
        "asked_for": _convert_rows_to_json(
            user.background_jobs.select_related("season"),
            what="kind",
            season="season.slug",
            asked="created_at",
            file="filename",
        ),
        "messages": _convert_rows_to_json(
            models.Notification.objects.filter(user=user),
            at="created_at",
            kind="kind",
            read="read_at",
        ),
        "history": _convert_rows_to_json(
            AuditEntry.objects.filter(actor=user).order_by("at", "pk"),
            at="at",
            did="words",
        ),
    }


def _convert_rows_to_json(
    rows: Iterable[object], **columns: str
) -> list[dict[str, Any]]:
    return [
        {
            name: _convert_value_to_json(attrgetter(path)(row))
            for name, path in columns.items()
        }
        for row in rows
    ]


def _convert_value_to_json(value: object) -> object:
    return (
        audit.convert_to_json_value(value) if isinstance(value, dt.datetime) else value
    )


def find_confirmed_addresses(user: User) -> list[str]:
    confirmed = EmailAddress.objects.filter(user=user, verified=True)
    return [address.lower() for address in confirmed.values_list("email", flat=True)]
