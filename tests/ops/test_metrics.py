"""`/metrics`: who may read it, what it says, and that alert rules speak of what is there."""

import datetime as dt
import json
import re

import pytest
import yaml
from django.urls import reverse
from django.utils.timezone import now
from prometheus_client.parser import text_string_to_metric_families

from citeboard.core.database import fetch_database_time
from citeboard.core.instruments import (
    BOARD_PAGES_SERVED_COUNTER,
    REQUEST_SECONDS_HISTOGRAM,
)
from citeboard.core.models import save_time_of_last_run
from citeboard.ops.backups import LAST_BACKUP_ROW_NAME
from tasks.jobs.engine import claim_job, end_lease, expire_leases_of_owner
from tasks.jobs.leases import cancel_jobs_of_run, restart_job
from tasks.jobs.queue_choice import record_worker_group_heartbeat
from tasks.jobs.sweeper import sweep_jobs
from tasks.models import Job
from tests.api.sending import score
from tests.factories import make_phase, make_submission, run_bytes

pytestmark = pytest.mark.django_db
TOKEN = "the right token"
#: What Prometheus knows by itself of whom it asks.
OF_PROMETHEUS = {"up", "job", "le"}


def families(client):
    answer = client.get("/metrics", headers={"Host": "localhost"})
    assert answer.status_code == 200
    return list(text_string_to_metric_families(answer.content.decode()))


def samples(client) -> dict[tuple[str, ...], float]:
    """By name and values of labels, in the order of the labels' names."""
    return {
        (
            sample.name,
            *(value for _, value in sorted(sample.labels.items())),
        ): sample.value
        for family in families(client)
        for sample in family.samples
    }


@pytest.fixture(autouse=True)
def _nothing_is_counted_yet() -> None:
    """Other tests of this process have asked for hundreds of routes."""
    REQUEST_SECONDS_HISTOGRAM.clear()
    BOARD_PAGES_SERVED_COUNTER.clear()


@pytest.fixture
def lively(client):
    """Metrics of a site on which something of each kind has happened."""
    phase = make_phase()
    score(make_submission(phase=phase, content=run_bytes()))
    sweep_jobs()
    record_worker_group_heartbeat("a-host:1")
    save_time_of_last_run(LAST_BACKUP_ROW_NAME, now())
    client.get(
        reverse("board", args=[phase.task.season.slug, phase.task.slug, phase.slug])
    )
    return [
        family for family in families(client) if family.name.startswith("citeboard_")
    ]


@pytest.mark.parametrize(
    ("address", "host", "headers", "proxies", "status"),
    [
        ("127.0.0.1", "localhost", {}, 0, 200),
        ("127.0.0.1", "127.0.0.1:8000", {}, 0, 200),
        ("::1", "[::1]:8000", {}, 0, 200),
        ("10.0.0.7", "localhost", {}, 0, 404),
        ("", "localhost", {}, 0, 404),
        ("127.0.0.1", "testserver", {}, 0, 404),
        ("127.0.0.1", "localhost", {}, 1, 404),
        ("127.0.0.1", "localhost", {"X-Forwarded-For": "10.0.0.7"}, 0, 404),
        ("127.0.0.1", "localhost", {"X-Forwarded-Proto": "https"}, 0, 404),
        ("127.0.0.1", "localhost", {"X-Real-IP": "10.0.0.7"}, 0, 404),
        ("127.0.0.1", "localhost", {"Forwarded": "for=10.0.0.7"}, 0, 404),
        ("127.0.0.1", "localhost", {"Via": "1.1 proxy"}, 0, 404),
        ("10.0.0.7", "testserver", {"Authorization": f"Bearer {TOKEN}"}, 1, 200),
        (
            "127.0.0.1",
            "testserver",
            {"Authorization": f"bearer {TOKEN}", "Via": "1.1 proxy"},
            0,
            200,
        ),
        ("10.0.0.7", "testserver", {"Authorization": "Bearer another"}, 1, 404),
        ("10.0.0.7", "testserver", {"Authorization": "Bearer ключ"}, 1, 404),
        ("10.0.0.7", "testserver", {"Authorization": TOKEN}, 1, 404),
    ],
)
def test_it_is_for_whoever_has_the_token_or_asks_on_this_machine(
    client, settings, address, host, headers, proxies, status
):
    settings.METRICS_TOKEN, settings.PROXIES = TOKEN, proxies
    answer = client.get(
        "/metrics", headers={"Host": host, **headers}, REMOTE_ADDR=address
    )
    assert answer.status_code == status
    assert (b"citeboard_jobs" in answer.content) == (status == 200)


