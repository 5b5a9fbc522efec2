"""Starting kits and public data of bundles are given out with the inputs, without reference data."""

import datetime as dt
import gzip
import io
import zipfile
from urllib.parse import urlsplit

import pytest
from django.core.files import File
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.utils import timezone

from citeboard.core import storage
from citeboard.core.audit import find_history_of_place
from scoring.client.actions import find_inputs_address
from scoring.exchange.bundles import drafting
from scoring.exchange.bundles.importing import (
    create_drafted_season,
    draft_season_from_bundle,
)
from scoring.exchange.bundles.report import VERDICT_NEEDS_DECISION, VERDICT_UNDERSTOOD
from tasks.gold.gold_files import (
    open_public_inputs_without_kit,
    read_kit_checksums_of_gold,
)
from tasks.models import Gold, Phase, Season
from tasks.registration.entries import accept_terms
from tests import factories
from tests.api.conftest import API
from tests.exchange.bundles import CODABENCH, GOLD, LATER, codabench, lines, packed
from tests.exchange.test_bundles_imported import LABELS, said, table, with_tables
from tests.web.reading import text_of

KIT = "starting-kit"


def with_kit(**files: str | bytes) -> dict[str, str | bytes]:
    """Return a bundle whose practice phase has a starting kit of these files."""
    old = "    public_data: public\n"
    assert old in CODABENCH
    return codabench(
        **{
            "competition.yaml": CODABENCH.replace(
                old, f"{old}    starting_kit: kit.zip\n"
            ),
            "kit.zip": packed(files),
        }
    )


@pytest.fixture
def drafting_of(tmp_path, monkeypatch):
    """Return the result of the confined program, and the names and contents of the files to give out."""
    monkeypatch.chdir(tmp_path)

    def draft(files):
        (tmp_path / drafting.UPLOAD_FILE_NAME).write_bytes(packed(files))
        result = drafting.draft({"filename": "bundle.zip"})
        kit = {}
        for name, part in result["parts"].items():
            if name.endswith(f"{KIT}.zip"):
                with zipfile.ZipFile(tmp_path / part) as archive:
                    kit |= {one: archive.read(one) for one in archive.namelist()}
        return result, kit

    return draft


def test_kit_and_public_data_of_a_phase_are_given_out_with_its_inputs(drafting_of):
    nested = packed({"sample.txt": "cat\n"})
    result, kit = drafting_of(
        with_kit(**{"README.md": "Begin.", "a/b.png": b"\x89PNG\0", "run.zip": nested})
    )
    assert kit == {
        f"{KIT}/README.md": b"Begin.",
        f"{KIT}/a/b.png": b"\x89PNG\0",
        f"{KIT}/run.zip": nested,
        f"{KIT}/public_data/pictures.txt": codabench()["public/pictures.txt"].encode(),
    }
    [task] = result["values"]["tasks"]
    paths = {gold["split"]: gold["paths"] for gold in task["gold"]}
    assert paths["practice"] == [
        "gold/pets-practice.jsonl",
        f"gold/pets-practice-{KIT}.zip",
    ]
    assert paths["final"] == ["gold/pets-final.jsonl"]
    assert f"in the folder `{KIT}`" in task["summary"]
    assert "4 files are given out with the inputs of “Practice”" in said(
        result, VERDICT_UNDERSTOOD
    )
    assert "look whether a file to give out has answers in it" in said(
        result, VERDICT_NEEDS_DECISION
    )


SECRET = lines(GOLD)


