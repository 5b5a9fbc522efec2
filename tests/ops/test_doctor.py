"""What the doctor finds: each fault by its name, with what to do, and nothing where all is well."""

import datetime as dt
import json
import re
from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.cache import caches
from django.core.cache.backends.filebased import FileBasedCache
from django.core.management import call_command
from django.utils import timezone
from django_q.conf import Conf
from django_q.signing import SignedPackage

from citeboard.core import storage
from citeboard.core.confined import rights
from citeboard.core.env import build_storage_settings
from citeboard.ops.doctor import CHECKS_BY_NAME, FindingState, run_health_checks
from tasks.jobs import engine
from tasks.jobs.queue_choice import record_worker_group_heartbeat
from tasks.jobs.sweeper import sweep_jobs
from tasks.models import Gold, Job, Submission
from tests.factories import make_phase, make_submission, make_task

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_signs_of_life():
    """Those that other tests have left."""
    caches["queue"].clear()


def finding(name: str):
    [found] = run_health_checks([name])
    return found


def test_every_check_has_words_of_its_own():
    make_submission()
    findings = run_health_checks()
    assert [each.name for each in findings] == list(CHECKS_BY_NAME)
    assert all(
        each.found and "could not be examined" not in each.found for each in findings
    )
    assert all(each.advice for each in findings if each.state == FindingState.BAD)


def test_an_installation_without_worker_and_sweeper_is_told_to_start_them():
    for name in ("workers", "sweeper"):
        assert finding(name).state == FindingState.BAD
        assert "manage.py serve" in finding(name).advice


def test_a_sweep_is_a_sign_of_life_until_it_is_old(settings, monkeypatch):
    sweep_jobs()
    assert finding("sweeper").state == FindingState.GOOD
    later = timezone.now() + dt.timedelta(hours=1)
    monkeypatch.setattr("citeboard.ops.doctor.fetch_database_time", lambda: later)
    assert finding("sweeper").state == FindingState.BAD


@pytest.mark.both_databases
def test_a_worker_shows_by_the_lease_it_renews():
    engine.claim_job(make_submission().jobs.get().pk, "a-host-0a1b2c3d:1:2")
    found = finding("workers")
    assert (found.state, "on a-host" in found.found) == (FindingState.GOOD, True)


@pytest.mark.both_databases
def test_a_group_of_workers_is_found_behind_those_that_have_died():
    queue = caches["queue"]
    living = SimpleNamespace(cluster_id="living", host="a-host", reincarnations=0)
    queue.set(Conf.Q_STAT, [*(f"dead-{number}" for number in range(5)), "living"])
    queue.set("living", SignedPackage.dumps(living, compressed=True))
    assert finding("workers").state == FindingState.GOOD


def test_gold_that_is_gone_is_named():
    make_submission()
    assert finding("storage").state == FindingState.GOOD
    storage.gold_file_storage.delete(Gold.objects.get().file)
    found = finding("storage")
    assert found.state == FindingState.BAD
    assert "1 files of gold are missing" in found.found


def test_an_empty_storage_is_another_place_and_not_lost_gold(settings, tmp_path):
    make_submission()
    settings.STORAGES = {
        **settings.STORAGES,
        "default": build_storage_settings(None, tmp_path),
    }
    found = finding("storage")
    assert (found.state, "none of the 3 files of gold" in found.found) == (
        FindingState.BAD,
        True,
    )
    assert "CITEBOARD_STORAGE" in found.advice
    assert "load_gold" not in found.advice


@pytest.mark.parametrize("name", ["workers", "sweeper"])
def test_signs_of_life_that_cannot_be_kept_are_told_from_none(name, monkeypatch):
    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileBasedCache, "set", refuse)
    found = finding(name)
    assert (found.state, "No space left on device" in found.found) == (
        FindingState.BAD,
        True,
    )
    assert found.advice.startswith("Fix that first")


def test_a_mail_server_is_asked(settings):
    assert (
        finding("mail").state,
        "CITEBOARD_EMAIL_HOST" in finding("mail").advice,
    ) == (FindingState.ODD, True)
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    found = finding("mail")
    assert (
        found.state,
        found.found.startswith("127.0.0.1:1 lets no mail be sent"),
    ) == (FindingState.BAD, True)


