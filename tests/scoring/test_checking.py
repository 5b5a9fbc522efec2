"""A run too large to be checked while its sender waits: taken, checked in a job, and scored or refused."""

import datetime as dt
import html
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from citeboard.core import storage
from scoring.__main__ import main as offline_scorer
from scoring.worker.rescoring import rescore_run
from scoring.worker.score import score
from tasks.jobs import engine, leases
from tasks.jobs.leases import queue_missing_scorings
from tasks.jobs.sweeper import sweep_jobs
from tasks.models import Gold, Job, Submission, Task
from tasks.submissions.run_acts import cancel_run
from tasks.submissions.submit import check_run, compute_remaining_quota
from tasks.types.problems import merge_equal_problems, merge_with_further_lines
from tests import factories
from tests.factories import answers, run_bytes
from tests.scoring.scorers import put_in_place

pytestmark = pytest.mark.django_db

BAD = run_bytes() + b'{"topic": "D01-0001"}\nno JSON\n'


@pytest.fixture(autouse=True)
def _nothing_is_checked_at_once(settings):
    settings.CHECK_MAX_MB = 0


@pytest.fixture
def person():
    return factories.make_user()


@pytest.fixture
def phase():
    return factories.make_phase(
        task=factories.make_task(rules=["corrected", "official-2017"]),
        runs_per_day=1,
        runs_in_total=1,
    )


@pytest.fixture
def team(phase, person):
    return factories.make_team(season=phase.task.season, lead=person)


@pytest.fixture
def send(phase, team):
    return lambda content=None: factories.make_submission(
        phase=phase, team=team, content=content
    )


def read(row):
    return type(row).objects.get(pk=row.pk)


def worked(submission: Submission) -> Submission:
    """With all that its jobs lead to."""
    while job := submission.jobs.filter(state="queued").first():
        score(job.pk)
    return read(submission)


def page(client, submission, person, name="submission") -> str:
    client.force_login(person)
    return re.sub(
        r"\s+", " ", client.get(reverse(name, args=[submission.pk])).content.decode()
    )


def api(client, submission, person) -> dict:
    client.force_login(person)
    return client.get(f"/api/v1/submissions/{submission.pk}/").json()


def test_it_is_taken_counts_and_says_that_it_is_checked(
    client, send, phase, team, person
):
    run = send()
    assert run.status == "checking"
    assert compute_remaining_quota(phase, team).left == 0
    told = api(client, run, person)
    assert (told["status"], told["place"], told["reason"], told["problems"]) == (
        "checking",
        1,
        "",
        [],
    )
    assert told["since"] is not None
    shown = page(client, run, person)
    assert "Waiting to be checked. It is next." in shown
    assert "Cancel this run" in shown
    engine.claim_job(run.jobs.get().pk, "a worker")
    assert "Being checked now." in page(client, run, person)
    assert api(client, run, person)["progress"] == 0


def test_one_that_is_sound_is_scored_under_every_rule_set(client, send, person):
    run = send()
    score(run.jobs.get().pk)
    assert read(run).status == "queued"
    assert list(run.jobs.filter(kind="score").values_list("rules", "sets_status")) == [
        ("corrected", True),
        ("official-2017", False),
    ]
    run = worked(run)
    assert (run.status, run.evaluations.count(), run.problems) == ("scored", 2, [])
    shown = page(client, run, person)
    for step in ("received", "checked", "queued", "scoring", "scored"):
        assert f'<span class="step">{step}</span>' in shown


