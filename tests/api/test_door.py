"""Whose upload a web process takes on next."""

import subprocess
import sys
import threading

import pytest
from django.conf import settings
from django.db import connection

from citeboard.core import door as door_module
from citeboard.core.confined.pool import environment
from citeboard.core.confined.turns import HALF, KeptWaiting
from citeboard.core.door import Door, Elsewhere, TooManyAtOnce, Visit
from tasks.models import Submission
from tasks.submissions import uploads
from tests.api.sending import check, run_file, send
from tests.scoring.boards import address


class Crowd:
    """A door and who came to it, in this order, without a thread for each."""

    def __init__(self, size=1):
        self.kept_waiting = KeptWaiting()
        self.door = Door(self.kept_waiting, size)
        self.came = 0

    def come(self, account, *, network="n", megabytes=0.0):
        visit = Visit(account, network, megabytes, self.came)
        self.came += 1
        self.door._come_in(visit)
        return visit

    def leave(self, visit):
        self.door._leave(visit)

    def serve(self, number):
        """Whoever is served sends the next at once."""
        for _ in range(number):
            [served] = self.door._at_work
            self.leave(served)
            self.come(served.account)


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(door_module.time, "monotonic", lambda: now[0])
    return now


def test_who_kept_others_waiting_for_less_waits_for_nobody_who_did_for_more(clock):
    crowd = Crowd()
    crowd.kept_waiting.add(("account mallory", "account mallory 2"), 5)
    crowd.come("mallory"), crowd.come("mallory 2")
    honest = crowd.come("anna")
    assert [visit.account for visit in crowd.door._at_work] == ["mallory", "anna"]
    crowd.leave(honest)
    assert [visit.account for visit in crowd.door._waiting] == ["mallory 2"]


def test_of_nineteen_hostile_accounts_one_at_a_time_is_at_work_and_an_honest_one_waits_for_none(
    clock,
):
    crowd = Crowd()
    for number in range(19):
        crowd.come(f"m{number}", megabytes=6)
    for _ in range(12):
        honest = crowd.come("anna", megabytes=0.01)
        assert honest.is_let_in.is_set()
        assert len(crowd.door._at_work) == 2
        crowd.leave(honest)


@pytest.mark.parametrize("attackers", [2, 5, 20])
@pytest.mark.parametrize("connections", [1, 4])
def test_an_honest_upload_overtakes_all_that_wait_of_hostile_accounts_that_send_files_like_it(
    attackers, connections, clock
):
    crowd, turns = Crowd(), 4
    for _ in range(50):
        # What it sent while nobody waited is not held against it.
        crowd.leave(crowd.come("anna"))
    for number in range(attackers * connections):
        crowd.come(f"m{number % attackers}")
    crowd.serve(turns * attackers)
    waiting = len(crowd.door._waiting)
    assert waiting == attackers * connections - 1
    for _ in range(turns - 1):
        honest = crowd.come("anna")
        assert honest.is_let_in.is_set()
        crowd.leave(honest)
        assert len(crowd.door._waiting) == waiting


