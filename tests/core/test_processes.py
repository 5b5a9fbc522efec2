"""A process group of our own: all it started ends with it, and what will not stay up is started later."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from citeboard.core import processes
from citeboard.core.processes import ProcessGroup

LEADER = """
import os, signal, sys, time
child = os.fork()
if child == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN if {stubborn} else signal.SIG_DFL)
    while True: time.sleep(60)
open({note!r}, "w").write(str(child))
{then}
"""
PATIENCE = 180


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def group(tmp_path, root, monkeypatch):
    """Starts a leader with a child, which does as told; gives the group and the child's process."""
    monkeypatch.setattr(processes, "SESSION_CLEANUP_SECONDS", 0.2)
    groups = []

    def start(then: str, *, stubborn: bool = False) -> tuple[ProcessGroup, int]:
        note = tmp_path / "child"
        code = LEADER.format(note=str(note), then=then, stubborn=stubborn)
        group = ProcessGroup(
            "sample",
            [sys.executable, "-c", code],
            {"PYTHONPATH": str(root / "platform")},
        )
        groups.append(group)
        group.start()
        until(lambda: note.exists() and note.read_text())
        return group, int(note.read_text())

    yield start
    for each in groups:
        each.kill()


@pytest.mark.parametrize("stubborn", [False, True])
def test_when_the_leader_is_gone_those_it_left_are_ended(group, stubborn):
    started, child = group("sys.exit(3)", stubborn=stubborn)
    until(started.is_over)
    until(lambda: not is_running(child))
    assert started.pid is None


def test_a_leader_can_be_left_to_end_when_its_followers_have(group):
    started, child = group("os.waitpid(child, 0)")
    started.terminate_followers()
    until(started.is_over)
    assert not is_running(child)


def test_what_hangs_is_ended_with_all_it_started(group):
    started, child = group(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)", stubborn=True
    )
    started.kill()
    until(lambda: not is_running(child))
    assert started.is_over()


def test_what_will_not_stay_up_is_counted_and_started_later_each_time(
    group, monkeypatch
):
    clock = [1000.0]
    monkeypatch.setattr(processes.time, "monotonic", lambda: clock[0])
    started, _ = group("os.kill(child, signal.SIGKILL)\nsys.exit(1)")
    pauses = []
    for failures in (1, 2, 3):
        while not started.is_over():
            time.sleep(0.01)
        assert started.failures == failures
        pauses.append(0)
        while started.pid is None:
            started.start_when_due()
            if started.pid is None:
                clock[0] += 0.5
                pauses[-1] += 0.5
    assert pauses == [0, 1, 2]


def test_what_has_once_stayed_up_is_never_given_up(group, monkeypatch):
    started, _ = group("time.sleep(600)")
    monkeypatch.setattr(processes, "STABLE_AFTER_SECONDS", -1)
    started.kill()
    monkeypatch.setattr(processes, "STABLE_AFTER_SECONDS", 1e9)
    for _ in range(3):
        started.start()
        started.kill()
    assert started.failures == 0


def test_a_group_ends_when_whoever_started_it_is_gone(root, tmp_path):
    if sys.platform != "linux":
        pytest.skip("only Linux tells a process that its parent is gone")
    note = tmp_path / "leader"
    code = (
        "import os, sys, time\n"
        "from citeboard.core.processes import ProcessGroup\n"
        "command = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "group = ProcessGroup('sample', command, dict(os.environ))\n"
        "group.start()\n"
        f"open({str(note)!r}, 'w').write(str(group.pid))\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(root / "platform")},
    )
    until(lambda: note.exists() and note.read_text())
    leader = int(note.read_text())
    # It has bound its life to its parent's before it becomes what it was started for.
    until(
        lambda: (
            "citeboard.core.parent_death"
            not in " ".join(psutil.Process(leader).cmdline())
        )
    )
    parent.kill()
    parent.wait()
    until(lambda: not is_running(leader))
