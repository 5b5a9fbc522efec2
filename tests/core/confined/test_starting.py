"""A server that computes is waited for, however busy the machine is; one that idles is given up."""

import socket
from collections.abc import Iterator

import pytest

from citeboard.core.confined import pool
from citeboard.core.confined.pool import ForkServer


@pytest.fixture(autouse=True)
def short_silence(monkeypatch):
    monkeypatch.setattr(pool, "MAX_FORK_SERVER_SILENCE_SECONDS", 0.01)


@pytest.fixture
def lines() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def heard(monkeypatch, line: socket.socket, computing) -> str:
    monkeypatch.setattr(
        ForkServer, "_measure_processor_seconds", lambda _self: computing()
    )
    return ForkServer.__new__(ForkServer)._receive_end_message(line)


def test_a_server_that_computes_is_waited_for(monkeypatch, lines):
    ours, theirs = lines
    seconds = iter([1.0, 2.0, 3.0])

    def computing() -> float:
        computed = next(seconds)
        if computed == 3.0:
            theirs.sendall(b"began\n")
        return computed

    assert heard(monkeypatch, ours, computing) == "began"


def test_a_server_that_idles_is_given_up(monkeypatch, lines):
    assert heard(monkeypatch, lines[0], lambda: 1.0) == ""


def test_a_server_that_is_gone_is_given_up_at_once(monkeypatch, lines):
    ours, theirs = lines
    theirs.close()
    monkeypatch.setattr(pool, "MAX_FORK_SERVER_SILENCE_SECONDS", 60.0)

    def computing() -> float:
        raise AssertionError("nobody computes")

    assert heard(monkeypatch, ours, computing) == ""
