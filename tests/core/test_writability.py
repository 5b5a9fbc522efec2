"""Every part of the site learns whether the database can be written from one record."""

import json
import time

import pytest
from django.db import OperationalError, connection
from django.test import Client

from citeboard.core import outages, writability
from citeboard.core.models import Heartbeat
from citeboard.core.outages import BUSY_REASON, READ_ONLY_REASON, UNAVAILABLE_STATUS
from citeboard.core.writability import HeartbeatWriteResult
from citeboard.ops.doctor import run_health_checks
from tasks.jobs.queue_choice import WorkerGroupWatchdog
from tasks.jobs.work import claim_and_do_job_by_id
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.WORK_DIR = tmp_path / "work"
    return settings.WORK_DIR


@pytest.fixture
def refused():
    """What `serve` records on a server that became read-only."""
    record(reason=READ_ONLY_REASON, status=UNAVAILABLE_STATUS)


def record(**facts) -> None:
    writability._save_write_record(HeartbeatWriteResult(**{"at": time.time(), **facts}))


def fail(monkeypatch, error: Exception) -> None:
    def refuse() -> None:
        raise error

    monkeypatch.setattr(writability, "_write_heartbeat_row", refuse)


@pytest.mark.both_databases
def test_a_beat_writes_the_row_of_its_machine_and_records_success():
    for _ in range(2):
        writability.write_heartbeat()
    assert Heartbeat.objects.count() == 1
    assert writability.read_last_write_record().reason == ""
    assert writability.is_writable()


def test_a_beat_that_fails_records_the_reason_and_logs_it_once(monkeypatch, caplog):
    fail(monkeypatch, OperationalError("connection refused"))
    for _ in range(3):
        writability.write_heartbeat()
    assert writability.find_write_problem().reason == outages.NO_ANSWER_REASON
    assert not writability.is_writable()
    assert [line.levelname for line in caplog.records] == ["ERROR"]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"at": 1}', '{"at": "now"}', '{"at": 0, "is_ours": true}'],
)
def test_a_record_that_is_broken_or_old_is_ignored(folder, content):
    folder.mkdir()
    (folder / "database-write.json").write_text(content)
    assert writability.read_last_write_record() is None


def test_a_record_of_the_future_is_ignored():
    record(at=time.time() + 3600, reason=READ_ONLY_REASON)
    assert writability.read_last_write_record() is None


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("part", ["web", "worker"])
def test_the_probe_names_a_database_that_cannot_be_written(part):
    response = Client().get("/health/ready", {"for": part})
    assert (response.status_code, response.json()["reason"]) == (503, READ_ONLY_REASON)


def test_the_probe_reports_a_busy_database_and_stays_ready():
    record(reason=BUSY_REASON, status=UNAVAILABLE_STATUS, is_busy=True)
    response = Client().get("/health/ready")
    assert response.status_code == 200
    assert [row["reason"] for row in response.json()["missing"]] == [BUSY_REASON]


@pytest.mark.usefixtures("refused")
def test_the_doctor_names_the_cause_and_nothing_else():
    [finding] = run_health_checks()
    assert (finding.name, finding.state, finding.found) == (
        "database",
        "bad",
        READ_ONLY_REASON,
    )
    assert "DATABASE_URL" in finding.advice


@pytest.mark.usefixtures("refused")
def test_a_check_of_the_database_alone_names_the_same_cause():
    [finding] = run_health_checks(["database"])
    assert (finding.state, finding.found) == ("bad", READ_ONLY_REASON)


def test_the_doctor_calls_a_busy_database_busy():
    record(reason=BUSY_REASON, status=UNAVAILABLE_STATUS, is_busy=True)
    [finding] = run_health_checks(["database"])
    assert (finding.state, finding.found) == ("odd", BUSY_REASON)


@pytest.mark.usefixtures("refused")
def test_a_worker_takes_no_job_while_writes_fail():
    [job] = factories.make_submission().jobs.all()
    claim_and_do_job_by_id(job.pk)
    job.refresh_from_db()
    assert job.state == "queued"


@pytest.mark.usefixtures("refused")
def test_the_watchdog_replaces_no_worker_while_writes_fail(settings):
    settings.LEASE_SECONDS = 0
    factories.make_submission()
    watchdog = WorkerGroupWatchdog("group", workers=1)
    watchdog._since = time.monotonic() - 3600
    assert not watchdog.is_stuck()


@pytest.mark.both_databases
def test_a_read_only_server_is_found_without_a_record():
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no transactions that are read-only")
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        assert writability.find_write_problem().reason == READ_ONLY_REASON


def test_the_record_is_one_json_object_that_any_program_can_read(folder):
    writability.write_heartbeat()
    [path] = folder.iterdir()
    facts = json.loads(path.read_text())
    assert set(facts) == {"at", "reason", "status", "is_busy"}
