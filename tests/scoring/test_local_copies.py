"""Gold on a worker's machine: fetched by several at once, broken, thrown away while it is asked for."""

import errno
import os

import pytest

from citeboard.core import storage
from scoring.worker import local_copies
from scoring.worker.local_copies import delete_local_gold, get_or_make_local_gold_copy
from scoring.worker.score import score
from tasks.models import Gold, Job, Submission
from tests.factories import make_submission
from tests.scoring.scorers import put_in_place

pytestmark = pytest.mark.django_db


@pytest.fixture
def submission() -> Submission:
    return make_submission()


@pytest.fixture
def gold(submission) -> Gold:
    gold = submission.jobs.get().gold
    delete_local_gold(gold)
    return gold


def meanwhile(monkeypatch, act) -> None:
    """Somebody else does this once, while the gold is on its way."""
    fetch = storage.copy_to_local_folder

    def fetch_slowly(*given):
        copy = fetch(*given)
        monkeypatch.setattr(local_copies.storage, "copy_to_local_folder", fetch)
        act()
        return copy

    monkeypatch.setattr(local_copies.storage, "copy_to_local_folder", fetch_slowly)


def test_what_one_worker_was_given_another_does_not_replace(monkeypatch, gold):
    """A scorer may read the file that it was given, and no other that comes to have its name."""
    given = []
    meanwhile(
        monkeypatch, lambda: given.append(get_or_make_local_gold_copy(gold).open("rb"))
    )
    path = get_or_make_local_gold_copy(gold)
    with given[0] as first:
        assert os.path.samestat(os.fstat(first.fileno()), path.stat())


def test_where_a_file_system_has_no_links_the_gold_is_there_all_the_same(
    monkeypatch, gold
):
    def refuse(*given):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    assert get_or_make_local_gold_copy(gold).stat().st_size > 0


def test_a_copy_that_goes_while_it_is_asked_for_is_fetched_again(monkeypatch, gold):
    touch = os.utime

    def touch_what_is_gone(path):
        path.unlink()
        touch(path)

    before = get_or_make_local_gold_copy(gold).read_bytes()
    monkeypatch.setattr(local_copies.os, "utime", touch_what_is_gone)
    assert get_or_make_local_gold_copy(gold).read_bytes() == before


class TestAFaultOfOurs:
    def test_a_broken_copy_of_the_gold_is_told_to_nobody(self, submission, gold):
        path = get_or_make_local_gold_copy(gold)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        run = begun(submission)
        assert (run.status, run.problems) == ("queued", [])
        assert "gold of this phase" not in run.reason
        run = begun(submission)
        assert (run.status, run.reason, run.jobs.get().attempt) == ("scored", "", 2)
        assert path.read_bytes() == whole

    def test_it_is_told_to_nobody_either_where_a_worker_was_lost_before(
        self, submission, gold
    ):
        submission.jobs.update(attempt=1)
        path = get_or_make_local_gold_copy(gold)
        path.write_bytes(b"")
        assert begun(submission).status == "queued"
        assert begun(submission).status == "scored"

    def test_a_fault_that_comes_each_time_is_told(
        self, monkeypatch, settings, tmp_path, submission
    ):
        put_in_place(monkeypatch, tmp_path, "raise KeyError('k')")
        for _ in range(1, settings.MAX_ATTEMPTS):
            assert begun(submission).status == "queued"
        run = begun(submission)
        assert run.status == "failed"
        assert run.reason.startswith(
            "The scorer failed on this run by a fault of its own."
        )

    def test_where_a_run_is_begun_once_it_is_told_at_once(
        self, monkeypatch, settings, tmp_path, submission
    ):
        settings.MAX_ATTEMPTS = 1
        put_in_place(monkeypatch, tmp_path, "raise KeyError('k')")
        assert begun(submission).status == "failed"

    def test_what_is_wrong_with_the_run_itself_is_told_at_once(
        self, monkeypatch, tmp_path, submission
    ):
        problem = '{"problem": {"file": "", "line": 3, "message": "no such label"}}'
        put_in_place(
            monkeypatch, tmp_path, f"print({problem!r}, file=sys.stderr)\nreturn 2"
        )
        run = begun(submission)
        assert run.status == "failed"
        assert "line 3: no such label" in run.reason


def begun(submission: Submission) -> Submission:
    score(Job.objects.get(submission=submission).pk)
    return Submission.objects.get(pk=submission.pk)
