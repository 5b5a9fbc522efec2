"""A run on its way in: what is stored, numbered and queued, and what is refused and costs nothing."""

import datetime as dt
import json

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from citeboard.core import storage
from tasks.models import Gold, Job, Registration, Submission
from tasks.registration.entries import lock_approved_entry
from tasks.submissions.refusals import (
    PhaseNotOpen,
    RunQuotaExceeded,
    RunRefused,
    RunRejected,
    RunUploadUnusable,
    TeamNotRegistered,
)
from tasks.submissions.run_card import RunCheckResult
from tasks.submissions.submit import check_run, submit_baseline, submit_run
from tests.factories import (
    answers,
    make_baseline,
    make_gold,
    make_phase,
    make_submission,
    make_task,
    make_team,
    make_upload,
    make_user,
    other_run,
    run_bytes,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    return make_phase(
        task=make_task(rules=["corrected", "official-2017"]), runs_per_day=2
    )


@pytest.fixture
def team(phase):
    return make_team(season=phase.task.season)


def submit(phase, team, content=None, filename="run.jsonl", **given):
    return submit_run(
        phase=phase,
        team=team,
        user=None,
        upload=make_upload(content, filename),
        **{"system": "A system", **given},
    )


def stored_files(folder: str = ".") -> set[str]:
    """Every run in the storage."""
    if not storage.run_file_storage.exists(folder):
        return set()
    folders, files = storage.run_file_storage.listdir(folder)
    inside = (stored_files(f"{folder}/{name}") for name in folders)
    return {f"{folder}/{name}" for name in files}.union(*inside)


@pytest.mark.both_databases
def test_a_run_is_stored_numbered_and_queued_under_every_rule_set(phase, team):
    user = make_user()
    upload = make_upload(other_run(1), "run.jsonl")
    submission = submit_run(
        phase=phase,
        team=team,
        user=user,
        upload=upload,
        system=" A  system ",
        description="Words.\n",
    )
    assert (submission.number, submission.status, submission.kind) == (
        1,
        "queued",
        "primary",
    )
    assert (submission.system, submission.description) == ("A system", "Words.")
    assert (submission.filename, submission.size) == ("run.jsonl", len(other_run(1)))
    assert submission.submitted_by == user
    with storage.run_file_storage.open(submission.file) as stored:
        assert stored.read() == other_run(1)
    jobs = submission.jobs.order_by("pk")
    assert [(job.rules, job.sets_status, job.state) for job in jobs] == [
        ("corrected", True, "queued"),
        ("official-2017", False, "queued"),
    ]
    assert {job.gold for job in jobs} == {Gold.objects.current(phase)}
    assert all(job.woken_at for job in jobs)


def test_a_bad_run_names_every_line_and_costs_nothing(phase, team):
    good, *_ = answers()
    lines = [
        json.dumps(good),
        '{"topic": "D01-0001"',
        "[1]",
        json.dumps({**good, "sentences": "1"}),
    ]
    before = stored_files()
    with pytest.raises(RunRejected) as refused:
        submit(phase, team, "\n".join(lines).encode(), "my run.jsonl")
    assert [(problem.file, problem.line) for problem in refused.value.problems] == [
        ("my run.jsonl", 2),
        ("my run.jsonl", 3),
        ("my run.jsonl", 4),
    ]
    assert refused.value.more == 0
    assert not Submission.objects.exists()
    assert stored_files() == before
    assert submit(phase, team).number == 1


def test_of_many_problems_200_are_listed_and_the_others_counted(phase, team):
    with pytest.raises(RunRejected) as refused:
        # Each is wrong at another column; equal problems would be one.
        submit(phase, team, b"".join(b'{"%s" 1}\n' % (b"a" * n) for n in range(341)))
    assert len(refused.value.problems) == 200
    assert refused.value.more == 141
    assert str(refused.value) == "the run has 341 problems"


def test_warnings_are_kept_with_the_run_and_capped(phase, team):
    strange = [
        {**answers()[0], "citance": None, "marker": str(900 + n)} for n in range(300)
    ]
    submission = submit(phase, team, run_bytes([*answers(), *strange]))
    assert len(submission.warnings) == 201
    assert not any(warning["fatal"] for warning in submission.warnings)
    assert submission.warnings[0]["line"] == 5
    assert submission.warnings[-1]["message"] == "and 100 more warnings"


@pytest.mark.both_databases
def test_runs_are_numbered_within_a_team_and_a_phase(phase, team):
    other_team, other_phase = (
        make_team(season=phase.task.season),
        make_phase(task=phase.task),
    )
    numbers = [submit(phase, team, other_run(n)).number for n in (1, 2)]
    assert numbers == [1, 2]
    assert submit(phase, other_team).number == 1
    assert submit(other_phase, team).number == 1


@pytest.mark.both_databases
def test_the_same_file_again_is_taken_and_its_team_is_told(phase, team):
    submit(phase, team)
    again = submit(phase, team)
    assert again.number == 2
    assert again.warnings[0]["message"] == "the same file was sent before, as run 1"
    assert submit(phase, make_team(season=phase.task.season)).warnings == []


@pytest.mark.parametrize(("opens", "closes"), [(1, 2), (-3, -1), (-3, 0)])
def test_a_phase_that_is_not_open_takes_no_run(team, phase, opens, closes):
    now = timezone.now()
    phase.opens, phase.closes = (
        now + dt.timedelta(days=opens),
        now + dt.timedelta(days=closes),
    )
    phase.save()
    with pytest.raises(PhaseNotOpen) as refused:
        submit(phase, team)
    assert (refused.value.opens, refused.value.closes) == (phase.opens, phase.closes)
    assert not Submission.objects.exists()


@pytest.mark.both_databases
def test_a_phase_that_closes_while_the_run_is_read_takes_it_no_more(
    phase, team, monkeypatch
):
    before = stored_files()

    def close_meanwhile(*file, **given):
        type(phase).objects.filter(pk=phase.pk).update(closes=timezone.now())
        return RunCheckResult()

    monkeypatch.setattr(
        "tasks.submissions.run_card.check_run_in_sandbox", close_meanwhile
    )
    with pytest.raises(PhaseNotOpen):
        submit(phase, team)
    assert stored_files() == before
    assert not Submission.objects.exists()


def test_only_teams_that_take_part_in_the_season_send_runs(phase):
    stranger = make_team()
    with pytest.raises(TeamNotRegistered):
        submit(phase, stranger)
    Registration.objects.create(season=make_phase().task.season, team=stranger)
    with pytest.raises(TeamNotRegistered):
        submit(phase, stranger)
    Registration.objects.create(
        season=phase.task.season, team=stranger, is_approved=False
    )
    with pytest.raises(TeamNotRegistered):
        submit(phase, stranger)
    Registration.objects.filter(team=stranger, season=phase.task.season).update(
        is_approved=True
    )
    assert submit(phase, stranger).number == 1


@pytest.mark.both_databases
def test_what_is_held_while_a_run_is_counted_is_the_team_s_own_approved_entry(
    phase, team
):
    Registration.objects.create(season=make_phase().task.season, team=team)
    make_team(season=phase.task.season)
    with transaction.atomic():
        held = lock_approved_entry(phase, team)
        assert (held.season, held.team) == (phase.task.season, team)
        Registration.objects.filter(season=phase.task.season, team=team).update(
            is_approved=False
        )
        assert lock_approved_entry(phase, team) is None


def test_a_phase_without_gold_takes_no_run(team, phase):
    empty = make_phase(task=phase.task, split="later", with_gold=False)
    with pytest.raises(RunRefused, match="has no gold yet"):
        submit(empty, team)
    with pytest.raises(RunRefused, match="has no gold yet"):
        check_run(phase=empty, upload=make_upload())


def test_a_team_without_tries_is_told_before_its_run_is_read(phase, team, monkeypatch):
    for number in (1, 2):
        submit(phase, team, other_run(number))
    monkeypatch.setattr(
        "tasks.submissions.run_card.check_run_in_sandbox",
        lambda *file, **given: pytest.fail("the run was read"),
    )
    with pytest.raises(RunQuotaExceeded) as refused:
        submit(phase, team)
    assert refused.value.left == 0
    assert refused.value.renews_at > timezone.now()


@pytest.mark.both_databases
def test_a_failure_while_the_run_is_queued_leaves_no_file_and_no_row(
    phase, team, monkeypatch
):
    before = stored_files()

    def fail(*given):
        assert stored_files() > before
        raise OSError("the disk is full")

    monkeypatch.setattr("tasks.submissions.submit.create_scoring_jobs", fail)
    with pytest.raises(OSError, match="disk is full"):
        submit(phase, team)
    assert stored_files() == before
    assert not Submission.objects.exists()


@pytest.mark.both_databases
def test_what_one_team_fails_to_send_does_not_take_the_same_file_from_another(
    phase, team, monkeypatch
):
    kept = submit(phase, make_team(season=phase.task.season))
    monkeypatch.setattr(
        "tasks.submissions.submit.create_scoring_jobs", lambda *given: 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        submit(phase, team)
    assert storage.run_file_storage.exists(kept.file)


@pytest.mark.both_databases
def test_a_key_gives_the_same_submission_back_even_when_no_try_is_left(phase, team):
    first = submit(phase, team, other_run(1), idempotency_key="k-1")
    submit(phase, team, other_run(2))
    phase.closes = timezone.now()
    phase.save()
    files = stored_files()
    assert submit(phase, team, other_run(1), idempotency_key="k-1") == first
    assert stored_files() == files
    assert Submission.objects.count() == 2
    assert Job.objects.filter(submission=first).count() == 2


@pytest.mark.both_databases
def test_a_key_that_came_with_another_file_is_refused(phase, team):
    submit(phase, team, other_run(1), idempotency_key="k-1")
    with pytest.raises(RunUploadUnusable, match="as run 1"):
        submit(phase, team, other_run(2), idempotency_key="k-1")
    assert Submission.objects.count() == 1


@pytest.mark.both_databases
def test_a_key_belongs_to_one_team_and_phase(phase, team):
    other_phase, other_team = (
        make_phase(task=phase.task),
        make_team(season=phase.task.season),
    )
    sent = {
        submit(each, display_name, idempotency_key="k-1").pk
        for each, display_name in (
            (phase, team),
            (phase, other_team),
            (other_phase, team),
        )
    }
    assert len(sent) == 3


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("system", " \n"),
        ("system", "a" * 81),
        ("system", "\u202e"),
        ("description", "a" * 4001),
        ("kind", "baseline"),
        ("kind", "best"),
        ("idempotency_key", "k" * 101),
        ("idempotency_key", "k\n2"),
        ("idempotency_key", "ключ"),
    ],
)
def test_what_a_sender_says_of_a_run_is_refused_by_field(phase, team, field, value):
    with pytest.raises(ValidationError) as refused:
        submit(phase, team, **{field: value})
    assert list(refused.value.message_dict) == [field]
    assert not Submission.objects.exists()


