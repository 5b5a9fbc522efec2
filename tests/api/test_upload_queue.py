"""Whose upload a web process takes on next."""

import threading

import pytest
from django.db import connection

from citeboard.core import upload_queue
from citeboard.core.upload_queue import (
    LONG_UPLOAD_SECONDS,
    WAITING_STEPS_LIFETIME_SECONDS,
    WAITING_STEPS_PER_SECOND,
    TooManyConcurrentUploads,
    UploadQueue,
    UploadTicket,
    add_waiting_steps,
    find_waiting_steps,
)
from tasks.models import Submission
from tasks.submissions import uploads
from tests.api.sending import check, run_file, send
from tests.scoring.boards import address


class Crowd:
    """A queue and the uploads that came to it, in this order, without a thread for each."""

    def __init__(self, size=1):
        self.queue = UploadQueue(size)
        self.came = 0
        self.steps = {}

    def come(self, account, *, megabytes=0.0):
        steps = self.steps.get(account, 0) + int(
            upload_queue.WAITING_STEPS_PER_MEGABYTE * megabytes
        )
        ticket = UploadTicket(account, steps, self.came)
        self.came += 1
        self.queue._add_ticket(ticket)
        return ticket

    def leave(self, ticket):
        steps = self.queue._remove_ticket(ticket)
        self.steps[ticket.account] = self.steps.get(ticket.account, 0) + steps

    def serve(self, number):
        """Each account that is served sends its next upload at once."""
        for _ in range(number):
            [served] = self.queue._at_work
            self.leave(served)
            self.come(served.account)

    def at_work(self):
        return [ticket.account for ticket in self.queue._at_work]

    def waiting(self):
        return [ticket.account for ticket in self.queue._waiting]


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(upload_queue.time, "monotonic", lambda: now[0])
    return now


def test_an_account_does_not_wait_for_accounts_that_kept_others_waiting_for_longer(
    clock,
):
    crowd = Crowd()
    crowd.steps = {"mallory": 20, "mallory 2": 20}
    crowd.come("mallory"), crowd.come("mallory 2")
    honest = crowd.come("anna")
    assert crowd.at_work() == ["mallory", "anna"]
    crowd.leave(honest)
    assert crowd.waiting() == ["mallory 2"]


def test_an_honest_upload_overtakes_the_large_files_of_nineteen_accounts(clock):
    crowd = Crowd()
    for number in range(19):
        crowd.come(f"m{number}", megabytes=6)
    for _ in range(12):
        honest = crowd.come("anna", megabytes=0.01)
        assert honest.may_begin.is_set()
        assert len(crowd.at_work()) == 2
        crowd.leave(honest)


@pytest.mark.parametrize("attackers", [2, 5, 20])
@pytest.mark.parametrize("connections", [1, 4])
def test_an_honest_upload_overtakes_hostile_accounts_that_send_files_like_it(
    attackers, connections, clock
):
    crowd, turns = Crowd(), 4
    for _ in range(50):
        # Uploads that nobody waited for do not count.
        crowd.leave(crowd.come("anna"))
    for number in range(attackers * connections):
        crowd.come(f"m{number % attackers}")
    crowd.serve(turns * attackers)
    waiting = len(crowd.waiting())
    assert waiting == attackers * connections - 1
    for _ in range(turns - 1):
        honest = crowd.come("anna")
        assert honest.may_begin.is_set()
        crowd.leave(honest)
        assert len(crowd.waiting()) == waiting


def test_an_upload_that_others_waited_for_counts_as_long_as_it_took(clock):
    crowd = Crowd()
    slow = crowd.come("m0")
    crowd.come("m1")
    clock[0] += 2
    crowd.leave(slow)
    assert crowd.steps["m0"] == 2 * WAITING_STEPS_PER_SECOND


def test_the_waiting_uploads_of_an_account_go_behind_as_it_is_served(clock):
    crowd = Crowd()
    first = crowd.come("m")
    crowd.come("m")
    honest = crowd.come("anna")
    crowd.leave(first)
    assert honest.may_begin.is_set()


@pytest.mark.parametrize(("connections", "files"), [(1, 20), (4, 1)])
def test_an_upload_that_comes_as_an_attack_begins_waits_for_one_file_of_each_account_at_most(
    connections, files, clock
):
    crowd = Crowd()
    for number in range(20 * connections):
        crowd.come(f"m{number % 20}")
    honest, served = crowd.come("anna"), []
    while not honest.may_begin.is_set():
        [ticket] = crowd.queue._at_work
        served.append(ticket.account)
        crowd.leave(ticket)
    assert len(served) == len(set(served)) == files


