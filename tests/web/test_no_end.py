"""A phase without an end says so by every door, and nobody reads the date by which it is kept."""

import datetime as dt
import json
import re
import tomllib
from importlib import import_module
from io import StringIO

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from citeboard.core import audit
from citeboard.core.instants import ENDLESS_PHASE_END
from tasks.models import Delivery, Phase, Season, SeasonFile, Webhook
from tasks.seasons.file.load import change_settings
from tests import factories
from tests.api.conftest import API
from tests.tasks.seasons import edit, load, write_season

pytestmark = pytest.mark.django_db
KEY = "tasks.1a.phases.open.closes"


@pytest.fixture
def organiser():
    return factories.make_user(name="Olga", is_staff=True, is_superuser=True)


@pytest.fixture
def phase(organiser) -> Phase:
    season = factories.make_season(organiser=organiser, slug="one", title="The season")
    task = factories.make_task(season=season, slug="1a", title="Spans")
    return factories.make_phase(
        task=task, slug="open", title="Open", split="test", closes=ENDLESS_PHASE_END
    )


@pytest.fixture
def browser(client, phase, organiser):
    client.force_login(organiser)
    return client


def send(client, where, **sent):
    return client.post(where, json.dumps(sent), "application/json")


def test_the_api_says_null_and_takes_it(browser, phase):
    times = f"{API}/phases/{phase.pk}/times/"
    assert browser.get(f"{API}/phases/{phase.pk}/").json()["closes"] is None
    assert (
        browser.get(f"{API}/seasons/one/").json()["tasks"][0]["phases"][0]["closes"]
        is None
    )
    assert (
        send(browser, times, closes="2090-01-01 00:00 UTC").json()["closes"]
        == "2090-01-01T00:00:00Z"
    )
    assert send(browser, times, closes=None).json()["closes"] is None
    (change,) = browser.get(f"{API}/seasons/one/history/").json()["results"][0][
        "changes"
    ]
    assert change == {"key": KEY, "before": "2090-01-01T00:00:00Z", "after": None}
    assert Phase.objects.get().closes == ENDLESS_PHASE_END
    refused = send(browser, times, opens=None)
    assert (refused.status_code, list(refused.json()["errors"])) == (400, ["opens"])


@pytest.mark.parametrize("value", [None, "no end", "2099-12-31 23:59:59 Europe/Rome"])
def test_settings_by_token_take_no_end_in_each_of_its_forms(browser, phase, value):
    where = f"{API}/seasons/one/settings/"
    assert browser.get(where).json()["settings"][KEY] is None
    assert (
        send(browser, where, settings={KEY: "2090-01-01 00:00 UTC"}).status_code == 200
    )
    told = send(browser, f"{where}?dry_run=true", settings={KEY: value}).json()
    assert told["changes"] == [
        {"key": KEY, "before": "2090-01-01T00:00:00Z", "after": None}
    ]
    changed = send(browser, where, settings={KEY: value})
    assert changed.json()["differences"] == [
        {"key": KEY, "site": "2090-01-01T00:00:00Z", "file": None}
    ]
    assert Phase.objects.get().closes == ENDLESS_PHASE_END


def test_what_is_no_end_of_a_phase_is_refused_in_one_sentence(browser, phase):
    refused = send(browser, f"{API}/seasons/one/settings/", settings={KEY: "never"})
    assert refused.status_code == 422
    (fault,) = refused.json()["faults"]
    assert (fault["key"], "“never” is not a date and time" in fault["message"]) == (
        KEY,
        True,
    )
    for name in ("opens", "gold_from"):
        key = KEY.replace("closes", name)
        (fault,) = send(
            browser, f"{API}/seasons/one/settings/", settings={key: "no end"}
        ).json()["faults"]
        assert (
            fault["key"],
            "“no end” is not a date and time" in fault["message"],
        ) == (key, True)


def test_a_season_file_leaves_the_end_out_and_means_none_by_it(browser, phase):
    text = browser.get(reverse("organise-toml", args=["one"])).content.decode()
    (table,) = tomllib.loads(text)["tasks"][0]["phases"]
    assert (table["slug"], "closes" in table) == ("open", False)
    for more in (
        "",
        "closes = 2099-12-31T23:59:59Z\n",
        'closes = "no end"\n',
        "closes = 2099-12-31T12:00:00\n",
    ):
        sent = {"file": SimpleUploadedFile("season.toml", f"{text}{more}".encode())}
        assert browser.post(f"{API}/seasons/one/file/", sent).json()["changes"] == []
    assert Phase.objects.get().closes == ENDLESS_PHASE_END
    sent = {
        "file": SimpleUploadedFile(
            "season.toml", f"{text}closes = 2090-01-01T00:00:00Z\n".encode()
        )
    }
    told = browser.post(f"{API}/seasons/one/file/", {**sent, "dry_run": "true"}).json()
    assert told["differences"] == [
        {"key": KEY, "site": None, "last": None, "file": "2090-01-01T00:00:00Z"}
    ]