@pytest.mark.parametrize(
    "files",
    [
        {"labels.txt": SECRET},
        {"other_name.md": SECRET.replace("\n", "\r\n")},
        {
            "table.csv": "id,label\n"
            + "".join(f"a{n},{g}\n" for n, g in enumerate(GOLD))
        },
        {"quoted.tsv": "".join(f'{n}\t"{g}"\n' for n, g in enumerate(GOLD))},
        {"packed.txt.gz": gzip.compress(SECRET.encode())},
        {"inner.zip": packed({"deep/labels.txt": SECRET})},
        {"inner.zip": packed({"deeper.zip": packed({"labels.txt": SECRET})})},
        {"closed.tar.gz": gzip.compress(b"tar\0" + SECRET.encode())},
        {"closed.7z": b"7z\xbc\xaf"},
        {"broken.zip": b"PK\x03\x04 no archive"},
        {"arrays.npz": packed({"labels.txt": SECRET})},
        {"zip_of_another_name.txt": packed({"labels.txt": SECRET})},
        {"twice.zip.gz": gzip.compress(packed({"labels.txt": SECRET}))},
        {"closed_of_another_name.dat": b"7z\xbc\xaf\x27\x1c\0"},
        {"gold_of_a_later_phase.txt": lines(LATER)},
        {"kit_in_a_kit.zip": packed({"starting-kit/labels.txt": SECRET})},
        {"clutter.zip": packed({"__MACOSX/._labels.txt": SECRET})},
        {"table_deep_inside.zip": packed({"a.zip": packed({"b.csv": "l\n" + SECRET})})},
    ],
    ids=lambda files: next(iter(files)),
)
def test_reference_data_in_a_kit_in_any_form_and_closed_archives_stay_back(
    drafting_of, files
):
    result, kit = drafting_of(with_kit(**{"README.md": "Begin.", **files}))
    assert set(kit) == {f"{KIT}/README.md", f"{KIT}/public_data/pictures.txt"}
    assert f"{next(iter(files))} is not given out" in said(
        result, VERDICT_NEEDS_DECISION
    )


def test_archives_in_archives_without_reference_data_are_given_out(drafting_of):
    deep = packed({"deeper.zip": packed({"sample.txt": "cat\n"})})
    _result, kit = drafting_of(with_kit(**{"README.md": "Begin.", "deep.zip": deep}))
    assert kit[f"{KIT}/deep.zip"] == deep


def test_a_bundle_may_name_its_folders_like_the_kit_of_the_site(drafting_of):
    text = CODABENCH.replace("public_data: public\n", f"public_data: {KIT}\n")
    files = codabench(**{"competition.yaml": text, f"{KIT}/nonce.txt": "A sample."})
    _result, kit = drafting_of(files)
    assert kit == {f"{KIT}/public_data/nonce.txt": b"A sample."}


def with_tables_and_kit(kind: str, kit: dict[str, str]) -> dict[str, str | bytes]:
    """Return a bundle whose gold is a table, with a starting kit."""
    files = with_tables(kind, table(kind, LABELS, "text"), table(kind, LABELS))
    old = "    public_data: public\n"
    assert old in files["competition.yaml"]
    text = files["competition.yaml"].replace(old, f"{old}    starting_kit: kit.zip\n")
    return files | {"competition.yaml": text, "kit.zip": packed(kit)}


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize(
    ("name", "head", "row"),
    [
        ("more.csv", "no,note,answer\n", '{n},"a, b",{label}\n'),
        ("over_lines.csv", "note,answer\n", '"a\nb",{label}\n'),
        ("more.tsv", "note\tanswer\n", "a, b; c\t{label}\n"),
        ("more.jsonl", "", '{{"no": {n}, "answer": "{label}"}}\n'),
    ],
)
def test_a_table_with_the_answers_of_the_gold_stays_back(
    drafting_of, kind, name, head, row
):
    rows = [row.format(n=n, label=label) for n, label in enumerate(LABELS)]
    others = table("csv", [*LABELS[1:], "cat"])
    kit = {name: head + "".join(rows), "sample.csv": others, "README.md": "Begin."}
    result, given = drafting_of(with_tables_and_kit(kind, kit))
    assert f"{KIT}/{name}" not in given
    assert f"{name} is not given out: it has reference data" in said(
        result, VERDICT_NEEDS_DECISION
    )
    assert {f"{KIT}/sample.csv", f"{KIT}/README.md"} <= set(given)


def test_a_table_with_the_inputs_of_the_gold_is_given_out(drafting_of):
    inputs = table("csv", ["?"] * len(LABELS), "text")
    _result, given = drafting_of(with_tables_and_kit("csv", {"inputs.csv": inputs}))
    assert f"{KIT}/inputs.csv" in given


