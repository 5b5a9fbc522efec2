"""A season file that is uploaded: its plan first, and a question for what was changed on the site."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from citeboard.core.audit import find_history_of_place
from citeboard.ops.undoing import find_entries_to_undo
from citeboard.teams.models import Token
from tasks.models import Gold, Phase, Season, Task
from tasks.registration.entries import get_newest_terms
from tasks.seasons.phase_acts import move_phase
from tests.factories import make_user
from tests.tasks.seasons import SEASON, conflicts, load, write_season
from tests.tasks.test_season_reload import CLOSES, LATER
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
WHERE = "/seasons/small/organise/file/"


@pytest.fixture
def ada(client):
    ada = make_user(email="ada@example.org", name="Ada")
    client.force_login(ada)
    return ada


@pytest.fixture
def folder(tmp_path, ada):
    folder = write_season(tmp_path / "season")
    load(folder)
    return folder


def upload(client, text, where=WHERE):
    return client.post(
        where, {"file": SimpleUploadedFile("season.toml", text.encode())}
    )


def edited() -> str:
    return SEASON.replace("runs_per_day = 3", "runs_per_day = 4")


def practice() -> Phase:
    return Phase.objects.get(slug="practice")


def test_the_plan_is_shown_before_anything_changes(client, folder):
    answer = upload(client, edited())
    assert "tasks.1a.phases.practice.runs_per_day 3 4" in text_of(answer)
    assert practice().runs_per_day == 3
    answer = client.post(WHERE, {"text": edited(), "load": "yes"})
    assert (answer.status_code, answer["Location"]) == (302, WHERE)
    assert practice().runs_per_day == 4
    entry = find_history_of_place(Season.objects.get())[0]
    assert (entry.actor_name, entry.changes[0]["after"]) == ("Ada", 4)


@pytest.mark.both_databases
def test_what_a_file_changed_is_taken_back_with_its_settings_alone(client, folder):
    text = edited().replace("[season]", '[season]\nterms = "Be fair."', 1)
    client.post(WHERE, {"text": text, "load": "yes"})
    assert practice().runs_per_day == 4
    [loaded] = find_history_of_place(Season.objects.get()).filter(
        action="season-loaded"
    )[:1]
    answer = client.post(
        reverse("organise-undo", args=["small", loaded.pk]), follow=True
    )
    assert (
        "Terms, gold and organisers of the file have entries of their own and stay."
        in text_of(answer)
    )
    assert practice().runs_per_day == 3
    assert get_newest_terms(Season.objects.get()).text == "Be fair."


def test_a_file_that_changed_terms_alone_has_no_settings_to_take_back(client, folder):
    client.post(
        WHERE,
        {
            "text": SEASON.replace("[season]", '[season]\nterms = "Be fair."', 1),
            "load": "yes",
        },
    )
    actions = [entry.action for entry in find_entries_to_undo(Season.objects.get())]
    assert "terms-published" in actions
    assert "season-loaded" not in actions


@pytest.mark.both_databases
def test_a_change_in_the_site_is_set_back_only_where_somebody_says_so(
    client, folder, ada
):
    move_phase(phase=practice(), opens=practice().opens, closes=LATER, by=ada)
    assert f'name="decision:{CLOSES}"' in upload(client, edited()).text
    answer = client.post(WHERE, {"text": edited(), "load": "yes"})
    assert (answer.status_code, practice().runs_per_day) == (409, 3)
    assert "1 key was changed on the site" in text_of(answer)
    client.post(WHERE, {"text": edited(), "load": "yes", f"decision:{CLOSES}": "keep"})
    assert (practice().closes, practice().runs_per_day) == (LATER, 4)
    client.post(WHERE, {"text": edited(), "load": "yes", f"decision:{CLOSES}": "apply"})
    assert practice().closes.year == 2090


def test_gold_and_baselines_that_a_file_alone_names_stay_as_they_are(client, folder):
    Task.objects.update(published=[{"paper": "x"}])
    client.post(WHERE, {"text": edited(), "load": "yes"})
    assert (Gold.objects.count(), Task.objects.get().published) == (1, [{"paper": "x"}])
    conflicts(folder)


def test_what_is_wrong_with_the_file_is_told_by_line(client, folder):
    answer = upload(
        client, edited().replace("runs_per_day = 4", 'runs_per_day = "four"')
    )
    assert answer.status_code == 422
    assert "“runs_per_day” is a text" in text_of(answer)
    other = upload(client, edited().replace('slug = "small"', 'slug = "large"'))
    assert "the file is of season “large”" in text_of(other)


@pytest.mark.parametrize("value", ["/etc/passwd", "../secret.jsonl", "parses.jsonl"])
def test_a_file_alone_names_no_files_of_the_server(client, folder, value):
    text = SEASON.replace(
        '"clsumm-1a"\n', f'"positional-citations"\noptions = {{ parser = "{value}" }}\n'
    )
    text = text.replace('rules = ["corrected", "official-2017"]\n', "")
    assert f"option parser names a file, {value}" in text_of(upload(client, text))


def test_staff_create_a_season_from_a_file_and_others_do_not(client, ada):
    where = reverse("new-season")
    assert upload(client, SEASON, where).status_code == 404
    client.force_login(make_user(is_staff=True))
    assert "tasks.1a.phases.final: new" in text_of(upload(client, SEASON, where))
    assert not Season.objects.exists()
    answer = client.post(where, {"text": SEASON, "load": "yes"})
    assert answer["Location"] == WHERE
    assert Phase.objects.count() == 2
    assert "there is a season “small” already" in text_of(upload(client, SEASON, where))


def test_the_file_that_is_handed_out_is_one_that_can_be_loaded(client, folder):
    file = client.get("/seasons/small/organise/season.toml")
    assert file["Content-Disposition"] == 'attachment; filename="season.toml"'
    assert "Nothing: the season is as the file says." in text_of(
        upload(client, file.text)
    )
    changed = file.text.replace("runs_per_day = 3", "runs_per_day = 7")
    client.post(
        WHERE,
        {
            "text": changed,
            "load": "yes",
            "decision:tasks.1a.phases.practice.runs_per_day": "apply",
        },
    )
    assert practice().runs_per_day == 7


def test_next_years_season_is_cloned_in_the_browser_and_by_token(client, folder, ada):
    where = "/seasons/small/organise/clone/"
    assert "days later" in text_of(client.get(where)).lower()
    answer = client.post(where, {"title": "Next", "slug": "small", "days": "364"})
    assert (
        answer.status_code,
        "there is a season “small” already" in text_of(answer).lower(),
    ) == (422, True)
    answer = client.post(where, {"title": "Next", "slug": "small-2", "days": "364"})
    assert answer["Location"] == "/seasons/small-2/organise/"
    _, secret = Token.objects.create_token(user=ada, name="test", scope="write")
    client.logout()
    answer = client.post(
        "/api/v1/seasons/small/clone/",
        {"title": "Later", "slug": "small-3"},
        headers={"Authorization": f"Token {secret}"},
    )
    assert (answer.status_code, answer.json()) == (
        201,
        {"slug": "small-3", "title": "Later"},
    )
    assert not Season.objects.get(slug="small-3").is_public


def test_the_same_by_token(folder, ada, client):
    _, secret = Token.objects.create_token(user=ada, name="test", scope="write")
    client.logout()

    def send(**fields):
        file = SimpleUploadedFile("season.toml", edited().encode())
        return client.post(
            "/api/v1/seasons/small/file/",
            {"file": file, **fields},
            headers={"Authorization": f"Token {secret}"},
        )

    move_phase(phase=practice(), opens=practice().opens, closes=LATER, by=ada)
    shown = send(dry_run="true").json()
    assert [row["key"] for row in shown["conflicts"]] == [CLOSES]
    assert [row["key"] for row in shown["differences"]] == [
        "tasks.1a.phases.practice.runs_per_day"
    ]
    answer = send()
    assert answer.status_code == 409
    assert answer.json()["conflicts"][0]["site"] == "2091-01-01T00:00:00Z"
    assert practice().runs_per_day == 3
    assert send(apply=["season.titel"]).status_code == 400
    assert send(apply=[CLOSES]).json()["season"] == "small"
    assert practice().closes.year == 2090
