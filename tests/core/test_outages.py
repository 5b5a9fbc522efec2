"""What is answered while something is away: to people and to programs, with when to come back."""

import errno
import os
import sqlite3

import pytest
from django.conf import settings
from django.db import (
    InterfaceError,
    OperationalError,
    ProgrammingError,
    connection,
    transaction,
)
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, RequestFactory

from citeboard.core import health, outages
from citeboard.core.outages import find_outage, log_database_error
from citeboard.core.storage import StorageFull, StorageUnavailable


def caused(outer: Exception, inner: BaseException) -> Exception:
    outer.__cause__ = inner
    return outer


def of_postgres(state: str, kind: type[Exception] = OperationalError) -> Exception:
    return caused(kind("words"), type("Cause", (Exception,), {"sqlstate": state})())


def of_sqlite(code: int) -> Exception:
    reason = sqlite3.OperationalError("words")
    reason.sqlite_errorcode = code
    return caused(OperationalError("words"), reason)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OperationalError("connection refused"), 503),
        (InterfaceError("connection already closed"), 503),
        (of_sqlite(sqlite3.SQLITE_BUSY), 503),
        (of_sqlite(sqlite3.SQLITE_IOERR_READ), 503),
        (of_sqlite(sqlite3.SQLITE_CANTOPEN), 503),
        (of_sqlite(sqlite3.SQLITE_FULL), 507),
        (
            caused(
                OperationalError("disk full"),
                type("Full", (Exception,), {"sqlstate": "53100"})(),
            ),
            507,
        ),
        (StorageUnavailable(errno.EIO, "no answer", "run"), 503),
        (StorageFull(errno.ENOSPC, "no room", "run"), 507),
        (OSError(errno.ENOSPC, "No space left on device"), 507),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), 507),
        (OSError(errno.EROFS, "Read-only file system"), 503),
        (
            PermissionError(
                errno.EACCES,
                "Permission denied",
                str(settings.DATA_DIR / "incoming" / "x"),
            ),
            503,
        ),
        (
            caused(
                ValueError("what a service made of it"),
                OSError(errno.ENOSPC, "No space left"),
            ),
            507,
        ),
    ],
)
def test_what_is_away_is_told_by_its_status(error, status):
    found = find_outage(error)
    assert (found.status, found.seconds >= 10) == (status, True)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (of_sqlite(sqlite3.SQLITE_BUSY), "The database is busy"),
        (of_sqlite(sqlite3.SQLITE_LOCKED), "The database is busy"),
        (
            of_sqlite(sqlite3.SQLITE_READONLY),
            "The database can be read but not written",
        ),
        (of_sqlite(sqlite3.SQLITE_FULL), "The disk of the database is full"),
        (of_postgres("25006"), "The database can be read but not written"),
        (of_postgres("42501"), "The database refuses the site a right"),
        (of_postgres("53100"), "The disk of the database is full"),
        (of_postgres("53200"), "The database lacks memory or another resource"),
        (of_postgres("53300"), "The database has no free connection"),
        (of_postgres("57P01"), "The database is being shut down"),
        (of_postgres("57P03"), "The database is starting"),
        (of_postgres("08006"), "The database of the site does not answer"),
    ],
)
def test_the_reason_follows_from_the_code_of_the_error(error, reason):
    assert find_outage(error).reason == reason


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["42P01", "42703"])
def test_a_missing_table_is_an_outage_only_while_migrations_run(state):
    error = of_postgres(state, ProgrammingError)
    assert find_outage(error) is None
    MigrationRecorder.Migration.objects.filter(app="core").latest("name").delete()
    assert find_outage(error).reason == "The site is being upgraded"


@pytest.mark.parametrize(
    "error",
    [
        None,
        ValueError("a fault of ours"),
        of_sqlite(sqlite3.SQLITE_ERROR),  # such as a table that does not exist
        FileNotFoundError(errno.ENOENT, "No such file", os.devnull + ".txt"),
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
    ],
)
def test_a_fault_of_ours_stays_one(error):
    assert find_outage(error) is None


def test_a_reader_is_told_of_reading_and_a_sender_that_nothing_was_stored():
    found = find_outage(OperationalError("away"))
    requests = RequestFactory()
    words = "The database of the site does not answer."
    assert found.sentence(requests.get("/")) == f"{words} Please try again in a moment."
    told = found.sentence(requests.post("/"))
    assert (
        told == f"{words} Nothing was stored or counted. Please try again in a moment."
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (of_sqlite(sqlite3.SQLITE_BUSY), [("INFO", "The database is busy: waiting")]),
        (
            of_sqlite(sqlite3.SQLITE_CANTOPEN),
            [("ERROR", "Away: waiting: words. This is said once, until it is back.")],
        ),
    ],
)
def test_a_busy_database_is_logged_as_busy_and_never_as_away(
    error, expected, caplog, monkeypatch
):
    monkeypatch.setattr(outages, "_outage_times_by_service", {})
    caplog.set_level("INFO")
    log_database_error(error, "waiting")
    assert [(line.levelname, line.getMessage()) for line in caplog.records] == expected