def test_a_later_phase_whose_earlier_phase_has_other_inputs_too_stays_back(drafting_of):
    files = codabench()
    text = files["competition.yaml"]
    for old, new in (
        ("solutions:\n", "  - index: 2\n    name: Without gold\nsolutions:\n"),
        ("tasks: [0]\n    max_submissions", "tasks: [0, 1]\n    max_submissions"),
        ("tasks: [1]\n", "tasks: [2, 1]\n    public_data: late\n"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    files |= {"competition.yaml": text, "late/hints.md": "The third is a dog."}
    result, kit = drafting_of(files)
    assert set(kit) == {f"{KIT}/public_data/pictures.txt"}
    assert "hints.md is not given out: the phase opens after" in said(
        result, VERDICT_NEEDS_DECISION
    )


def test_public_data_of_a_later_phase_with_the_same_gold_stay_back(drafting_of):
    files = with_kit(**{"README.md": "Begin."})
    final = "tasks: [1]\n    max_submissions: 1\n"
    assert final in files["competition.yaml"]
    files["competition.yaml"] = files["competition.yaml"].replace(
        final, "tasks: [0]\n    public_data: late\n"
    )
    result, kit = drafting_of(files | {"late/hints.md": "The third is a dog."})
    assert f"{KIT}/public_data/hints.md" not in kit
    assert "hints.md is not given out: the phase opens after" in said(
        result, VERDICT_NEEDS_DECISION
    )


def test_a_kit_of_too_many_bytes_is_given_out_in_part_with_a_line(
    drafting_of, monkeypatch
):
    monkeypatch.setattr("scoring.exchange.bundles.kits.MAX_KIT_BYTES", 10)
    result, kit = drafting_of(with_kit(**{"a.md": "Begin.", "b.md": "Not so short."}))
    assert set(kit) == {f"{KIT}/a.md"}
    assert "b.md is not given out: a kit has at most" in said(
        result, VERDICT_NEEDS_DECISION
    )


def test_a_bundle_without_kits_gives_out_none(drafting_of):
    files = codabench(
        **{"competition.yaml": CODABENCH.replace("    public_data: public\n", "")}
    )
    result, kit = drafting_of(files)
    assert kit == {}
    assert KIT not in result["values"]["tasks"][0].get("summary", "")


@pytest.fixture
def season(tmp_path) -> Season:
    path = tmp_path / "bundle.zip"
    path.write_bytes(
        packed(with_kit(**{"README.md": "Begin.", "a.npy": b"\x93NUMPY\0"}))
    )
    with draft_season_from_bundle(path, "pets.zip", by=None, slug="pets") as draft:
        return create_drafted_season(draft, filename="pets.zip", by=None).season


def public_names(season: Season) -> list[str]:
    gold = Gold.objects.get(task__season=season, split="practice")
    with storage.gold_file_storage.open(gold.public, "rb") as stored:
        return zipfile.ZipFile(stored).namelist()


GIVEN = [
    f"{KIT}/README.md",
    f"{KIT}/a.npy",
    f"{KIT}/public_data/pictures.txt",
]


@pytest.mark.django_db
def test_participants_get_the_kit_once_the_inputs_are_out(client, season):
    assert [name for name in public_names(season) if name.startswith(KIT)] == GIVEN
    season.is_public = True
    season.save()
    where = "/seasons/pets/pets/practice/inputs.zip"
    eve = factories.make_user()
    client.force_login(eve)
    assert client.get(where).status_code == 404
    now = timezone.now()
    Phase.objects.filter(slug="practice").update(
        opens=now - dt.timedelta(days=1), closes=now + dt.timedelta(days=1)
    )
    assert "terms" in text_of(client.get(where))
    accept_terms(season=season, number=1, user=eve)
    answer = client.get(where)
    assert answer.status_code == 200
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
        assert archive.read(f"{KIT}/a.npy") == b"\x93NUMPY\0"
        assert not any("labels" in name for name in archive.namelist())


@pytest.mark.django_db
def test_the_season_file_takes_the_kit_along(season, tmp_path):
    out = tmp_path / "season"
    call_command("export_season", "pets", "--out", out, stdout=io.StringIO())
    with zipfile.ZipFile(out / "gold" / "pets-practice.zip") as gold:
        assert [name for name in gold.namelist() if name.startswith(KIT)] == GIVEN
    Gold.objects.all().delete()
    season.tasks.all().delete()
    season.delete()
    call_command("load_season", out, stdout=io.StringIO())
    loaded = Season.objects.get()
    assert [name for name in public_names(loaded) if name.startswith(KIT)] == GIVEN


@pytest.mark.django_db
def test_a_season_file_with_another_kit_changes_it_and_history_says_so(
    season, tmp_path
):
    out = tmp_path / "season"
    call_command("export_season", "pets", "--out", out, stdout=io.StringIO())
    call_command("load_season", out, stdout=io.StringIO())
    assert not find_history_of_place(season).filter(action="kit-changed").exists()
    with zipfile.ZipFile(out / "gold" / "pets-practice.zip", "a") as gold:
        gold.writestr(f"{KIT}/more.md", "More.")
    call_command("load_season", out, stdout=io.StringIO())
    assert f"{KIT}/more.md" in public_names(season)
    [entry] = find_history_of_place(season).filter(action="kit-changed")
    assert "(files: 4)" in entry.text
    assert Gold.objects.get(task__season=season, split="practice").number == 1


def gold_zip(**more: str) -> bytes:
    gold = "".join(
        f'{{"id": "{number}", "label": "{label}", "input": "x"}}\n'
        for number, label in enumerate(GOLD, start=1)
    )
    return packed({"gold.jsonl": gold, **more})


@pytest.mark.django_db
def test_organisers_change_the_kit_with_the_gold_and_history_says_so(client, season):
    ada = factories.make_user(is_staff=True)
    season.organisers.create(user=ada)
    client.force_login(ada)
    content = gold_zip(**{f"{KIT}/new.md": "New."})
    file = SimpleUploadedFile("gold.zip", content)
    task = season.tasks.get()
    sent = {"split": f"{task.pk}/practice", "file": file, "reason": "A new kit."}
    answer = client.post("/seasons/pets/organise/gold/", sent, follow=True)
    assert answer.status_code == 200, answer.content.decode()
    gold = Gold.objects.filter(task__season=season, split="practice").latest("number")
    assert list(read_kit_checksums_of_gold(gold)) == [f"{KIT}/new.md"]
    assert find_history_of_place(season).filter(action="kit-changed").count() == 1


def sign_in(client, season: Season) -> None:
    """Sign in as somebody who accepted the terms of the season, which is public."""
    user = factories.make_user()
    season.is_public = True
    season.save()
    accept_terms(season=season, number=1, user=user)
    client.force_login(user)


def open_practice() -> Phase:
    now = timezone.now()
    Phase.objects.filter(slug="practice").update(
        opens=now - dt.timedelta(days=1), closes=now + dt.timedelta(days=1)
    )
    return Phase.objects.get(slug="practice")


def names_at(client, address: str) -> list[str]:
    parts = urlsplit(address)
    answer = client.get(f"{parts.path}?{parts.query}")
    assert answer.status_code == 200
    with zipfile.ZipFile(io.BytesIO(answer.getvalue())) as archive:
        return archive.namelist()


@pytest.mark.django_db
def test_the_api_names_an_archive_without_the_kit_for_clients_of_0_3_0(client, season):
    sign_in(client, season)
    phase = open_practice()
    detail = client.get(f"{API}/phases/{phase.pk}/").json()
    inputs, kit = (names_at(client, detail[key]) for key in ("inputs", "starting_kit"))
    assert [name for name in kit if name.startswith(KIT)] == GIVEN
    assert inputs == [name for name in kit if not name.startswith(KIT)]
    assert inputs


@pytest.mark.django_db
def test_a_phase_without_a_kit_has_one_archive(client, season):
    sign_in(client, season)
    phase = open_practice()
    gold = Gold.objects.current(phase)
    with open_public_inputs_without_kit(gold) as archive:
        name = storage.gold_file_storage.save("plain.zip", File(archive))
    Gold.objects.filter(pk=gold.pk).update(public=name)
    detail = client.get(f"{API}/phases/{phase.pk}/").json()
    assert detail["inputs"].endswith("/practice/inputs.zip")
    assert detail["starting_kit"] is None
    assert names_at(client, f"{detail['inputs']}?kit=no") == names_at(
        client, detail["inputs"]
    )


@pytest.mark.django_db
@pytest.mark.parametrize("value", ["", "yes", "0"])
def test_another_value_of_the_switch_is_refused(client, season, value):
    sign_in(client, season)
    open_practice()
    answer = client.get(f"/seasons/pets/pets/practice/inputs.zip?kit={value}")
    assert answer.status_code == 400


@pytest.mark.django_db
def test_a_phase_whose_inputs_are_not_out_names_no_kit(client, season):
    phase = Phase.objects.get(slug="practice")
    sign_in(client, season)
    assert client.get(f"{API}/phases/{phase.pk}/").json()["starting_kit"] is None
    for query in ("", "?kit=no"):
        where = f"/seasons/pets/pets/practice/inputs.zip{query}"
        assert client.get(where).status_code == 404


def test_the_client_takes_the_kit_where_there_is_one():
    phase = {"inputs": "https://a.example/inputs.zip?kit=no"}
    assert find_inputs_address(phase) == phase["inputs"]
    assert find_inputs_address({**phase, "starting_kit": None}) == phase["inputs"]
    whole = "https://a.example/inputs.zip"
    assert find_inputs_address({**phase, "starting_kit": whole}) == whole