def test_one_that_is_refused_shows_every_problem_by_line_and_costs_nothing(
    client, send, phase, team, person
):
    run = worked(send(BAD))
    assert (run.status, run.evaluations.exists()) == ("failed", False)
    assert compute_remaining_quota(phase, team).left == 1
    told = api(client, run, person)
    assert [
        (problem["file"], problem["line"], problem["fatal"])
        for problem in told["problems"]
    ] == [
        ("run.jsonl", 5, True),
        ("run.jsonl", 5, True),
        ("run.jsonl", 6, True),
    ]
    assert told["problems"][2]["quote"] == "no JSON"
    assert told["reason"].startswith("The run cannot be scored: line 5: ")
    shown = page(client, run, person)
    assert "This run was refused." in shown
    assert "does not count against your team" in shown
    assert "3 problems in the file" in shown
    assert '<code class="quote">no JSON</code>' in shown
    assert '<span class="step">refused</span>' in shown


def test_the_table_comes_with_the_news_without_a_reload(client, send, person):
    run = worked(send(BAD))
    assert '<code class="quote">no JSON</code>' in page(
        client, run, person, "submission-status"
    )


def test_the_file_of_a_refused_run_stays_for_its_team(client, send, person):
    run = worked(send(BAD))
    assert storage.run_file_storage.exists(run.file)
    client.force_login(person)
    response = client.get(reverse("submission-run", args=[run.pk]))
    assert b"".join(response.streaming_content) == BAD


def test_the_same_problems_are_found_as_in_the_request(
    client, send, phase, team, person, settings
):
    later = worked(send(BAD)).problems
    settings.CHECK_MAX_MB = 8
    client.force_login(person)
    form = {"system": "A system", "run": SimpleUploadedFile("run.jsonl", BAD)}
    refused = client.post(f"/api/v1/phases/{phase.pk}/submissions/", form)
    assert refused.status_code == 422
    assert refused.json()["problems"] == later


def test_more_problems_than_are_listed_are_counted(send):
    different = (b"{" + b" " * place + b"no\n" for place in range(300))
    run = worked(send(b"".join(different)))
    assert len(run.problems) == 201
    assert run.problems[-1]["message"] == "and 100 more problems"


@pytest.mark.both_databases
def test_what_is_quoted_back_can_be_kept_whatever_its_author_wrote(send):
    endless = {**answers()[0], "topic": "D\0" + "9" * 100_000}
    run = worked(send(run_bytes() + b"no\0JSON\n" + run_bytes([endless])))
    assert (run.status, run.reason[:26]) == ("failed", "The run cannot be scored: ")
    assert [problem["quote"] for problem in run.problems][:1] == ["no\ufffdJSON"]
    told = "".join(
        str(problem[name])
        for problem in run.problems
        for name in ("message", "expected", "quote")
    )
    assert "\0" not in told
    assert len(told) < 20_000


def test_what_it_is_scored_by_is_what_its_task_says_when_the_check_ends(send, phase):
    run = send()
    job = engine.claim_job(run.jobs.get().pk, "a worker")
    Task.objects.filter(pk=phase.task_id).update(rules=["official-2017"])
    assert leases.accept_checked_run(job, [])
    assert list(run.jobs.filter(kind="score").values_list("rules", flat=True)) == [
        "official-2017"
    ]


def test_warnings_of_the_check_stand_on_the_page(client, send, person):
    run = worked(send(run_bytes(answers()[:1])))
    assert run.status == "scored"
    assert {warning["file"] for warning in run.warnings} == {"run.jsonl"}
    shown = page(client, run, person)
    for warning in run.warnings:
        assert warning["message"] in html.unescape(shown)


@pytest.mark.both_databases
def test_it_can_be_cancelled_before_it_is_checked(send, phase, team, person):
    run = send()
    cancel_run(run, person)
    assert worked(run).status == "cancelled"
    assert run.jobs.get().state == "cancelled"
    assert compute_remaining_quota(phase, team).left == 1


@pytest.mark.both_databases
def test_a_worker_that_dies_in_a_check_leaves_it_to_the_next_and_in_the_end_it_fails(
    send, phase, team, settings
):
    settings.MAX_ATTEMPTS = 2
    run = send()
    for attempt, status in ((1, "checking"), (2, "failed")):
        assert engine.claim_job(run.jobs.get().pk, "a worker").attempt == attempt
        sweep_jobs(timezone.now() + dt.timedelta(hours=1))
        assert read(run).status == status
    assert compute_remaining_quota(phase, team).left == 1
    assert read(run).problems == []