@pytest.mark.parametrize("given", ["Bearer ", "Bearer", ""])
def test_where_no_token_is_set_none_is_taken(client, given):
    assert client.get("/metrics", headers={"Authorization": given}).status_code == 404


def test_it_is_asked_over_plain_http_and_kept_by_nobody(client, settings):
    settings.SECURE_SSL_REDIRECT = True
    answer = client.get("/metrics", headers={"Host": "localhost"})
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.both_databases
def test_it_tells_of_queues_runs_and_sweeper(client):
    phase = make_phase()
    score(make_submission(phase=phase, content=run_bytes()))
    again = make_submission(phase=phase).jobs.get()
    Job.objects.filter(pk=again.pk).update(queue="models")
    for _ in range(2):
        assert claim_job(again.pk, "a-host:1:2") is not None
        assert expire_leases_of_owner("a-host:1:2") == 1
        sweep_jobs()
    said = samples(client)
    assert said["citeboard_jobs", "light", "done"] == 1
    assert said["citeboard_jobs", "models", "queued"] == 1
    assert said["citeboard_jobs", "light", "queued"] == 0
    assert said["citeboard_runs", "scored"] == 1
    assert said["citeboard_jobs_begun_again_total",] == 1
    assert said["citeboard_queued_jobs", "score"] == 1
    assert said["citeboard_upload_to_score_seconds_count", "light"] == 1
    assert said["citeboard_memory_bytes", "free"] > 0
    assert (
        said["citeboard_mails", "failed"]
        == said["citeboard_webhook_deliveries", "waiting"]
        == 0
    )
    assert said["citeboard_jobs_done_recently", "score"] == 1
    assert (
        said["citeboard_job_seconds_max", "score"]
        >= said["citeboard_job_seconds_mean", "score"]
        > 0
    )
    assert said["citeboard_oldest_queued_job_age_seconds", "models"] > 0
    assert said["citeboard_oldest_queued_job_age_seconds", "light"] == 0
    assert ("citeboard_last_sweep_age_seconds",) in said


@pytest.mark.both_databases
def test_how_long_jobs_took_is_a_histogram_by_step(client):
    for seconds in (0.25, 0.75, 4, 4, 7200):
        job = claim_job(make_submission(phase=make_phase()).jobs.get().pk, "a-host:1:2")
        job.started_at = fetch_database_time() - dt.timedelta(seconds=seconds)
        assert end_lease(job, state=Job.State.DONE)
    make_submission(phase=make_phase())
    said = samples(client)
    counts = {"0.5": 1, "1.0": 2, "2.0": 2, "5.0": 4, "10.0": 4, "1800.0": 4, "+Inf": 5}
    assert {
        upper: said["citeboard_job_seconds_bucket", upper, "score"] for upper in counts
    } == counts
    assert said["citeboard_job_seconds_count", "score"] == 5
    assert said["citeboard_job_seconds_sum", "score"] == pytest.approx(7209, abs=5)
    assert {found.name: found.type for found in families(client)}[
        "citeboard_job_seconds"
    ] == "histogram"


@pytest.mark.both_databases
def test_a_lease_that_ends_without_a_sign_of_life_is_counted_for_good(client):
    job = make_submission(phase=make_phase()).jobs.get()
    for times in (1, 2):
        assert claim_job(job.pk, "a-host:1:2") is not None
        assert expire_leases_of_owner("a-host:1:2") == 1
        assert sweep_jobs().lost == 1
        assert samples(client)["citeboard_leases_lost_total", "light"] == times
    cancel_jobs_of_run(job.submission_id)
    assert restart_job(Job.objects.select_related("submission__phase__task").get())
    said = samples(client)
    assert said["citeboard_leases_lost_total", "light"] == 2
    assert said["citeboard_jobs_begun_again_total",] == 1


def test_a_site_without_a_backup_says_nothing_of_one(client):
    assert ("citeboard_last_backup_age_seconds",) not in samples(client)
    save_time_of_last_run(LAST_BACKUP_ROW_NAME, now() - dt.timedelta(days=3))
    assert 259_000 < samples(client)["citeboard_last_backup_age_seconds",] < 260_000


