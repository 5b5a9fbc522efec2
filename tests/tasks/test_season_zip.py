"""A season as a zip: given out, loaded into another site, and unmodified into its own."""

import io
import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from citeboard.core.audit import find_history_of_place
from citeboard.teams.models import Token
from tasks.models import Gold, Organiser, Phase, Season, Submission, Task
from tasks.seasons.file.sent import open_season_zip
from tasks.types import InputRefused, task_types
from tests import factories
from tests.api.conftest import API
from tests.tasks.seasons import write_season
from tests.tasks.test_every_type import sample
from tests.tasks.test_season_export import forget, settings_of
from tests.web.reading import text_of
from tests.web.test_declaring import lines, saved, sentences

pytestmark = pytest.mark.django_db
WHERE = "/seasons/small/organise/file/"
#: What a site does not share with another: who and when, and what others can see.
OWN = ("was_public", "declaration_id")


@pytest.fixture
def ada(client):
    ada = factories.make_user(email="ada@example.org", name="Ada", is_staff=True)
    ada.set_password("long enough 1")
    ada.save()
    client.force_login(ada)
    return ada


@pytest.fixture
def season(client, ada, tmp_path) -> Season:
    """With a built-in task that has a baseline, and a task that was declared on the site."""
    folder = write_season(tmp_path / "season")
    call_command("load_season", str(folder), stdout=io.StringIO())
    season = Season.objects.get()
    Season.objects.update(is_public=False, entry_list="eve@example.org")
    where = reverse("organise-settings-declare", args=["small"])
    assert saved(client, _begun(client), where).status_code == 302
    return season


def _begun(client):
    file = SimpleUploadedFile("gold.jsonl", lines(sentences()))
    where = reverse("organise-settings-declare", args=["small"])
    return client.post(where, {"title": "Why cite", "form": "labels", "file": file})


def given_out(client, *, with_gold: bool) -> bytes:
    if not with_gold:
        answer = client.get(reverse("organise-zip", args=["small"]))
    else:
        where = reverse("organise-zip-gold", args=["small"])
        answer = client.post(where, {"password": "long enough 1"})
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


def names_in(content: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(content)).namelist()


def sent(client, content: bytes, where: str):
    """Upload a zip, read its plan, and load it."""
    file = SimpleUploadedFile("season.zip", content)
    shown = client.post(where, {"file": file})
    if shown.status_code != 200 or "stored" not in shown.context:
        return shown
    stored = shown.context["stored"]
    rehearsal = shown.context.get("rehearsal")
    return client.post(
        where,
        {
            "stored": stored,
            "load": "yes",
            "rehearsed": rehearsal.digest if rehearsal else "",
        },
        follow=True,
    )


