"""What the job engine promises of every kind of work: one worker has it, and a lost one changes nothing."""

import datetime as dt
import itertools
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from django_q.models import OrmQ

from citeboard.background.work import do_job
from citeboard.core.database import fetch_database_time
from citeboard.teams.membership import invite_by_mail, withdraw_mailed_invitation
from citeboard.teams.models import MailedInvitation
from scoring.models import BackgroundJob, BoardOrder
from scoring.results.board import comparison_state
from scoring.worker.background import queue_background_job
from scoring.worker.compare_board import compare_board
from scoring.worker.score import score_next
from tasks.jobs import deliveries, engine, interruptions, leases, mails
from tasks.jobs.engine import JobClaimLost
from tasks.jobs.sweeper import sweep_jobs
from tasks.jobs.work import (
    JobProcessDied,
    JobWaitsForDependency,
    claim_and_do_job_by_id,
    take_jobs,
)
from tasks.models import Delivery, Job, Notification, Submission, Webhook
from tests.factories import (
    make_job,
    make_phase,
    make_season,
    make_submission,
    make_team,
    make_user,
)

pytestmark = pytest.mark.both_databases

Kind, Priority = Job.Kind, Job.Priority


def of_run(kind: Job.Kind) -> Job:
    submission = make_submission()
    if kind != Kind.SCORE:
        submission.jobs.update(kind=kind, rules="")
    return submission.jobs.get()


def of_background() -> Job:
    return queue_background_job(
        BackgroundJob.Kind.SHEET, make_season(), {}, by=make_user()
    ).job


def of_board() -> Job:
    phase = make_phase()
    comparison_state.queue_board_comparison(phase.pk, "corrected")
    return BoardOrder.objects.get(phase=phase).job


def of_mail() -> Job:
    job = make_job(Kind.MAIL)
    Notification.objects.create(user=make_user(), kind="announced", event="e", job=job)
    return job


def of_invitation() -> Job:
    invitation = invite_by_mail(
        team=make_team(season=make_season()), address="a@example.org", by=make_user()
    )
    return Job.all_kinds.get(pk=invitation.job)


def of_event() -> Job:
    webhook = Webhook.objects.create(
        season=make_season(), url="https://example.org", nonce="1"
    )
    return Delivery.objects.create(
        webhook=webhook, payload={}, job=make_job(Kind.WEBHOOK)
    ).job


MADE = {
    Kind.WRITE: lambda: of_run(Kind.WRITE),
    Kind.CHECK: lambda: of_run(Kind.CHECK),
    Kind.SCORE: lambda: of_run(Kind.SCORE),
    Kind.BACKGROUND: of_background,
    Kind.COMPARE: of_board,
    Kind.MAIL: of_mail,
    Kind.INVITATION: of_invitation,
    Kind.WEBHOOK: of_event,
}
POSTED = {
    Kind.MAIL: mails.NOTIFICATION_MAIL_JOBS,
    Kind.INVITATION: mails.INVITATION_MAIL_JOBS,
    Kind.WEBHOOK: deliveries.WEBHOOK_DELIVERY_JOBS,
}
WORKED = [kind for kind in Kind if kind not in POSTED]
NAMED = [kind for kind in Kind if kind not in Job.OF_RUNS]

every = pytest.mark.parametrize("kind", list(Kind))
worked = pytest.mark.parametrize("kind", WORKED)


def read(job: Job) -> Job:
    return Job.all_kinds.get(pk=job.pk)


def fall_silent(job: Job) -> None:
    Job.all_kinds.filter(pk=job.pk).update(
        lease_expires_at=fetch_database_time() - dt.timedelta(seconds=5)
    )


@pytest.fixture
def handled(monkeypatch):
    """Whatever a worker does of a job is done by this instead; the jobs that it was handed."""
    jobs = []

    def handle(job):
        jobs.append(job)
        if handle.act is not None:
            handle.act(job)
        else:
            engine.end_lease(job, state="done", finished_at=timezone.now())

    handle.act, handle.jobs = None, jobs
    for kind in WORKED:
        monkeypatch.setattr(
            type(engine.get_job_kind(Job(kind=kind))), "handler", f"{__name__}.HANDLER"
        )
    monkeypatch.setitem(globals(), "HANDLER", handle)
    return handle


HANDLER = None


def test_there_is_a_test_of_every_kind():
    assert set(MADE) == set(Kind) == set(engine.KIND_OBJECTS_BY_KIND)


@pytest.mark.django_db(transaction=True)
def test_sweepers_at_once_take_a_lost_job_once():
    for kind in Kind:
        fall_silent(engine.claim_job(MADE[kind]().pk, "host:1:1"))

    def swept(_):
        try:
            return sweep_jobs().lost
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(swept, range(4))) == len(Kind)
    assert set(Job.all_kinds.values_list("state", "attempt", "leases_lost")) == {
        ("queued", 1, 1)
    }


@every
@pytest.mark.django_db(transaction=True)
def test_of_many_workers_one_has_it(kind):
    job = MADE[kind]()

    def claimed(number):
        try:
            return engine.claim_job(job.pk, f"host:1:{number}") is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(claimed, range(4))) == 1
    assert read(job).attempt == 1


