"""What a program cannot do, whatever it tries; with what the kernel offers and with limits alone."""

import errno
import json
import os
import shutil
import signal
import socket
import time
from dataclasses import replace

import pytest

from citeboard.core.confined import pool as pool_module, probe, rights
from citeboard.core.confined.pool import ResourceLimitExceeded, SandboxedProgramFailed
from citeboard.core.confined.rights import LANDLOCK, SECCOMP
from tests.core.confined.conftest import LIMITS, make_pool, result

SHORT = replace(LIMITS, cpu_seconds=1, wall_seconds=120)
needs_landlock = pytest.mark.skipif(
    not rights.find_landlock_version(), reason="this kernel has no Landlock"
)
needs_seccomp = pytest.mark.skipif(
    not rights.has_system_call_filter(), reason="no filter for this kind of machine"
)


def test_a_program_gets_arguments_files_and_what_is_shared(pool, tmp_path):
    (tmp_path / "run").write_text("an answer")
    (tmp_path / "index.json").write_text('{"topics": []}')
    told = result(
        pool,
        "echo",
        files={"a run": tmp_path / "run"},
        shared=tmp_path / "index.json",
        number=1,
        text="é",
    )
    assert told["given"] == {"number": 1, "text": "é"}
    assert told["shared"] == {"topics": []}
    assert "a run" in told["files"]
    assert result(pool, "read_run", files={"run": tmp_path / "run"}) == "an answer"


def test_its_folder_is_gone_afterwards(pool):
    before = sorted(pool._folder.iterdir())
    result(pool, "echo")
    with pytest.raises(SandboxedProgramFailed):
        result(pool, "fail")
    assert sorted(pool._folder.iterdir()) == before == []


def test_a_folder_that_is_held_for_a_moment_goes_all_the_same(pool, monkeypatch):
    rmtree, asked = shutil.rmtree, []

    def held_twice(path, ignore_errors):
        asked.append(path)
        if len(asked) > 2:
            rmtree(path, ignore_errors=ignore_errors)

    monkeypatch.setattr("citeboard.core.confined.pool.shutil.rmtree", held_twice)
    result(pool, "echo")
    assert len(asked) == 3
    assert not asked[0].exists()


def test_computing_without_end_is_ended(pool):
    with pytest.raises(ResourceLimitExceeded, match="took more than 1 s of computing"):
        result(pool, "burn", limits=SHORT)


def test_a_program_that_hangs_is_ended(pool):
    with pytest.raises(ResourceLimitExceeded, match=r"took more than 0\.3 s"):
        result(pool, "hang", limits=replace(LIMITS, wall_seconds=0.3))


def test_memory_is_bounded(pool):
    with pytest.raises(
        ResourceLimitExceeded, match="needed more than 256 MB of memory"
    ):
        result(pool, "fill_memory")


def test_files_are_bounded(pool):
    with pytest.raises(ResourceLimitExceeded, match="wrote a file of more than 8 MB"):
        result(pool, "fill_disk")


def test_no_process_is_started(pool):
    told = result(pool, "multiply")
    assert told["begun"] == 0
    assert told["refused"] in ("PermissionError", "BlockingIOError")


def test_the_environment_holds_no_secret(pool, monkeypatch):
    monkeypatch.setenv("CITEBOARD_SECRET_KEY", "a secret")
    monkeypatch.setenv("DATABASE_URL", "postgres://user:secret@host/name")
    told = result(pool, "say_environment")
    assert "secret" not in json.dumps(told)
    assert not [name for name in told if name.startswith(("CITEBOARD_", "DATABASE"))]


def test_a_program_that_ends_itself_or_fails_is_told_as_such(pool, caplog):
    for name in ("die", "fail"):
        with pytest.raises(SandboxedProgramFailed, match="the process ended with"):
            result(pool, name)
    assert "a reader's own fault" in caplog.text


@pytest.mark.parametrize("name", ["link_result", "pipe_result", "return_nonsense"])
def test_a_result_that_is_none_is_not_believed(pool, name):
    with pytest.raises(
        SandboxedProgramFailed, match=r"left no result|the process ended with 1"
    ):
        result(pool, name)


def test_nothing_is_left_in_memory_for_the_next(pool):
    assert [result(pool, "remember", word=word) for word in ("first", "second")] == [
        None,
        None,
    ]


