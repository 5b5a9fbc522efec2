"""Files below `starting-kit` in gold are given out as they are; readers of gold and runs skip them."""

import gzip
import io
import json
import shutil
import tarfile
import zipfile

import pytest

from citeboard.core import storage
from tasks.gold import packing
from tasks.gold.gold_files import load_gold
from tasks.gold.kits import MAX_ARCHIVE_DEPTH
from tasks.models.declarations import store_declaration
from tasks.types import InputRefused, task_type
from tasks.types.files import (
    STARTING_KIT_FOLDER,
    open_input_files,
    open_starting_kit_files,
)
from tests import factories
from tests.declared.small_tasks import SMALL_TASKS, declare
from tests.exchange.bundles import packed
from tests.tasks.test_secret_digests import EXAMPLES, POOL

SMALL = SMALL_TASKS["labels"]
GOLD = SMALL.gold_files()
FOLDER = json.dumps({"task.toml": SMALL.toml, "card.md": "# A card\n"})


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """Return the problems of a gold archive, or else the names in both packed archives."""
    monkeypatch.chdir(tmp_path)

    def packs(files, inputs=0):
        (tmp_path / packing.UPLOAD_FILE_NAME).write_bytes(packed(files))
        facts = {"options": {}, "filename": "gold.zip", "reading": 3, "inputs": inputs}
        told = packing.pack_gold_in_sandbox({**facts, "task_type": FOLDER})
        if told["problems"]:
            return [problem["message"] for problem in told["problems"]]
        return [
            zipfile.ZipFile(tmp_path / name).namelist()
            for name in (packing.GOLD, packing.PUBLIC_ARCHIVE_NAME)
        ]

    return packs


def kit(**files):
    return {f"{STARTING_KIT_FOLDER}/{name}": content for name, content in files.items()}


def test_the_kit_is_in_the_gold_and_in_the_public_archive_and_is_no_gold(pack):
    files = kit(**{"a.jsonl": "no gold", "b/c.zip": packed({"d": "e"}), "f": b"\0\xff"})
    gold, public = pack({**GOLD, **files})
    assert [name for name in gold if name.startswith(STARTING_KIT_FOLDER)] == sorted(
        files
    )
    assert [name for name in public if name.startswith(STARTING_KIT_FOLDER)] == sorted(
        files
    )
    assert not set(GOLD) & set(public)


def test_the_kit_may_come_as_an_archive_beside_the_gold(pack):
    [[name, text]] = GOLD.items()
    gold, public = pack(
        {f"0/{name}": text, "1/files.zip": packed(kit(**{"a.md": "x"}))}, inputs=2
    )
    assert gold == sorted([name, f"{STARTING_KIT_FOLDER}/a.md"])
    assert f"{STARTING_KIT_FOLDER}/a.md" in public


@pytest.mark.parametrize(
    "folder",
    [f"./{STARTING_KIT_FOLDER}", f"{STARTING_KIT_FOLDER}/", f"{STARTING_KIT_FOLDER}/."],
)
def test_files_of_the_kit_have_the_plain_name_of_its_folder(pack, folder):
    gold, public = pack({**GOLD, f"{folder}/a.md": "x"})
    assert f"{STARTING_KIT_FOLDER}/a.md" in gold
    assert f"{STARTING_KIT_FOLDER}/a.md" in public


def test_two_spellings_of_a_name_in_the_kit_are_refused(pack):
    files = {f"{STARTING_KIT_FOLDER}/a.md": "x", f"./{STARTING_KIT_FOLDER}/a.md": "y"}
    assert f"is called {STARTING_KIT_FOLDER}/a.md as well" in pack({**GOLD, **files})[0]


@pytest.mark.parametrize(
    ("limit", "files", "expected"),
    [
        ("MAX_KIT_BYTES", {"a": "12345678901"}, "the files are larger"),
        ("MAX_KIT_FILES", {f"{n}": "" for n in range(11)}, "11 files"),
        (
            "MAX_NAMES_PER_FINDING",
            {"a.jsonl": next(iter(GOLD.values()))},
            "this is the gold",
        ),
        ("MAX_NAMES_PER_FINDING", {"../a": "x"}, "its name leads out of the archive"),
    ],
    ids=["bytes", "files", "gold", "path"],
)
def test_a_kit_that_is_too_large_or_has_the_gold_is_refused(
    pack, monkeypatch, limit, files, expected
):
    monkeypatch.setattr(packing, limit, 10)
    assert expected in pack({**GOLD, **kit(**files)})[0]


def test_an_archive_elsewhere_in_the_gold_is_refused_as_before(pack):
    assert pack({**GOLD, "other/a.zip": b"x"}) == ["an archive inside the archive"]


