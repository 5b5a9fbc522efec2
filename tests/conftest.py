"""Fixtures every test may ask for."""

import fcntl
import gc
import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from urllib.parse import quote

import hypothesis
import psycopg
import pytest
import pytest_randomly
from django.conf import settings
from django.core.cache import caches
from django.db import connection
from django.db.models.signals import post_save
from django.test import TransactionTestCase

from citeboard.core import api, writability
from citeboard.core.actions import render_action_sentence
from citeboard.core.models import AuditEntry
from scoring.worker import child
from scripts.changed_since import is_touched
from tests.browser.fixtures import chromium, page, visit  # noqa: F401  (fixtures are found by being here)
from tests.emptying import empty_tables
from tests.going_on import GoesOn
from tests.mass import IS_FULL
from tests.scoring import scorers

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("CITEBOARD_SHARED", ROOT.parent / "shared" / "data"))


def migrated_file() -> Path:
    """Made once for what it follows from: the migrations of this tree and the packages that bring others."""
    sources = sorted(
        (
            *ROOT.glob("requirements*"),
            *ROOT.glob("*/migrations/*.py"),
            *ROOT.glob("*/*/*/migrations/*.py"),
        )
    )
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return ROOT / ".cache/migrated" / f"{digest[:16]}.sqlite3"


#: A file of SQLite as `migrate` leaves it.
MIGRATED = Path(os.environ.get("MIGRATED") or migrated_file())
#: A file with the paths that have changed since all tests passed, where scripts/test.sh knows them.
CHANGED = os.environ.get("CITEBOARD_TEST_CHANGED")
#: Stands there once the database has been migrated that those of PostgreSQL are copies of.
TEMPLATED = Path(os.environ["CITEBOARD_TEST_ROOT"]) / "templated"
AXE = Path(
    os.environ.get(
        "CITEBOARD_AXE", ROOT / ".cache/axe/node_modules/axe-core/axe.min.js"
    )
)


