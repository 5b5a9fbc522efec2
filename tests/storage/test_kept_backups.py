"""Backups that cost what is new: beside an earlier one, and in a bucket, from where a site comes back."""

import json
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from citeboard.core import storage
from citeboard.ops import bucket_backups
from citeboard.ops.backups import MANIFEST_FILE, read_manifest
from tasks.models import Submission
from tests.api.sending import score
from tests.factories import make_phase, make_submission, run_bytes
from tests.own_database import empty_system, manage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def backup(target: Path, *options: str) -> dict[str, tuple[int, str]]:
    call_command("backup", str(target), *options)
    return dict(read_manifest(target).files)


def names_of_one_file(target: Path, name: str) -> int:
    return (target / name).stat().st_nlink


@pytest.fixture
def phase():
    phase = make_phase()
    score(
        make_submission(
            phase=phase, system="First", content=run_bytes(sentences=("1",))
        )
    )
    return phase


def test_an_incremental_backup_links_what_the_newest_one_has_and_copies_what_is_new_or_damaged(
    phase, tmp_path
):
    first, second, third = (
        tmp_path / name for name in ("monday", "tuesday", "wednesday")
    )
    before = backup(first)
    score(
        make_submission(
            phase=phase, system="Second", content=run_bytes(sentences=("2",))
        )
    )
    after = backup(second, "--incremental")
    old = {name for name in before if name.startswith("files/")}
    new = {name for name in after if name.startswith("files/")} - old
    assert old
    assert new
    assert {names_of_one_file(second, name) for name in old} == {2}
    assert {names_of_one_file(second, name) for name in new} == {1}
    damaged = min(old)
    (second / damaged).write_bytes(b"damaged on this disk")
    backup(third, "--incremental")
    assert names_of_one_file(third, damaged) == 1
    assert read_manifest(third).files[damaged] == before[damaged]
    # It is whole by itself, whatever becomes of the others.
    call_command("backup", str(tmp_path / "thursday"), "--incremental", "--keep", "1")
    assert not third.exists()
    call_command("restore", str(tmp_path / "thursday"), "--overwrite")
    assert Submission.objects.count() == 2


def test_an_incremental_backup_names_what_the_site_has_lost_as_any_does(
    phase, tmp_path
):
    backup(tmp_path / "monday")
    run = Submission.objects.get().file
    storage.run_file_storage.delete(run)
    with pytest.raises(CommandError, match="lacks 1 file that the site has lost"):
        call_command("backup", str(tmp_path / "tuesday"), "--incremental")
    assert list(read_manifest(tmp_path / "tuesday").lost) == [f"runs/{run}"]


@pytest.mark.slow
def test_a_bucket_gets_what_is_new_and_gives_back_the_site_of_a_moment(
    phase, bucket, tmp_path, capsys
):
    first = len(set(backup(tmp_path / "monday", "--bucket", bucket).values()))
    score(
        make_submission(
            phase=phase, system="Second", content=run_bytes(sentences=("2",))
        )
    )
    backup(tmp_path / "tuesday", "--bucket", bucket)
    counts = [
        int(number)
        for number in re.findall(
            r"(\d+) new files? in the bucket", capsys.readouterr().out
        )
    ]
    assert counts[0] == first
    assert 0 < counts[1] < first
    monday = (
        read_manifest(tmp_path / "monday").made_at.partition("+")[0].replace(":", "-")
    )
    with empty_system(tmp_path / "other") as environment:
        environment["DJANGO_SETTINGS_MODULE"] = "tests.plain_static"
        said = manage(
            environment,
            "restore",
            tmp_path / "fetched",
            "--bucket",
            bucket,
            "--moment",
            monday,
        )
        assert said.returncode == 0, said.stderr
        assert said.stdout.endswith("Every file and every board is what it was.\n")
    assert (
        read_manifest(tmp_path / "fetched").boards
        == read_manifest(tmp_path / "monday").boards
    )
    # Of two moments the older goes, with what it alone had.
    backup(tmp_path / "wednesday", "--bucket", bucket, "--keep", "1")
    assert f"{monday}: removed from the bucket" in capsys.readouterr().out
    with pytest.raises(CommandError, match=f"no backup of {monday}; there are "):
        call_command(
            "restore", str(tmp_path / "again"), "--bucket", bucket, "--moment", monday
        )
    call_command("restore", str(tmp_path / "newest"), "--bucket", bucket, "--overwrite")
    assert Submission.objects.count() == 2


def test_a_bucket_that_is_wrong_refused_or_empty_changes_nothing_here(
    phase, bucket, refused, tmp_path
):
    with pytest.raises(CommandError, match="no address of a bucket"):
        call_command("backup", str(tmp_path / "monday"), "--bucket", "s3:/nothing")
    assert not (tmp_path / "monday").exists()
    with pytest.raises(CommandError, match="no backup of any moment; there is none"):
        call_command("restore", str(tmp_path / "monday"), "--bucket", bucket)
    refused()
    with pytest.raises(CommandError, match="The backup is here and not in the bucket"):
        call_command("backup", str(tmp_path / "monday"), "--bucket", bucket)
    assert json.loads((tmp_path / "monday" / MANIFEST_FILE).read_text())["form"] == 1


def test_a_backup_fetched_from_a_bucket_that_was_tampered_with_is_refused(
    phase, bucket, tmp_path
):
    backup(tmp_path / "monday", "--bucket", bucket)
    opened = bucket_backups.open_bucket(bucket)
    name = next(
        entry.name
        for entry in opened.entries(bucket_backups.CONTENTS_PREFIX)
        if entry.size
    )
    opened.delete(name)
    (tmp_path / "other").write_bytes(b"another")
    bucket_backups._upload_to_bucket(opened, name, tmp_path / "other")
    with pytest.raises(
        CommandError, match=r"the backup is damaged: .*; nothing was changed"
    ):
        call_command(
            "restore", str(tmp_path / "fetched"), "--bucket", bucket, "--overwrite"
        )
