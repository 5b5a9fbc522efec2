"""When `serve` takes its site for one that hangs."""

import os
import socket
import subprocess
import sys
from threading import Event, Thread

import pytest

from citeboard.core.instruments import (
    PROMETHEUS_FOLDER_VARIABLE,
    count_answered_requests,
)
from citeboard.ops.serving import (
    RECENT_CHECKS,
    SiteLivenessProbe,
    SiteSupervisor,
    StartTimeLimit,
    build_process_environment,
    measure_processor_seconds,
)
from tests.faults.serving import free_port


@pytest.fixture
def unanswered():
    """A port on which everybody waits for ever."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def hangs(port, answered):
    """Whether it is found to hang within the looks that are remembered."""
    probe = SiteLivenessProbe("127.0.0.1", port, answered)
    probe.patience = 0.01
    return any(probe.is_site_hanging() for _ in range(RECENT_CHECKS))


def test_a_site_that_answers_nobody_hangs(unanswered):
    assert hangs(unanswered, lambda: 7)


def test_a_site_that_answers_others_meanwhile_has_much_to_do(unanswered):
    answered = iter(range(100))
    assert not hangs(unanswered, lambda: next(answered))


def test_a_site_that_refuses_connections_is_starting():
    probe = SiteLivenessProbe("127.0.0.1", free_port(), lambda: 7)
    assert not any(probe.is_site_hanging() for _ in range(RECENT_CHECKS))
    assert probe.is_refused


class StartedSite:
    """The group of a site's processes, as a supervisor sees it."""

    pid, group_name = os.getpid(), "site"


@pytest.fixture
def supervise(monkeypatch):
    """Supervise a site that answers one check and then refuses connections."""
    answers = iter([True])

    def answer_once(probe: SiteLivenessProbe) -> bool:
        probe.is_refused = not next(answers, False)
        return not probe.is_refused

    monkeypatch.setattr(SiteLivenessProbe, "answers", answer_once)
    monkeypatch.setattr(SiteLivenessProbe, "pause", 0)

    def watch(*overdue: bool) -> bool:
        """Return True if the supervisor starts the site anew. ``overdue`` contains the
        result of each check of the start.
        """
        supervisor = SiteSupervisor((), announce=print)
        supervisor.groups = {"site": StartedSite(), "worker": None}
        supervisor._hangs = {"site": Event()}
        supervisor._counts = ""
        checks = iter(overdue)

        def is_overdue(limit: StartTimeLimit, pid: int) -> bool:
            found = next(checks, None)
            if found is None:
                supervisor._ending.set()
            return bool(found)

        monkeypatch.setattr(StartTimeLimit, "is_start_overdue", is_overdue)
        monkeypatch.setattr(
            StartTimeLimit, "double", lambda limit: supervisor._ending.set()
        )
        supervisor._restart_hanging_site()
        return supervisor._hangs["site"].is_set()

    return watch


def test_a_site_whose_processes_start_again_is_left_alone_while_they_compute(supervise):
    assert not supervise(*[False] * RECENT_CHECKS)


def test_a_site_whose_processes_do_not_start_again_is_started_anew(supervise):
    assert supervise(False, True)


def test_a_site_that_stops_answering_after_much_work_hangs(unanswered):
    answered = iter([1, 2, 2, 2, 2, 2])
    assert hangs(unanswered, lambda: next(answered))


def test_answers_are_counted_over_all_processes_of_the_site(tmp_path):
    count = (
        "from prometheus_client import Histogram\n"
        "seconds = Histogram('citeboard_http_request_seconds', 'words', ['route', 'method', 'status'])\n"
        "for route in ('home', 'board'): seconds.labels(route, 'GET', 200).observe(1)"
    )
    for _ in range(2):
        own = {**os.environ, PROMETHEUS_FOLDER_VARIABLE: str(tmp_path)}
        subprocess.run([sys.executable, "-c", count], env=own, check=True)
    assert count_answered_requests(str(tmp_path)) == 4
    (tmp_path / "histogram_999.db").touch()
    assert count_answered_requests(str(tmp_path)) == 0


def test_a_second_signal_ends_it_while_the_first_is_still_being_heard():
    """`make` passes on what the terminal has sent to all already."""
    serving = SiteSupervisor((), announce=print)
    with serving._ending._cond:
        second = Thread(target=serving._handle_end_signal, args=(15, None), daemon=True)
        second.start()
        second.join(10)
        assert not second.is_alive()


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def idle_seconds(patience: StartTimeLimit, clock: Clock, computed: float) -> int:
    """How many seconds a start may pass without computing until it is given up."""
    began = clock.now
    while not patience.is_over(computed):
        clock.now += 1
    return int(clock.now - began)


def test_a_start_that_computes_is_never_given_up():
    clock = Clock()
    patience = StartTimeLimit(60, clock)
    for second in range(3600):
        clock.now += 1
        assert not patience.is_over(computed=second * 0.1)


def test_a_start_that_does_nothing_is_given_up_after_its_time():
    clock = Clock()
    assert idle_seconds(StartTimeLimit(60, clock), clock, computed=5.0) == 61


def test_each_kill_doubles_the_time_until_the_site_answers():
    clock = Clock()
    patience = StartTimeLimit(60, clock)
    found = []
    for _ in range(3):
        patience.start_clock()
        found.append(idle_seconds(patience, clock, computed=0.0))
        patience.double()
    assert found == [61, 121, 241]
    patience.reset_limit()
    patience.start_clock()
    assert idle_seconds(patience, clock, computed=0.0) == 61


def test_processor_time_counts_the_whole_group():
    work = "sum(range(3_000_000)); import sys; print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", work]
    with subprocess.Popen(
        command, stdin=-1, stdout=-1, start_new_session=True
    ) as process:
        process.stdout.readline()
        assert measure_processor_seconds(process.pid) > 0
        process.stdin.close()


@pytest.mark.parametrize(("own", "arenas"), [(None, "2"), ("8", "8")])
def test_processes_share_two_memory_arenas_unless_operators_say_otherwise(
    monkeypatch, own, arenas
):
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    if own:
        monkeypatch.setenv("MALLOC_ARENA_MAX", own)
    assert build_process_environment()["MALLOC_ARENA_MAX"] == arenas