# A busy machine draws slowly; what is drawn is the same each time.
hypothesis.settings.register_profile(
    "citeboard",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("citeboard")

# Nothing that is imported before the first test ever goes, so nobody looks for what of it could.
gc.disable()


def pytest_collection_modifyitems(config, items) -> None:
    """Select by tier: `make proofs` runs what proves by mass, `.ci/run` on PostgreSQL the tests marked
    `both_databases`, `make test` what takes few seconds. All leave out tests that rest on unchanged files.
    """
    if IS_FULL:
        kept = [item for item in items if proves_by_mass(item)]
    else:
        kept = [item for item in items if not item.get_closest_marker("proof")]
    if CHANGED:
        changed = Path(CHANGED).read_text(encoding="utf-8").splitlines()
        kept = [item for item in kept if not rests_on_unchanged(item, changed)]
    only = os.environ.get("CITEBOARD_TEST_ONLY")
    if only == "database":
        kept = [item for item in kept if item.get_closest_marker("both_databases")]
    elif only == "quick":
        kept = [item for item in kept if not takes_seconds(item)]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def proves_by_mass(item) -> bool:
    return any(map(item.get_closest_marker, ("mass", "proof", "rests_on")))


def rests_on_unchanged(item, changed: list[str]) -> bool:
    """By its mark; a test rests on its own file too, and on the fixtures of the folders above."""
    marks = list(item.iter_markers("rests_on"))
    if not marks:
        return False
    file = item.path.relative_to(ROOT)
    own = [file, *(folder / "conftest.py" for folder in file.parents)]
    paths = [*map(str, own), *(path for mark in marks for path in mark.args)]
    return not is_touched(changed, paths)


def takes_seconds(item) -> bool:
    """Tell whether a test is left to `.ci/run`: it starts a site, a worker or a browser, reads the whole
    demo, or is marked. Such tests take two fifths of the computing.
    """
    return bool(
        {"chromium", "child_environment", "kept_complete"} & set(item.fixturenames)
        or any(map(item.get_closest_marker, ("worker", "slow")))
    )


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: from here on the collector of memory passes them over.

    What can go since then is looked for more seldom than by default, which costs a process of tests much.
    """
    pytest_randomly.entrypoint_reseeds = [seed_torch]
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


def seed_torch(seed: int) -> None:
    """What `torch.manual_seed` does where nothing computes on a graphics card; three times in each test.

    Without a card it writes down the whole stack of calls for the moment at which one turns up.
    """
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(seed)


@pytest.fixture
def client() -> GoesOn:
    return GoesOn()


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """A file of SQLite goes with the folder of the run, and may be there already: as a copy."""
    return connection.vendor == "sqlite"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings) -> None:
    """One process of the run migrates, and the others begin with a copy of what came of it."""
    own = connection.settings_dict["TEST"]
    MIGRATED.parent.mkdir(parents=True, exist_ok=True)
    with (MIGRATED.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if connection.vendor == "sqlite":
            if not MIGRATED.exists():
                for earlier in MIGRATED.parent.glob("*.sqlite3*"):
                    earlier.unlink()
                unfinished = MIGRATED.with_suffix(".sqlite3-unfinished")
                migrate(f"sqlite:///{unfinished}")
                with closing(sqlite3.connect(unfinished)) as written:
                    written.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                unfinished.rename(MIGRATED)
            shutil.copyfile(MIGRATED, own["NAME"])
        else:
            own["TEMPLATE"] = template()
            if not TEMPLATED.exists():
                with control() as server:
                    server.execute(f'CREATE DATABASE "{template()}"')
                migrate(database_url({**connection.settings_dict, "NAME": template()}))
                TEMPLATED.touch()
    own["MIGRATE"] = False


def migrate(url: str) -> None:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "citeboard.settings",
        "DATABASE_URL": url,
    }
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def template() -> str:
    """The database on PostgreSQL that those of this run are copies of."""
    return f"migrated_{Path(os.environ['CITEBOARD_TEST_ROOT']).name.replace('-', '_')}"


def control() -> psycopg.Connection:
    return psycopg.connect(database_url(connection.settings_dict), autocommit=True)


def pytest_sessionfinish(session) -> None:
    """The process that was started first outlives the others."""
    if TEMPLATED.exists() and not hasattr(session.config, "workerinput"):
        with control() as server:
            server.execute(f'DROP DATABASE IF EXISTS "{template()}"')


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker) -> Iterator[None]:
    """A connection that a thread of a served page still holds does not keep the test database from going.
    What Django asks a database once, a test that counts statements does not find among its own.
    """
    with django_db_blocker.unblock():
        assert connection.features.supports_json_field
    yield
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


@pytest.fixture(scope="session", autouse=True)
def _scorers_end() -> Iterator[None]:
    yield
    if child._scorer_server is not None:
        child._scorer_server.close()
    scorers.end()


@pytest.fixture(scope="session", autouse=True)
def _patience_with_readers() -> Iterator[None]:
    """Wait longer for the process that reads files, since other tests keep the processors busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "citeboard.core.confined.pool.MAX_FORK_SERVER_SILENCE_SECONDS", 120.0
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_parser() -> Iterator[None]:
    """A process of the program reads one command line; this one reads hundreds, with the same parser."""
    from scoring import __main__ as program

    make = program.build_argument_parser
    # Where the room of the papers is left out, it has other commands.
    kept = cache(lambda has_papers: make())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            program,
            "build_argument_parser",
            lambda: kept(program.is_papers_package_installed()),
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def _emptied_quickly() -> Iterator[None]:
    """After a test whose transactions are real, the tables that it filled are emptied."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            TransactionTestCase, "_fixture_teardown", lambda case: empty_tables()
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_words_in_tokens() -> Iterator[None]:
    """Of all letters the token of a form would by chance hold a short name that a page must not have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.middleware.csrf.CSRF_ALLOWED_CHARS", "JQXZ")
        yield


def _forget() -> None:
    for name in ("pages", "results", "boards"):
        caches[name].clear()
    api._REQUEST_COUNTS.clear()
    shutil.rmtree(settings.FILES_DIR / "statistics", ignore_errors=True)


@pytest.fixture(autouse=True)
def _nothing_kept_by_number() -> Iterator[None]:
    """Rows get numbers that an earlier test's had, or those of a world that was built since; what was kept by
    number goes with them.
    """
    _forget()
    yield
    _forget()


@pytest.fixture(autouse=True)
def _no_outage_is_under_way(monkeypatch) -> None:
    """What an earlier test took away is back, also for the machine on which its `serve` ran."""
    monkeypatch.setattr("citeboard.core.outages._outage_times_by_service", {})
    # While a valid record says that writes fail, no process claims a job.
    writability._write_record_path().unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def _history_can_be_read_in_every_language() -> Iterator[None]:
    """Whatever a test lets the history say is known to the catalogues."""
    unknown: list[str] = []

    def look(instance: AuditEntry, **_: object) -> None:
        try:
            render_action_sentence(instance.action, instance.facts)
        except (KeyError, TypeError):
            unknown.append(instance.text)

    post_save.connect(look, sender=AuditEntry)
    yield
    post_save.disconnect(look, sender=AuditEntry)
    assert not unknown, "citeboard/core/actions.py lacks what the history says"


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of `manage.py`."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published corpora, which are not ours to copy into the repository."""
    if not SHARED.is_dir():
        pytest.skip(f"no corpora in {SHARED}; CITEBOARD_SHARED names their folder")
    return SHARED


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that finds barriers in a page."""
    if not AXE.is_file():
        pytest.skip(
            f"axe-core is not in {AXE}; `sh scripts/axe.sh` fetches it with npm"
        )
    return AXE.read_text(encoding="utf-8")


@pytest.fixture
def one_minute(monkeypatch) -> None:
    """Attempts and requests are counted by the minute, and in a new one the first takes more queries."""
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now)


@pytest.fixture
def child_environment(transactional_db) -> dict[str, str]:
    """The environment in which a process of ours works on the database and files of this very test."""
    environment = dict(os.environ)
    environment["DJANGO_SETTINGS_MODULE"] = "citeboard.settings"
    environment["DATABASE_URL"] = database_url(connection.settings_dict)
    return environment


@pytest.fixture
def worker(root, child_environment) -> Iterator[subprocess.Popen]:
    """A worker group as a deployment starts it, ended with everything that it started."""
    command = [sys.executable, "manage.py", "qcluster"]
    process = subprocess.Popen(
        command,
        cwd=root,
        env=child_environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def database_url(config: dict) -> str:
    if "sqlite" in config["ENGINE"]:
        return f"sqlite:///{config['NAME']}"
    user, password = (
        quote(str(config[part] or ""), safe="") for part in ("USER", "PASSWORD")
    )
    host = f"{config['HOST'] or '127.0.0.1'}:{config['PORT'] or 5432}"
    return (
        f"postgres://{user}{':' + password if password else ''}@{host}/{config['NAME']}"
    )


@pytest.fixture(autouse=True)
def no_mounted_archives():
    """What a test mounts goes with it."""
    yield
    shutil.rmtree(settings.DATA_DIR / "archives", ignore_errors=True)
