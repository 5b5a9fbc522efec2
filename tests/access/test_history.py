"""Whatever changes by an address stands in the history: every address that changes something is tried."""

import json
from collections import defaultdict
from collections.abc import Iterable
from itertools import product

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import models, transaction
from django.utils import timezone

from citeboard.core.models import AuditEntry
from scoring.human.data_sheet import DATA_SHEET_QUESTIONS
from scoring.models import (
    Annotator,
    EstimateSheet,
    JudgementImport,
    ManualMeasure,
    ManualScore,
    PhaseJudge,
    Sheet,
)
from tests.access.table import OUR_ROUTES, address, expected, sign_in, takes_team
from tests.exchange.bundles import codabench, packed
from tests.scoring import sheets
from tests.tasks.seasons import SEASON
from tests.written_tables import noting_tables

pytestmark = pytest.mark.django_db

#: Addresses that change nothing of a season or a team, or whose own row says who did it and when.
ELSEWHERE = {
    "account": "one's own account",
    "mfa": "one's own account",
    "socialaccount": "one's own account",
    "token": "one's own tokens",
    "annotate": "ratings, which say whose they are",
    "judge": "judgements, which say whose they are",
    "api:judge": "judgements, which say whose they are",
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
#: What organisers bring, make and publish of scores, which the app of scores stores.
OF_SCORES = (
    Annotator, EstimateSheet, JudgementImport, ManualMeasure, ManualScore, PhaseJudge, Sheet,
)  # fmt: skip
#: What the queue and the counts of a database do by themselves, and what follows from gold.
NOT_WATCHED = {
    "job", "workergroup", "teamfigure", "seasonfile", "token", "acceptance", "goldcontent", "goldoverlap",
}  # fmt: skip
PEOPLE = ("member", "organiser", "reader", "staff")
#: What a person gets who may do it, or who did not say all of it.
ANSWERED = (200, 201, 204, 302, 400, 409, 422)
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
#: One that the data sheet of a human evaluation asks.
QUESTION = next(iter(DATA_SHEET_QUESTIONS))


Rows = dict[type[models.Model], dict[int, dict[str, object]]]


def watched_models() -> list[type[models.Model]]:
    """Return the models of what the site stores of seasons and teams, but for versions of boards."""
    of_apps = [
        model
        for app in ("tasks", "teams")
        for model in apps.get_app_config(app).get_models()
    ]
    return [
        model
        for model in (*of_apps, *OF_SCORES)
        if model._meta.model_name not in NOT_WATCHED
    ]


def rows(of: Iterable[type[models.Model]]) -> Rows:
    return {
        model: {
            row[model._meta.pk.attname]: {
                name: value for name, value in row.items() if name not in PASSING
            }
            for row in model._default_manager.values()
        }
        for model in of
    }


def differences(before: Rows, written: set[str]) -> set[tuple[str, int]]:
    """Return which rows are others now; a table that was not written has the rows that it had."""
    after = rows(model for model in before if model._meta.db_table in written)
    return {
        (model._meta.model_name, key)
        for model, now in after.items()
        for key in before[model].keys() | now.keys()
        if before[model].get(key) != now.get(key)
    }


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
        "new-season-bundle": {"file": _bundle(), "make": "yes"},
        "api:new-season-bundle": {"file": _bundle()},
        "organise-settings-season": {"title": "Another title"},
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
        "organise-sheet-annotator": {"email": scene.people["organiser"].email},
        "api:add-annotator": {"email": scene.people["organiser"].email},
        "organise-judge-add": {"email": scene.people["organiser"].email},
        "api:add-judge": {"email": scene.people["organiser"].email},
        "organise-sheet-adjudication": {"distance": "2"},
        "api:change-adjudication": {"distance": "2"},
        "organise-data-sheet": {QUESTION: "Students of the field."},
        "api:answer-data-sheet": {QUESTION: "Students of the field."},
        "organise-freeze": {"frozen_from": "2091-05-10T12:00"},
        "submission-seed": {"seeds_of": "One", "reason": "Asked for."},
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


def _bundle() -> SimpleUploadedFile:
    return SimpleUploadedFile("bundle.zip", packed(codabench()))


class Changes:
    """What requests to an address change, and what the history says of it."""

    def __init__(self) -> None:
        self.rows: set[tuple[str, int]] = set()
        #: None for a request that changed rows and left no entry.
        self.entries: list[AuditEntry | None] = []


def request(client, scene, name: str, method: str) -> None:
    where = address(name, scene)
    if method == "DELETE":
        client.delete(where).getvalue()
        return
    # A file is read once.
    team = {"team": scene.team.slug} if takes_team(name) else {}
    client.post(where, bodies(scene).get(name, team)).getvalue()


def changes_by(
    role: str, client, scene, before: Rows, names: Iterable[str] = OUR_ROUTES
) -> dict[str, Changes]:
    """Return by address what the requests of a person change; each is undone."""
    sign_in(client, scene, role)
    signed_in = client.cookies.copy()
    found: dict[str, Changes] = defaultdict(Changes)
    for name, method in product(filter(is_watched, names), ("POST", "DELETE")):
        if expected(name, method, role) not in ANSWERED:
            continue
        client.cookies = signed_in.copy()
        with transaction.atomic():
            first = AuditEntry.objects.count()
            with noting_tables() as written:
                request(client, scene, name, method)
            if changed := differences(before, written):
                found[name].rows |= changed
                found[name].entries += list(
                    AuditEntry.objects.order_by("pk")[first:]
                ) or [None]
            transaction.set_rollback(True)
    return found


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


@pytest.mark.slow
@pytest.mark.both_databases
def test_every_change_of_a_season_or_a_team_leaves_an_entry(client, scene):
    before = rows(watched_models())
    silent = {}
    told = set()
    for role in PEOPLE:
        for name, changed in changes_by(role, client, scene, before).items():
            if None in changed.entries:
                silent[role, name] = changed.rows
            else:
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
        "new-season-bundle", "api:new-season-bundle",
        "api:announcement", "api:close", "api:decide",
        "api:invitation", "api:new-season", "api:withdraw",
    }  # fmt: skip


