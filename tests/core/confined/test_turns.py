"""Much work at once: a full pool says so, one owner never has all of it, nobody waits for a hang."""

import threading
from dataclasses import replace

import pytest

from citeboard.core.confined.pool import LimitExceeded, PoolFull
from tests.core.confined.conftest import LIMITS, make_pool, result


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    """A pool whose waiting ends soon, and a way to fill it; what hangs ends with the pool."""
    monkeypatch.setattr("citeboard.core.confined.pool.PATIENCE", 0.2)
    pool = make_pool(tmp_path / "work", size=2)
    threads = []

    def occupy(owner):
        taken = pool._busy

        def hang():
            with pytest.raises(Exception):  # noqa: B017, PT011  (how it ends with its pool is all the same)
                result(pool, "hang", owner=owner, limits=replace(LIMITS, wall_seconds=600))

        threads.append(threading.Thread(target=hang, daemon=True))
        threads[-1].start()
        with pool._turn:
            assert pool._turn.wait_for(lambda: pool._busy > taken, 60)

    yield pool, occupy
    pool.close()
    for thread in threads:
        thread.join()


def test_a_full_pool_says_when_to_come_back(crowd):
    pool, occupy = crowd
    occupy("anna")
    occupy("bert")
    with pytest.raises(PoolFull, match="many files are being read") as refused:
        result(pool, "echo", owner="cora")
    assert refused.value.retry_after > 0


def test_one_owner_never_has_all_of_it(crowd):
    pool, occupy = crowd
    occupy("anna")
    with pytest.raises(PoolFull, match="another file of yours"):
        result(pool, "echo", owner="anna")
    assert result(pool, "echo", owner="bert", number=1)["given"] == {"number": 1}


def test_work_of_ours_waits_its_turn(crowd, monkeypatch):
    pool, _ = crowd
    told = []

    def work(number):
        told.append(result(pool, "echo", number=number)["given"]["number"])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == list(range(8))


def test_a_hang_is_ended_alone_and_others_go_on(crowd):
    pool, _ = crowd
    ended = []

    def hang():
        try:
            result(pool, "hang", owner="anna", limits=replace(LIMITS, wall_seconds=1.5))
        except LimitExceeded as reason:
            ended.append(str(reason))

    result(pool, "echo", owner="bert")
    server = pool._server.pid
    thread = threading.Thread(target=hang)
    thread.start()
    while thread.is_alive():
        assert result(pool, "echo", owner="bert", number=1)["given"] == {"number": 1}
    thread.join()
    assert ended == ["it took more than 1.5 s"]
    assert pool._server.pid == server


def test_places_come_back_whatever_happened(crowd):
    pool, _ = crowd
    for _ in range(5):
        for name in ("fail", "die"):
            with pytest.raises(Exception, match="the process ended"):
                result(pool, name, owner="anna")
    assert pool._busy == 0
    assert pool._present.total() == 0
    assert result(pool, "echo", owner="anna", number=1)["given"] == {"number": 1}