def test_static_files_that_are_not_gathered_are_found(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    assert (finding("static").state, "collectstatic" in finding("static").advice) == (
        FindingState.BAD,
        True,
    )
    (tmp_path / "staticfiles.json").write_text('{"paths": {"page.js": "page.1.js"}}')
    assert finding("static").found == "1 static files are missing, such as page.1.js"
    (tmp_path / "page.1.js").touch()
    assert finding("static").state == FindingState.GOOD


def test_a_storage_that_cannot_be_written_is_found(monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("citeboard.core.storage.FolderStorage._save", refuse)
    assert "No space left on device" in finding("storage").found


def test_a_disk_that_fills_up_is_told_before_it_is_full(monkeypatch):
    for free, state in (
        (100, FindingState.GOOD),
        (1, FindingState.ODD),
        (0.1, FindingState.BAD),
    ):
        usage = type("Usage", (), {"free": int(free * (1 << 30))})
        monkeypatch.setattr(
            "citeboard.ops.doctor.shutil.disk_usage", lambda _, usage=usage: usage
        )
        assert finding("disk").state == state


@pytest.mark.both_databases
def test_clocks_that_differ_are_found(monkeypatch):
    assert finding("clock").state == FindingState.GOOD
    late = timezone.now() + dt.timedelta(days=1)
    monkeypatch.setattr("citeboard.ops.doctor.timezone.now", lambda: late)
    [seconds] = re.findall(r"differ by ([\d.]+) s", finding("clock").found)
    assert 80_000 < float(seconds) <= 86_400


@pytest.mark.both_databases
def test_jobs_that_nobody_holds_and_runs_without_a_job_are_stuck():
    job = make_submission().jobs.get()
    assert finding("jobs").state == FindingState.GOOD
    engine.claim_job(job.pk, "a-host-0a1b2c3d:1:2")
    Job.objects.update(lease_expires_at=timezone.now() - dt.timedelta(hours=1))
    assert "1 jobs are held by nobody" in finding("jobs").found
    Job.objects.all().delete()
    assert Submission.objects.get().is_moving
    assert "1 runs move without a job" in finding("jobs").found


@pytest.mark.both_databases
def test_what_jobs_wait_for_is_told():
    reason = "What this task is scored with, such as a model, is not installed here yet; it goes on."
    engine.defer_job(
        engine.claim_job(make_submission().jobs.get().pk, "a-host-0a1b2c3d:1:2"), reason
    )
    assert reason in finding("jobs").found
    assert (finding("models").state, "make models" in finding("models").advice) == (
        FindingState.BAD,
        True,
    )


def test_as_a_probe_it_exits_1_and_says_the_same_to_programs():
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "--json", "--only", "database", "workers", stdout=out)
    assert ended.value.code == 1
    assert [(each["name"], each["state"]) for each in json.loads(out.getvalue())] == [
        ("database", "good"),
        ("workers", "bad"),
    ]
    out = StringIO()
    call_command("doctor", "--only", "database", stdout=out)
    assert out.getvalue().startswith("good  database  ")


def test_what_is_closed_to_processes_that_read_uploads_is_found_by_trying(settings):
    if rights.find_landlock_version() and rights.has_system_call_filter():
        assert finding("confinement").state == FindingState.GOOD
        assert "files, network, processes" in finding("confinement").found
    settings.CONFINEMENT = "limits"
    found = finding("confinement")
    assert found.state == FindingState.ODD
    assert "files, network" in found.found
    assert "CITEBOARD_CONFINEMENT" in found.advice


@pytest.mark.both_databases
def test_a_queue_that_is_scaled_to_zero_is_missed_only_while_jobs_wait(settings):
    settings.QUEUES, settings.SCALED_QUEUES = ["light"], ["gpu"]
    record_worker_group_heartbeat("a-host-0a1b2c3d:1.1:")
    make_phase()
    phase = make_phase(task=make_task(queue="gpu"))
    found = finding("queues")
    assert (found.state, found.found) == (
        FindingState.GOOD,
        "all queues in use are served: light; scaled to zero and empty: gpu",
    )
    make_submission(phase=phase)
    assert finding("queues").state == FindingState.BAD


@pytest.mark.both_databases
def test_a_queue_that_nobody_serves_is_named(settings):
    settings.QUEUES = ["light"]
    record_worker_group_heartbeat("a-host-0a1b2c3d:1.1:")
    make_submission()
    assert finding("queues").state == FindingState.GOOD
    phase = make_phase(task=make_task(queue="gpu"))
    assert finding("queues").state == FindingState.ODD
    make_submission(phase=phase)
    found = finding("queues")
    assert (found.state, found.found) == (
        FindingState.BAD,
        "no worker serves the queue gpu (1 job in it)",
    )
