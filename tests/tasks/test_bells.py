"""Who fetches wakes hears of one when the transaction that gives it is over, and of none that never was."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.db import connection, transaction

from tasks.jobs.brokers import (
    NamedPipeWakeupListener,
    make_wakeup_listener,
    notify_worker_groups,
)
from tests.factories import make_submission

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def listener():
    """A bell in a thread of its own, as in another process."""
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(make_wakeup_listener).result()

        def is_heard(within: float) -> bool:
            return pool.submit(heard.wait_for_wakeup, within=within).result()

        assert is_heard(0), "what was given before anybody listened is looked for"
        yield is_heard
        pool.submit(lambda: connection.close()).result()  # noqa: PLW0108  (of that thread)


def test_a_run_that_is_sent_is_heard_of(listener):
    make_submission()
    assert listener(30)


def test_what_is_rolled_back_never_was(listener):
    with transaction.atomic():
        notify_worker_groups()
        transaction.set_rollback(True)
    assert not listener(0)
    with transaction.atomic():
        notify_worker_groups()
        assert not listener(0)
    assert listener(30)


def test_each_of_two_groups_hears(listener):
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(make_wakeup_listener).result()
        pool.submit(other.wait_for_wakeup, within=0).result()
        with transaction.atomic():
            notify_worker_groups()
        assert pool.submit(other.wait_for_wakeup, within=30).result()
        pool.submit(lambda: connection.close()).result()  # noqa: PLW0108  (of that thread)
    assert listener(30)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no pipes")
def test_the_pipe_of_a_group_that_is_gone_is_removed_and_keeps_nobody_waiting():
    folder = settings.WORK_DIR / "wakes"
    before = set(folder.glob("*.pipe"))
    gone = NamedPipeWakeupListener()
    gone.wait_for_wakeup(within=0)
    [pipe] = set(folder.glob("*.pipe")) - before
    os.close(gone._end)
    with transaction.atomic():
        notify_worker_groups()
    assert not pipe.exists()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no pipes")
def test_a_pipe_that_nobody_empties_is_full_and_keeps_nobody_waiting():
    slow = NamedPipeWakeupListener()
    slow.wait_for_wakeup(within=0)
    os.write(slow._end, b"." * 65_536)
    with transaction.atomic():
        notify_worker_groups()
    assert slow.wait_for_wakeup(within=30)
    os.close(slow._end)