def test_equal_accounts_come_in_turn_and_small_files_first(clock):
    crowd = Crowd()
    at_work = crowd.come("first")
    crowd.come("large", megabytes=20)
    for account in ("second", "third"):
        crowd.come(account)
    order = []
    while crowd.waiting():
        crowd.leave(at_work)
        [at_work] = crowd.queue._at_work
        order.append(at_work.account)
    assert order == ["second", "third", "large"]


def test_no_upload_waits_long_for_a_slow_one(clock):
    crowd = Crowd()
    crowd.come("slow")
    second = crowd.come("second")
    assert not second.may_begin.is_set()
    clock[0] += LONG_UPLOAD_SECONDS + 0.1
    crowd.queue._begin_next_upload()
    assert second.may_begin.is_set()


@pytest.mark.django_db
def test_an_upload_begins_when_it_has_waited_for_half_a_minute(monkeypatch):
    monkeypatch.setattr(upload_queue, "MAX_UPLOAD_WAIT_SECONDS", 0.0)
    monkeypatch.setattr(upload_queue, "QUEUE_POLL_SECONDS", 0.0)
    queue = UploadQueue(size=0)
    with queue.turn("anna", 1.0) as ticket:
        assert queue._at_work == [ticket]
    assert (queue._at_work, queue._waiting) == ([], [])


@pytest.mark.both_databases
@pytest.mark.django_db
def test_all_processes_count_for_an_account_until_the_count_ends(monkeypatch):
    assert find_waiting_steps("anna") == 0
    for steps in (2, 3):
        add_waiting_steps("anna", steps)
    assert (find_waiting_steps("anna"), find_waiting_steps("bert")) == (5, 0)
    later = upload_queue.time.time() + WAITING_STEPS_LIFETIME_SECONDS + 1
    monkeypatch.setattr("citeboard.core.caches.time.time", lambda: later)
    assert find_waiting_steps("anna") == 0
    add_waiting_steps("anna", 1)
    assert find_waiting_steps("anna") == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_a_waiting_upload_holds_no_database_connection_and_its_account_counts():
    queue, connections_held = UploadQueue(size=1), []

    def send_one():
        connection.ensure_connection()
        with queue.turn("anna", 0.0):
            connections_held.append(connection.connection)
        connection.close()

    with queue.turn("bert", 0.0):
        thread = threading.Thread(target=send_one)
        thread.start()
        while not queue._waiting:
            thread.join(0.01)
    thread.join(60)
    assert connections_held == [None]
    assert (find_waiting_steps("bert"), find_waiting_steps("anna")) == (1, 0)


def test_a_full_process_lets_only_accounts_in_that_have_no_upload_there(
    clock, monkeypatch
):
    monkeypatch.setattr(upload_queue, "MAX_UPLOADS_BEFORE_REJECTION", 4)
    crowd = Crowd()
    for account in ("m", "m", "m", "bert"):
        crowd.come(account)
    for account in ("m", "bert"):
        with pytest.raises(TooManyConcurrentUploads, match="other files of yours"):
            crowd.come(account)
    crowd.come("anna")
    assert len(crowd.waiting() + crowd.at_work()) == 5


@pytest.mark.both_databases
def test_an_upload_too_many_is_answered_429_and_nothing_of_it_is_kept(
    world, monkeypatch
):
    full = UploadQueue(size=1)
    monkeypatch.setattr(uploads, "get_upload_queue", lambda: full)
    monkeypatch.setattr(upload_queue, "MAX_UPLOADS_BEFORE_REJECTION", 1)
    with full.turn(str(world.people["member"].pk), 0.0):
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

    class NotingQueue(UploadQueue):
        def _add_ticket(self, ticket):
            came.append(ticket.account)
            super()._add_ticket(ticket)

    queue = NotingQueue(size=1)
    monkeypatch.setattr(uploads, "get_upload_queue", lambda: queue)
    member = world.people["member"]
    assert check(world.member, world.phase).status_code == 200
    client.force_login(member)
    sent = {"run": run_file(), "system": "A system", "do": "check"}
    assert client.post(address("upload", world.phase), sent).status_code == 200
    assert came == [str(member.pk)] * 2
