"""Whatever changes by an address stands in the history: every address that changes something is tried."""

import json

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction

from citeboard.core.models import AuditEntry
from scoring.models import ManualMeasure, ManualScore
from tests.access.table import OUR_ROUTES, address, expected, sign_in, takes_team
from tests.tasks.seasons import SEASON

pytestmark = pytest.mark.django_db

#: Addresses that change nothing of a season or a team, or whose own row says who did it and when.
ELSEWHERE = {
    "account": "one's own account",
    "mfa": "one's own account",
    "socialaccount": "one's own account",
    "token": "one's own tokens",
    "annotate": "ratings, which say whose they are",
    "message": "one's own messages",
    "api:message": "one's own messages",
    "unsubscribe": "one's own messages",
    "upload": "a run says who sent it and when",
    "season-upload": "a run says who sent it and when",
    "api:submit": "a run says who sent it and when",
    "api:bundle": "a run says who sent it and when",
    "api:check": "a check keeps nothing",
    "teams": "a new team's lead is who made it",
    "api:teams": "a new team's lead is who made it",
    "terms": "an acceptance says whose it is and when",
    "api:terms": "an acceptance says whose it is and when",
}
#: What the queue and the counts of a database do by themselves, and what follows from gold.
NOT_WATCHED = {
    "job", "workergroup", "teamfigure", "seasonfile", "token", "acceptance", "goldcontent", "goldoverlap",
}  # fmt: skip
PEOPLE = ("member", "organiser", "reader", "staff")
LATER = {"opens": "2020-01-01T00:00", "closes": "2091-01-01T00:00"}


OUTSIDE = {"name": "SUPERT", "better": "up", "source": "A lab."}
PRESET = {
    "title": "A new one",
    "slug": "new",
    "task_type": "clsumm-1a",
    "time_zone": "AoE",
}
DATES = {
    "opens": "2026-05-01 00:00",
    "evaluation": "2026-06-01 00:00",
    "closes": "2026-07-01 00:00",
}


def rows() -> dict:
    """Everything that the site keeps of seasons and teams, but for versions of boards."""
    found = {}
    models = [
        model
        for app in ("tasks", "teams")
        for model in apps.get_app_config(app).get_models()
    ]
    for model in (*models, ManualMeasure, ManualScore):
        if model._meta.model_name in NOT_WATCHED:
            continue
        for row in model._default_manager.values():
            kept = {name: value for name, value in row.items() if name not in PASSING}
            found[model._meta.model_name, row["id"]] = kept
    return found


PASSING = ("version", "updated_at", "last_login", "last_used_at")


def season_text(scene) -> str:
    """A season file of the scene's own season would need its gold; a new one will do."""
    return SEASON.replace("ada@example.org", scene.people["organiser"].email)


def bodies(scene) -> dict[str, dict]:
    """What is posted to an address that wants something, so that it changes something."""
    return {
        "organise-times": LATER,
        "organise-decide": {"decision": "refuse", "reason": "Too late."},
        "api:decide": {"decision": "refuse", "reason": "Too late."},
        "organise-entry": {"registration": "closed"},
        "organise-announcement": {"text": "We extend."},
        "api:announcement": {"text": "We extend."},
        "organise-webhooks": {"url": "https://other.example.org/"},
        "api:webhooks": {"url": "https://other.example.org/"},
        "questions": {"text": "Why?"},
        "api:questions": {"text": "Why?"},
        "organise-answer": {"answer": "So.", "how": "public"},
        "api:answer": {"answer": "So.", "is_public": "true"},
        "api:decide-claim": {"decision": "release", "reason": "They agreed."},
        "operate-claim-decide": {"decision": "release", "reason": "They agreed."},
        "api:decide-measures": {"decision": "approve"},
        "operate-measures-decide": {"decision": "approve"},
        "report": {"text": "This is an insult."},
        "api:reports": {"text": "This is an insult."},
        "organise-announcement-edit": {"text": "We extend."},
        "api:one-announcement": {"text": "We extend."},
        "new-season": {"text": season_text(scene), "load": "yes"},
        "api:new-season": {
            "file": SimpleUploadedFile("season.toml", season_text(scene).encode())
        },
        "organise-settings-season": {"title": "Another title", "initial-title": "x"},
        "api:settings": {"settings": '{"season.licence": "CC0-1.0"}'},
        "new-season-preset": {**PRESET, **DATES},
        "api:new-season-preset": {**PRESET, "dates": json.dumps(DATES)},
        "organise-clone": {"title": "Next year", "slug": "next-year", "days": "364"},
        "api:clone": {"title": "Next year", "slug": "next-year"},
        "team-invite": {"address": "somebody@example.org"},
        "api:invitations": {"address": "somebody@example.org"},
        "team-merge": {"season": scene.phase.task.season.slug, "into": "another-team"},
        "api:merges": {"season": scene.phase.task.season.slug, "into": "another-team"},
        "team-merge-answer": {"decision": "accept"},
        "api:merge": {"decision": "accept"},
        "organise-merge": {
            "merge-team": "another-team",
            "merge-into": scene.team.slug,
            "merge-reason": "They are one.",
        },
        "api:season-merge": {
            "team": "another-team",
            "into": scene.team.slug,
            "reason": "They are one.",
        },
        "team-request": {"decision": "accept"},
        "api:join-request": {"decision": "accept"},
        "team-describe": {"description": "Two people.", "links": "https://example.org"},
        "api:team-description": {"description": "Two people."},
        "organise-outside": {**OUTSIDE, "values": f"{scene.run.pk} 1"},
        "api:outside": {
            "name": "SUPERT",
            "source": "A lab.",
            "values": f"{scene.run.pk} 1",
        },
        "organise-errata": {"text": "Two rows were swapped."},
        "submission-describe": {
            "description": "Another one.",
            "links": "https://example.org",
        },
        "organise-board": {"board": "nobody"},
        "organise-freeze": {"frozen_from": "2091-05-10T12:00"},
        "submission-withdraw": {"reason": "Asked for."},
        "submission-disqualify": {"reason": "Not its own."},
        "submission-hide": {"reason": "Asked for."},
        "api:disqualify": {"reason": "Not its own."},
        "api:extra-tries": {
            "team": scene.team.slug,
            "tries": 2,
            "reason": "An outage.",
        },
    }


