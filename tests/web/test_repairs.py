"""A refused run whose content is certain is offered repaired, read in a named encoding, or sent elsewhere."""

import datetime as dt
import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from citeboard.core import storage
from citeboard.teams.models import Team
from tasks.models import Submission
from tasks.submissions import team_storage
from tests import factories
from tests.api.conftest import API
from tests.declared.small_tasks import SMALL_TASKS, declare, publish_gold
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
INTENTS = SMALL_TASKS["labels"]


@pytest.fixture
def phase(tmp_path):
    season = factories.make_season()
    phase = factories.make_phase(task=declare(INTENTS, season), with_gold=False)
    publish_gold(phase, INTENTS.files(INTENTS.right), tmp_path / "gold")
    return phase


@pytest.fixture
def member(client, phase):
    person = factories.make_user()
    factories.make_team(season=phase.task.season, lead=person, name="The team")
    client.force_login(person)
    return client


def run(key="label", change=str):
    rows = (
        {"id": f"q{place:02}", key: change(answer)}
        for place, answer in enumerate(INTENTS.right)
    )
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def send(client, phase, content=None, do="submit", name="run.jsonl", **fields):
    data = {"system": "Ours", "kind": "primary", "do": do, **fields}
    if content is not None:
        data["run"] = SimpleUploadedFile(name, content)
    return client.post(boards.address("upload", phase), data)


def kept(answer) -> str:
    return answer.context["outcome"].offer.kept


@pytest.mark.parametrize("does", ["submit", "check"])
def test_a_renamed_field_is_offered_repaired_downloaded_and_submitted(
    member, phase, does
):
    answer = send(member, phase, run("prediction", str.upper), does)
    said = text_of(answer)
    assert answer.status_code == 422
    assert "“prediction” is called “label”" in said
    assert "“METHOD” becomes “method”" in said
    assert not Submission.objects.exists()
    file = send(member, phase, do="download-kept", kept=kept(answer))
    assert file.content == run()
    assert "run-repaired.jsonl" in file["Content-Disposition"]
    sent = send(member, phase, do="submit-kept", kept=kept(answer))
    assert sent.status_code == 302
    made = Submission.objects.get()
    assert made.filename == "run-repaired.jsonl"
    with storage.run_file_storage.open(made.file) as content:
        assert content.read() == run()


def test_an_archive_of_several_files_is_offered_repaired(member, phase):
    whole = run("prediction").splitlines(keepends=True)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("one.jsonl", b"".join(whole[:9]))
        archive.writestr("two.jsonl", run().split(b"\n", 9)[9])
    answer = send(member, phase, content.getvalue(), name="runs.zip")
    assert "one.jsonl: “prediction” is called “label”" in text_of(answer)
    assert send(member, phase, do="submit-kept", kept=kept(answer)).status_code == 302
    assert Submission.objects.get().filename == "runs-repaired.zip"
    told = api(member, phase, content.getvalue(), name="runs.zip").json()["repair"]
    assert (told["filename"], told["content"]) == ("runs-repaired.zip", None)


def test_a_file_is_read_in_the_encoding_that_its_sender_picks(member, phase):
    content = run().replace(b'"}', '", "note": "é"}'.encode("cp1252"))
    answer = send(member, phase, content)
    said = text_of(answer)
    assert "In which encoding was it saved?" in said
    assert "Windows-1252" in said
    again = send(
        member, phase, do="check-kept", kept=kept(answer), encoding="Windows-1252"
    )
    assert "In Windows-1252 the run can be scored." in text_of(again)
    assert "read as Windows-1252, and saved in UTF-8" in text_of(again)
    assert send(member, phase, do="submit-kept", kept=kept(again)).status_code == 302
    wrong = send(member, phase, do="check-kept", kept=kept(answer), encoding="X")
    assert "this encoding is not known here" in text_of(wrong).lower()


def test_a_kept_file_is_for_its_sender_and_its_phase_alone(client, member, phase):
    token = kept(send(member, phase, run("prediction")))
    other = factories.make_phase(task=phase.task)
    gone = send(member, other, do="submit-kept", kept=token)
    assert "the file is gone" in text_of(gone).lower()
    assert send(member, phase, do="download-kept", kept="x").status_code == 404
    person = factories.make_user()
    factories.make_team(season=phase.task.season, lead=person, name="Others")
    client.force_login(person)
    assert send(client, phase, do="download-kept", kept=token).status_code == 404
    assert not Submission.objects.exists()