@pytest.fixture
def away(monkeypatch):
    def refuse(*_, **__):
        raise OperationalError("connection refused")

    monkeypatch.setattr(connection, "cursor", refuse)


@pytest.mark.usefixtures("away")
@pytest.mark.parametrize(
    "address", ["/", "/api/v1/seasons/", "/accounts/login/", "/api/v1/submissions/"]
)
def test_every_page_says_that_the_database_is_away(address, caplog):
    ask = Client(
        raise_request_exception=False,
        headers={"Authorization": "Token x" * ("api" in address)},
    )
    ask.cookies[settings.SESSION_COOKIE_NAME] = "x" * 32
    response = ask.get(address)
    assert (response.status_code, response["Retry-After"]) == (503, "10")
    told = response.json()["detail"] if "api" in address else response.content.decode()
    assert (
        "The database of the site does not answer. Please try again in a moment."
        in told
    )
    lines = [line for line in caplog.records if line.levelname == "ERROR"]
    assert [line.exc_info for line in lines] == [None]


@pytest.mark.both_databases
@pytest.mark.django_db
def test_who_is_ready_says_by_how_much_the_clock_is_off(client):
    told = client.get("/health/ready").json()
    assert (told["status"], told["web"], told["worker"], told["missing"]) == (
        "ready",
        "ready",
        "ready",
        [],
    )
    assert 0 <= told["clock_seconds"] < 2


@pytest.mark.both_databases
@pytest.mark.django_db
def test_a_clock_that_is_off_keeps_both_away(client, monkeypatch):
    monkeypatch.setattr(health, "measure_clock_skew", lambda: 61.0)
    response = client.get("/health/ready")
    assert response.status_code == 503
    told = response.json()
    assert (told["web"], told["worker"], told["clock_seconds"]) == (
        "waiting",
        "waiting",
        61.0,
    )
    assert told["reason"] == "this machine and the database differ by 61.0 s"


@pytest.mark.django_db
def test_without_the_storage_pages_go_on_and_workers_wait(client, monkeypatch):
    def refuse(*_):
        raise StorageUnavailable(errno.EIO, "no answer", "probe")

    monkeypatch.setattr("citeboard.core.storage.FolderStorage.exists", refuse)
    for part, status in (("web", 200), ("worker", 503)):
        response = client.get("/health/ready", {"for": part})
        assert response.status_code == status
        [found] = response.json()["missing"]
        assert (found["what"], found["stops"]) == ("storage", ["worker"])
        assert found["lacks"].startswith("uploads")


@pytest.mark.django_db
def test_a_disk_that_fills_up_is_told_before_it_is_full(client, monkeypatch):
    usage = type("Usage", (), {"free": 1 << 20})
    monkeypatch.setattr("citeboard.core.health.shutil.disk_usage", lambda _: usage)
    told = client.get("/health/ready").json()
    assert (told["status"], told["missing"][0]["what"]) == ("ready", "disk")


@pytest.mark.both_databases
@pytest.mark.django_db
def test_redis_that_is_away_stops_nobody(client, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    for part in ("web", "worker"):
        response = client.get("/health/ready", {"for": part})
        told = response.json()
        assert (response.status_code, told["worker"]) == (200, "ready")
        [found] = told["missing"]
        assert (found["what"], found["stops"]) == ("redis", [])
        assert found["lacks"].startswith("the shared cache and prompt wakes")


def test_a_probe_for_somebody_unknown_is_told_who_there_is(client):
    response = client.get("/health/ready", {"for": "gpu"})
    assert (response.status_code, response.json()["detail"]) == (
        400,
        "There are web and worker.",
    )


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_a_read_only_server_is_an_outage_and_its_connection_is_given_up():
    if connection.vendor != "postgresql":
        pytest.skip("only a server becomes read-only while it is connected")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        with pytest.raises(OperationalError) as refused:
            cursor.execute("UPDATE django_migrations SET name = 'x'")
    assert (
        find_outage(refused.value).reason == "The database can be read but not written"
    )
    connection.close_if_unusable_or_obsolete()
    assert connection.connection is None