class Written:
    """Whether any statement was something else than a question: no row has changed without one."""

    anything = False

    def __call__(self, execute, sql, params, many, context):
        self.anything = self.anything or not str(sql).startswith(QUESTIONS)
        return execute(sql, params, many, context)


QUESTIONS = ("SELECT ", "SAVEPOINT ", "RELEASE SAVEPOINT ", "ROLLBACK TO SAVEPOINT ")


def changes(scene, client, name: str, before: dict) -> tuple[set, list[AuditEntry]]:
    """The rows that a request changes, by whoever may, and what the history says of it; all is undone."""
    changed, entries = set(), []
    for role in PEOPLE:
        for method in ("POST", "DELETE"):
            # A file is read once.
            team = {"team": scene.team.slug} if takes_team(name) else {}
            body = bodies(scene).get(name, team)
            if expected(name, method, role) not in (200, 201, 204, 302, 400, 409, 422):
                continue
            sign_in(client, scene, role)
            with transaction.atomic():
                first = AuditEntry.objects.count()
                ask = client.post if method == "POST" else client.delete
                with connection.execute_wrapper(written := Written()):
                    ask(
                        address(name, scene), *([body] if method == "POST" else [])
                    ).getvalue()
                after = rows() if written.anything else before
                own = {
                    key
                    for key in before.keys() | after.keys()
                    if before.get(key) != after.get(key)
                }
                if own:
                    changed |= own
                    entries += list(AuditEntry.objects.order_by("pk")[first:]) or [None]
                transaction.set_rollback(True)
    return changed, entries


def is_watched(name: str) -> bool:
    return (
        not name.startswith(tuple(key for key in ELSEWHERE if key in FAMILIES))
        and name not in ELSEWHERE
    )


FAMILIES = (
    "account",
    "mfa",
    "socialaccount",
    "token",
    "annotate",
    "message",
    "api:message",
    "unsubscribe",
)


@pytest.mark.both_databases
def test_every_change_of_a_season_or_a_team_leaves_an_entry(client, scene):
    before = rows()
    silent = {}
    told = set()
    for name in filter(is_watched, OUR_ROUTES):
        changed, entries = changes(scene, client, name, before)
        if changed and None in entries:
            silent[name] = changed
        elif changed:
            told.add(name)
    assert silent == {}
    assert told >= {
        "organise-times", "organise-close", "organise-decide", "organise-entry", "organise-announcement",
        "organise-outside", "api:outside",
        "organise-freeze", "organise-freeze-now", "api:freeze",
        "organise-errata", "submission-describe", "organise-board", "submission-disqualify",
        "submission-hide", "api:disqualify", "organise-tries-back", "api:extra-tries-back",
        "organise-acknowledge-back", "api:failure",
        "submission-withdraw", "team-invitation-renew", "team-invitation-revoke", "team-member-remove",
        "team-lead", "new-season", "organise-clone", "api:clone", "join",
        "organise-settings-season", "api:settings", "new-season-preset", "api:new-season-preset",
        "api:announcement", "api:close", "api:decide",
        "api:invitation", "api:new-season", "api:withdraw",
    }  # fmt: skip
