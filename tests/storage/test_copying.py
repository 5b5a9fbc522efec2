"""Moving a site between a folder and a bucket: every file by its checksum, and nothing is ever lost."""

from io import StringIO

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.management import CommandError, call_command

from citeboard.core import storage
from citeboard.core.env import build_storage_settings, parse_bucket_url
from citeboard.core.storage import copying
from scoring.worker.score import score
from tests.factories import make_submission
from tests.faults.promises import assert_scored_exactly_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(settings, tmp_path):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": build_storage_settings(None, tmp_path / "files"),
    }
    return tmp_path / "files"


def copy(source: object, target: object, *options: str) -> str:
    out = StringIO()
    call_command("storage", "copy", str(source), str(target), *options, stdout=out)
    return out.getvalue()


def contents(place) -> dict[str, bytes]:
    found = {}
    for entry in place.entries(""):
        with place.open(entry.name) as file:
            found[entry.name] = file.read()
    return found


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_a_site_moves_into_a_bucket_and_back(folder, bucket, settings, tmp_path):
    run = make_submission()
    score(run.jobs.get().pk)
    here = contents(storages["default"])
    assert f"{len(here)} files" in copy(folder, bucket, "--dry-run")
    assert "copied and compared, no files there already" in copy(folder, bucket)
    settings.STORAGES = {
        **settings.STORAGES,
        "default": build_storage_settings(parse_bucket_url(bucket), tmp_path),
    }
    assert contents(storages["default"]) == here
    assert_scored_exactly_once(run)
    copy(bucket, tmp_path / "back")
    settings.STORAGES = {
        **settings.STORAGES,
        "default": build_storage_settings(None, tmp_path / "back"),
    }
    assert contents(storages["default"]) == here


def test_one_that_was_interrupted_goes_on_and_reads_nothing_twice(
    folder, tmp_path, monkeypatch
):
    names = [
        storage.run_file_storage.save(f"3f/{number}", ContentFile(b"x" * number))
        for number in range(1, 6)
    ]
    target, given = tmp_path / "there", copying.copy_file
    read = []

    def fail_at_the_third(source, place, name):
        if len(read) == 2:
            raise OSError(28, "No space left on device")
        read.append(name)
        return given(source, place, name)

    monkeypatch.setattr(copying, "copy_file", fail_at_the_third)
    with pytest.raises(CommandError, match="No space left on device"):
        copy(folder, target)
    monkeypatch.setattr(
        copying, "copy_file", lambda *told: read.append(told[2]) or given(*told)
    )
    assert "3 files (" in copy(folder, target)
    assert sorted(read) == sorted(f"runs/{name}" for name in names)
    assert (
        "no files (no bytes) copied and compared, 5 files there already, 5 of them known"
        in copy(folder, target)
    )


def test_another_file_of_the_same_name_is_kept_and_told(folder, tmp_path):
    storage.run_file_storage.save("run", ContentFile(b"ours"))
    other = tmp_path / "there" / "runs" / "run"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"another's")
    with pytest.raises(CommandError, match="runs/run is there with another content"):
        copy(folder, tmp_path / "there")
    assert other.read_bytes() == b"another's"


def test_a_copy_that_reads_otherwise_is_told(folder, tmp_path, monkeypatch):
    storage.run_file_storage.save("run", ContentFile(b"content"))
    digests = iter(["one", "another"])
    monkeypatch.setattr(
        copying, "_compute_file_digest", lambda place, name: next(digests)
    )
    with pytest.raises(CommandError, match="runs/run was written and reads otherwise"):
        copy(folder, tmp_path / "there")


def test_a_site_whose_files_are_gone_is_not_called_copied(folder, tmp_path):
    run = make_submission()
    storage.run_file_storage.delete(run.file)
    with pytest.raises(
        CommandError, match=f"runs/{run.file} is named by the database and is not there"
    ):
        copy(folder, tmp_path / "there")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("there", "neither an absolute folder"),
        ("s3://me:secret@there", "not the address of a bucket"),
    ],
)
def test_a_target_that_cannot_be_meant_is_refused_without_showing_a_secret(
    folder, target, words
):
    with pytest.raises(CommandError, match=words) as refused:
        copy(folder, target)
    assert "secret" not in str(refused.value)


def test_a_site_is_not_copied_onto_itself(folder):
    with pytest.raises(CommandError, match="the same place"):
        copy(folder, folder)
