"""Runs and gold in whatever storage the site has: the same names, the same promises."""

import errno

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage

from citeboard.core import storage
from citeboard.core.env import build_storage_settings
from scoring.worker.score import score
from tasks.gold.gold_files import load_instance_index_of_gold
from tasks.models import Gold, Submission
from tasks.submissions import uploads
from tests.factories import make_phase, make_submission, other_run
from tests.faults.promises import assert_scored_exactly_once


@pytest.mark.django_db
def test_a_run_and_its_gold_go_through_any_storage(kept_in, tmp_path):
    phase = make_phase()
    run = make_submission(phase=phase, content=other_run(5))
    copy = storage.copy_to_local_folder(storage.run_file_storage, run.file, tmp_path)
    assert (copy.name, copy.read_bytes()) == ("run.jsonl", other_run(5))
    gold = Gold.objects.current(phase)
    assert (
        storage.copy_to_local_folder(storage.gold_file_storage, gold.file, tmp_path)
        .stat()
        .st_size
        > 0
    )
    assert load_instance_index_of_gold(gold)["topics"]
    with pytest.raises(NotImplementedError):
        storage.run_file_storage.path(run.file)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_a_run_is_checked_scored_and_scored_again_from_any_storage(kept_in):
    run = make_submission()
    job = run.jobs.get()
    score(job.pk)
    assert_scored_exactly_once(run)
    job.refresh_from_db()
    job.state, job.attempt = "queued", 1
    job.save()
    score(job.pk)
    assert_scored_exactly_once(run, receipts=2)
    (name,) = (
        entry.name for entry in storage.statistics_file_storage.entries(str(run.pk))
    )
    assert name.startswith(f"{run.pk}/job-{job.pk}-2-")


@pytest.mark.both_databases
@pytest.mark.django_db
def test_what_no_row_names_is_found_and_removed_in_any_storage(kept_in, monkeypatch):
    run = make_submission()
    storage.run_file_storage.save(
        "3f/3fab/0123abcd/run.jsonl", ContentFile(b"nobody's")
    )
    monkeypatch.setattr(
        uploads, "MIN_FILE_AGE_FOR_REMOVAL", -uploads.MIN_FILE_AGE_FOR_REMOVAL
    )
    assert uploads.remove_unreferenced_runs("3f") == 1
    assert uploads.remove_unreferenced_runs(run.file[:2]) == 0
    assert [entry.name for entry in storage.run_file_storage.entries("")] == [run.file]


def test_each_folder_has_names_of_its_own(kept_in):
    names = [
        each.save("same.txt", ContentFile(b"x"))
        for each in (storage.run_file_storage, storage.statistics_file_storage)
    ]
    assert names == ["same.txt", "same.txt"]
    storage.run_file_storage.delete("same.txt")
    assert storage.statistics_file_storage.exists("same.txt")
    assert not storage.gold_file_storage.exists("same.txt")


def test_a_name_that_is_taken_keeps_its_file(kept_in):
    first, second = (
        storage.run_file_storage.save("run.txt", ContentFile(content))
        for content in (b"1", b"2")
    )
    assert first != second
    with (
        storage.run_file_storage.open(first) as one,
        storage.run_file_storage.open(second) as other,
    ):
        assert (one.read(), other.read()) == (b"1", b"2")


def test_no_file_has_an_address_that_goes_around_the_views():
    with pytest.raises(ValueError, match="served by views alone"):
        storage.gold_file_storage.url("gold.zip")


def test_a_disk_that_fills_up_leaves_nothing_of_what_did_not_fit(
    settings, tmp_path, monkeypatch
):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": build_storage_settings(None, tmp_path),
    }
    written = FileSystemStorage._save

    def stop_half_way(disk, name, content):
        written(disk, name, ContentFile(content.read(2)))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FileSystemStorage, "_save", stop_half_way)
    with pytest.raises(storage.StorageFull):
        storage.run_file_storage.save("run", ContentFile(b"content"))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.django_db
def test_a_missing_run_waits_and_says_so(kept_in):
    run = make_submission()
    storage.run_file_storage.delete(run.file)
    score(run.jobs.get().pk)
    run.refresh_from_db()
    assert run.status == Submission.Status.WAITING
    assert run.reason.startswith("A file is missing in the storage of the site;")
