"""Wakes in Redis: a list for each queue, and what becomes of them while Redis is away."""

import pytest
from django_q.signing import SignedPackage
from redis.exceptions import RedisError

from scoring.models import BoardOrder
from scoring.results.board import comparison_state
from scoring.worker.compare_board import compare_board
from tasks.jobs import brokers, engine
from tasks.jobs.brokers import RedisWakeupBroker
from tasks.jobs.engine import WAKEUP_FUNCTION
from tasks.jobs.queue_choice import list_living_worker_groups
from tests.factories import make_phase, make_submission, make_task
from tests.own_redis import own_redis


def said_of(wakes) -> tuple[str, tuple]:
    [(_, wake)] = wakes
    task = SignedPackage.loads(wake)
    return task["func"], task["args"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with own_redis(tmp_path_factory.mktemp("redis")) as started:
        yield started


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(brokers, "DATABASE_POLL_SECONDS", 0)
    monkeypatch.setattr(
        RedisWakeupBroker, "away_until", -brokers.REDIS_RECOVERY_SECONDS
    )


class TestQueues:
    @pytest.fixture(autouse=True)
    def _in_redis(self, db, server, settings):
        settings.REDIS_URL = server.url
        RedisWakeupBroker().connection.flushall()
        for queue in ("light", "models", "gpu"):
            RedisWakeupBroker(list_key=queue).enqueue(f"a wake for {queue}")

    def fetched(self) -> list[str]:
        group = RedisWakeupBroker()
        found = []
        while wakes := group.dequeue():
            found += [wake.decode() for _, wake in wakes]
        return found

    @pytest.mark.parametrize("queues", [["gpu"], ["light", "gpu"], ["none of them"]])
    def test_a_group_fetches_those_of_its_queues(self, settings, queues):
        settings.QUEUES = queues
        assert sorted(self.fetched()) == sorted(
            f"a wake for {queue}" for queue in queues if queue != "none of them"
        )

    def test_a_group_without_a_setting_fetches_those_of_all_also_of_a_new_one(self):
        assert sorted(self.fetched()) == [
            "a wake for gpu",
            "a wake for light",
            "a wake for models",
        ]
        RedisWakeupBroker(list_key="of-a-task").enqueue("a wake")
        assert self.fetched() == ["a wake"]

    def test_one_that_is_fetched_is_nobody_elses(self, settings):
        settings.QUEUES = ["gpu"]
        assert RedisWakeupBroker().dequeue() is not None
        assert RedisWakeupBroker().dequeue() is None

    def test_whoever_fetches_gives_a_sign_of_life(self, settings):
        settings.QUEUES = ["gpu"]
        RedisWakeupBroker().dequeue()
        assert [group.queues for group in list_living_worker_groups()] == [["gpu"]]


@pytest.mark.django_db
class TestAway:
    @pytest.fixture(autouse=True)
    def _nobody_there(self, settings):
        settings.REDIS_URL = "redis://127.0.0.1:1/0"

    def test_a_group_wakes_itself_for_what_it_may_take(self, settings):
        make_submission(phase=make_phase(task=make_task(queue="gpu")))
        settings.QUEUES = ["light"]
        assert RedisWakeupBroker().dequeue() is None
        settings.QUEUES = ["gpu"]
        [(_, wake)] = RedisWakeupBroker().dequeue()
        assert SignedPackage.loads(wake)["func"] == WAKEUP_FUNCTION

    def test_it_compares_a_board_that_was_asked_for_where_no_run_waits(self, settings):
        phase = make_phase()
        run = make_submission(phase=phase)
        assert comparison_state.queue_board_comparison(phase.pk, "corrected")
        run.jobs.update(state="cancelled")
        order = BoardOrder.objects.get()
        assert said_of(RedisWakeupBroker().dequeue()) == (WAKEUP_FUNCTION, ())
        compare_board()
        assert RedisWakeupBroker().dequeue() is None
        for row in (order, phase):
            row.refresh_from_db()
        assert order.version == phase.version

    @pytest.mark.parametrize("queues", [["gpu"], ["light"]])
    def test_boards_are_left_to_groups_of_the_light_queue(self, settings, queues):
        comparison_state.queue_board_comparison(make_phase().pk, "corrected")
        settings.QUEUES = queues
        assert (RedisWakeupBroker().dequeue() is not None) == (queues == ["light"])

    def test_a_board_that_another_worker_holds_wakes_nobody(self):
        phase = make_phase()
        comparison_state.queue_board_comparison(phase.pk, "corrected")
        assert engine.claim_job(BoardOrder.objects.get().job_id, "a-host:1:2")
        comparison_state.queue_board_comparison(phase.pk, "corrected")
        assert RedisWakeupBroker().dequeue() is None

    def test_redis_is_left_alone_for_a_while_by_all_of_a_process(self, monkeypatch):
        asked = []

        def refuse(*_, **__):
            asked.append(1)
            raise RedisError("no answer")

        monkeypatch.setattr(RedisWakeupBroker, "_pop_wakeup_from_lists", refuse)
        monkeypatch.setattr("redis.client.Pipeline.execute", refuse)
        now = [1000.0]
        monkeypatch.setattr(brokers.time, "monotonic", lambda: now[0])
        group = RedisWakeupBroker()
        for _ in range(3):
            group.dequeue()
            assert RedisWakeupBroker(list_key="light").enqueue("a wake") == 0
        assert len(asked) == 1
        now[0] += brokers.REDIS_PAUSE_SECONDS
        RedisWakeupBroker(list_key="light").enqueue("a wake")
        group.dequeue()
        assert len(asked) == 2

    def test_what_was_sent_before_everybody_knew_that_it_is_back_is_found(
        self, monkeypatch
    ):
        make_submission()
        now = [1000.0]
        monkeypatch.setattr(brokers.time, "monotonic", lambda: now[0])
        monkeypatch.setattr(RedisWakeupBroker, "_pop_wakeup_from_lists", lambda _: None)
        monkeypatch.setattr(RedisWakeupBroker, "away_until", now[0] - 1)
        assert RedisWakeupBroker().dequeue() is not None
        now[0] += brokers.REDIS_RECOVERY_SECONDS
        assert RedisWakeupBroker().dequeue() is None

    def test_a_wake_is_lost_and_its_sender_not_stopped(self):
        assert RedisWakeupBroker(list_key="light").enqueue("a wake") == 0
        assert not RedisWakeupBroker().ping()
