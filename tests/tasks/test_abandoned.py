"""What killed processes leave on disk goes after a while; what anybody uses or a row names stays."""

import datetime as dt
import os
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.management import call_command
from django.utils import timezone

from citeboard.core import storage
from tasks.gold import drafts
from tasks.models import Submission
from tasks.submissions import uploads
from tests.factories import make_submission

pytestmark = pytest.mark.django_db


def later() -> dt.datetime:
    return timezone.now() + uploads.MIN_FILE_AGE_FOR_REMOVAL + dt.timedelta(minutes=1)


@pytest.fixture(autouse=True)
def incoming(db, tmp_path, settings) -> Path:
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    for part in ("3e", "3f"):  # what other tests have stored
        uploads.remove_unreferenced_runs(part, later())
    return tmp_path


def put(name: str) -> str:
    return storage.run_file_storage.save(name, ContentFile(b"a run"))


def test_a_file_that_had_half_arrived_goes_after_an_hour(incoming):
    (incoming / "half.upload").write_bytes(b"ha")
    assert uploads.remove_incomplete_uploads() == 0
    assert uploads.remove_incomplete_uploads(later()) == 1
    assert list(incoming.iterdir()) == []


def test_an_upload_that_still_arrives_is_as_young_as_its_last_bytes(incoming):
    slow = incoming / "slow.upload"
    slow.write_bytes(b"begun long ago")
    os.utime(slow, (0, 0))
    with slow.open("ab") as file:
        file.write(b", and still on its way")
    assert uploads.remove_incomplete_uploads() == 0


def test_a_stored_run_that_no_row_names_goes_after_an_hour():
    orphan = put("3f/3fab/0123abcd/run.jsonl")
    assert uploads.remove_unreferenced_runs("3f") == 0
    assert storage.run_file_storage.exists(orphan)
    assert uploads.remove_unreferenced_runs("3e", later()) == 0
    assert uploads.remove_unreferenced_runs("3f", later()) == 1
    assert not storage.run_file_storage.exists(orphan)
    assert uploads.remove_unreferenced_runs("3f", later()) == 0


@pytest.mark.parametrize("status", Submission.Status.values)
def test_a_run_that_a_row_names_stays_whatever_became_of_it(status):
    run = make_submission(status=status)
    orphan = put(run.file.replace("run.jsonl", "other.jsonl"))
    assert uploads.remove_unreferenced_runs(run.file[:2], later()) >= 1
    assert storage.run_file_storage.exists(run.file)
    assert not storage.run_file_storage.exists(orphan)


def test_a_file_that_goes_while_it_is_looked_at_is_nobody_s_fault(monkeypatch):
    monkeypatch.setattr(
        "citeboard.core.storage.os.walk", lambda folder: [(folder, [], ["gone"])]
    )
    assert uploads.remove_unreferenced_runs("4a", later()) == 0


def test_a_storage_of_nothing_has_nothing_to_remove():
    assert uploads.remove_unreferenced_runs("no folder", later()) == 0


def test_sweeping_by_hand_says_what_was_removed(incoming, monkeypatch, capsys):
    monkeypatch.setattr(uploads, "CHECKSUM_FOLDER_NAMES", ["5b"])
    (incoming / "half.upload").write_bytes(b"ha")
    os.utime(incoming / "half.upload", (0, 0))
    orphan = Path(storages["default"].path(f"runs/{put('5b/5bab/89abcdef/run.jsonl')}"))
    os.utime(orphan, (0, 0))
    call_command("sweep")
    assert "2 files of uploads that broke off removed" in capsys.readouterr().out
    assert not orphan.exists()


def test_a_refused_file_that_nobody_sends_repaired_goes_after_an_hour(
    incoming, monkeypatch
):
    monkeypatch.setattr(uploads, "CHECKSUM_FOLDER_NAMES", ["5b"])
    refused = put("kept/7/0123abcd/run.jsonl")
    uploads.remove_abandoned_files()
    assert storage.run_file_storage.exists(refused)
    assert uploads.remove_abandoned_files(later()) >= 1
    assert not storage.run_file_storage.exists(refused)


def test_a_draft_goes_when_nobody_can_confirm_it_any_more(tmp_path):
    (tmp_path / "bundle.zip").write_bytes(b"a bundle")
    draft = drafts.store_gold_draft(tmp_path / "bundle.zip")
    gold = storage.gold_file_storage.save(
        "3f/3fab/gold-0123456789abcdef.zip", ContentFile(b"gold")
    )
    last = timezone.now() + drafts.MAX_DRAFT_SIGNATURE_AGE
    drafts.remove_old_gold_drafts(last)
    assert storage.gold_file_storage.exists(draft)
    late = timezone.now() + drafts.DRAFT_RETENTION_PERIOD + dt.timedelta(minutes=1)
    assert drafts.remove_old_gold_drafts(late) >= 1
    assert not storage.gold_file_storage.exists(draft)
    assert storage.gold_file_storage.exists(gold)


def test_pruning_leaves_a_draft_that_somebody_may_confirm(tmp_path, capsys):
    (tmp_path / "bundle.zip").write_bytes(b"a bundle")
    draft = drafts.store_gold_draft(tmp_path / "bundle.zip")
    orphan = storage.gold_file_storage.save(
        "3f/3fab/gold-0123456789abcdef.zip", ContentFile(b"gold")
    )
    for name in (draft, orphan):
        os.utime(storages["default"].path(f"gold/{name}"), (0, 0))
    call_command("prune")
    assert storage.gold_file_storage.exists(draft)
    assert not storage.gold_file_storage.exists(orphan)
    call_command("sweep")
    assert "drafts that nobody confirmed removed" in capsys.readouterr().out
    assert not storage.gold_file_storage.exists(draft)
