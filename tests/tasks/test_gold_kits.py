"""Files below `starting-kit` in gold are given out as they are; readers of gold and runs skip them."""

import json
import zipfile

import pytest

from tasks.gold import packing
from tasks.gold.gold_files import load_gold
from tasks.types import InputRefused
from tasks.types.files import KIT, open_input, open_kit
from tests import factories
from tests.declared.small_tasks import SMALL_TASKS, declare
from tests.exchange.bundles import packed

SMALL = SMALL_TASKS["labels"]
GOLD = SMALL.gold_files()
FOLDER = json.dumps({"task.toml": SMALL.toml, "card.md": "# A card\n"})


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """Return the problems of a gold archive, or else the names in both packed archives."""
    monkeypatch.chdir(tmp_path)

    def packs(files, inputs=0):
        (tmp_path / packing.UPLOAD).write_bytes(packed(files))
        facts = {"options": {}, "filename": "gold.zip", "reading": 3, "inputs": inputs}
        told = packing.pack({**facts, "task_type": FOLDER})
        if told["problems"]:
            return [problem["message"] for problem in told["problems"]]
        return [
            zipfile.ZipFile(tmp_path / name).namelist()
            for name in (packing.GOLD, packing.PUBLIC)
        ]

    return packs


def kit(**files):
    return {f"{KIT}/{name}": content for name, content in files.items()}


def test_the_kit_is_in_the_gold_and_in_the_public_archive_and_is_no_gold(pack):
    files = kit(**{"a.jsonl": "no gold", "b/c.zip": packed({"d": "e"}), "f": b"\0\xff"})
    gold, public = pack({**GOLD, **files})
    assert [name for name in gold if name.startswith(KIT)] == sorted(files)
    assert [name for name in public if name.startswith(KIT)] == sorted(files)
    assert not set(GOLD) & set(public)


def test_the_kit_may_come_as_an_archive_beside_the_gold(pack):
    [[name, text]] = GOLD.items()
    gold, public = pack(
        {f"0/{name}": text, "1/files.zip": packed(kit(**{"a.md": "x"}))}, inputs=2
    )
    assert gold == sorted([name, f"{KIT}/a.md"])
    assert f"{KIT}/a.md" in public


@pytest.mark.parametrize("folder", [f"./{KIT}", f"{KIT}/", f"{KIT}/."])
def test_files_of_the_kit_have_the_plain_name_of_its_folder(pack, folder):
    gold, public = pack({**GOLD, f"{folder}/a.md": "x"})
    assert f"{KIT}/a.md" in gold
    assert f"{KIT}/a.md" in public


def test_two_spellings_of_a_name_in_the_kit_are_refused(pack):
    files = {f"{KIT}/a.md": "x", f"./{KIT}/a.md": "y"}
    assert f"is called {KIT}/a.md as well" in pack({**GOLD, **files})[0]


@pytest.mark.parametrize(
    ("limit", "files", "expected"),
    [
        ("MAX_KIT", {"a": "12345678901"}, "the files are larger"),
        ("MAX_KIT_FILES", {f"{n}": "" for n in range(11)}, "11 files"),
        ("MAX_NAMED", {"a.jsonl": next(iter(GOLD.values()))}, "this is the gold"),
        ("MAX_NAMED", {"../a": "x"}, "its name leads out of the archive"),
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
    (folder / KIT / "deep").mkdir(parents=True)
    (folder / KIT / "deep" / "a.txt").write_text("x")
    (folder / "b.txt").write_text("y")
    (folder / KIT / "link").symlink_to(folder / "b.txt")
    assert [file.name for file in open_input(folder)] == ["gold/b.txt"]
    assert [file.name for file in open_kit(folder)] == [f"{KIT}/deep/a.txt"]
    single = tmp_path / KIT
    single.write_text("a file of this name is no folder")
    assert [file.name for file in open_input(single)] == [KIT]
    assert open_kit(single) == []


@pytest.mark.django_db
@pytest.mark.both_databases
def test_the_same_gold_with_another_kit_stays_the_same_version(tmp_path):
    season = factories.make_season()
    phase = factories.make_phase(task=declare(SMALL, season), with_gold=False)
    folder = tmp_path / "gold"
    (folder / KIT).mkdir(parents=True)
    for name, text in GOLD.items():
        (folder / name).write_text(text)
    facts = {"task": phase.task, "split": phase.split, "paths": [folder]}
    first, _ = load_gold(**facts, reason="First release.")
    (folder / KIT / "a.md").write_text("Begin.")
    again, is_new = load_gold(**facts, reason="A kit.")
    assert (again.pk, is_new) == (first.pk, False)
    assert first.public != again.public
    (folder / KIT / "b.md").write_bytes((folder / next(iter(GOLD))).read_bytes())
    with pytest.raises(InputRefused, match="this is the gold"):
        load_gold(**facts, reason="The gold as a kit.")
