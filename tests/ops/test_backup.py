"""A backup holds a whole site as of one moment, and a restored site is what it was."""

import json
import sqlite3
import threading
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import connection, models

from citeboard.core import storage
from citeboard.ops import backups
from citeboard.ops.backups import MANIFEST_FILE, read_manifest
from citeboard.ops.pruning import MODEL_FILE_COLUMNS, list_referenced_files
from scoring.exchange.mounted import list_mounted_archives
from scoring.models import Evaluation
from tasks.models import Gold, Phase, Submission
from tests.api.sending import score
from tests.archive.archives import BOARD, SLUG, write_small_archive
from tests.factories import make_phase, make_submission, run_bytes
from tests.own_database import empty_system, manage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

ASKED = """
from django.test import Client
from citeboard.teams.models import Team
from citeboard.ops.backups import compute_board_digests
import json
client = Client(headers={{"host": "localhost"}})
home = client.get("/")
board = client.get("/api/v1/phases/{phase}/leaderboard/")
team = Team.objects.create(name="New", slug="new")
systems = [row["system"] for row in board.json()["rows"]]
print(json.dumps([home.status_code, systems, compute_board_digests(), team.pk]))
"""


@pytest.fixture
def phase() -> Phase:
    """With two scored runs on its board."""
    phase = make_phase()
    for system, sentence in (("First", "1"), ("Second", "2")):
        score(
            make_submission(
                phase=phase, system=system, content=run_bytes(sentences=(sentence,))
            )
        )
    return phase


@pytest.fixture
def target(tmp_path) -> Path:
    return tmp_path / "backups" / "monday"


def backup(target: Path, *options: str) -> None:
    call_command("backup", str(target), *options)


@pytest.mark.slow
def test_a_restored_site_is_what_it_was(phase, target, tmp_path):
    call_command(
        "mount_archive", str(write_small_archive(tmp_path / "archive")), verbosity=0
    )
    backup(target)
    with empty_system(tmp_path / "other") as environment:
        environment["DJANGO_SETTINGS_MODULE"] = "tests.plain_static"
        said = manage(environment, "restore", target)
        assert said.returncode == 0, said.stderr
        assert said.stdout.endswith("Every file and every board is what it was.\n")
        asked = manage(
            environment,
            "shell",
            "--verbosity=0",
            "--command",
            ASKED.format(phase=phase.pk),
        )
        assert asked.returncode == 0, asked.stderr
        home, systems, boards, team = json.loads(asked.stdout)
        assert home == 200
        assert systems == ["First", "Second"]
        assert boards == read_manifest(target).boards
        assert len(boards) == len(phase.task.rules)
        assert team > max(Submission.objects.values_list("team", flat=True))
        kept = Path("archives", SLUG, "content", "boards", f"{BOARD}.json")
        assert (tmp_path / "other" / kept).read_bytes() == (
            list_mounted_archives()[0].content / "boards" / kept.name
        ).read_bytes()
        (tmp_path / "other" / kept).write_text("changed since")
        assert (tmp_path / "other" / "secret-key").read_text() == (
            target / "secret-key"
        ).read_text()
        again = manage(environment, "restore", target)
        assert again.returncode == 1
        assert (
            "this system is not empty: it has users; nothing was changed"
            in again.stderr
        )
        over = manage(environment, "restore", target, "--overwrite")
        assert over.returncode == 0, over.stderr
        assert (tmp_path / "other" / kept).read_bytes() == (target / kept).read_bytes()