def test_a_kit_alone_is_no_gold(pack):
    assert pack(kit(**{"a.md": "x"}))[0]


def test_readers_pass_the_kit_over_in_folders_archives_and_runs(tmp_path):
    folder = tmp_path / "gold"
    (folder / STARTING_KIT_FOLDER / "deep").mkdir(parents=True)
    (folder / STARTING_KIT_FOLDER / "deep" / "a.txt").write_text("x")
    (folder / "b.txt").write_text("y")
    (folder / STARTING_KIT_FOLDER / "link").symlink_to(folder / "b.txt")
    assert [file.name for file in open_input_files(folder)] == ["gold/b.txt"]
    assert [file.name for file in open_starting_kit_files(folder)] == [
        f"{STARTING_KIT_FOLDER}/deep/a.txt"
    ]
    single = tmp_path / STARTING_KIT_FOLDER
    single.write_text("a file of this name is no folder")
    assert [file.name for file in open_input_files(single)] == [STARTING_KIT_FOLDER]
    assert open_starting_kit_files(single) == []


@pytest.mark.django_db
@pytest.mark.both_databases
def test_the_same_gold_with_another_kit_stays_the_same_version(tmp_path):
    season = factories.make_season()
    phase = factories.make_phase(task=declare(SMALL, season), with_gold=False)
    folder = tmp_path / "gold"
    (folder / STARTING_KIT_FOLDER).mkdir(parents=True)
    for name, text in GOLD.items():
        (folder / name).write_text(text)
    facts = {"task": phase.task, "split": phase.split, "paths": [folder]}
    first, _ = load_gold(**facts, reason="First release.")
    (folder / STARTING_KIT_FOLDER / "a.md").write_text("Begin.")
    again, is_new = load_gold(**facts, reason="A kit.")
    assert (again.pk, is_new) == (first.pk, False)
    assert first.public != again.public
    (folder / STARTING_KIT_FOLDER / "b.md").write_bytes(
        (folder / next(iter(GOLD))).read_bytes()
    )
    with pytest.raises(InputRefused, match="this is the gold"):
        load_gold(**facts, reason="The gold as a kit.")


TEXT = next(iter(GOLD.values()))


def tar_of(**files: bytes) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return content.getvalue()


def nested(depth: int, text: str = TEXT) -> bytes:
    """Return the text in a zip in a zip, and so on to the depth."""
    content: str | bytes = text
    for number in range(depth):
        content = packed({f"{number}.bin": content})
    assert isinstance(content, bytes)
    return content