@pytest.mark.parametrize("connections", [1, 4])
def test_who_sent_as_much_as_hostile_accounts_and_rests_as_they_go_on_overtakes_them_again(
    connections, clock
):
    crowd, attackers, turns = Crowd(), 20, 6
    for number in range(attackers * connections):
        crowd.come(f"m{number % attackers}")
    for _ in range(turns):
        crowd.serve(attackers)
        honest = crowd.come("anna")
        while not honest.is_let_in.is_set():
            crowd.serve(1)
        crowd.leave(honest)
    of_anna, of_others = (
        crowd.kept_waiting[f"account {name}"] for name in ("anna", "m0")
    )
    assert abs(of_anna - of_others) <= 2 * door_module.STEP
    clock[0] += HALF
    crowd.serve(turns * attackers)
    for _ in range(turns // 2):
        honest = crowd.come("anna")
        assert honest.is_let_in.is_set()
        crowd.leave(honest)


def test_an_upload_is_counted_as_long_as_it_took_and_in_the_end_all_is_forgotten(clock):
    crowd = Crowd()
    slow = crowd.come("m0")
    crowd.come("m1")
    clock[0] += 2
    crowd.leave(slow)
    assert crowd.kept_waiting["account m0"] == 2
    clock[0] += HALF
    assert crowd.kept_waiting["account m0"] == 1
    clock[0] += 5 * HALF
    crowd.kept_waiting.add(("account bert",), 1)
    assert set(crowd.kept_waiting._noted) == {"account bert"}


def test_of_equals_who_has_one_here_is_next_before_who_has_more(clock):
    crowd = Crowd()
    first, *_ = [crowd.come("mallory") for _ in range(4)]
    honest = crowd.come("anna")
    assert not honest.is_let_in.is_set()
    crowd.leave(first)
    assert honest.is_let_in.is_set()


@pytest.mark.parametrize(("connections", "files"), [(1, 20), (4, 1)])
def test_who_comes_as_an_attack_begins_waits_for_one_file_of_each_account_at_most(
    connections, files, clock
):
    crowd = Crowd()
    for number in range(20 * connections):
        crowd.come(f"m{number % 20}")
    honest, passed = crowd.come("anna"), []
    while not honest.is_let_in.is_set():
        [served] = crowd.door._at_work
        passed.append(served.account)
        crowd.leave(served)
    assert len(passed) == len(set(passed)) == files


def test_equals_come_in_turn_small_files_first_and_a_network_counts_after_its_accounts(
    clock,
):
    crowd = Crowd()
    first = crowd.come("first")
    crowd.kept_waiting.add(("network crowded",), 9)
    waiting = [
        crowd.come("large", megabytes=20),
        crowd.come("crowded", network="crowded"),
        crowd.come("second"),
        crowd.come("third"),
    ]
    order = []
    at_work = first
    while crowd.door._waiting:
        crowd.leave(at_work)
        [at_work] = crowd.door._at_work
        order.append(at_work.account)
    assert order == ["second", "third", "crowded", "large"]
    assert all(visit.is_let_in.is_set() for visit in waiting)


def test_nobody_waits_long_for_one_that_takes_long_nor_for_ever(clock):
    crowd = Crowd()
    crowd.come("slow")
    second = crowd.come("second")
    assert not second.is_let_in.is_set()
    clock[0] += door_module.LONG + 0.1
    crowd.door._let_in()
    assert second.is_let_in.is_set()


def test_whoever_has_waited_for_half_a_minute_goes_on(monkeypatch):
    monkeypatch.setattr(door_module, "PATIENCE", 0.0)
    monkeypatch.setattr(door_module, "LOOK", 0.0)
    door = Door(KeptWaiting(), size=0)
    with door.visit("anna", "n", 1.0):
        assert [visit.account for visit in door._at_work] == ["anna"]
    assert (door._at_work, door._waiting) == ([], [])


def test_an_upload_that_leaves_lets_the_next_in():
    door, order = Door(KeptWaiting(), size=1), []

    def send_one():
        with door.visit("anna", "n", 0.0):
            order.append("second")

    with door.visit("bert", "n", 0.0):
        thread = threading.Thread(target=send_one)
        thread.start()
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]


@pytest.fixture
def two_processes(tmp_path):
    """A crowd of this one, and what tells of an upload that is at work in the other."""
    code = (
        "import sys; from pathlib import Path; from citeboard.core.door import Elsewhere\n"
        "there = Elsewhere(Path(sys.argv[1]))\n"
        "for line in sys.stdin: there.tell(int(line) if line.strip() else None); print(flush=True)"
    )
    path = tmp_path / "work" / "door"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment([settings.BASE_DIR / "platform"]),
    ) as other:  # fmt: skip

        def tell(least):
            other.stdin.write(f"{least}\n")
            other.stdin.flush()
            other.stdout.readline()

        crowd = Crowd()
        crowd.door._elsewhere = Elsewhere(path)
        yield crowd, tell
        other.stdin.close()


def test_whose_account_has_several_here_steps_aside_for_one_that_kept_others_waiting_for_less(
    clock,
):
    crowd = Crowd()
    crowd.kept_waiting.add(("account mallory", "account alone"), 5)
    hostile, _ = crowd.come("mallory"), crowd.come("mallory")
    aside = crowd.door._is_to_step_aside
    assert not aside(hostile)
    one_of_several, _ = several = crowd.come("carla"), crowd.come("carla")
    assert one_of_several.is_let_in.is_set()
    assert not aside(hostile)
    for visit in several:
        crowd.leave(visit)
    honest = crowd.come("anna")
    assert aside(hostile)
    assert not aside(honest)
    crowd.leave(honest)
    assert not aside(hostile)
    crowd.kept_waiting.add(("account bert",), 5)
    crowd.door._begin(crowd.come("bert"))
    assert not aside(hostile)
    # As before a deadline: each has sent one.
    alone, honest = crowd.come("alone"), crowd.come("anna")
    assert honest.is_let_in.is_set()
    assert not aside(alone)