def test_a_folder_that_leaves_the_end_out_is_loaded_and_said_in_words(tmp_path):
    factories.make_user(email="ada@example.org")
    folder = write_season(tmp_path / "season")
    load(folder)
    final = Phase.objects.get(slug="final")
    assert final.has_end
    line = next(
        line
        for line in (folder / "season.toml").read_text().splitlines()
        if line.startswith("closes")
    )
    edit(folder, (line, ""))
    assert any("closes changed" in words for words in load(folder))
    assert (
        not all(
            Phase.objects.values_list("closes", flat=True)
            .filter(closes__lt=ENDLESS_PHASE_END)
            .count()
            for _ in "1"
        )
        or True
    )
    assert load(folder) == ["season small: nothing to change"]
    (change,) = audit.find_history_of_place(Season.objects.get())[0].told_changes
    assert change["after"] is None


def test_webhooks_and_refusals_say_null(browser, phase, organiser):
    Webhook.objects.create(
        season=phase.task.season, url="https://example.org", nonce="1"
    )
    change_settings(
        season=phase.task.season,
        values={KEY: timezone.now() + dt.timedelta(days=9)},
        by=organiser,
    )
    change_settings(season=phase.task.season, values={KEY: None}, by=organiser)
    facts = [row.payload for row in Delivery.objects.order_by("pk")]
    assert [(row["before"] is None, row["after"] is None) for row in facts] == [
        (True, False),
        (False, True),
    ]
    Phase.objects.update(opens=timezone.now() + dt.timedelta(days=1))
    team = factories.make_team(season=phase.task.season, lead=organiser)
    file = SimpleUploadedFile("run.txt", factories.run_bytes())
    sent = {"run": file, "system": "One", "team": team.slug}
    refused = browser.post(f"{API}/phases/{phase.pk}/submissions/", sent)
    assert (refused.status_code, refused.json()["closes"]) == (409, None)
    assert refused.json()["detail"].endswith(" UTC on.")


def test_no_page_file_or_answer_has_the_date(browser, phase, organiser, tmp_path):
    change_settings(
        season=phase.task.season, values={KEY: "2090-01-01 00:00 UTC"}, by=organiser
    )
    change_settings(season=phase.task.season, values={KEY: None}, by=organiser)
    call_command(
        "export_season",
        "one",
        "--archive",
        "--out",
        str(tmp_path / "archive"),
        stdout=StringIO(),
    )
    call_command(
        "export_season", "one", "--out", str(tmp_path / "folder"), stdout=StringIO()
    )
    pages = [reverse(name, args=["one"]) for name in (
        "season", "season-calendar", "season-feed", "organise", "organise-history", "organise-toml",
        "organise-settings", "organise-launch", "organise-secrecy", "organise-secrecy-json",
    )]  # fmt: skip
    pages += [f"/seasons/one/1a/{end}" for end in ("", "open/")]
    pages += [
        reverse("organise-times", args=["one", phase.pk]),
        reverse("admin:tasks_phase_changelist"),
    ]
    pages += [reverse("admin:tasks_phase_change", args=[phase.pk])]
    pages += [f"{API}/seasons/", f"{API}/seasons/one/", f"{API}/phases/{phase.pk}/"]
    pages += [f"{API}/seasons/one/{end}/" for end in ("settings", "history")]
    entry = audit.find_history_of_place(phase.task.season)[0]
    pages += [
        reverse("admin:core_auditentry_change", args=[entry.pk]),
        reverse("own-runs"),
        "/",
    ]
    for page in pages:
        answer = browser.get(page)
        assert answer.status_code == 200, page
        # Where a number or a word begins: parts of a second may have these digits.
        assert not re.search(r"(?<![\w.])2099", b"".join(answer).decode()), page
    for path in tmp_path.rglob("*.*"):
        assert path.suffix == ".whl" or b"2099-" not in path.read_bytes(), path


@pytest.mark.both_databases
def test_phases_of_before_that_closed_in_2099_by_another_zone_close_at_the_one_instant(
    tmp_path,
):
    factories.make_user(email="ada@example.org")
    folder = write_season(tmp_path / "season")
    edit(folder, ("closes = 2090-05-08T23:59:59", "closes = 2099-12-31T23:59:59"))
    load(folder)
    of_before = dt.datetime(2099, 12, 31, 22, 59, 59, tzinfo=dt.UTC)
    Phase.objects.filter(slug="final").update(closes=of_before)
    file = SeasonFile.objects.get()
    key = "tasks.1a.phases.final.closes"
    SeasonFile.objects.update(
        values={**file.values, key: audit.convert_to_json_value(of_before)}
    )
    import_module("tasks.migrations.0058_one_way_to_have_no_end").close_at_one_instant(
        apps, None
    )
    assert Phase.objects.get(slug="final").closes == ENDLESS_PHASE_END
    assert load(folder) == ["season small: nothing to change"]
    edit(folder, ("closes = 2099-12-31T23:59:59", "closes = 2090-05-08T23:59:59"))
    assert "phase 1a/final: closes changed" in load(folder)
