"""A new release takes the place of an old one while runs are scored: nothing is lost or done twice."""

import fcntl
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from citeboard.core.database import (
    MIGRATION_LOCK_KEY,
    MIGRATION_LOCK_WAIT_MESSAGE,
    SCHEMA_EPOCH,
    UnusableSchema,
    raise_if_schema_unusable,
    read_schema_state,
)
from citeboard.core.models import SchemaEpoch
from tasks.models import Job
from tests.faults.promises import assert_scored_exactly_once, wait_until_settled
from tests.faults.serving import LONG, ROOT, Served, stopped, until
from tests.own_database import empty_system, manage

pytestmark = pytest.mark.both_databases

#: What a release is made of.
PARTS = ("manage.py", "platform", "tasks", "scoring", "templates", "static", "examples")
ADDS_A_TABLE = """
from django.db import migrations

class Migration(migrations.Migration):
    dependencies = [("scoring", "{last}")]
    operations = [migrations.RunSQL("CREATE TABLE later (id integer)", "DROP TABLE later")]
"""


@pytest.fixture
def newer(tmp_path, transactional_db):
    """The folder of a release with other code, and with a migration that only adds."""
    root = tmp_path / "newer"
    root.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, root / part)
    with (root / "scoring/worker/score.py").open("a") as code:
        code.write("\nNEWER = True\n")
    migrations = root / "scoring/migrations"
    last = max(path.stem for path in migrations.glob("0*.py"))
    (migrations / "0999_later.py").write_text(ADDS_A_TABLE.format(last=last))
    yield root
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS later")
        cursor.execute("DELETE FROM django_migrations WHERE name = '0999_later'")


@pytest.fixture
def newer_schema(transactional_db) -> None:
    SchemaEpoch.objects.create(number=SCHEMA_EPOCH + 1, since=timezone.now())


@contextmanager
def somebody_migrates(environment):
    if connection.vendor == "postgresql":
        with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as other:
            other.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK_KEY])
            yield other
        return
    with Path(environment["CITEBOARD_DATA_DIR"], "migrate.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.mark.worker
@pytest.mark.slow
def test_a_deploy_of_other_code_while_runs_are_scored_loses_none(
    serve, send, newer, child_environment, tmp_path
):
    old = serve(**LONG)
    with stopped(old.scorer):
        runs = [send() for _ in range(6)]
        until(
            lambda: Job.objects.filter(state="running").exists(),
            "a run is being scored",
        )
    new = Served({**child_environment, **LONG}, tmp_path / "newer.log", root=newer)
    try:
        new.wait_until_ready()
        assert read_schema_state().unknown == ["scoring.0999_later"]
        more = [send() for _ in range(3)]
        old.process.send_signal(signal.SIGTERM)
        assert old.process.wait() == 0
        for run in [*runs, *more, send()]:
            wait_until_settled(run)
            assert_scored_exactly_once(run)
            assert {job.attempt for job in run.jobs.all()} == {1}
    finally:
        new.destroy()


@pytest.mark.worker
@pytest.mark.slow
def test_an_old_release_ends_in_good_order_when_a_newer_one_takes_something_away(serve):
    served = serve()
    SchemaEpoch.objects.create(number=SCHEMA_EPOCH + 1)
    until(lambda: served.process.poll() is not None, "the old release has ended")
    assert served.process.returncode == UnusableSchema.exit_code
    assert (
        f"The database was upgraded to schema epoch {SCHEMA_EPOCH + 1} on "
        in served.said()
    )
    assert "Traceback" not in served.said()


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_an_old_release_does_not_start_on_a_newer_schema(
    newer_schema, child_environment, command
):
    said = manage(child_environment, command)
    assert said.returncode == UnusableSchema.exit_code
    assert (
        f"this release works with {SCHEMA_EPOCH}: start the release that it was upgraded to"
        in said.stderr
    )


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_a_database_of_before_0_2_0_is_refused_in_a_sentence(
    command, child_environment, tmp_path
):
    with closing(sqlite3.connect(tmp_path / "old.sqlite3")) as old:
        old.execute("CREATE TABLE tasks_season (id INTEGER PRIMARY KEY)")
    said = manage(
        child_environment | {"DATABASE_URL": f"sqlite:///{tmp_path}/old.sqlite3"},
        command,
    )
    assert said.returncode == UnusableSchema.exit_code
    assert (
        "The database is of 0.1.0, which no later release upgrades: name an empty one"
        in said.stderr
    )


def test_a_schema_of_this_epoch_is_worked_with(transactional_db):
    SchemaEpoch.objects.get_or_create(number=SCHEMA_EPOCH)
    raise_if_schema_unusable()


def test_one_process_migrates_and_the_next_waits_for_it(transactional_db, tmp_path):
    with empty_system(tmp_path / "site", is_migrated=True) as environment:
        with somebody_migrates(environment):
            waits = start_waiting_migration(environment)
        assert waits.communicate()[1] == ""
        assert waits.returncode == 0
        assert manage(environment, "migrate", "--check").returncode == 0


def start_waiting_migration(environment) -> subprocess.Popen[str]:
    """Start a process that has to wait until another one has migrated."""
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    waits = subprocess.Popen(
        command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert waits.stderr.readline().strip() == MIGRATION_LOCK_WAIT_MESSAGE
    return waits


def test_a_process_that_waits_lets_the_other_one_create_an_index_concurrently(
    transactional_db, tmp_path
):
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL alone creates indexes concurrently")
    with (
        empty_system(tmp_path / "site") as environment,
        somebody_migrates(environment) as other,
    ):
        other.execute("CREATE TABLE later (id integer)")
        waits = start_waiting_migration(environment)
        other.execute("CREATE INDEX CONCURRENTLY later_by_id ON later (id)")
        assert waits.poll() is None
        waits.kill()
        waits.communicate()


def test_serve_refuses_a_database_that_is_behind_where_it_is_told_not_to_migrate(
    transactional_db, tmp_path
):
    with empty_system(tmp_path / "site") as environment:
        said = manage(environment, "serve", "--only", "worker", "--no-migrate")
        assert said.returncode == 1
        assert (
            "migration(s) behind this release; run `manage.py migrate`" in said.stderr
        )