@pytest.mark.both_databases
def test_a_site_with_nothing_in_it_has_a_queue_of_nothing(client):
    said = samples(client)
    assert said["citeboard_jobs", "light", "queued"] == 0
    assert said["citeboard_oldest_queued_job_age_seconds", "light"] == 0
    assert said["citeboard_runs", "scored"] == 0


def test_requests_are_counted_by_the_name_of_their_route(client):
    before = samples(client)
    client.get("/health/live")
    client.get("/no/such/address")
    client.get("/static/no-such-file.css")
    client.generic("MADEUP", "/health/live")
    after = samples(client)

    def more(*labels: str) -> float:
        key = ("citeboard_http_request_seconds_count", *labels)
        return after[key] - before.get(key, 0)

    assert more("GET", "health-live", "200") == 1
    assert more("other", "health-live", "405") == 1
    assert more("GET", "none", "404") == 1
    assert more("GET", "static", "404") == 1


def test_pages_of_boards_are_counted_by_where_they_come_from(client):
    phase = make_phase()
    board = reverse("board", args=[phase.task.season.slug, phase.task.slug, phase.slug])
    before = samples(client)
    first = client.get(board)
    client.get(board)
    client.get(board, headers={"If-None-Match": first["ETag"]})
    after = samples(client)
    keys = [
        ("citeboard_board_pages_total", source)
        for source in ("made", "cache", "reader")
    ]
    assert [after[key] - before.get(key, 0) for key in keys] == [1, 1, 1]


def told_of(lively) -> tuple[set[str], set[str]]:
    """The names of samples and of labels that there are."""
    found = [sample for family in lively for sample in family.samples]
    return OF_PROMETHEUS | {each.name for each in found}, OF_PROMETHEUS.union(
        *(each.labels for each in found)
    )


def labels_used(told: str) -> set[str]:
    grouped = (
        " ".join(re.findall(r"\bby \(([\w, ]+)\)", told)).replace(",", " ").split()
    )
    return {
        *grouped,
        *re.findall(r"(\w+)(?:=~|!~|!=|=)\"", told),
        *re.findall(r"\$labels\.(\w+)", told),
    }


def test_the_dashboard_shows_metrics_and_labels_that_are_there(lively, root):
    names, labels = told_of(lively)
    board = json.loads((root / "deploy" / "grafana.json").read_text())
    [source] = board["templating"]["list"]
    shown = set()
    for panel in board["panels"]:
        [target] = panel["targets"]
        assert (
            panel["datasource"]
            == target["datasource"]
            == {"type": "prometheus", "uid": f"${{{source['name']}}}"}
        )
        used = set(re.findall(r"\bciteboard_\w+", target["expr"]))
        assert used, panel["title"]
        assert used <= names, panel["title"]
        legend = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        assert labels_used(target["expr"]) <= labels, panel["title"]
        by = set(
            re.findall(
                r"\w+", "".join(re.findall(r"\bby \(([\w, ]+)\)", target["expr"]))
            )
        )
        assert legend <= (by or {"instance"}), panel["title"]
        shown |= used
    assert len(
        {(each["gridPos"]["x"], each["gridPos"]["y"]) for each in board["panels"]}
    ) == len(board["panels"])
    assert {
        "citeboard_jobs",
        "citeboard_disk_bytes",
        "citeboard_http_request_seconds_bucket",
    } <= shown


def test_alert_rules_speak_of_metrics_and_labels_that_are_there(lively, root):
    names, labels = told_of(lively)
    [group] = yaml.safe_load((root / "deploy" / "alerts.yaml").read_text())["groups"]
    assert len(group["rules"]) >= 7
    for rule in group["rules"]:
        assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
        assert set(rule["annotations"]) == {"summary", "description"}
        told = f"{rule['expr']} {rule['annotations']}"
        used = set(re.findall(r"\b(?:citeboard_\w+|up)\b", told))
        assert used, rule["alert"]
        assert used <= names, rule["alert"]
        assert labels_used(told) <= labels, rule["alert"]


def test_the_documentation_lists_the_metrics_that_there_are(lively, root):
    page = (root / "docs" / "operating.md").read_text(encoding="utf-8")
    listed = {
        name.removesuffix("_total") for name in re.findall(r"`(citeboard_\w+)`", page)
    }
    assert listed == {family.name for family in lively}