@every
@pytest.mark.django_db
def test_who_lost_it_changes_nothing_any_more(kind):
    stale = engine.claim_job(MADE[kind]().pk, "host:1:1")
    assert engine.renew_lease(stale)
    fall_silent(stale)
    assert sweep_jobs().lost == 1
    assert (read(stale).state, read(stale).leases_lost) == ("queued", 1)
    mine = engine.claim_job(stale.pk, "host:1:2")
    for change in (
        engine.renew_lease, engine.end_lease, engine.release_job,
        lambda job: engine.retry_or_fail_crashed(job, "why"),
        lambda job: engine.defer_job(job, "why"),
    ):  # fmt: skip
        assert not change(stale)
    assert engine.renew_lease(mine)


@every
@pytest.mark.django_db
def test_what_a_gone_group_had_is_free_at_once(kind):
    job = engine.claim_job(MADE[kind]().pk, "host:17:2")
    assert engine.expire_leases_of_owner("host:1:") == 0
    assert engine.expire_leases_of_owner("host:17:") == 1
    assert sweep_jobs().lost == 1
    assert engine.claim_job(job.pk, "host:18:2") is not None


@every
@pytest.mark.django_db
def test_a_sign_of_life_at_the_last_moment_keeps_it(kind, monkeypatch):
    """A sweep finds the job lost, and before it takes it the worker gives a sign of life."""
    mine = engine.claim_job(MADE[kind]().pk, "host:1:1")
    fall_silent(mine)
    leased = engine.select_job_with_own_lease

    def renewed_before(job):
        monkeypatch.setattr(engine, "select_job_with_own_lease", leased)
        assert engine.renew_lease(mine)
        return leased(job)

    monkeypatch.setattr(engine, "select_job_with_own_lease", renewed_before)
    assert sweep_jobs().lost == 0
    assert engine.renew_lease(mine)


@every
@pytest.mark.django_db
def test_what_a_worker_gives_back_is_one_of_its_jobs_alone(kind):
    first, second = (engine.claim_job(MADE[kind]().pk, "host:1:1") for _ in range(2))
    assert engine.release_job(first)
    assert (read(first).state, read(second).state) == ("queued", "running")
    assert engine.renew_lease(second)


@every
@pytest.mark.django_db
def test_what_is_left_in_good_order_does_not_count_and_is_not_lost(kind):
    job = engine.claim_job(MADE[kind]().pk, "host:1:1")
    assert engine.release_job(job)
    assert (read(job).state, read(job).attempt, read(job).leases_lost) == (
        "queued",
        0,
        0,
    )
    assert read(job).lease_expires_at is None


@every
@pytest.mark.django_db
def test_what_takes_every_worker_down_ends_and_what_is_posted_never_does(
    kind, settings
):
    job = MADE[kind]()
    for _ in range(settings.MAX_ATTEMPTS):
        fall_silent(engine.claim_job(job.pk, "host:1:1"))
        assert sweep_jobs().lost == 1
    assert read(job).state == ("queued" if kind in POSTED else "failed")
    assert read(job).attempt == settings.MAX_ATTEMPTS
    if kind not in POSTED:
        assert engine.claim_job(job.pk, "host:1:1") is None
        assert read(job).reason


@every
@pytest.mark.django_db
def test_it_waits_uncounted_for_what_is_missing_and_goes_on_by_itself(kind, settings):
    job = engine.claim_job(MADE[kind]().pk, "host:1:1")
    assert engine.defer_job(job, "The storage is away.")
    assert (read(job).state, read(job).attempt, read(job).reason) == (
        "waiting",
        0,
        "The storage is away.",
    )
    assert sweep_jobs().resumed == 0
    later = fetch_database_time() + dt.timedelta(seconds=settings.LEASE_SECONDS + 1)
    assert sweep_jobs(later).resumed == 1
    assert engine.claim_job(job.pk, "host:1:2") is not None


@worked
@pytest.mark.django_db
def test_a_wake_is_of_no_job_and_given_again_where_it_is_lost(kind, settings):
    OrmQ.objects.all().delete()
    MADE[kind]()
    OrmQ.objects.all().delete()
    assert sweep_jobs().woken == 0
    assert (
        sweep_jobs(
            fetch_database_time() + dt.timedelta(seconds=settings.LEASE_SECONDS)
        ).woken
        == 1
    )
    task = OrmQ.objects.get().task
    assert (task["func"], task["args"]) == (engine.WAKEUP_FUNCTION, ())


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.django_db
def test_a_job_goes_with_what_it_works_on_before_and_after_a_claim(kind):
    for is_claimed in (False, True):
        job = MADE[kind]()
        if is_claimed:
            engine.claim_job(job.pk, "host:1:1")
        engine.get_job_kind(job).rows.filter(job=job.pk).delete()
        if is_claimed:
            with pytest.raises(JobClaimLost):
                engine.get_related_row(job)
            sweep_jobs()
        else:
            assert engine.claim_job(job.pk, "host:1:1") is None
        assert not Job.all_kinds.filter(pk=job.pk).exists()


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.django_db
def test_whoever_means_jobs_of_runs_sees_no_others(kind):
    MADE[kind]()
    assert not Job.objects.exists()
    assert Job.all_kinds.count() == 1


