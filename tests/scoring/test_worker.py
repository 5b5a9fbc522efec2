"""A run and its worker: what is published, and what a scorer that misbehaves does to its own run alone."""

import json
import logging
import os
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest
from django.conf import settings as site
from django.db import connection

from citeboard.core import storage
from citeboard.core.confined import rights
from scoring.models import Evaluation, Score
from scoring.offline.evaluate import load_statistics
from scoring.worker.child import remove_leftover_scorer_folders
from scoring.worker.local_copies import get_or_create_work_folder
from scoring.worker.score import score
from tasks.jobs import leases
from tasks.models import Job, Submission
from tasks.submissions.run_acts import cancel_run
from tests.factories import (
    answers,
    make_phase,
    make_submission,
    make_task,
    run_bytes,
    write_corpus,
)
from tests.scoring import offline
from tests.scoring.scorers import put_in_place

pytestmark = pytest.mark.django_db

PATIENCE = 180  # seconds until something that must happen has failed to


@pytest.fixture
def submission(db) -> Submission:
    return make_submission()


@pytest.fixture
def job(submission) -> Job:
    return submission.jobs.get()


@pytest.fixture
def scorer_that(monkeypatch, tmp_path):
    return lambda body: put_in_place(monkeypatch, tmp_path, body)


@pytest.fixture(autouse=True)
def _no_folder_is_left(db):
    remove_leftover_scorer_folders(
        get_or_create_work_folder()
    )  # what workers killed by other tests left
    before = {path.name for path in get_or_create_work_folder().iterdir()} | {"gold"}
    yield
    assert [
        path.name
        for path in get_or_create_work_folder().iterdir()
        if path.name not in before
    ] == []


def read(row):
    return type(row).objects.get(pk=row.pk)