@pytest.mark.both_databases
def test_names_keep_their_markup_and_lose_what_no_page_can_show(phase, team):
    submission = submit(
        phase,
        team,
        system="<b>Best</b>\x00 &amp;\u202e system",
        description="<script>alert(1)</script>\r\n\x07second line",
    )
    submission.refresh_from_db()
    assert submission.system == "<b>Best</b> &amp; system"
    assert submission.description == "<script>alert(1)</script>\n second line"


def test_a_run_is_kept_under_a_name_that_leads_nowhere(phase, team):
    submission = submit(phase, team, filename="../../<b>été</b> run.jsonl")
    assert submission.filename == "b_ run.jsonl"
    assert ".." not in submission.file
    assert "<" not in submission.file
    assert submission.file.endswith("/b_ run.jsonl")
    assert storage.run_file_storage.exists(submission.file)


@pytest.mark.both_databases
def test_a_run_against_new_gold_is_scored_against_that_alone(phase, team):
    submit(phase, team)
    new = make_gold(
        phase=phase,
        citances=(("D05-0001", "3", ["2"], "Aim_Citation"),),
        reason="A fix.",
    )
    again = submit(phase, team)
    assert {job.gold for job in again.jobs.all()} == {new}


def test_a_large_run_is_opened_now_and_checked_in_a_job(phase, team, settings):
    content = run_bytes() + b" " * (1 << 20)
    settings.CHECK_MAX_MB = 1
    submission = submit(phase, team, content + b"\nno json")
    assert (submission.status, submission.warnings) == ("checking", [])
    assert [
        (job.kind, job.rules, job.sets_status) for job in submission.jobs.all()
    ] == [("check", "", True)]
    [told] = check_run(phase=phase, upload=make_upload(content + b"\nno json")).problems
    assert not told.fatal
    assert told.message.startswith(
        "a run of more than 1 MB is checked once it is submitted"
    )
    with pytest.raises(RunRejected):
        submit(phase, team, b"PK\x03\x04" + content, filename="run.zip")
    settings.CHECK_MAX_MB = 8
    with pytest.raises(RunRejected):
        submit(phase, team, content + b"\nno json")


def test_a_baseline_needs_no_team_no_quota_and_no_open_phase(phase):
    phase.opens = timezone.now() + dt.timedelta(days=1)
    phase.save()
    first, second = (
        make_baseline(phase=phase),
        make_baseline(phase=phase, content=other_run(3)),
    )
    assert [(each.team, each.kind, each.number) for each in (first, second)] == [
        (None, "baseline", 1),
        (None, "baseline", 2),
    ]
    assert first.jobs.count() == 2


def test_a_bad_baseline_is_refused_as_a_team_s_run_is(phase):
    with pytest.raises(RunRejected):
        submit_baseline(phase=phase, upload=make_upload(b"no json"), system="Lead")
    assert not Submission.objects.exists()


def test_the_factory_gives_a_run_that_waits():
    assert make_submission().status == "queued"
