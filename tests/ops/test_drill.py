"""The decisions of a drill; `make faults` plays the drill itself."""

import socket
from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.db import connection

from citeboard.ops.drill import alarms, faults, site_copy
from citeboard.ops.drill.door import InterruptibleProxy
from citeboard.ops.drill.faults import INJECTED_FAULTS, InjectedFault
from citeboard.ops.drill.playing import FaultObservations, find_unmet_requirements
from citeboard.ops.drill.site_copy import SiteCopyFailed, SiteResponse
from citeboard.ops.drill.table import MARKDOWN_TABLE_HEAD, format_table_row

LATER = {"retry-after": "10"}
BAD = {"name": "database", "state": "bad", "found": "no answer", "advice": ""}


def fault(name: str) -> InjectedFault:
    return next(found for found in INJECTED_FAULTS if found.name == name)


def outcome(**changed) -> FaultObservations:
    """Return the outcome of a site that answers 503 and recovers."""
    found = FaultObservations(
        probe=SiteResponse(503, {}, b'{"missing": [{"reason": "no database"}]}'),
        upload=SiteResponse(503, LATER, b'{"detail": "Later."}'),
        page=SiteResponse(503, LATER),
        doctor=[BAD],
        alarms={"CiteboardIsDown": 2},
        ready_after=1.0,
        scored_after=20.0,
        ends=["scored", "scored"],
    )
    return replace(found, **changed)


def test_a_site_that_keeps_every_promise_differs_in_nothing():
    assert find_unmet_requirements(fault("no-database"), outcome()) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"upload": SiteResponse(500)}, "an upload was answered 500, expected 503"),
        ({"page": SiteResponse(200)}, "a page was answered 200, expected 503"),
        ({"upload": SiteResponse(503)}, "the answer to an upload has no Retry-After"),
        ({"ends": ["scored", "failed"]}, "1 of 2 runs that were taken: failed"),
        ({"ends": ["", "scored"]}, "1 of 2 runs that were taken: gone"),
        (
            {"doctor": [], "probe": SiteResponse(200, {}, b"{}")},
            "neither probe nor doctor shows it",
        ),
    ],
)
def test_a_broken_promise_is_named(changed, words):
    assert find_unmet_requirements(fault("no-database"), outcome(**changed)) == [words]


def test_a_row_has_a_cell_for_each_head():
    shown = format_table_row(fault("no-database"), outcome())
    assert shown.count("|") == MARKDOWN_TABLE_HEAD.splitlines()[0].count("|")
    assert "503: Later." in shown
    assert "CiteboardIsDown 2" in shown
    assert "scores within 30 s" in shown


def test_a_drill_without_promtool_says_that_it_looked_at_no_alarm():
    shown = format_table_row(fault("no-database"), outcome(alarms=None))
    assert "not looked at without promtool" in shown


@pytest.mark.parametrize(
    ("name", "growth", "minute"),
    [
        ("citeboard_requests_total{}", 5.0, 20.0),
        ("citeboard_requests_total{}", -5.0, 0.0),
        ("citeboard_last_sweep_age_seconds{}", 15.0, 60.0),
        ("citeboard_last_sweep_age_seconds{}", 4.0, 0.0),
        ("citeboard_memory_bytes{}", 1e6, 0.0),
    ],
)
def test_counters_and_ages_that_nothing_ended_go_on_growing(name, growth, minute):
    assert alarms.extrapolate_growth_per_minute(name, growth, 15.0) == minute


def test_the_first_minute_counts_at_which_an_alert_fires():
    output = """  FAILED:
    expr: "ALERTS", time: 5m,
        exp: nil
        got: {__name__="ALERTS", alertname="A"} 1E+00
    expr: "ALERTS", time: 1h,
        exp: nil
        got: {__name__="ALERTS", alertname="A"} 1E+00, {alertname="B"} 1E+00
"""
    assert alarms.parse_firing_minutes(output) == {"A": 5, "B": 60}


def test_a_scrape_that_fails_counts_as_a_target_that_is_down():
    [up, *others] = alarms.extrapolate_metrics({}, {}, 15.0)["input_series"]
    assert up["values"] == "0x60"
    assert others == []


def test_a_fault_of_another_database_is_not_played(monkeypatch):
    other = replace(fault("no-database"), databases=("other",))
    assert other.find_obstacle() == "played on other alone"


def test_a_fault_without_its_program_is_not_played():
    lacking = replace(fault("missing-file"), tools=("no-such-program",))
    assert lacking.find_obstacle() == "no-such-program is not installed"


def test_a_fault_that_needs_a_small_disk_is_not_played_without_namespaces(monkeypatch):
    monkeypatch.setattr(faults, "find_namespace_command", tuple)
    lacking = replace(
        fault("missing-file"),
        small_disk=faults.stored_runs_folder,
        databases=(faults.SQLITE_VENDOR, faults.POSTGRESQL_VENDOR),
    )
    assert lacking.find_obstacle() == "this kernel lets nobody mount a small disk"


def test_the_copy_knows_no_server_of_the_operator(monkeypatch, tmp_path):
    for name in ("CITEBOARD_EMAIL_HOST", "REDIS_URL", "CITEBOARD_STORAGE"):
        monkeypatch.setenv(name, "mail.example.org")
    found = site_copy._build_environment_variables(tmp_path, "sqlite:///copy")
    assert "mail.example.org" not in found.values()
    assert found["DATABASE_URL"] == "sqlite:///copy"


def test_a_door_that_is_shut_refuses_connections_and_forwards_them_again():
    with socket.create_server(("127.0.0.1", 0)) as server:
        door = InterruptibleProxy("127.0.0.1", server.getsockname()[1])
        with door.interrupt_connections(), pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", door.port), timeout=5)
        with socket.create_connection(("127.0.0.1", door.port), timeout=5) as near:
            near.sendall(b"here")
            far, _ = server.accept()
            with far:
                far.settimeout(5)
                assert far.recv(4) == b"here"
        door.close()


def test_a_door_leads_to_the_unix_socket_of_a_server(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / ".s.PGSQL.5432"))
        server.listen()
        door = InterruptibleProxy(str(tmp_path), 5432)
        with socket.create_connection(("127.0.0.1", door.port), timeout=5) as near:
            near.sendall(b"here")
            far, _ = server.accept()
            with far:
                far.settimeout(5)
                assert far.recv(4) == b"here"
        door.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's copy is a file")
@pytest.mark.both_databases
def test_a_server_that_refuses_a_second_database_is_quoted(tmp_path, monkeypatch):
    monkeypatch.setattr(site_copy.uuid, "uuid4", lambda: SimpleNamespace(hex="taken"))
    with (
        site_copy._create_empty_database(tmp_path),
        pytest.raises(SiteCopyFailed) as refused,
    ):
        site_copy._create_empty_database(tmp_path).__enter__()
    assert "the drill needs a database of its own beside" in str(refused.value)
    assert "already exists" in str(refused.value)


def test_the_guide_has_a_row_for_each_fault():
    guide = (settings.BASE_DIR / "docs" / "operating.md").read_text(encoding="utf-8")
    rows = {
        line.split(" | ")[0].removeprefix("| "): line.split(" | ")[1:3]
        for line in guide.splitlines()
        if line.startswith("| ")
    }
    for found in INJECTED_FAULTS:
        answered = [cell.partition(":")[0] for cell in rows[found.what]]
        expected = [
            str(status) if status else "no answer"
            for status in (found.upload, found.page)
        ]
        assert answered == expected, found.name