NEWER = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE tasks_newer (id int, season_id int REFERENCES tasks_season (id))")
"""
TABLES_THERE = (
    "from django.db import connection; print(connection.introspection.table_names())"
)


@pytest.mark.slow
def test_a_restore_leaves_no_table_that_a_newer_release_has_made(
    phase, target, tmp_path
):
    """Its migrations would stumble over the table when the site is upgraded again."""
    backup(target)
    with empty_system(tmp_path / "other") as environment:
        environment["DJANGO_SETTINGS_MODULE"] = "tests.plain_static"
        manage(environment, "migrate", "--verbosity=0")
        manage(environment, "shell", "--verbosity=0", "--command", NEWER)
        shell = ("shell", "--verbosity=0", "--command", TABLES_THERE)
        assert "tasks_newer" in manage(environment, *shell).stdout
        restored = manage(environment, "restore", target, "--overwrite")
        assert restored.returncode == 0, restored.stderr
        assert "tasks_newer" not in manage(environment, *shell).stdout


def test_what_comes_in_after_the_snapshot_is_left_out_and_waits_for_nothing(
    phase, target, monkeypatch
):
    real, came = backups.compute_board_digests, []

    def send() -> None:
        try:
            came.append(make_submission(phase=Phase.objects.get(pk=phase.pk)).pk)
        finally:
            connection.close()

    def digests_while_somebody_sends():
        sender = threading.Thread(target=send)
        sender.start()
        sender.join()
        return real()

    monkeypatch.setattr(backups, "compute_board_digests", digests_while_somebody_sends)
    backup(target)
    assert Submission.objects.filter(pk__in=came).count() == 1
    named = {
        f"files/{storage.run_file_storage.folder}/{run.file}"
        for run in Submission.objects.exclude(pk__in=came)
    }
    assert {
        name for name in read_manifest(target).files if name.startswith("files/runs/")
    } == named


def test_matrices_that_are_replaced_meanwhile_are_those_of_the_next_snapshot(
    phase, target, monkeypatch
):
    evaluation, real, snapshots = (
        Evaluation.objects.first(),
        backups.compute_board_digests,
        [],
    )

    def replaced() -> None:
        new = storage.statistics_file_storage.save(
            "1/job-1-1-newer.npz", ContentFile(b"newer")
        )
        Evaluation.objects.filter(pk=evaluation.pk).update(statistics=new)
        storage.statistics_file_storage.delete(evaluation.statistics)
        connection.close()

    def digests():
        snapshots.append(1)
        if len(snapshots) == 1:
            other = threading.Thread(target=replaced)
            other.start()
            other.join()
        return real()

    monkeypatch.setattr(backups, "compute_board_digests", digests)
    backup(target)
    manifest = read_manifest(target)
    assert len(snapshots) == 2
    assert manifest.lost == []
    assert "files/statistics/1/job-1-1-newer.npz" in manifest.files
    assert f"files/statistics/{evaluation.statistics}" not in manifest.files


def test_what_the_site_itself_has_lost_is_named_and_the_rest_is_kept(
    phase, target, capsys
):
    lost, damaged = Submission.objects.order_by("pk")
    storage.run_file_storage.delete(lost.file)
    storage.run_file_storage.delete(damaged.file)
    assert (
        storage.run_file_storage.save(damaged.file, ContentFile(b"another"))
        == damaged.file
    )
    with pytest.raises(
        CommandError, match="lacks 2 files that the site has lost"
    ) as ended:
        call_command("backup", str(target))
    assert ended.value.returncode == 3
    manifest = read_manifest(target)
    assert set(manifest.lost) == {f"runs/{lost.file}", f"runs/{damaged.file}"}
    assert not [name for name in manifest.files if name.startswith("files/runs/")]
    assert f"files/gold/{Gold.objects.get().file}" in manifest.files


def test_a_damaged_backup_is_refused_before_anything_is_touched(
    phase, target, tmp_path
):
    backup(target)
    database = next(
        path
        for path in target.rglob("*")
        if path.name in ("database.sqlite3", "teams_user.copy")
    )
    database.write_bytes(database.read_bytes()[:-1])
    (target / "more").write_text("x")
    with pytest.raises(
        CommandError,
        match=r"the backup is damaged: .*, and 1 more; nothing was changed",
    ):
        call_command("restore", str(target), "--overwrite")
    (target / MANIFEST_FILE).unlink()
    with pytest.raises(CommandError, match=r"is no backup: it has no manifest\.json"):
        call_command("restore", str(target), "--overwrite")
    assert Submission.objects.count() == 2


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"database": {"vendor": "oracle"}},
            "the backup is of oracle, and DATABASE_URL names a",
        ),
        (
            {"migrations": ["tasks.9999_later"]},
            r"of a newer release, .*\(tasks\.9999_later\)",
        ),
        ({"form": 2}, "a backup of form 2; this release reads form 1"),
        ({"files": None}, "cannot be read as a manifest"),
    ],
)
def test_a_backup_that_does_not_belong_here_is_refused(phase, target, changed, words):
    backup(target)
    said = json.loads((target / MANIFEST_FILE).read_text())
    (target / MANIFEST_FILE).write_text(json.dumps(said | changed))
    with pytest.raises(CommandError, match=words):
        call_command("restore", str(target), "--overwrite")


def test_a_backup_is_written_where_nothing_is_and_leaves_nothing_when_it_fails(
    phase, target, monkeypatch
):
    target.mkdir(parents=True)
    (target / "mine").write_text("x")
    with pytest.raises(CommandError, match=r"No backup was made: .* is there already"):
        backup(target)
    (target / "mine").unlink()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backups, "write_database_backup", full)
    with pytest.raises(CommandError, match=r"No backup was made: .*No space left"):
        backup(target)
    assert list(target.parent.rglob("*")) == [target]


def test_the_secret_key_is_said_to_be_absent_where_it_is(
    phase, target, settings, monkeypatch
):
    backup(target, "--without-secret")
    assert read_manifest(target).secret == "absent: it was left out"
    given = {**settings.ENVIRONMENT.values, "CITEBOARD_SECRET_KEY": settings.SECRET_KEY}
    monkeypatch.setattr(settings.ENVIRONMENT, "values", given)
    other = target.with_name("tuesday")
    backup(other)
    manifest = read_manifest(other)
    assert manifest.secret == "absent: the environment gives it"
    assert manifest.secret_print == read_manifest(target).secret_print
    assert not [
        name
        for folder in (target, other)
        for name in read_manifest(folder).files
        if "secret" in name
    ]


def test_only_backups_beside_it_are_removed_and_the_newest_stay(phase, target):
    for name in ("monday", "tuesday", "wednesday"):
        (target.parent / "not-one").mkdir(parents=True, exist_ok=True)
        backup(target.with_name(name), "--keep", "2")
    assert sorted(path.name for path in target.parent.iterdir()) == [
        "not-one",
        "tuesday",
        "wednesday",
    ]
    with pytest.raises(CommandError, match="at least 1"):
        backup(target, "--keep", "0")


def test_every_column_that_names_a_file_is_known():
    """A column says so in its help text; one that is forgotten would be left out of backups."""
    from django.apps import apps

    said = {
        (model, field.name)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, models.CharField) and "storage" in field.help_text
    }
    assert said == {(model, name) for model, name, _ in MODEL_FILE_COLUMNS}
    assert len(said) == 10


def test_files_are_named_with_what_their_rows_say_of_their_content(phase):
    found = {file.name: file.sha256 for file in list_referenced_files()}
    run, gold = Submission.objects.first(), Gold.objects.get()
    assert found[f"runs/{run.file}"] == run.sha256
    assert len(found[f"gold/{gold.index}"]) == 16
    assert found[f"statistics/{Evaluation.objects.first().statistics}"] == ""


@pytest.mark.skipif("connection.vendor != 'sqlite'")
def test_the_copy_of_sqlite_is_one_file_that_opens_by_itself(phase, target):
    backup(target)
    [(mode,)] = sqlite3.connect(
        f"file:{target}/database.sqlite3?immutable=1", uri=True
    ).execute("PRAGMA journal_mode")
    assert mode == "delete"
