"""A dry run of a season folder says in the shell what pages and the API say before it is done."""

import datetime as dt
import shutil

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from tasks.models import Gold, Job, Notification, Phase, Season, Submission
from tests import factories
from tests.api.conftest import API
from tests.scoring import boards
from tests.tasks.seasons import edit, load, write_season
from tests.tasks.test_season_load import OTHER

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def ada():
    return factories.make_user(email="ada@example.org", name="Ada")


@pytest.fixture
def folder(tmp_path, ada):
    """With a team whose newer run is the worse one."""
    folder = write_season(tmp_path / "season")
    load(folder)
    practice = Phase.objects.get(slug="practice")
    team = factories.make_team(season=practice.task.season)
    for system, value in (("good", 0.6), ("newer", 0.4)):
        boards.scored_run(practice, team, value, system=system)
    return folder


def part(told: list[str], title: str) -> list[str]:
    lines = told[told.index(f"{title}:") + 1 :]
    end = next(
        (at for at, line in enumerate(lines) if not line.startswith("- ")), len(lines)
    )
    return [line.removeprefix("- ") for line in lines[:end]]


def test_who_sees_what_and_which_ranks_and_who_is_told_stand_below_the_plan(
    folder, client, ada
):
    changed = 'runs_per_day = 4\nboard = "everyone"\ncounting = "last"'
    edit(folder, ('runs_per_day = 3\nboard = "organisers"', changed))
    rows = [
        list(model.objects.values())
        for model in (Season, Phase, Job, Notification, Submission)
    ]
    told = load(folder, dry_run=True)
    assert [
        list(model.objects.values())
        for model in (Season, Phase, Job, Notification, Submission)
    ] == rows
    (newer, good) = sorted(
        part(told, "Ranks and scores"), key=lambda line: "good" in line
    )
    assert newer.endswith("not on the board → 1 (0.4000)")
    assert good.endswith("1 (0.6000) → not on the board")
    assert "the scores of all" in " ".join(
        part(told, "Who will see what they do not see now")
    )
    (mail,) = part(told, "Who will be notified")
    assert mail.startswith(
        "1 person, 1 by e-mail: How many runs a team may submit to Cited text spans, Practice"
    )
    assert part(told, "What can be taken back")[0].startswith(
        "The settings, by the file as it was before"
    )
    client.force_login(ada)
    file = SimpleUploadedFile("season.toml", (folder / "season.toml").read_bytes())
    sent = {"file": file, "dry_run": "true"}
    rehearsal = client.post(f"{API}/seasons/small/file/", sent).json()["rehearsal"]
    assert part(told, "In the words of the history") == rehearsal["done"]
    assert part(told, "Who will see what they do not see now") == rehearsal["seen"]
    assert [row["system"] for row in rehearsal["moved"]] == ["good", "newer"]


def test_new_gold_is_compared_and_what_is_scored_again_is_told(folder):
    shutil.rmtree(folder / "corpus")
    factories.write_corpus(folder / "corpus", citances=OTHER)
    told = load(folder, dry_run=True, reason="One was wrong.")
    (gold,) = part(told, "The gold")
    assert gold.startswith("Cited text spans, test: v1 → v2, ")
    assert "With another answer" in gold
    assert any("Practice" in line for line in part(told, "Rescored"))
    assert Gold.objects.count() == 1


def test_what_is_settled_is_told(folder):
    Phase.objects.filter(slug="practice").update(
        confirms_results=True,
        closes=timezone.now() - dt.timedelta(hours=1),
        confirmation_ended_at=timezone.now(),
        confirmation_ended_because="Done.",
    )
    edit(
        folder,
        (
            'board = "organisers"',
            'board = "organisers"\nconfirms_results = true\ncounting = "last"',
        ),
    )
    told = load(folder, dry_run=True, keep=["tasks.1a.phases.practice.closes"])
    settled = part(told, "What is settled")
    assert settled == ["the results of Cited text spans, Practice, are official"]


def test_a_new_season_is_told_with_its_phases_and_a_conflict_leaves_nothing_to_rehearse(
    tmp_path, ada
):
    folder = write_season(tmp_path / "season")
    told = load(folder, dry_run=True)
    practice, final = part(told, "What would be created")
    assert practice.startswith(
        "Cited text spans, Practice: 1 Jan 2020, 00:00 – 1 Jan 2090, 00:00; organ"
    )
    assert final.startswith(
        "Cited text spans, Final: 1 Mar 2020, 12:00 – 8 May 2090, 23:59; nobody; "
    )
    assert not Season.objects.exists()
    load(folder)
    Phase.objects.filter(slug="practice").update(runs_per_day=9)
    assert "In the words of the history:" not in load(folder, dry_run=True)