@pytest.mark.parametrize(
    "file",
    [
        {"other_ends.txt": TEXT.replace("\n", "\r\n\r\n")},
        {"packed.gz": gzip.compress(TEXT.encode())},
        {"zip.zip": nested(1)},
        {"in_a_zip_in_a_zip.zip": nested(2)},
        {"three_deep.dat": nested(MAX_ARCHIVE_DEPTH)},
        {"behind_a_program.exe": b"MZ" + nested(1)},
        {"tar.tar": tar_of(a=TEXT.encode())},
        {"tar.tgz": gzip.compress(tar_of(a=b"", b=nested(1)))},
        {"tar_after_tar.tar": tar_of(a=b"x") + tar_of(b=TEXT.encode())},
        {"clutter.zip": packed({"__MACOSX/.DS_Store": TEXT})},
        {
            "a_kit_in_the_kit.zip": packed(
                {f"{STARTING_KIT_FOLDER}/a.txt": TEXT, "nonce.txt": TEXT}
            )
        },
        {"behind_a_cut_zip.zip": nested(1)[:30] + nested(1)},
        {"folder_with_text.zip": packed({"folder/": TEXT})},
    ],
    ids=lambda file: next(iter(file)),
)
def test_gold_within_archives_of_the_kit_is_refused(pack, tmp_path, file):
    assert "this is the gold" in pack({**GOLD, **kit(**file)})[0]
    assert not list(tmp_path.glob("kit-*"))


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ({"four_deep.zip": nested(MAX_ARCHIVE_DEPTH + 1)}, "nested more than 3 deep"),
        (
            {"deep.zip": nested(MAX_ARCHIVE_DEPTH + 1, "no gold")},
            "nested more than 3 deep",
        ),
        ({"a.7z": b"7z\xbc\xaf\x27\x1c"}, "not looked into"),
        ({"of_another_name.txt": b"Rar!\x1a\x07"}, "not looked into"),
        ({"a.xz": b"no archive"}, "not looked into"),
        ({"in.zip": packed({"a.bz2": b"BZh"})}, "not looked into"),
        ({"broken.zip": b"PK\x03\x04 and no more"}, "not looked into"),
        ({"cut.gz": gzip.compress(TEXT.encode())[:-9]}, "damaged"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_an_archive_that_cannot_be_looked_into_is_refused(pack, tmp_path, file, reason):
    assert reason in pack({**GOLD, **kit(**file)})[0]
    assert not list(tmp_path.glob("kit-*"))


@pytest.mark.parametrize(
    ("limit", "file"),
    [
        ("MAX_BYTES_IN_ARCHIVES", {"bomb.gz": gzip.compress(b"0" * 5000)}),
        ("MAX_BYTES_IN_ARCHIVES", {"a.zip": nested(2, "0" * 5000)}),
        (
            "MAX_FILES_IN_ARCHIVES",
            {"a.zip": packed({str(number): "" for number in range(101)})},
        ),
    ],
    ids=["gzip", "bytes", "files"],
)
def test_archives_of_the_kit_have_limits(pack, monkeypatch, limit, file):
    monkeypatch.setattr(f"tasks.gold.kits.{limit}", 100)
    assert "more than" in pack({**GOLD, **kit(**file)})[0]


@pytest.mark.parametrize(
    "file",
    [
        {"deep.zip": nested(MAX_ARCHIVE_DEPTH, "no gold")},
        {"sample.tgz": gzip.compress(tar_of(a=b"no gold"))},
        {"table.xlsx": packed({"xl/workbook.xml": "<x/>"})},
        {"empty.txt": ""},
        {"end_record_of_a_zip.png": b"\x89PNG PK\x05\x06 \0"},
    ],
    ids=lambda file: next(iter(file)),
)
def test_archives_without_gold_are_given_out(pack, file):
    _gold, public = pack({**GOLD, **kit(**file)})
    assert f"{STARTING_KIT_FOLDER}/{next(iter(file))}" in public


@pytest.fixture
def reordered(db, tmp_path):
    """Load gold with a pool of documents and a kit, and write the pool in another order.

    Return the version, the arguments to load the gold again, and the pool as it was.
    """
    declared = task_type(str(EXAMPLES / "tasks" / POOL))
    task = factories.make_task(
        type=declared.slug,
        declaration=store_declaration(declared),
        rules=list(declared.rules),
    )
    phase = factories.make_phase(task=task, with_gold=False)
    folder = tmp_path / "gold"
    shutil.copytree(EXAMPLES / "field-tasks" / POOL / "gold", folder)
    (folder / STARTING_KIT_FOLDER).mkdir()
    (folder / STARTING_KIT_FOLDER / "old.md").write_text("Old.")
    facts = {"task": task, "split": phase.split, "paths": [folder]}
    first, _ = load_gold(**facts, reason="First release.")
    pool = folder / "corpus.jsonl"
    before = pool.read_bytes()
    pool.write_bytes(b"".join(reversed(before.splitlines(keepends=True))))
    (folder / STARTING_KIT_FOLDER / "old.md").unlink()
    return first, facts, before


def names_in(name):
    with storage.gold_file_storage.open(name, "rb") as stored:
        return zipfile.ZipFile(stored).namelist()


def kit_in(name):
    return [
        inside
        for inside in names_in(name)
        if inside.startswith(f"{STARTING_KIT_FOLDER}/")
    ]


@pytest.mark.both_databases
def test_the_same_gold_in_another_order_takes_the_new_kit(reordered):
    first, facts, before = reordered
    (facts["paths"][0] / STARTING_KIT_FOLDER / "new.md").write_text("New.")
    again, is_new = load_gold(**facts, reason="Another order.")
    assert (again.pk, is_new) == (first.pk, False)
    assert (
        kit_in(again.public) == kit_in(again.file) == [f"{STARTING_KIT_FOLDER}/new.md"]
    )
    assert set(names_in(again.file)) - set(names_in(first.file)) == {
        f"{STARTING_KIT_FOLDER}/new.md"
    }
    # Runs and pages follow the order of the first upload.
    with storage.gold_file_storage.open(again.file, "rb") as stored:
        assert zipfile.ZipFile(stored).read("gold/corpus.jsonl") == before


@pytest.mark.both_databases
def test_the_same_gold_in_another_order_without_a_kit_takes_the_kit_away(reordered):
    first, facts, _before = reordered
    again, is_new = load_gold(**facts, reason="Another order.")
    assert (again.pk, is_new) == (first.pk, False)
    assert kit_in(again.public) == kit_in(again.file) == []


def test_the_gold_in_its_present_order_is_no_kit(reordered):
    first, facts, before = reordered
    (facts["paths"][0] / STARTING_KIT_FOLDER / "sample.zip").write_bytes(
        packed({"a": before})
    )
    with pytest.raises(InputRefused, match="this is the gold"):
        load_gold(**facts, reason="Another order.")
    first.refresh_from_db()
    assert kit_in(first.public) == [f"{STARTING_KIT_FOLDER}/old.md"]