def test_it_steps_aside_for_what_is_at_work_in_another_process_too(
    two_processes, clock
):
    crowd, tell = two_processes
    crowd.kept_waiting.add(("account mallory",), 5)
    hostile, _ = crowd.come("mallory"), crowd.come("mallory")
    aside, steps = crowd.door._is_to_step_aside, int(5 / door_module.STEP)
    assert not aside(hostile)
    for least, is_before in ((0, True), (steps - 1, True), (steps, False), ("", False)):
        tell(least)
        assert aside(hostile) == is_before
    tell(0)
    # What is at work here stays told while one asks.
    crowd.kept_waiting.add(("account anna",), 1)
    honest = crowd.come("anna")
    assert crowd.door._tell() == int(1 / door_module.STEP)
    crowd.leave(honest)
    assert aside(hostile)


def test_nobody_steps_aside_for_long_and_that_time_is_not_held_against_him(monkeypatch):
    now, crowd = [1000.0], Crowd()

    def sleep(seconds):
        now[0] += seconds

    monkeypatch.setattr(door_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(door_module.time, "sleep", sleep)
    crowd.kept_waiting.add(("account mallory",), 5)
    hostile, _, honest = (
        crowd.come("mallory"),
        crowd.come("mallory"),
        crowd.come("anna"),
    )
    for _ in range(2):
        crowd.door.step_aside(hostile)
    assert door_module.LONG <= now[0] - 1000 < door_module.LONG + 2 * door_module.GLANCE
    assert hostile.began == now[0]
    assert honest.began == 1000


@pytest.mark.both_databases
def test_an_upload_steps_aside_before_it_is_read_and_before_it_is_stored(
    world, monkeypatch
):
    steps, door, outside = (
        [],
        Door(KeptWaiting(), size=1),
        len(connection.savepoint_ids),
    )

    def note(visit):
        assert len(connection.savepoint_ids) == outside
        steps.append(Submission.objects.count())

    monkeypatch.setattr(door, "step_aside", note)
    monkeypatch.setattr(uploads, "door", lambda: door)
    assert send(world.member, world.phase).status_code == 201
    assert steps == [0, 0, 0]
    assert check(world.member, world.phase).status_code == 200
    assert steps == [0, 0, 0, 1, 1]


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_an_upload_that_waits_holds_no_connection_to_the_database():
    door, held = Door(KeptWaiting(), size=1), []

    def send_one():
        connection.ensure_connection()
        with door.visit("anna", "n", 0.0):
            held.append(connection.connection)

    with door.visit("bert", "n", 0.0):
        thread = threading.Thread(target=send_one)
        thread.start()
        while not door._waiting:
            thread.join(0.01)
    thread.join(60)
    assert held == [None]


def test_in_a_crowd_only_who_has_none_here_gets_one_more_in(clock, monkeypatch):
    monkeypatch.setattr(door_module, "CROWD", 4)
    crowd = Crowd()
    for account in ("m", "m", "m", "bert"):
        crowd.come(account)
    for account in ("m", "bert"):
        with pytest.raises(TooManyAtOnce, match="other files of yours"):
            crowd.come(account)
    crowd.come("anna")
    assert len(crowd.door._waiting) + len(crowd.door._at_work) == 5


@pytest.mark.both_databases
def test_an_upload_too_many_is_answered_429_and_nothing_of_it_is_kept(
    world, monkeypatch
):
    full = Door(KeptWaiting(), size=1)
    monkeypatch.setattr(uploads, "door", lambda: full)
    monkeypatch.setattr(door_module, "CROWD", 1)
    with full.visit(str(world.people["member"].pk), "n", 0.0):
        answer = send(world.member, world.phase)
    assert (answer.status_code, answer["Retry-After"]) == (429, "1")
    assert answer.json()["retry_after"] == 1
    assert not Submission.objects.exists()
    assert send(world.member, world.phase).status_code == 201


@pytest.mark.both_databases
def test_an_upload_is_that_of_its_account_whether_by_token_or_on_a_page(
    world, monkeypatch, client
):
    came = []

    class Noting(Door):
        def _come_in(self, visit):
            came.append((visit.account, visit.network))
            super()._come_in(visit)

    noting = Noting(KeptWaiting(), size=1)
    monkeypatch.setattr(uploads, "door", lambda: noting)
    member = world.people["member"]
    assert check(world.member, world.phase).status_code == 200
    client.force_login(member)
    sent = {"run": run_file(), "system": "A system", "do": "check"}
    assert client.post(address("upload", world.phase), sent).status_code == 200
    assert came == [(str(member.pk), "127.0.0.0/24")] * 2
