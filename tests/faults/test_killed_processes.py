"""kill -9 of each process that a run passes through: nothing is lost, stuck, or scored twice."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from django.core.files.storage import storages
from django.db import connection, transaction
from django.db.models import F
from django_q.models import OrmQ

from citeboard.background.kinds import queue_label_import
from citeboard.core import storage
from scoring.models import BoardOrder, Evaluation
from tasks.jobs.engine import wake_worker
from tasks.models import Job, Phase
from tasks.submissions.uploads import UploadedRunFile
from tests.factories import make_user
from tests.faults.promises import assert_scored_exactly_once, wait_until_settled
from tests.faults.serving import (
    LEASE,
    LONG,
    ROOT,
    SHORT,
    SWEEP,
    is_running,
    kill,
    stopped,
    until,
)

pytestmark = [pytest.mark.worker, pytest.mark.slow, pytest.mark.both_databases]

#: A new group of workers is there within so many seconds, on a machine that is busy with other tests.
START = 70


def bound(waited: float) -> bool:
    """Lease, one sweep, a start anew where the group was stuck, and the scoring itself."""
    return waited < LEASE + SWEEP + START


def running(submission) -> Job | None:
    return submission.jobs.filter(state="running").first()


def until_the_scorer_has(submission) -> Job:
    """A worker that has claimed a job may still copy files; while a scorer computes it renews the lease."""
    until(lambda: running(submission), "the job is claimed")
    job = submission.jobs.get()
    until(
        lambda: running(submission).lease_expires_at > job.lease_expires_at,
        "a sign of life",
    )
    return job


@contextmanager
def endless(name):
    """A stored file that cannot be read to its end; says whether somebody tries to."""
    path = Path(storages["default"].path(name))
    kept = path.rename(path.with_suffix(".kept"))
    os.mkfifo(path)
    ends = []

    def is_read() -> bool:
        # Refused while nobody has opened the other end.
        with suppress(OSError):
            ends.append(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        return bool(ends)

    try:
        yield is_read
    finally:
        kept.rename(path)
        for end in ends:
            os.close(end)


class TestABusyWorker:
    def test_killed_or_hanging_loses_its_job(self, serve, send):
        claimed = send()
        # It is held there by a run that cannot be read to its end.
        with endless(f"runs/{claimed.file}"):
            served = serve()
            until(lambda: running(claimed), "the job is claimed")
            kill(served.pid("worker"))
        assert bound(wait_until_settled(claimed))

        served.wait_until_whole()
        worker = served.pid("worker")
        with stopped(served.scorer) as scorer:
            computed = send()
            until(lambda: running(computed), "the job is claimed")
            kill(worker)
            until(lambda: not is_running(scorer), "the scorer is gone with its worker")
        assert bound(wait_until_settled(computed))

        served.wait_until_whole()
        worker = served.pid("worker")
        with stopped(served.scorer):
            hanging = send()
            until(lambda: running(hanging), "the job is claimed")
            os.kill(worker, signal.SIGSTOP)
            assert bound(wait_until_settled(hanging))
        assert [run.jobs.get().attempt for run in (claimed, computed, hanging)] == [
            2,
            2,
            2,
        ]
        assert_scored_exactly_once(claimed, computed, hanging)

    def test_killed_before_it_commits(self, serve, send):
        served = serve(CITEBOARD_LEASE_SECONDS=str(2 * LEASE))
        worker, scorer = served.pid("worker"), served.scorer
        with stopped(scorer):
            submission = send()
            # After a sign of life there is time until the next one, which the lock would hold up.
            job = until_the_scorer_has(submission)
            with locked_for_writing(submission.phase):
                os.kill(scorer, signal.SIGCONT)
                until(
                    lambda: (
                        kept(submission)
                        and kept(submission)[0].startswith(f"job-{job.pk}-1-")
                    ),
                    "the numbers are there and wait to be written",
                )
                kill(worker)
        assert not Evaluation.objects.exists()
        assert bound(wait_until_settled(submission) - LEASE)
        assert Evaluation.objects.get().attempt == 2
        assert_scored_exactly_once(submission)
        # Those of the first attempt go once the second is committed.
        until(
            lambda: len(kept(submission)) == 1, "the first attempt's numbers are gone"
        )
        assert kept(submission)[0].startswith(f"job-{job.pk}-2-")


class TestAGroupAtOtherWork:
    """Killed as a whole, it loses at once what it had, whatever the lease."""

    def test_in_the_background_and_at_a_board(self, serve, send, phase, tmp_path):
        organiser, sent = make_user(), tmp_path / "labels.jsonl"
        phase.task.season.organisers.create(user=organiser)
        sent.write_text("nonsense\n")
        upload = UploadedRunFile(sent, sent.name)
        asked = queue_label_import(
            season=phase.task.season, model="m@1", upload=upload, by=organiser
        )
        with endless(f"statistics/{asked.file}") as is_read:
            served = serve()
            self.kill_once(is_read, served)
        until(lambda: ended(asked.job), "it has come to an end")
        asked.refresh_from_db()
        assert (asked.job.attempt, [problem["line"] for problem in asked.problems]) == (
            2,
            [1],
        )

        submission = send()
        wait_until_settled(submission)
        until(
            lambda: BoardOrder.objects.filter(job__state="done", version__gt=0),
            "it is compared",
        )
        order, evaluations = BoardOrder.objects.get(), Evaluation.objects.all()
        with endless(f"statistics/{evaluations.get().statistics}") as is_read:
            evaluations.update(has_class_intervals=False)
            Phase.objects.update(version=F("version") + 1)
            self.kill_once(is_read, served)
        until(lambda: ended(order.job), "it has come to an end")
        assert (order.job.state, order.job.attempt) == ("done", 2)
        assert evaluations.get().has_class_intervals

    def kill_once(self, is_read, served):
        until(is_read, "a worker is at it")
        worker = served.pid("worker")
        kill(served.leader)
        until(lambda: not is_running(worker), "the worker is gone with its group")


def ended(job) -> bool:
    job.refresh_from_db()
    return job.state in ("done", "failed")


def kept(submission) -> list[str]:
    """The names of its matrices in the storage."""
    try:
        return storage.statistics_file_storage.listdir(str(submission.pk))[1]
    except FileNotFoundError:
        return []


@contextmanager
def locked_for_writing(phase):
    """Somebody else is about to write: to the whole file in SQLite, to the phase in PostgreSQL."""
    if connection.vendor == "sqlite":
        other = sqlite3.connect(
            connection.settings_dict["NAME"], timeout=60, isolation_level=None
        )
        begin = ("BEGIN IMMEDIATE",)
    else:
        other = psycopg.connect(
            **connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}
        )
        begin = ("SELECT 1 FROM tasks_phase WHERE id = %s FOR UPDATE", (phase.pk,))
    try:
        other.execute(*begin)
        yield
        other.rollback()
    finally:
        other.close()


def test_a_scorer_killed_while_it_waits_costs_nothing_and_at_its_work_is_begun_again(
    serve, send
):
    served = serve(**LONG)
    kill(served.scorer)
    first = send()
    wait_until_settled(first)
    assert first.jobs.get().attempt == 1
    until(lambda: served.scorer, "another scorer waits")
    with stopped(served.scorer) as scorer:
        second = send()
        until_the_scorer_has(second)
        kill(scorer)
    wait_until_settled(second)
    assert second.jobs.get().attempt == 2
    assert_scored_exactly_once(first, second)


def test_an_idle_process_of_the_queue_killed(serve, send):
    """An idle worker may hold the lock of the queue: then the queue hands out nothing any more."""
    served = serve()
    scored = [send()]
    wait_until_settled(*scored)
    for role in ("worker", "monitor", "pusher", "sentinel", "leader"):
        gone = getattr(served, role, None) or served.pid(role)
        kill(gone)
        after = [send() for _ in range(3)]
        assert bound(wait_until_settled(*after)), role
        scored += after
        assert max(job.attempt for job in Job.objects.all()) <= 2, role
        served.wait_until_whole()
    assert_scored_exactly_once(*scored)


def test_serve_killed_takes_all_its_processes_along(serve, send):
    served = serve()
    family = served.family()
    assert len(family) >= 5
    kill(served.process.pid)
    until(
        lambda: not [pid for pid in family if is_running(pid)], "nothing is left of it"
    )
    submission = send()
    served = serve()
    wait_until_settled(submission)
    assert_scored_exactly_once(submission)
    # As well where the queue cannot end by itself.
    served.wait_until_whole()
    family = served.family()
    os.kill(served.sentinel, signal.SIGSTOP)
    kill(served.process.pid)
    until(
        lambda: not [pid for pid in family if is_running(pid)], "nothing is left of it"
    )


def test_serve_asked_to_end_gives_back_what_is_scored_and_ends_soon(serve, send):
    served = serve(**LONG)
    with stopped(served.scorer):
        submission = send()
        until(lambda: running(submission), "the job is claimed")
        assert served.stop() < 30
    assert served.process.returncode == 0
    job = submission.jobs.get()
    assert (job.state, job.attempt) == ("queued", 0)
    serve(**LONG)
    wait_until_settled(submission)
    assert submission.jobs.get().attempt == 1
    assert_scored_exactly_once(submission)


class TestWakes:
    def test_one_that_is_lost_is_given_again(self, serve, send):
        serve()
        with transaction.atomic():
            submission = send()
            OrmQ.objects.all().delete()
        assert bound(wait_until_settled(submission))
        assert submission.jobs.get().attempt == 1
        assert_scored_exactly_once(submission)

    def test_five_of_them_score_once(self, serve, send):
        serve(CITEBOARD_WORKERS="2", **LONG)
        with transaction.atomic():
            submission = send()
            for _ in range(4):
                wake_worker(submission.jobs.get())
        wait_until_settled(submission)
        other = send()
        wait_until_settled(other)
        assert {job.attempt for job in Job.objects.all()} == {1}
        assert_scored_exactly_once(submission, other)


def test_three_sweepers_are_no_worse_than_one(serve, send, child_environment):
    command = [sys.executable, "manage.py", "sweep", "--every", "0.1"]
    sweepers = [
        subprocess.Popen(
            command, cwd=ROOT, env=child_environment | SHORT, stderr=subprocess.DEVNULL
        )
        for _ in range(2)
    ]
    try:
        served = serve()
        worker = served.pid("worker")
        with stopped(served.scorer):
            submissions = [send() for _ in range(3)]
            until(lambda: running(submissions[0]), "the job is claimed")
            kill(worker)
        assert bound(wait_until_settled(*submissions))
        # Taken back by two, the lost job would have a third attempt; a busy machine may lose another.
        attempt, *others = (submission.jobs.get().attempt for submission in submissions)
        assert attempt == 2
        assert {1, 2} >= {*others}
        assert_scored_exactly_once(*submissions)
    finally:
        for sweeper in sweepers:
            sweeper.kill()
            sweeper.wait()
