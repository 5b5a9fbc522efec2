"""The database is locked or away for a while, at the worst moment: when results are to be written."""

import os
import re
import signal
import sqlite3
import threading
import time
from contextlib import closing

import httpx
import pytest
from django.db import connection

from citeboard.teams.models import Membership, Token
from tasks.models import Submission
from tests.conftest import database_url
from tests.factories import other_run
from tests.faults.promises import assert_scored_exactly_once, wait_until_settled
from tests.faults.proxy import Door
from tests.faults.serving import stopped, until

pytestmark = [pytest.mark.worker, pytest.mark.slow, pytest.mark.both_databases]

LOCKED, DATABASE_ERRORS = 8.0, 4.0


def running(submission) -> bool:
    return submission.jobs.filter(state="running").exists()


def let_pass(seconds: float) -> None:
    """The fault itself lasts so long."""
    threading.Event().wait(seconds)


@pytest.fixture
def on_sqlite(transactional_db):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL locks rows and not the database")


@pytest.fixture
def door(transactional_db):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no server that could be away")
    door = Door(
        connection.settings_dict["HOST"] or "127.0.0.1",
        int(connection.settings_dict["PORT"] or 5432),
    )
    yield door
    door.close()


@pytest.mark.usefixtures("on_sqlite")
def test_sqlite_locked_for_8_seconds(serve, send):
    served = serve(CITEBOARD_LEASE_SECONDS="4")
    scorer = served.scorer
    with stopped(scorer):
        first = send()
        until(lambda: running(first), "the job is claimed")
        waiting = [send() for _ in range(3)]
        other = sqlite3.connect(
            connection.settings_dict["NAME"], timeout=60, isolation_level=None
        )
        other.execute("BEGIN IMMEDIATE")
        os.kill(scorer, signal.SIGCONT)
        let_pass(LOCKED)
        other.rollback()
        other.close()
    wait_until_settled(first, *waiting)
    assert_scored_exactly_once(first, *waiting)


@pytest.mark.usefixtures("on_sqlite")
def test_an_upload_waits_for_sqlite_and_is_taken(send):
    other = sqlite3.connect(
        connection.settings_dict["NAME"],
        timeout=60,
        isolation_level=None,
        check_same_thread=False,
    )
    before = send()
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(LOCKED, lambda: (other.rollback(), other.close()))
    timer.start()
    began = time.monotonic()
    after = send()
    assert time.monotonic() - began > LOCKED / 2
    timer.join()
    assert [before.number, after.number] == [1, 2]


@pytest.mark.usefixtures("on_sqlite")
def test_a_site_notices_that_its_file_was_moved_away_or_is_another_one(
    serve, phase, tmp_path
):
    """Its threads have the file open from request to request."""
    folder, away, other = (tmp_path / name for name in ("data", "away", "other"))
    for target in (folder, other):
        target.mkdir()
        with closing(sqlite3.connect(target / "site.sqlite3")) as copy:
            connection.connection.backup(copy)
        phase.task.season.title = "The other season"
        phase.task.season.save()
    served = serve(only="site", DATABASE_URL=f"sqlite:///{folder / 'site.sqlite3'}")
    with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", timeout=60) as site:

        def titles() -> list[str]:
            return [
                found["title"]
                for found in site.get("/api/v1/seasons/").json()["results"]
            ]

        first = titles()
        folder.rename(away)
        for _ in range(2):
            answer = site.get("/api/v1/seasons/")
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
        assert (
            site.get("/health/ready").json()["reason"] == "the database does not answer"
        )
        away.rename(folder)
        assert titles() == first
        for left in folder.glob("site.sqlite3-*"):
            left.unlink()
        (other / "site.sqlite3").replace(folder / "site.sqlite3")
        assert titles() == ["The other season"] != first
    assert "Traceback" not in served.said()


