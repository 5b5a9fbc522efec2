"""What the job engine promises of every kind of work: one worker has it, and a lost one changes nothing."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from citeboard.core.database import database_now
from scoring.board.comparison_state import BOARDS
from scoring.models import BackgroundJob, BoardOrder
from scoring.worker.background import WORK
from tasks.jobs import mails
from tasks.jobs.deliveries import DELIVERIES
from tasks.jobs.leases import JOBS
from tasks.models import Delivery, Job, Notification, Webhook
from tests.factories import make_phase, make_season, make_submission, make_user

MAILS = mails.KINDS[0]

MADE = {
    JOBS: lambda: Job.objects.get(submission=make_submission()),
    WORK: lambda: BackgroundJob.objects.create(kind="sheet", season=make_season(), digest="0"),
    BOARDS: lambda: BoardOrder.objects.create(phase=make_phase(), rules="corrected"),
    DELIVERIES: lambda: Delivery.objects.create(
        webhook=Webhook.objects.create(season=make_season(), url="https://example.org", nonce="1"), payload={}
    ),
    MAILS: lambda: Notification.objects.create(
        user=make_user(), kind="announced", mail="queued", mail_due_at=database_now() - dt.timedelta(1)
    ),
}

pytestmark = pytest.mark.parametrize("kind", MADE, ids=lambda kind: type(kind).__name__)


def ready(kind):
    """The rows that may be claimed."""
    if kind is BOARDS:
        return kind.rows.filter(lease_expires_at=None) | kind.lost(database_now())
    return kind.due if hasattr(kind, "due") else kind.rows.filter(state="queued")


def fall_silent(kind, row):
    kind.rows.filter(pk=row.pk).update(**{kind.expires: database_now() - dt.timedelta(seconds=5)})


def set_moving(kind, row):
    """As a sweep does; what is due is claimed again as it is."""
    return (
        kind.expire_lease(kind.rows.get(pk=row.pk), database_now()) if hasattr(kind, "expire_lease") else True
    )


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_one_has_it(kind):
    row = MADE[kind]()

    def claimed(number):
        try:
            return kind.claim(ready(kind), row.pk, f"host:1:{number}") is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(claimed, range(4))) == 1
    if kind.attempt:
        assert getattr(kind.rows.get(pk=row.pk), kind.attempt) == 1


@pytest.mark.django_db
def test_who_lost_it_changes_nothing_any_more(kind):
    stale = kind.claim(ready(kind), MADE[kind]().pk, "host:1:1")
    assert kind.heartbeat(stale)
    fall_silent(kind, stale)
    assert set_moving(kind, stale)
    mine = kind.claim(ready(kind), stale.pk, "host:1:2")
    assert mine is not None
    assert not kind.heartbeat(stale)
    assert not kind.end_lease(stale)
    assert kind.heartbeat(mine)
    assert kind.leased_by("host:1:") == 1


@pytest.mark.django_db
def test_what_a_gone_group_had_is_free_at_once(kind):
    row = kind.claim(ready(kind), MADE[kind]().pk, "host:17:2")
    assert kind.end_leases("host:1:") == 0
    assert kind.leased_by("host:17:") == 1
    assert kind.end_leases("host:17:") == 1
    assert kind.leased_by("host:17:") == 0
    assert set_moving(kind, row)
    assert kind.claim(ready(kind), row.pk, "host:18:2") is not None


@pytest.mark.django_db
def test_a_sign_of_life_at_the_last_moment_keeps_it(kind):
    mine = kind.claim(ready(kind), MADE[kind]().pk, "host:1:1")
    fall_silent(kind, mine)
    assert list(kind.lost(database_now())) == [mine]
    assert kind.heartbeat(mine)
    assert not kind.lost(database_now()).exists()
    if hasattr(kind, "expire_lease"):
        assert not kind.expire_lease(mine, database_now())
        assert kind.heartbeat(mine)


@pytest.mark.django_db
def test_what_is_left_in_good_order_does_not_count(kind):
    mine = kind.claim(ready(kind), MADE[kind]().pk, "host:1:1")
    if not kind.attempt:
        assert kind.end_lease(mine)
        return
    assert kind.end_lease(mine, is_counted=False, **{kind.state: "queued"})
    assert getattr(kind.rows.get(pk=mine.pk), kind.attempt) == 0
