"""`manage.py work` takes jobs in one process, for batch systems and timers."""

import time

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from citeboard.core import writability
from citeboard.core.outages import READ_ONLY_REASON
from citeboard.core.writability import HeartbeatWriteResult
from tasks.jobs import work
from tasks.models import Job, WorkerGroup
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def done(settings, monkeypatch, tmp_path):
    """The jobs that were done; each ends at once."""
    settings.WORK_DIR = tmp_path / "work"
    numbers = []

    def do(job: Job) -> None:
        numbers.append(job.pk)
        Job.all_kinds.filter(pk=job.pk).update(state=Job.State.DONE, lease_owner="")

    monkeypatch.setattr(work, "_call_job_handler", do)
    return numbers


def jobs_of_two_queues() -> tuple[Job, Job]:
    light, heavy = (factories.make_submission().jobs.get() for _ in range(2))
    Job.objects.filter(pk=heavy.pk).update(queue="models")
    return light, heavy


@pytest.mark.both_databases
def test_it_takes_the_jobs_of_its_queue_and_ends(done, capsys):
    light, heavy = jobs_of_two_queues()
    call_command("work", until_idle=True, queue=["models"])
    assert done == [heavy.pk]
    light.refresh_from_db()
    assert light.state == "queued"
    assert capsys.readouterr().out == "1 job taken; none is left.\n"


def test_without_a_queue_it_takes_all_jobs(done):
    jobs = jobs_of_two_queues()
    call_command("work", until_idle=True)
    assert sorted(done) == sorted(job.pk for job in jobs)


def test_its_group_alone_is_gone_once_it_ends():
    other = WorkerGroup.objects.create(
        name="other-0a1b2c3d:1.1:", workers=1, seen_at=timezone.now()
    )
    call_command("work", until_idle=True)
    assert [*WorkerGroup.objects.all()] == [other]


def test_it_fails_with_the_reason_while_nothing_can_be_written(done):
    factories.make_submission()
    writability._save_write_record(
        HeartbeatWriteResult(at=time.time(), reason=READ_ONLY_REASON, status=503)
    )
    with pytest.raises(CommandError, match=READ_ONLY_REASON):
        call_command("work", until_idle=True)
    assert done == []