@pytest.mark.django_db
def test_a_run_comes_before_all_else_and_what_is_posted_is_never_a_workers(handled):
    made = [MADE[kind]() for kind in reversed(Kind)]
    again = make_submission().jobs.get()
    Job.objects.filter(pk=again.pk).update(priority=Priority.AGAIN)
    take_jobs()
    order = [Priority(job.priority) for job in handled.jobs]
    assert order == [
        Priority.NEW, Priority.NEW, Priority.NEW, Priority.AGAIN, Priority.BACKGROUND, Priority.COMPARISON,
    ]  # fmt: skip
    assert {read(job).state for job in made if job.kind in POSTED} == {"queued"}


@pytest.mark.django_db
def test_between_two_jobs_a_worker_does_the_run_that_came_meanwhile(handled):
    def act(job):
        if job.kind == Kind.BACKGROUND:
            make_submission()
        engine.end_lease(job, state="done", finished_at=timezone.now())

    handled.act = act
    of_board(), of_background()
    take_jobs()
    assert [job.kind for job in handled.jobs] == ["background", "score", "compare"]


@pytest.mark.parametrize(
    "wake",
    [score_next, do_job, compare_board, take_jobs],
    ids=lambda wake: wake.__module__,
)
@pytest.mark.django_db
def test_a_wake_of_an_earlier_release_has_whose_turn_it_is_done(handled, wake):
    job = of_background()
    wake(job.pk + 1000)
    assert [read(done).state for done in handled.jobs] == ["done"]


ENDS = {
    "waits": (JobWaitsForDependency("not yet"), ("waiting", 0, "not yet")),
    "died": (JobProcessDied("it died"), ("queued", 1, "it died")),
    "stopped": (interruptions.WorkerStopping(), ("queued", 0, None)),
    "fault": (ValueError("on fire"), ("queued", 1, None)),
    "lost": (JobClaimLost(), ("running", 1, None)),
    "database": (OperationalError("away"), ("running", 1, None)),
}


@worked
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.django_db
def test_however_the_work_ends_the_job_says_so_and_nothing_is_raised(
    handled, kind, end
):
    raised, (state, attempt, reason) = ENDS[end]

    def act(job):
        raise raised

    handled.act = act
    job = MADE[kind]()
    claim_and_do_job_by_id(job.pk)
    assert (read(job).state, read(job).attempt) == (state, attempt)
    expected = {
        "fault": engine.get_job_kind(job).fault,
        "stopped": engine.get_job_kind(job).stopped_reason,
    }
    if reason or end in expected:
        assert read(job).reason == (reason or expected[end])


@worked
@pytest.mark.django_db
def test_a_worker_that_is_to_end_gives_its_job_back_first(handled, kind):
    ended = []

    def act(job):
        signal.raise_signal(signal.SIGTERM)
        interruptions.raise_if_stop_requested()

    handled.act = act
    job = MADE[kind]()
    assert threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, lambda *_: ended.append(read(job).state))
    try:
        take_jobs()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended == ["queued"]
    assert read(job).attempt == 0
    assert len(handled.jobs) == 1


@pytest.mark.parametrize("kind", Job.OF_RUNS)
@pytest.mark.django_db
def test_a_run_follows_its_job(kind):
    job = MADE[kind]()
    waiting = "checking" if kind == Kind.CHECK else "queued"
    mine = engine.claim_job(job.pk, "host:1:1")
    assert status(job) == ("checking" if kind == Kind.CHECK else "scoring")
    engine.defer_job(mine, "why")
    assert status(job) == "waiting"
    engine.resume_waiting_job(job)
    engine.release_job(engine.claim_job(job.pk, "host:1:1"))
    assert status(job) == waiting
    leases.fail_job(engine.claim_job(job.pk, "host:1:1"), "why")
    assert status(job) == "failed"
    assert leases.restart_job(read(job))
    assert status(job) == waiting


def status(job: Job) -> str:
    return Submission.objects.get(pk=job.submission_id).status


@pytest.mark.parametrize("kind", POSTED)
@pytest.mark.django_db(transaction=True)
def test_of_many_senders_one_has_what_is_due_and_of_one_that_died_another(kind):
    job = MADE[kind]()

    def taken(_=0):
        try:
            return list(POSTED[kind].claim_due_jobs(most=5, until=float("inf")))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        [(mine, _)] = itertools.chain.from_iterable(pool.map(taken, range(4)))
    fall_silent(job)
    [(theirs, _)] = taken()
    assert theirs.attempt == 2
    assert not engine.end_lease(mine, state="done")
    assert engine.end_lease(theirs, state="done")


@pytest.mark.django_db
def test_an_invitation_that_is_withdrawn_sends_nothing():
    job = of_invitation()
    invitation = MailedInvitation.objects.get()
    withdraw_mailed_invitation(invitation=invitation, by=invitation.created_by)
    assert not Job.all_kinds.filter(pk=job.pk).exists()
    assert mails.send_due_mails() == 0