def built(*files: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.mark.parametrize("with_gold", [True, False])
def test_a_season_is_the_same_in_another_site_and_unchanged_in_its_own(
    client, season, with_gold
):
    content = given_out(client, with_gold=with_gold)
    unchanged = sent(client, content, WHERE)
    assert "nothing has changed" in text_of(unchanged)
    before = [settings_of(model, *OWN) for model in (Season, Task, Phase)]
    digests = sorted(Gold.objects.values_list("task__slug", "split", "digest"))
    forget()
    loaded = sent(client, content, "/new-season/")
    assert loaded.status_code == 200
    for row in before[0]:
        row["entry_list"] = ""
    assert [settings_of(model, *OWN) for model in (Season, Task, Phase)] == before
    found = sorted(Gold.objects.values_list("task__slug", "split", "digest"))
    assert found == (digests if with_gold else [])
    lead = Submission.objects.filter(system="Lead")
    assert lead.count() == (2 if with_gold else 0)
    assert Organiser.objects.get().user.name == "Ada"


def test_the_zip_without_gold_holds_no_answers_and_neither_holds_people(client, season):
    plain = given_out(client, with_gold=False)
    assert names_in(plain) == [
        "season.toml",
        "tasks/why-cite/card.md",
        "tasks/why-cite/task.toml",
    ]
    whole = given_out(client, with_gold=True)
    assert {"gold/1a-test.zip", "gold/why-cite-test.zip"} < set(names_in(whole))
    for content in (plain, whole):
        toml = zipfile.ZipFile(io.BytesIO(content)).read("season.toml").decode()
        assert not re.search(r"@|(?m:^(organisers|helpers|entry_list))", toml)


def test_gold_goes_out_to_who_types_the_password_and_the_history_has_it(client, season):
    where = reverse("organise-zip-gold", args=["small"])
    assert "hidden answers" in text_of(client.get(where))
    wrong = client.post(where, {"password": "another"})
    assert "This is not your password." in text_of(wrong)
    assert not find_history_of_place(season).filter(action="season-exported").exists()
    given_out(client, with_gold=True)
    [entry] = find_history_of_place(season).filter(action="season-exported")
    assert (entry.actor_name, entry.words) == (
        "Ada",
        "took the season with its gold, as season.zip",
    )


def test_a_program_and_the_command_load_the_zip_too(client, ada, season, tmp_path):
    content = given_out(client, with_gold=True)
    path = tmp_path / "season.zip"
    path.write_bytes(content)
    call_command("load_season", str(path), stdout=(told := io.StringIO()))
    assert told.getvalue().startswith("season small: nothing to change")
    _, secret = Token.objects.create_token(user=ada, name="test", scope="write")
    by = {"Authorization": f"Token {secret}"}
    file = SimpleUploadedFile("season.zip", content)
    where = f"{API}/seasons/small/file/"
    answer = client.post(where, {"file": file, "dry_run": "true"}, headers=by)
    assert (answer.status_code, answer.json()["changes"]) == (200, [])


def gold_of(season_zip: bytes, *files: tuple[str, bytes], paths: str) -> bytes:
    """Return the zip with other files of gold, which the season file names."""
    archive = zipfile.ZipFile(io.BytesIO(season_zip))
    toml = re.sub(
        rb'paths = \["gold/1a-test.zip"\]',
        f"paths = {paths}".encode(),
        archive.read("season.toml"),
    )
    kept = [name for name in archive.namelist() if "1a-test" not in name]
    rest = [(name, archive.read(name)) for name in kept if name != "season.toml"]
    return built(("season.toml", toml), *rest, *files)


def test_gold_of_several_zips_and_of_a_folder_with_its_nonce_is_the_same_gold(
    client, ada, tmp_path
):
    folder = write_season(tmp_path / "season")
    call_command("load_season", str(folder), stdout=io.StringIO())
    gold = Gold.objects.get()
    content = given_out(client, with_gold=True)
    packed = zipfile.ZipFile(
        io.BytesIO(zipfile.ZipFile(io.BytesIO(content)).read("gold/1a-test.zip"))
    )
    files = [(name, packed.read(name)) for name in packed.namelist()]
    nonce = [one for one in files if one[0] == "nonce.txt"]
    topics = sorted({name.split("/")[1] for name, _ in files if "/" in name})
    assert len(topics) > 1
    zips = [
        (
            f"gold/{topic}.zip",
            built(*(one for one in files if f"/{topic}/" in one[0])),
        )
        for topic in topics
    ]
    facts = ("digest", "plain_digest", "instances", "nonce")
    expected = [getattr(gold, name) for name in facts]
    names = json.dumps([name for name, _ in zips])
    several = gold_of(content, *zips, paths=names)
    loose = [(f"gold/1a/{name}", own) for name, own in files]
    path = tmp_path / "season.zip"
    for sent_zip in (several, gold_of(content, *loose, paths='["gold/1a"]')):
        path.write_bytes(sent_zip)
        with open_season_zip(path, "season.zip", by=ada, slug="small") as load:
            assert load(dry_run=True).changes == []
    forget()
    with_nonce = [*zips, ("gold/more/nonce.txt", nonce[0][1])]
    names = json.dumps([name for name, _ in with_nonce[:-1]] + ["gold/more"])
    path.write_bytes(gold_of(content, *with_nonce, paths=names))
    with open_season_zip(path, "season.zip", by=ada) as load:
        load()
    assert [getattr(Gold.objects.get(), name) for name in facts] == expected


def write_every_kind(folder: Path) -> None:
    """Write a season with a task of each built-in type, whose gold is that of its sample."""
    text = '[season]\nslug = "small"\ntitle = "Every kind"\npublic = false\n'
    for kind in task_types().values():
        [*gold] = sample(kind)[0]
        place = folder / "given" / kind.slug
        place.mkdir(parents=True)
        for path in gold:
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, place / path.name)
        names = json.dumps([f"given/{kind.slug}/{path.name}" for path in gold])
        text += (
            f'[[tasks]]\nslug = "{kind.slug}"\ntitle = "{kind.title}"\ntype = "{kind.slug}"\n'
            f"[[tasks.gold]]\npaths = {names}\n"
            '[[tasks.phases]]\nslug = "final"\ntitle = "Final"\nopens = 2020-01-01T00:00:00Z\n'
        )
    (folder / "season.toml").write_text(text)