def test_a_program_cannot_end_the_site(pool):
    told = result(pool, "send_signal", pid=os.getpid())
    if pool.uses_kernel or os.geteuid() == 0:
        assert told == {"refused": "PermissionError"}


@needs_landlock
@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/1/environ"]
)
def test_files_of_the_machine_are_closed(closed_pool, path):
    assert "refused" in result(closed_pool, "open_file", path=path)


@needs_landlock
def test_the_data_folder_and_other_work_are_closed(closed_pool, tmp_path):
    (tmp_path / "citeboard.sqlite3").write_text("gold")
    tmp_path.chmod(0o755)
    assert "refused" in result(
        closed_pool, "open_file", path=str(tmp_path / "citeboard.sqlite3")
    )
    result(closed_pool, "echo")
    (closed_pool._folder / "of another").mkdir(exist_ok=True)
    for path in (tmp_path, closed_pool._folder, "..", "/", "../.."):
        # Where the kernel has no Landlock a program has a root of its own, with nothing else in it.
        names = result(closed_pool, "list_folder", path=str(path)).get("names", [])
        assert not {"citeboard.sqlite3", "of another", "etc", "home", "proc"} & set(
            names
        )


@needs_seccomp
def test_memory_and_messages_shared_by_name_are_closed(closed_pool):
    assert result(closed_pool, "share_memory") == {"refused": errno.EPERM}


@pytest.mark.parametrize(
    ("name", "words"),
    [("write_files", "more than 20 files"), ("write_bytes", "more than 16 MB")],
)
def test_files_and_bytes_are_bounded_in_sum_too(pool, name, words):
    with pytest.raises(ResourceLimitExceeded, match=f"it wrote {words}"):
        result(pool, name, limits=replace(LIMITS, total_files=20, total_mb=16))


def test_what_a_kernel_leaves_open_is_found_by_trying():
    assert probe.find_reachable_resources(()) == [
        "files",
        "network",
        "processes",
        "ipc",
    ]
    if rights.find_landlock_version() and rights.has_system_call_filter():
        assert probe.find_reachable_resources() == []
        assert probe.find_reachable_resources([SECCOMP]) == ["files"]
        assert "network" in probe.find_reachable_resources([LANDLOCK])


@needs_seccomp
def test_the_network_is_closed(closed_pool):
    with socket.create_server(("127.0.0.1", 0)) as door:
        host, port = door.getsockname()
        told = result(closed_pool, "connect", host=host, port=port)
    assert told == {"connected": False, "refused": "PermissionError"}


@needs_seccomp
def test_no_program_is_executed(closed_pool):
    with pytest.raises(SandboxedProgramFailed):
        result(closed_pool, "start_program")


def test_the_server_is_killed_and_the_work_is_done_by_another(pool):
    result(pool, "echo")
    first = pool._server.pid
    os.kill(first, signal.SIGKILL)
    assert result(pool, "echo", number=2)["given"] == {"number": 2}
    assert pool._server.pid != first


def test_a_server_that_does_not_answer_is_replaced(pool, monkeypatch):
    result(pool, "echo")
    server, first = pool._server, pool._server.pid
    os.kill(first, signal.SIGSTOP)
    close = server.close
    with monkeypatch.context() as hurried:

        def close_in_peace():
            # The new server may take its time to start.
            hurried.undo()
            close()

        hurried.setattr(pool_module, "MAX_FORK_SERVER_SILENCE_SECONDS", 0.1)
        hurried.setattr(server, "close", close_in_peace)
        assert result(pool, "echo", number=3)["given"] == {"number": 3}
    assert pool._server.pid != first


def test_a_closed_pool_takes_no_more_work(tmp_path):
    pool = make_pool(tmp_path / "work")
    result(pool, "echo")
    pool.close()
    with pytest.raises(SandboxedProgramFailed, match="closed"):
        result(pool, "echo")


def test_what_a_killed_process_left_is_removed(tmp_path):
    for name, age in (("1-old", 7200), ("2-new", 0)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    pool = make_pool(tmp_path)
    result(pool, "echo")
    pool.close()
    assert [path.name for path in tmp_path.iterdir()] == ["2-new"]