#: What stands in the names of addresses of sheets, judges and estimates.
OF_SHEETS = (
    "sheet", "judge", "pairs", "estimates", "annotator", "adjudication", "references",
)  # fmt: skip


def leave_to_be_published(scene) -> None:
    rater = scene.sheet.annotators.get().name
    sheets.rate(scene.sheet, rater, {("r-1", scene.run): (3, 4)})
    EstimateSheet.objects.update(result={"estimates": []})


def publish(scene) -> None:
    Sheet.objects.update(published_at=timezone.now())
    EstimateSheet.objects.update(published_at=timezone.now())


def close(scene) -> None:
    Sheet.objects.update(closed_at=timezone.now())


#: Acts on sheets that each state of them allows.
BEFORE = {
    "organise-data-sheet", "api:answer-data-sheet", "organise-sheet-annotator", "api:add-annotator",
    "organise-judge-add", "api:add-judge", "organise-annotator-remove", "api:remove-annotator",
    "organise-judge-remove", "api:remove-judge", "organise-sheet-adjudication", "api:change-adjudication",
    "organise-sheet-publish", "api:publish-sheet", "organise-estimates-publish", "api:publish-estimates",
}  # fmt: skip
PUBLISHED = {
    "organise-data-sheet", "api:answer-data-sheet", "organise-sheet-take-back", "api:take-sheet-back",
    "organise-pairs-take-back", "api:take-pairs-back", "organise-estimates-take-back",
    "api:take-estimates-back",
}  # fmt: skip
CLOSED = {
    "organise-sheet-reopen",
    "api:reopen-sheet",
    "organise-pairs-reopen",
    "api:reopen-pairs",
}


@pytest.mark.parametrize(
    ("prepare", "acts"),
    [(leave_to_be_published, BEFORE), (publish, PUBLISHED), (close, CLOSED)],
)
def test_every_change_of_a_sheet_leaves_an_entry(client, scene, prepare, acts):
    prepare(scene)
    names = [name for name in OUR_ROUTES if any(part in name for part in OF_SHEETS)]
    found = changes_by("organiser", client, scene, rows(watched_models()), names)
    silent = {name: own.rows for name, own in found.items() if None in own.entries}
    assert silent == {}
    assert found.keys() >= acts