def test_kept_files_count_against_the_storage_of_their_team_until_they_are_runs(
    member, phase, monkeypatch
):
    team, size = Team.objects.get(name="The team"), len(run())
    # Tests share one storage.
    before = team_storage.compute_used_storage_bytes(team)
    answer = send(member, phase, run("prediction"))
    assert team_storage.compute_used_storage_bytes(team) == before + size
    monkeypatch.setattr(
        team_storage, "get_max_storage_bytes", lambda: before + size * 3 // 2
    )
    again = send(member, phase, run("guess"), "check")
    assert again.context["outcome"].offer is None
    assert "“label” is missing" in text_of(again)
    monkeypatch.setattr(
        team_storage, "get_max_storage_bytes", lambda: before + size * 2
    )
    assert send(member, phase, do="submit-kept", kept=kept(answer)).status_code == 302
    assert team_storage.compute_used_storage_bytes(team) == before + size
    assert send(member, phase, run("guess"), "check").context["outcome"].offer


def test_the_file_of_another_task_leads_to_its_phase(member, phase):
    season = phase.task.season
    other = factories.make_phase(task=factories.make_task(season=season))
    content = factories.run_bytes()
    answer = send(member, phase, content, "check")
    assert f'href="{boards.address("upload", other)}"' in answer.content.decode()
    told = api(member, phase, content).json()["repair"]
    assert told["name"] == f"{season.slug}/{other.task.slug}/{other.slug}"
    assert told["phase"] == other.pk
    assert told["url"].endswith(f"/phases/{other.pk}/submissions/")


def test_the_file_of_another_split_leads_to_its_phase_if_its_inputs_are_given_out(
    client,
):
    task = factories.make_task()
    test = factories.make_phase(task=task)
    topics = ("X01-0001", "X02-0001")
    dev = factories.make_phase(task=task, split="dev", with_gold=False)
    factories.make_gold(phase=dev, topics=topics)
    person = factories.make_user()
    factories.make_team(season=task.season, lead=person)
    client.force_login(person)
    content = factories.run_bytes(topics=topics)
    assert api(client, test, content).json()["repair"]["phase"] == dev.pk
    type(dev).objects.filter(pk=dev.pk).update(opens=dev.closes - dt.timedelta(hours=1))
    assert "repair" not in api(client, test, content).json()


def api(client, phase, content, where="check", name="run.jsonl", **fields):
    data = {"run": SimpleUploadedFile(name, content), "system": "A", **fields}
    return client.post(f"{API}/phases/{phase.pk}/{where}/", data)


def test_a_program_is_told_the_repair_and_sends_it_repaired(member, phase):
    content = run("prediction")
    answer = api(member, phase, content, "submissions")
    assert answer.status_code == 422
    body = answer.json()
    assert body["repair"]["content"] == run().decode()
    assert body["repair"]["changes"] == ["“prediction” is called “label”"]
    assert [problem["count"] for problem in body["problems"]] == [len(INTENTS.right)]
    taken = api(member, phase, content, "submissions", repair="true")
    assert taken.status_code == 201
    messages = [problem["message"] for problem in taken.json()["warnings"]]
    assert "the file was repaired: “prediction” is called “label”" in messages
    assert Submission.objects.get().filename == "run-repaired.jsonl"


def test_a_program_names_an_encoding_and_learns_what_is_wrong_in_it(member, phase):
    content = run().replace(b'"}', '", "note": "é"}'.encode("cp1252"))
    told = api(member, phase, content).json()["repair"]
    assert "Windows-1252" in told["encodings"]
    assert told["filename"] is None
    assert api(member, phase, content, encoding="Windows-1252").status_code == 200
    wrong = api(member, phase, b'{"id": "q00", "x": "\xff"}\n', encoding="Windows-1252")
    assert wrong.status_code == 422
    assert "“label” is missing" in wrong.json()["problems"][0]["message"]


def test_nothing_is_offered_where_a_run_can_mean_several_things(member, phase):
    rows = (
        {"id": f"q{place:02}", "first": answer, "second": answer}
        for place, answer in enumerate(INTENTS.right)
    )
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert "repair" not in api(member, phase, content).json()
