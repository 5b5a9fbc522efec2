"""A refused file for several tasks is offered repaired if every task can score the repaired file."""

import io
import json
import zipfile
from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from citeboard.core import storage
from tasks.models import Bundle, Submission
from tests import factories
from tests.api.conftest import API
from tests.declared.small_tasks import SMALL_TASKS, declare, publish_gold
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
INTENTS = SMALL_TASKS["labels"]
#: A second task on the same sentences, whose answers have a field of their own.
CERTAINTY_TOML = """[task]
slug = "certainty"
title = "Certainty"
form = "labels"

[task.gold]
field = "certainty"
shown = ["text"]

[task.answer]
labels = ["sure", "unsure"]

[[task.rules]]
name = "corrected"
measures = ["accuracy"]
"""
CERTAINTY = replace(INTENTS, toml=CERTAINTY_TOML)
SURE = ["sure", "unsure"] * (len(INTENTS.right) // 2)
BOTH = ("citation-intent", "certainty")


@pytest.fixture
def season(tmp_path):
    season = factories.make_season()
    intents = declare(INTENTS, season, slug="citation-intent")
    publish_gold(
        factories.make_phase(task=intents, slug="test", with_gold=False),
        INTENTS.files(INTENTS.right),
        tmp_path / "intents",
    )
    gold = (
        {"id": f"q{place:02}", "text": f"Sentence {place}.", "certainty": answer}
        for place, answer in enumerate(SURE)
    )
    text = "".join(json.dumps(row) + "\n" for row in gold)
    publish_gold(
        factories.make_phase(
            task=declare(CERTAINTY, season, slug="certainty"),
            slug="test",
            with_gold=False,
        ),
        {"gold.jsonl": text},
        tmp_path / "certainty",
    )
    return season


@pytest.fixture
def member(client, season):
    person = factories.make_user()
    factories.make_team(season=season, lead=person, name="The team")
    client.force_login(person)
    return client


def run(label="label", certainty="certainty", change=str, **more) -> bytes:
    rows = (
        {"id": f"q{place:02}", label: change(answer), certainty: change(sure), **more}
        for place, (answer, sure) in enumerate(zip(INTENTS.right, SURE, strict=True))
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def send(client, season, content=None, do="submit", name="run.jsonl", **fields):
    data = {"system": "Ours", "kind": "primary", "do": do, "tasks": BOTH, **fields}
    if content is not None:
        data["run"] = SimpleUploadedFile(name, content)
    return client.post(reverse("season-upload", args=[season.slug]), data)


def api(client, season, content, name="run.jsonl", **fields):
    data = {"run": SimpleUploadedFile(name, content), "system": "A", **fields}
    data["tasks"] = ",".join(BOTH)
    return client.post(f"{API}/seasons/{season.slug}/submissions/", data)


def kept(answer) -> str:
    return answer.context["outcome"].offer.kept


@pytest.mark.parametrize("does", ["submit", "check"])
def test_a_file_with_a_fault_in_each_part_is_offered_repaired_for_all(
    member, season, does
):
    answer = send(member, season, run("prediction", "how_sure", str.upper), does)
    said = text_of(answer)
    assert answer.status_code == 422
    assert "“prediction” is called “label”" in said
    assert "“how_sure” is called “certainty”" in said
    assert not Submission.objects.exists()
    file = send(member, season, do="download-kept", kept=kept(answer))
    assert file.content == run()
    assert 'filename="run-repaired.jsonl"' in file["Content-Disposition"]
    sent = send(member, season, do="submit-kept", kept=kept(answer))
    bundle = Bundle.objects.get()
    assert sent.status_code == 302
    assert sent["Location"] == reverse("bundle", args=[bundle.pk])
    runs = Submission.objects.filter(bundle=bundle)
    assert sorted(made.phase.task.slug for made in runs) == sorted(BOTH)
    with storage.run_file_storage.open(runs[0].file) as content:
        assert content.read() == run()
    gone = send(member, season, do="submit-kept", kept=kept(answer))
    assert "the file is gone" in text_of(gone).lower()


def test_nothing_is_offered_if_one_part_cannot_be_repaired(member, season):
    wrong = run("prediction").replace(b'"unsure"', b'"perhaps"')
    for does in ("submit", "check"):
        assert send(member, season, wrong, does).context["outcome"].offer is None
    assert "repair" not in api(member, season, wrong).json()
    assert not Submission.objects.exists()


def test_a_zip_of_several_files_is_repaired_for_all_tasks(member, season):
    whole = run("prediction").splitlines(keepends=True)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("one.jsonl", b"".join(whole[:9]))
        archive.writestr("two.jsonl", run().split(b"\n", 9)[9])
    answer = send(member, season, content.getvalue(), name="runs.zip")
    assert "one.jsonl: “prediction” is called “label”" in text_of(answer)
    assert send(member, season, do="submit-kept", kept=kept(answer)).status_code == 302
    assert Bundle.objects.get().filename == "runs-repaired.zip"


def test_a_file_for_several_tasks_is_read_in_the_encoding_that_its_sender_picks(
    member, season
):
    content = run(note="é").decode().encode("cp1252")
    answer = send(member, season, content)
    assert "In which encoding was it saved?" in text_of(answer)
    again = send(
        member, season, do="check-kept", kept=kept(answer), encoding="Windows-1252"
    )
    assert "In Windows-1252 the run can be scored." in text_of(again)
    assert send(member, season, do="submit-kept", kept=kept(again)).status_code == 302
    unknown = send(member, season, do="check-kept", kept=kept(answer), encoding="X")
    assert "this encoding is not known here" in text_of(unknown).lower()


def test_a_kept_bundle_is_for_its_sender_and_its_season_alone(client, member, season):
    token = kept(send(member, season, run("prediction")))
    phase = season.tasks.first().phases.get()
    single = reverse("upload", args=[season.slug, phase.task.slug, phase.slug])
    data = {"system": "A", "kind": "primary", "do": "download-kept", "kept": token}
    assert member.post(single, data).status_code == 404
    person = factories.make_user()
    factories.make_team(season=season, lead=person, name="Others")
    client.force_login(person)
    answer = send(client, season, do="download-kept", kept=token)
    assert answer.status_code == 404


def test_a_program_is_told_the_repair_of_all_parts_and_sends_it_repaired(
    member, season
):
    content = run("prediction", "how_sure")
    answer = api(member, season, content)
    assert answer.status_code == 422
    told = answer.json()["repair"]
    assert (told["filename"], told["content"]) == ("run-repaired.jsonl", run().decode())
    assert len(told["changes"]) == 2
    taken = api(member, season, content, repair="true")
    assert taken.status_code == 201, taken.content
    assert len(taken.json()["submissions"]) == 2
    warnings = str(taken.json()["submissions"][0]["warnings"])
    assert "the file was repaired" in warnings
    assert Bundle.objects.get().filename == "run-repaired.jsonl"


def test_a_program_names_the_encoding_of_a_file_for_several_tasks(member, season):
    content = run(note="é").decode().encode("cp1252")
    told = api(member, season, content).json()["repair"]
    assert "Windows-1252" in told["encodings"]
    taken = api(member, season, content, encoding="Windows-1252")
    assert taken.status_code == 201, taken.content


def test_the_page_for_several_tasks_names_its_optional_fields(member, season):
    page = member.get(reverse("season-upload", args=[season.slug]))
    told = " ".join(text_of(page).split())
    for label in ("Description", "Seed of"):
        assert f"{label} optional" in told