def test_a_season_of_every_built_in_kind_is_the_same_in_another_site(
    client, ada, tmp_path
):
    write_every_kind(tmp_path)
    call_command("load_season", str(tmp_path), stdout=io.StringIO())
    path = tmp_path / "season.zip"
    path.write_bytes(given_out(client, with_gold=True))
    before = [settings_of(model, *OWN) for model in (Season, Task, Phase)]
    facts = ("task__slug", "split", "digest", "nonce", "instances")
    golds = sorted(Gold.objects.values_list(*facts))
    assert len(golds) == len(task_types())
    with open_season_zip(path, "season.zip", by=ada, slug="small") as load:
        assert load(dry_run=True).changes == []
    forget()
    with open_season_zip(path, "season.zip", by=ada) as load:
        load()
    assert [settings_of(model, *OWN) for model in (Season, Task, Phase)] == before
    assert sorted(Gold.objects.values_list(*facts)) == golds


TOML = b'[season]\nslug = "small"\ntitle = "Small"\n'
DECLARED = TOML + (b'[[tasks]]\nslug = "a"\ntitle = "A"\ntype = "./tasks/a"\n')
HOSTILE = {
    "no season file": ([("a.txt", b"")], "there is no season.toml"),
    "a way out": ([("season.toml", TOML), ("gold/../../x", b"")], "leads out of the archive"),
    "another folder": ([("season.toml", TOML), ("media/x", b"")], "is no part of a season"),
    "a long name": ([("season.toml", TOML), (f"gold/{'x' * 250}", b"")], "a name of 255 characters"),
    "an archive of a task": ([("season.toml", TOML), ("tasks/a/x.zip", b"")], "an archive inside"),
    "a bomb": ([("season.toml", TOML), ("gold/x", b"\0" * (9 << 20))], "too good to be a text"),
    "a large season file": ([("season.toml", TOML + b"#" * (1 << 20))], "bytes"),
    "a file as a folder": ([("season.toml", TOML), ("gold/a", b""), ("gold/a/b", b"")], "has this place"),
    "no text": ([("season.toml", b"\xff\xfe\x00")], "not UTF-8 text"),
    "no declaration": ([("season.toml", DECLARED), ("tasks/a/task.toml", b"[task]\n")], "“slug” is missing"),
    "a declaration without end": (
        [("season.toml", DECLARED), ("tasks/a/task.toml", b"a = " + b"[" * 20_000)], "nested",
    ),
    "no folder": ([("season.toml", DECLARED)], "“./tasks/a” is a folder"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_zip_is_refused_in_a_sentence_and_nothing_is_made(
    ada, tmp_path, files, words
):
    path = tmp_path / "season.zip"
    path.write_bytes(built(*files))
    with (
        pytest.raises(InputRefused) as refused,
        open_season_zip(path, "season.zip", by=ada) as load,
    ):
        load()
    assert words in str(
        json.dumps([str(one) for one in refused.value.problems], ensure_ascii=False)
    )
    assert not Season.objects.exists()


def test_what_reads_a_zip_is_a_confined_process(ada, tmp_path, monkeypatch):
    """Nothing of the archive is opened by the site itself."""
    path = tmp_path / "season.zip"
    path.write_bytes(built(("season.toml", TOML)))

    def opened(*given: object, **more: object) -> None:
        raise AssertionError("the site opens the archive")

    monkeypatch.setattr(zipfile, "ZipFile", opened)
    with open_season_zip(path, "season.zip", by=ada) as load:
        assert load(dry_run=True).changes == ["season: new"]


def test_a_stored_zip_is_of_the_account_and_the_season_that_sent_it(client, season):
    content = given_out(client, with_gold=False)
    shown = client.post(WHERE, {"file": SimpleUploadedFile("season.zip", content)})
    stored = {"stored": shown.context["stored"], "load": "yes"}
    assert client.post("/new-season/", stored).status_code == 422
    assert Season.objects.count() == 1
