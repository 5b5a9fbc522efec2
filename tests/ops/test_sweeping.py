"""A sweep of many steps: one that fails is told and keeps no other from being done."""

import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from citeboard.ops import pruning
from tasks.jobs import engine, sweeper
from tasks.jobs.deliveries import send_due_deliveries
from tasks.jobs.mails import send_due_mails
from tasks.models import Job
from tests.factories import make_phase, make_submission, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def broken() -> int:
    raise RuntimeError("a fault")


def away() -> int:
    raise OperationalError("the database is gone")


@pytest.fixture
def steps(monkeypatch):
    done = []
    own = {
        broken: "{}",
        away: "{}",
        lambda: done.append("last") or len(done): "{} steps done",
    }
    monkeypatch.setattr(pruning, "SWEEP_STEP_MESSAGES", own)
    monkeypatch.setattr("citeboard.management.commands.sweep.SWEEP_STEP_MESSAGES", own)
    monkeypatch.setattr(pruning, "POSTING_STEP_MESSAGES", {})
    monkeypatch.setattr("citeboard.management.commands.sweep.POSTING_STEP_MESSAGES", {})
    # A test's own connection stays.
    monkeypatch.setattr(pruning.connections, "close_all", lambda: None)
    return done


def test_a_failed_step_skips_no_other_and_is_logged_by_name(steps, caplog):
    assert pruning.run_sweep_steps() == ["1 steps done"]
    told = [(line.levelname, line.getMessage()) for line in caplog.records]
    assert ("ERROR", "Sweeping: broken failed") in told
    assert [words for _, words in told if "sweeping is put off, away first" in words]


def test_by_hand_it_says_what_was_done_and_that_something_was_not(steps, capsys):
    with pytest.raises(CommandError, match="2 of 3 steps failed"):
        call_command("sweep")
    assert capsys.readouterr().out == "1 steps done\n"


def test_by_hand_it_can_leave_mails_and_webhooks_to_another_sweeper(
    monkeypatch, capsys
):
    posting = "citeboard.management.commands.sweep.run_posting_steps"
    monkeypatch.setattr(posting, lambda: pytest.fail("it posts"))
    call_command("sweep", "--without-posting")
    assert "e-mails sent" not in capsys.readouterr().out


def test_a_job_that_cannot_be_set_moving_keeps_no_other_from_it(monkeypatch):
    phase = make_phase()
    first, second = (
        make_submission(
            phase=phase, team=make_team(season=phase.task.season)
        ).jobs.get()
        for _ in range(2)
    )
    for job in (first, second):
        engine.defer_job(
            engine.claim_job(job.pk, "a-host:1:2"),
            "The storage of the site does not answer.",
        )
    Job.objects.update(woken_at=first.created_at - sweeper.TAKEN_WAKEUP_LIFETIME)
    given = sweeper.resume_waiting_job

    def refuse_the_first(job):
        if job.pk == first.pk:
            raise RuntimeError("a fault")
        return given(job)

    monkeypatch.setattr(sweeper, "resume_waiting_job", refuse_the_first)
    assert sweeper.sweep_jobs().resumed == 1
    assert list(Job.objects.order_by("pk").values_list("state", flat=True)) == [
        "waiting",
        "queued",
    ]


def test_a_mail_server_that_hangs_holds_up_no_sweep(steps, monkeypatch):
    reached, answers, ended = threading.Event(), threading.Event(), threading.Event()

    def hang() -> int:
        reached.set()
        answers.wait()
        ended.set()
        return 0

    monkeypatch.setattr(pruning, "POSTING_STEP_MESSAGES", {hang: "{} sent"})
    posting = threading.Thread(
        target=pruning.post_mails_and_events_until, args=[ended], daemon=True
    )
    posting.start()
    reached.wait()
    assert pruning.run_sweep_steps() == ["1 steps done"]
    assert posting.is_alive()
    answers.set()
    posting.join()


def test_by_hand_mails_and_events_are_sent_too(steps, monkeypatch, capsys):
    monkeypatch.setattr(pruning, "SWEEP_STEP_MESSAGES", {})
    monkeypatch.setattr("citeboard.management.commands.sweep.SWEEP_STEP_MESSAGES", {})
    own = {away: "{}", lambda: 3: "{} e-mails sent"}
    monkeypatch.setattr(pruning, "POSTING_STEP_MESSAGES", own)
    monkeypatch.setattr(
        "citeboard.management.commands.sweep.POSTING_STEP_MESSAGES", own
    )
    with pytest.raises(CommandError, match="1 of 2 steps failed"):
        call_command("sweep")
    assert capsys.readouterr().out == "3 e-mails sent\n"


def test_what_waits_for_machines_of_others_is_no_part_of_a_sweep():
    assert {send_due_mails, send_due_deliveries} == set(pruning.POSTING_STEP_MESSAGES)
    assert not set(pruning.POSTING_STEP_MESSAGES) & set(pruning.SWEEP_STEP_MESSAGES)