def until(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def scored(submission: Submission) -> Submission:
    for job in submission.jobs.all():
        score(job.pk)
    return read(submission)


def scored_as_often_as_it_is_begun(submission: Submission) -> Submission:
    """As a worker does where the fault may have been its own machine's."""
    for _ in range(1, site.MAX_ATTEMPTS):
        assert scored(submission).status == "queued"
    return scored(submission)


@pytest.mark.both_databases
class TestPublishing:
    def test_what_is_published_is_what_the_offline_scorer_prints(
        self, tmp_path, capsys
    ):
        content = run_bytes(answers(sentences=("1", "2")))
        run = scored(make_submission(content=content))
        assert (run.status, run.reason) == ("scored", "")
        (tmp_path / "run.jsonl").write_bytes(content)
        gold = write_corpus(tmp_path / "corpus")
        evaluation = Evaluation.objects.get(submission=run)
        options = ("--rules", "corrected", "--nonce", evaluation.gold.nonce)
        said = offline.score(
            capsys, "clsumm-1a", [gold], tmp_path / "run.jsonl", *options
        )
        kept = {
            each.metric: (
                each.value,
                each.low,
                each.high,
                each.n,
                each.scale,
                each.column,
                each.signature,
            )
            for each in evaluation.scores.all()
        }
        fields = ("value", "low", "high", "n", "scale", "column", "signature")
        assert kept == {
            name: tuple(metric[field] for field in fields)
            for name, metric in said["metrics"].items()
        }
        assert list(kept) == list(said["metrics"])
        assert evaluation.rank_value == next(iter(said["metrics"].values()))["value"]
        assert evaluation.notes == said["notes"]

    def test_breakdowns_keep_the_order_of_the_gold(self, submission):
        scored(submission)
        row = submission.evaluations.get().breakdowns.get(classes__dimension="topic")
        assert list(row.by_class()) == ["D01-0001", "D01-0002"]

    def test_the_matrices_behind_the_numbers_are_kept(self, submission):
        scored(submission)
        with storage.statistics_file_storage.open(
            Evaluation.objects.get().statistics
        ) as kept:
            assert set(load_statistics(kept).unit_names) == {"D01-0001", "D01-0002"}

    def test_each_rule_set_has_an_evaluation_of_its_own(self):
        run = make_submission(
            phase=make_phase(task=make_task(rules=["corrected", "official-2017"]))
        )
        assert scored(run).status == "scored"
        assert set(run.evaluations.values_list("rules", flat=True)) == {
            "corrected",
            "official-2017",
        }

    def test_a_job_is_scored_once_however_often_it_is_woken(self, job, submission):
        for _ in range(5):
            score(job.pk)
        assert Evaluation.objects.count() == 1
        assert (read(job).attempt, read(submission.phase).version) == (
            1,
            submission.phase.version + 1,
        )

    @pytest.mark.django_db(transaction=True)
    def test_scoring_anew_replaces_rows_and_files_and_keeps_the_evaluation(
        self, job, submission
    ):
        scored(submission)
        before = Evaluation.objects.get()
        scores = Score.objects.count()
        leases.restart_job(read(job))
        Job.objects.filter(pk=job.pk).update(attempt=5)
        scored(submission)
        after = Evaluation.objects.get()
        assert (after.pk, Score.objects.count()) == (before.pk, scores)
        assert after.statistics != before.statistics
        assert not storage.statistics_file_storage.exists(before.statistics)
        assert storage.statistics_file_storage.exists(after.statistics)

    def test_log_lines_of_a_run_carry_the_request_that_brought_it(self, job, caplog):
        from citeboard.core.logs import RequestIdFilter

        Job.objects.filter(pk=job.pk).update(trace="request-1234")
        caplog.handler.addFilter(RequestIdFilter())
        with caplog.at_level(logging.INFO):
            score(job.pk)
        told = [
            record
            for record in caplog.records
            if record.message == f"Job {job.pk} scored"
        ]
        assert [(each.request_id, each.job, each.trace) for each in told] == [
            ("request-1234", job.pk, "request-1234")
        ]


class TestRunsThatCannotBeScored:
    def test_what_is_wrong_with_the_gold_is_not_told_to_teams(
        self, job, submission, scorer_that
    ):
        problem = {
            "problem": {
                "file": "/data/gold.zip!D01-0001.txt",
                "line": 3,
                "message": "SECRET",
            }
        }
        scorer_that(f"print({json.dumps(problem)!r}, file=sys.stderr)\nreturn 2")
        run = scored_as_often_as_it_is_begun(submission)
        assert run.status == "failed"
        assert "your file is not at fault" in run.reason
        assert "SECRET" not in run.reason
        assert "gold.zip" not in run.reason

    def test_a_run_that_is_not_the_file_that_was_sent_is_not_scored(self, submission):
        with (site.DATA_DIR / "files" / "runs" / submission.file).open("ab") as file:
            file.write(b"\n")
        run = scored(submission)
        assert (run.status, run.reason) == (
            "failed",
            "The stored run is not the file that was sent; please submit it again.",
        )

    def test_a_fault_of_the_scorer_is_told_without_its_traceback(
        self, submission, scorer_that, caplog
    ):
        scorer_that("raise KeyError('the answer of the gold')")
        run = scored_as_often_as_it_is_begun(submission)
        assert run.status == "failed"
        assert run.reason.startswith(
            "The scorer failed on this run by a fault of its own."
        )
        assert "the answer of the gold" not in run.reason
        assert "KeyError: 'the answer of the gold'" in caplog.text

    def test_a_run_waits_while_a_model_is_missing(
        self, job, submission, scorer_that, caplog
    ):
        scorer_that(
            "print('python -m scoring: no model of this name: roberta', file=sys.stderr)\nreturn 6"
        )
        run = scored(submission)
        assert (run.status, read(job).attempt) == ("waiting", 0)
        assert run.reason.startswith(
            "It cannot be scored yet: no model of this name: roberta. Those who run the site"
        )
        assert "roberta" in caplog.text


class TestScorersThatMisbehave:
    def test_one_that_wants_too_much_memory_fails_its_run(
        self, submission, scorer_that, settings
    ):
        settings.SCORING_MEMORY_MB = 1024
        scorer_that("return len(bytearray(2 << 30))")
        run = scored(submission)
        assert (run.status, run.reason) == (
            "failed",
            "Scoring needed more than 1024 MB of memory.",
        )
        assert run.hit_limit

    def test_one_that_takes_memory_bit_by_bit_fails_its_run(
        self, submission, scorer_that, settings
    ):
        settings.SCORING_MEMORY_MB = 1024
        scorer_that(
            "import numpy\nkept = []\nwhile True: kept.append(numpy.empty(1 << 24))"
        )
        assert (
            scored(submission).reason == "Scoring needed more than 1024 MB of memory."
        )

    def test_one_that_computes_for_ever_fails_its_run(
        self, submission, scorer_that, settings
    ):
        settings.SCORING_TIMEOUT = 1
        scorer_that("while True: pass")
        run = scored(submission)
        assert run.status == "failed"
        assert run.reason in (
            "Scoring took more than 1 s of computing.",
            "Scoring took more than 2 s.",
        )

    def test_one_that_hangs_fails_its_run(self, submission, scorer_that, settings):
        # On a slow machine what a scorer computes to get ready counts, and is less.
        settings.SCORING_TIMEOUT = 3
        scorer_that("time.sleep(600)")
        run = scored(submission)
        assert run.reason == "Scoring took more than 6 s."
        assert not run.hit_limit

    def test_one_that_fills_the_disk_fails_its_run(self, submission, scorer_that):
        scorer_that(
            "file = open('large', 'wb')\nfile.seek(2 << 30)\nfile.write(b'x')\nfile.flush()"
        )
        assert scored(submission).reason == "Scoring wrote a file of more than 1024 MB."

    def test_one_that_dies_is_begun_again_and_then_fails_its_run(
        self, job, submission, scorer_that
    ):
        scorer_that("signal.raise_signal(signal.SIGKILL)")
        for attempt in (1, 2):
            score(job.pk)
            assert (read(job).state, read(job).attempt) == ("queued", attempt)
        score(job.pk)
        run = read(submission)
        assert run.status == "failed"
        assert run.reason.startswith("The scorer was ended by SIGKILL")
        assert "begun 3 times" in run.reason

    def test_one_that_ends_in_the_middle_of_its_answer_is_begun_again(
        self, job, scorer_that
    ):
        scorer_that("print('{\"metrics\": ')\nreturn 0")
        score(job.pk)
        assert (read(job).state, read(job).attempt) == ("queued", 1)
        assert not Evaluation.objects.exists()

    def test_one_that_leaves_children_behind_takes_them_along(
        self, submission, scorer_that, tmp_path
    ):
        note = tmp_path / "note"
        scorer_that(
            "child = os.fork()\n"
            "if child == 0: time.sleep(600)\n"
            "print(child, file=note, flush=True)\n"
            "return real(arguments)"
        )
        assert scored(submission).status == "scored"
        until(lambda: not is_running(int(note.read_text())))

    def test_one_gets_neither_secrets_nor_the_database_nor_another_folder(
        self, submission, scorer_that, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("CITEBOARD_SECRET_KEY", "secret")
        monkeypatch.setenv("DATABASE_URL", "postgres://secret")
        note = tmp_path / "note"
        scorer_that(
            "import json\njson.dump([dict(os.environ), os.getcwd()], note)\nreturn real(arguments)"
        )
        assert scored(submission).status == "scored"
        environment, folder = json.loads(note.read_text())
        assert "secret" not in json.dumps(environment)
        ours = {
            name for name in environment if name.startswith(("CITEBOARD", "DJANGO"))
        }
        assert ours == {"CITEBOARD_MODELS_DIR"}
        assert Path(folder).parent == get_or_create_work_folder()
        assert not Path(folder).exists()

    @pytest.mark.skipif(
        not rights.find_landlock_version(), reason="this kernel has no Landlock"
    )
    def test_one_cannot_read_the_database_or_what_else_is_on_the_machine(
        self, submission, scorer_that, tmp_path, settings
    ):
        secret = settings.DATA_DIR / "secret"
        secret.write_text("secret")
        scorer_that(
            f"for path in ({str(secret)!r}, '/etc/passwd', '/proc/1/environ'):\n"
            "    try: print('read', open(path).read(), file=note)\n"
            "    except PermissionError: print('refused', file=note)\n"
            "return real(arguments)"
        )
        assert scored(submission).status == "scored"
        assert (tmp_path / "note").read_text().split() == ["refused"] * 3

    def test_one_has_no_network(self, submission, scorer_that, tmp_path):
        if not rights.has_system_call_filter():
            pytest.skip("no filter for this kind of machine")
        scorer_that(
            "import socket\n"
            "try: socket.create_connection(('127.0.0.1', 9))\n"
            "except PermissionError: print('refused', file=note)\n"
            "return real(arguments)"
        )
        assert scored(submission).status == "scored"
        assert (tmp_path / "note").read_text().split() == ["refused"]

    def test_limits_alone_hold_one_where_the_site_says_so(
        self, submission, scorer_that, tmp_path, settings
    ):
        settings.CONFINEMENT = "limits"
        scorer_that(
            "print(len(open('/etc/passwd').read()) > 0, file=note)\nreturn real(arguments)"
        )
        assert scored(submission).status == "scored"
        assert (tmp_path / "note").read_text().split() == ["True"]

    def test_one_fails_its_own_run_and_nobody_elses(
        self, submission, scorer_that, monkeypatch
    ):
        with monkeypatch.context() as patched:
            put_in_place(
                patched,
                get_or_create_work_folder().parent,
                "return len(bytearray(1 << 50))",
            )
            assert scored(submission).status == "failed"
        assert scored(make_submission(phase=submission.phase)).status == "scored"


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
class TestRunsThatAreLost:
    """While the scorer works, in another thread as the worker has the main one."""

    @pytest.fixture
    def meanwhile(self):
        """Does something in a thread of its own once the run is being scored."""
        threads = []

        def start(job: Job, action) -> None:
            def wait_and_act() -> None:
                try:
                    until(lambda: read(job).state == "running")
                    action()
                finally:
                    connection.close()

            threads.append(threading.Thread(target=wait_and_act))
            threads[-1].start()

        yield start
        for thread in threads:
            thread.join(PATIENCE)

    @pytest.fixture
    def scorer(self, scorer_that, tmp_path):
        """A scorer that never comes to an end; gives its process once there is one."""
        note = tmp_path / "note"
        scorer_that("print(os.getpid(), file=note, flush=True)\ntime.sleep(600)")

        def process() -> int:
            until(lambda: note.exists() and note.read_text())
            return int(note.read_text())

        return process

    def test_a_cancelled_run_stops_its_scorer(self, job, submission, scorer, meanwhile):
        meanwhile(
            job, lambda: (scorer(), cancel_run(submission, submission.submitted_by))
        )
        score(job.pk)
        assert (read(job).state, read(submission).status) == ("cancelled", "cancelled")
        until(lambda: not is_running(scorer()))
        assert not Evaluation.objects.exists()

    def test_a_worker_whose_lease_went_to_another_stops_its_scorer(
        self, job, scorer, meanwhile
    ):
        meanwhile(
            job,
            lambda: (
                scorer(),
                Job.objects.filter(pk=job.pk).update(lease_owner="other:1:2"),
            ),
        )
        score(job.pk)
        assert (read(job).state, read(job).lease_owner) == ("running", "other:1:2")
        until(lambda: not is_running(scorer()))

    def test_a_worker_that_is_asked_to_end_gives_its_job_back_first(
        self, job, submission, scorer, meanwhile
    ):
        heard = []
        before = signal.signal(signal.SIGTERM, lambda *_: heard.append(read(job).state))
        try:
            meanwhile(job, lambda: (scorer(), os.kill(os.getpid(), signal.SIGTERM)))
            score(job.pk)
        finally:
            signal.signal(signal.SIGTERM, before)
        assert heard == ["queued"]
        assert (read(job).attempt, read(submission).status) == (0, "queued")
        until(lambda: not is_running(scorer()))


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
