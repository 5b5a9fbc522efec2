"""Much work at once: who comes first, who gives way, and that nobody waits for a hang."""

import os
import threading
from dataclasses import replace

import pytest

from citeboard.core.confined import pool as pool_module, turns as turns_module
from citeboard.core.confined.pool import ForkServerLost, ResourceLimitExceeded
from citeboard.core.confined.turns import (
    HourlyReadingLimitReached,
    SandboxPoolFull,
    UploadReadQueue,
    UploadSender,
)
from tests.core.confined.conftest import LIMITS, make_pool, result, work
from tests.mass import mass

HANGING = work("hang", limits=replace(LIMITS, wall_seconds=600))


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    """A pool whose waiting ends soon, and a way to fill it; what hangs ends with the pool."""
    monkeypatch.setattr(turns_module, "MAX_READ_WAIT_SECONDS", 0.2)
    pool = make_pool(tmp_path / "work", size=2)
    threads = []

    def occupy(owner):
        taken = len(pool.turns._running)

        def hang():
            with pytest.raises(Exception):  # noqa: B017, PT011  (how it ends with its pool is all the same)
                result(
                    pool, "hang", owner=owner, limits=replace(LIMITS, wall_seconds=600)
                )

        threads.append(threading.Thread(target=hang, daemon=True))
        threads[-1].start()
        assert pool.turns.wait_for_running_requests(taken + 1, 60)

    yield pool, occupy
    pool.close()
    for thread in threads:
        thread.join()


def test_a_full_pool_says_when_to_come_back(crowd):
    pool, occupy = crowd
    occupy("anna")
    occupy("bert")
    with pytest.raises(SandboxPoolFull, match="many files are being read") as refused:
        result(pool, "echo", owner="cora")
    assert refused.value.retry_after > 0


def test_one_owner_never_has_all_of_it(crowd):
    pool, occupy = crowd
    occupy("anna")
    with pytest.raises(SandboxPoolFull):
        result(pool, "echo", owner="anna")
    assert result(pool, "echo", owner="bert", number=1)["given"] == {"number": 1}


def test_work_of_ours_waits_its_turn(crowd, monkeypatch):
    pool, _ = crowd
    told = []

    def one(number):
        told.append(result(pool, "echo", number=number)["given"]["number"])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
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
        except ResourceLimitExceeded as reason:
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
    assert pool.turns.present == 0
    assert result(pool, "echo", owner="anna", number=1)["given"] == {"number": 1}


def test_a_file_that_is_being_read_gives_way_to_one_whose_sender_kept_others_waiting_for_less(
    tmp_path,
):
    """Its process is ended at once, and it can be read later; the computing of both is counted."""
    pool = make_pool(tmp_path / "work", size=1)
    told = []

    def hang():
        with (
            pytest.raises(SandboxPoolFull) as refused,
            pool.done(HANGING, sender=person("mallory")),
        ):
            pass
        told.append(str(refused.value))

    pool.turns.kept_waiting.add(("team mallory",), 2.5)
    thread = threading.Thread(target=hang)
    thread.start()
    assert pool.turns.wait_for_running_requests(1, 60)
    assert result(pool, "echo", owner="anna", number=1)["given"] == {"number": 1}
    thread.join(60)
    assert told == [SandboxPoolFull.words]
    assert pool.turns.used["account mallory"] > 0
    assert pool.turns.used["account anna"] > 0
    pool.close()


def test_a_busy_machine_refuses_no_run_that_is_submitted(tmp_path, monkeypatch):
    """Be it that no process comes to its start, or that one takes long without computing."""
    pool = make_pool(tmp_path / "work")
    short = work("hang", limits=replace(LIMITS, wall_seconds=0.3))
    with pytest.raises(SandboxPoolFull), pool.done(short, sender=person("anna")):
        pass
    with (
        pytest.raises(ResourceLimitExceeded),
        pool.done(short, sender=person("anna", submits=False)),
    ):
        pass

    def lost(*given):
        raise ForkServerLost

    monkeypatch.setattr(pool_module.ForkServer, "run", lost)
    with pytest.raises(SandboxPoolFull), pool.done(work("echo"), sender=person("anna")):
        pass
    pool.close()


def person(name, **facts):
    return UploadSender(account=name, **{"gives_way": True, **facts})


def ordered(*waiting, kept=()):
    """Whose turn comes when, of those who came in this order."""
    turns = UploadReadQueue(1, 100)
    for key, seconds in kept:
        turns.kept_waiting.add((key,), seconds)
    came = [
        turns_module.UploadReadRequest(sender, number)
        for number, sender in enumerate(waiting)
    ]
    return [turn.sender.account for turn in sorted(came, key=turns._compute_priority)]