def test_a_check_without_end_is_ended_and_says_so(
    send, settings, monkeypatch, tmp_path
):
    settings.SCORING_TIMEOUT = 3
    put_in_place(monkeypatch, tmp_path, "while True: time.sleep(1)")
    assert worked(send()).reason == "Checking took more than 6 s."


@pytest.mark.both_databases
def test_gold_that_is_new_meanwhile_waits_for_the_check_and_then_counts(send, phase):
    run = send()
    new = factories.make_gold(
        phase=phase,
        citances=(("D01-0001", "1", ["1"], "Aim_Citation"),),
        reason="A fix.",
    )
    assert queue_missing_scorings(phase) == []
    score(run.jobs.get().pk)
    assert {job.gold for job in run.jobs.filter(kind=Job.Kind.SCORE)} == {new}


def test_a_check_that_failed_by_a_fault_of_ours_is_made_again(
    send, person, monkeypatch, tmp_path
):
    run = send()
    with monkeypatch.context() as patched:
        put_in_place(patched, tmp_path, "raise KeyError")
        assert worked(run).status == "failed"
    assert rescore_run(submission=read(run), by=person) == 1
    assert read(run).status == "checking"
    assert worked(run).status == "scored"


def test_under_new_gold_it_is_checked_again_by_that(
    send, phase, person, monkeypatch, tmp_path
):
    run = send()
    with monkeypatch.context() as patched:
        put_in_place(patched, tmp_path, "raise KeyError")
        worked(run)
    new = factories.make_gold(
        phase=phase,
        citances=(("D05-0001", "3", ["2"], "Aim_Citation"),),
        reason="A fix.",
    )
    assert rescore_run(submission=read(run), by=person) == 1
    assert read(run).status == "checking"
    worked(run)
    assert run.jobs.get(kind="check", state="done").gold == new


def test_a_large_baseline_is_checked_in_the_same_way(phase):
    run = factories.make_baseline(phase=phase)
    assert run.status == "checking"
    assert worked(run).status == "scored"


def test_check_site_api_and_command_line_say_the_same_in_the_same_order(
    client, send, phase, team, person, settings, capsys, tmp_path
):
    """Errors and warnings alike, by line; with one fatal line the warnings stand beside it."""
    doubted = [{**record, "facets": ["Weather"]} for record in answers()]
    content = run_bytes(doubted[:1]) + b"{no JSON\n" + run_bytes(doubted[1:])
    later = worked(send(content)).problems
    settings.CHECK_MAX_MB = 8
    client.force_login(person)
    form = {"system": "A system", "run": SimpleUploadedFile("run.jsonl", content)}
    told = client.post(f"/api/v1/phases/{phase.pk}/submissions/", form).json()[
        "problems"
    ]
    assert told == later
    assert [each["line"] for each in told] == sorted(each["line"] for each in told)
    assert {each["fatal"] for each in told} == {True, False}
    checked = check_run(
        phase=phase, upload=factories.make_upload(content, "run.jsonl")
    ).problems
    assert [problem.as_dict() for problem in merge_equal_problems(checked)] == told
    run = tmp_path / "given.jsonl"
    run.write_bytes(content)
    gold = tmp_path / "gold.zip"
    with storage.gold_file_storage.open(Gold.objects.current(phase).file) as kept:
        gold.write_bytes(kept.read())
    words = [
        "check",
        phase.task.type,
        "--gold",
        str(gold),
        "--run",
        str(run),
        "--run-name",
        "run.jsonl",
    ]
    assert offline_scorer(words) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"{'' if problem.fatal else 'warning: '}{problem}{others.words}"
        for problem, others in merge_with_further_lines(checked)
    ]