@pytest.mark.parametrize("fault", [Door.shut, Door.stalled])
def test_pages_api_and_uploads_are_answered_503_until_postgresql_is_back(
    serve, phase, team, door, fault
):
    url = database_url(
        connection.settings_dict | {"HOST": "127.0.0.1", "PORT": door.port}
    )
    served = serve(only="site", DATABASE_URL=url)
    lead = team.memberships.get(role=Membership.Role.LEAD).user
    signed_in = {
        "Authorization": f"Token {Token.objects.create_token(user=lead, name='test')[1]}"
    }
    runs = f"/api/v1/phases/{phase.pk}/submissions/"
    sent = {
        "data": {"system": "A system"},
        "files": {"run": ("run.jsonl", other_run(1))},
    }
    with httpx.Client(
        base_url=f"http://127.0.0.1:{served.port}", headers=signed_in, timeout=60
    ) as site:
        # Not a page: the static files of this site are not gathered.
        assert [
            site.get(path).status_code for path in ("/api/v1/seasons/", "/health/ready")
        ] == [200, 200]
        with fault(door):
            for path in ("/", "/api/v1/seasons/", "/seasons/none/"):
                answer = site.get(path)
                assert (answer.status_code, answer.headers["Retry-After"]) == (
                    503,
                    "10",
                )
            answer = site.post(runs, **sent)
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
            assert (
                site.get("/health/ready").json()["reason"]
                == "the database does not answer"
            )
            assert site.get("/health/live").status_code == 200
        assert site.get("/api/v1/seasons/").status_code == 200
        assert not Submission.objects.exists()
        assert site.post(runs, **sent).status_code == 201
    assert "Traceback" not in served.said()


@pytest.mark.parametrize("fault", [Door.shut, Door.stalled])
def test_postgresql_away_for_4_seconds(serve, send, door, fault):
    url = database_url(
        connection.settings_dict | {"HOST": "127.0.0.1", "PORT": door.port}
    )
    served = serve(DATABASE_URL=url)
    scorer = served.scorer
    with stopped(scorer):
        first = send()
        until(lambda: running(first), "the job is claimed")
        waiting = [send() for _ in range(3)]
        with fault(door):
            os.kill(scorer, signal.SIGCONT)
            let_pass(DATABASE_ERRORS)
    wait_until_settled(first, *waiting)
    assert_scored_exactly_once(first, *waiting)
    # What was lost with the connections comes back by itself, so that the next run need not wait for a start.
    later = send()
    wait_until_settled(later)
    assert_scored_exactly_once(later)


def lines_of_an_outage(served) -> list[str]:
    return [
        line
        for line in served.said().splitlines()
        if re.search(r" (WARNING|ERROR|CRITICAL) ", line)
    ]


@pytest.mark.parametrize("fault", [Door.shut, Door.stalled])
def test_an_outage_is_a_line_of_each_process_and_no_traceback(serve, send, door, fault):
    """A run is being scored meanwhile, wakes are fetched, sweeps are due and the watchdog looks."""
    url = database_url(
        connection.settings_dict | {"HOST": "127.0.0.1", "PORT": door.port}
    )
    served = serve(DATABASE_URL=url)
    scorer = served.scorer
    with stopped(scorer):
        first = send()
        until(lambda: running(first), "the job is claimed")
        with fault(door):
            os.kill(scorer, signal.SIGCONT)
            let_pass(LOCKED)
    wait_until_settled(first)
    # Who asked for nothing while connections stood still has not noticed: wakes are told, not asked for.
    if fault is Door.shut or "Away: " in served.said():
        until(
            lambda: "Back after" in served.said(),
            "it is told that the database is back",
        )
    said = served.said()
    assert "Traceback" not in said
    away = [line for line in lines_of_an_outage(served) if "Away: " in line]
    # The process that fetches wakes, the one that scores, and the one that sweeps and watches.
    assert (fault is Door.shut) <= len(away) <= 3
    # On a slow machine the lease runs out: the sweeper gives the job back, and its worker hears of it.
    told = ("Away: ", "Back after", "is queued again", "is not ours any more")
    assert [
        line
        for line in lines_of_an_outage(served)
        if not any(words in line for words in told)
    ] == []