def test_submissions_come_before_checks_then_who_kept_others_waiting_for_less_then_who_came_first():
    check, first, second = (
        person("check", submits=False),
        person("first"),
        person("second"),
    )
    assert ordered(check, first, second) == ["first", "second", "check"]
    assert ordered(first, second, kept=[("team first", 3.5)]) == ["second", "first"]
    assert ordered(first, second, kept=[("team first", 0.9)]) == ["first", "second"]


def test_reading_counts_for_the_order_where_it_kept_somebody_else_waiting():
    turns = UploadReadQueue(2, 100)
    for waits, counted in ((False, 0), (True, 3)):
        if waits:
            turns._waiting.append(turns_module.UploadReadRequest(person("anna"), 9))
        turns.record_processor_seconds(
            turns_module.UploadReadRequest(person("mallory"), 1), 3
        )
        assert round(turns.kept_waiting["account mallory"], 2) == counted
    assert turns.used["account mallory"] == 6


def test_a_team_of_many_accounts_counts_as_one_and_so_does_a_network():
    crowd = [
        person(f"m{n}", team="mallory", network="203.0.113.0/24") for n in range(3)
    ]
    honest = person("anna", team="ant", network="198.51.100.0/24")
    assert ordered(*crowd, honest, kept=[("team mallory", 1.5)])[0] == "anna"
    assert (
        ordered(
            *[replace(one, team=one.account) for one in crowd],
            honest,
            kept=[("network 203.0.113.0/24", 2.5)],
        )[0]
        == "anna"
    )


def test_an_account_has_so_much_computing_an_hour_for_what_can_wait(monkeypatch):
    turns = UploadReadQueue(2, 10)
    with turns.turn(person("anna")) as turn:
        turns.record_processor_seconds(turn, 11)
    with (
        pytest.raises(HourlyReadingLimitReached, match="10 s of computing") as refused,
        turns.turn(person("anna")),
    ):
        pass
    assert 0 < refused.value.retry_after <= 3600
    with turns.turn(person("bert")), turns.turn(person("anna", gives_way=False)):
        pass
    later = turns_module.time.monotonic() + 3600
    monkeypatch.setattr(turns_module.time, "monotonic", lambda: later)
    with turns.turn(person("anna")):
        pass


def test_who_kept_others_waiting_has_less_of_a_processor(tmp_path):
    # An upload cannot even ask how nice it is.
    pool, found = make_pool(tmp_path / "work", means=()), []
    for seconds in (0, 3.5, 1000):
        pool.turns.kept_waiting.add((f"account kept {seconds}",), seconds)
        with pool.done(work("niceness"), sender=person(f"kept {seconds}")) as done:
            found.append(done.result)
    pool.close()
    base = found[0]
    assert found == [base, min(19, base + 3), 19]


def test_a_reader_stays_in_the_session_within_which_niceness_counts(tmp_path):
    pool = make_pool(tmp_path / "work", means=())
    with pool.done(work("session_and_group")) as done:
        found = done.result
    pool.close()
    assert found == {"session": os.getsid(0), "leads_group": True}


def test_where_too_many_are_here_the_last_in_turn_goes_and_not_the_last_that_came(
    monkeypatch,
):
    monkeypatch.setattr(turns_module, "MAX_READ_WAIT_SECONDS", 60)
    turns = UploadReadQueue(2, 100)
    turns.kept_waiting.add(("team m1",), 50)
    waiting = [turns_module.UploadReadRequest(person(f"m{n}"), n) for n in range(8)]
    turns._waiting.extend(waiting)
    honest = turns_module.UploadReadRequest(person("anna"), 9)
    turns._waiting.append(honest)
    with turns._changed:
        turns._reject_excess_request(honest)
    assert [turn.sender.account for turn in turns._waiting if turn.is_over] == ["m1"]


@pytest.mark.mass
def test_one_honest_team_is_read_beside_many_hostile_accounts(tmp_path, monkeypatch):
    """Each of them keeps sending what never ends; the honest files are all read, and theirs give way."""
    monkeypatch.setattr(turns_module, "MAX_READ_WAIT_SECONDS", 60)
    pool, over, turned_away = (
        make_pool(tmp_path / "work", size=2),
        threading.Event(),
        [],
    )

    def attack(name):
        while not over.is_set():
            try:
                with pool.done(HANGING, sender=person(name)):
                    pass
            except SandboxPoolFull:
                turned_away.append(name)
            except Exception:  # noqa: BLE001  (the pool is closed at the end)
                return

    accounts = [f"m{number}" for number in range(mass(4, 20))]
    threads = [threading.Thread(target=attack, args=(name,)) for name in accounts]
    for thread in threads:
        thread.start()
    assert pool.turns.wait_for_running_requests(2, 60)
    for number in range(mass(3, 20)):
        with pool.done(work("echo", number=number), sender=person("anna")) as done:
            assert done.result["given"] == {"number": number}
    assert turned_away
    over.set()
    pool.close()
    for turn in [*pool.turns._running, *pool.turns._waiting]:
        turn.end()
    for thread in threads:
        thread.join()
