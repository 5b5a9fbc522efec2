"""The operator's page and its part of the API: what each says, and that both and `/metrics` agree."""

import datetime as dt

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from citeboard.core.database import SCHEMA_EPOCH
from citeboard.core.models import SchemaEpoch, save_time_of_last_run
from citeboard.ops.backups import LAST_BACKUP_ROW_NAME
from citeboard.ops.doctor import CHECKS_BY_NAME
from citeboard.ops.site_state import SITE_STATE_CHECK_NAMES
from citeboard.teams.models import Token
from tasks.jobs import engine, leases
from tasks.jobs.engine import expire_leases_of_owner
from tasks.jobs.queue_choice import record_worker_group_heartbeat
from tasks.jobs.sweeper import sweep_jobs
from tasks.models import Job, WorkerGroup
from tests.factories import make_phase, make_submission, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

WAITS = "What this task is scored with, such as a model, is not installed here yet."
FAILED = "Scoring needed more than 4096 MB of memory."


@pytest.fixture(autouse=True)
def _no_signs_of_life():
    """Those that other tests have left."""
    caches["queue"].clear()


@pytest.fixture
def staff(client):
    person = make_user(is_staff=True)
    client.force_login(person)
    return person


@pytest.fixture
def runs():
    """A run that waits, one that failed, one whose worker was lost, and one that no worker serves."""
    phase = make_phase()
    waiting, failed, lost, unserved = (
        make_submission(phase=phase, team=make_team(season=phase.task.season))
        for _ in range(4)
    )
    unserved.jobs.update(queue="gpu")
    engine.defer_job(engine.claim_job(waiting.jobs.get().pk, "a-host:1:2"), WAITS)
    failed.jobs.update(trace="edge-7f3a91c2")
    leases.fail_job(engine.claim_job(failed.jobs.get().pk, "a-host:1:2"), FAILED)
    assert engine.claim_job(lost.jobs.get().pk, "b-host:1:2") is not None
    expire_leases_of_owner("b-host:1:2")
    sweep_jobs()
    return waiting, failed, lost, unserved


@pytest.fixture
def groups(settings):
    settings.QUEUES = ["light"]
    record_worker_group_heartbeat("node-1-0123abcd:77.1:")
    record_worker_group_heartbeat("node-2-0123abcd:78.1:")
    WorkerGroup.objects.filter(name__startswith="node-2").update(
        seen_at=now() - dt.timedelta(hours=3)
    )


def page(client) -> str:
    response = client.get(reverse("operate"))
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    return " ".join(response.content.decode().split())


def told(person) -> dict:
    _, secret = Token.objects.create_token(user=person, name="test")
    response = Client(headers={"Authorization": f"Token {secret}"}).get("/api/v1/site/")
    assert response.status_code == 200
    return response.json()


@pytest.mark.usefixtures("groups")
def test_staff_see_queues_workers_what_waits_and_what_failed(client, staff, runs):
    waiting, failed, _, _ = runs
    said = page(client)
    for words in (
        "<code>gpu</code>",
        "no: no worker serves the queue gpu",
        "node-1",
        "<strong>gone</strong>",
        WAITS,
        FAILED,
        "edge-7f3a91c2",
        f'href="/submissions/{waiting.pk}/"',
        f'href="/submissions/{failed.pk}/"',
        "last backup: none is known",
        "0 missing, 0 of a later release",
    ):
        assert words in said, words
    save_time_of_last_run(
        LAST_BACKUP_ROW_NAME, dt.datetime(2026, 3, 2, 9, tzinfo=dt.UTC)
    )
    assert "2 Mar 2026, 09:00 UTC" in page(client)


@pytest.mark.usefixtures("groups")
def test_programs_of_staff_are_told_the_same(staff, runs):
    # A migration has written it, unless another test has emptied the database since.
    SchemaEpoch.objects.get_or_create(number=SCHEMA_EPOCH)
    said = told(staff)
    by_name = {queue["name"]: queue for queue in said["queues"]}
    assert by_name["light"] | {"oldest_seconds": 0} == {
        "name": "light", "queued": 1, "running": 0, "waiting": 1,
        "oldest_seconds": 0, "leases_lost": 1, "why_unserved": "",
    }  # fmt: skip
    assert by_name["light"]["oldest_seconds"] > 0
    assert by_name["gpu"]["why_unserved"] == "no worker serves the queue gpu"
    assert {group["host"]: group["is_living"] for group in said["groups"]} == {
        "node-1": True,
        "node-2": False,
    }
    [waits] = said["waiting"]
    assert (waits["reason"], waits["jobs"], waits["submission"]) == (
        WAITS,
        1,
        runs[0].pk,
    )
    [failure] = said["failures"]
    assert (failure["submission"], failure["reason"], failure["trace"]) == (
        runs[1].pk, FAILED, "edge-7f3a91c2",
    )  # fmt: skip
    assert said["last_sweep"] is not None
    assert (said["versions"]["epoch"], said["versions"]["schema"]["missing"]) == (
        SCHEMA_EPOCH,
        [],
    )
    assert said["place"]["free"] > 0


def test_it_agrees_with_metrics(client, staff, runs):
    metrics = client.get("/metrics", headers={"Host": "localhost"}).content.decode()
    for queue in told(staff)["queues"]:
        for state in ("queued", "running", "waiting"):
            assert (
                f'citeboard_jobs{{queue="{queue["name"]}",state="{state}"}} {queue[state]:.1f}'
                in metrics
            )
        assert (
            f'citeboard_leases_lost_total{{queue="{queue["name"]}"}} {queue["leases_lost"]:.1f}'
            in metrics
        )


def test_failures_of_the_day_before_yesterday_are_history(client, staff, runs):
    Job.objects.filter(state="failed").update(
        finished_at=now() - dt.timedelta(hours=25)
    )
    assert "No job has failed." in page(client)
    assert told(staff)["failures_in_all"] == 0


def test_what_is_missing_stands_on_top(client, staff, monkeypatch):
    usage = type("Usage", (), {"free": 1 << 20, "total": 1 << 30})
    monkeypatch.setattr("citeboard.core.health.shutil.disk_usage", lambda _: usage)
    assert "<strong>Missing:</strong> 0.00 GB are free in the data folder." in page(
        client
    )


def test_the_page_is_linked_for_staff_alone(client, staff):
    link = f'href="{reverse("operate")}"'
    assert link in client.get("/").content.decode()
    client.force_login(make_user())
    assert link not in client.get("/").content.decode()


def test_it_costs_no_more_queries_where_more_runs_have_failed(
    client, staff, runs, django_assert_max_num_queries
):
    phase = runs[0].phase
    for _ in range(5):
        run = make_submission(phase=phase, team=make_team(season=phase.task.season))
        leases.fail_job(engine.claim_job(run.jobs.get().pk, "a-host:1:2"), FAILED)
    with django_assert_max_num_queries(60):
        client.get(reverse("operate"))


def test_what_is_examined_are_checks_of_the_doctor():
    assert set(SITE_STATE_CHECK_NAMES) < set(CHECKS_BY_NAME)
