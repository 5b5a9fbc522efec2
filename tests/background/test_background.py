"""Background jobs: one worker at a time, nothing half stored, and no job that nobody does."""

import datetime as dt

import pytest
from django.db import transaction
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django_q.models import OrmQ

from citeboard.background import kinds
from citeboard.background.kinds import queue_label_import
from citeboard.core import storage
from citeboard.core.database import fetch_database_time
from citeboard.core.models import AuditEntry
from scoring.human.sheets import save_rating_sheet
from scoring.models import BackgroundJob, Sheet, SheetText
from scoring.worker import background
from scoring.worker.background import (
    complete_background_job,
    delete_old_background_jobs,
    load_background_job,
)
from tasks.jobs import engine
from tasks.jobs.sweeper import sweep_jobs
from tasks.jobs.work import claim_and_do_job_by_id
from tasks.models import Job, Organiser
from tasks.submissions.uploads import UploadedRunFile
from tests import factories
from tests.background.background import done, work_off
from tests.scoring.citation_texts import make_phase, make_run
from tests.scoring.discourse import intents
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

NONE = {"lu": [None] * 3}


@pytest.fixture
def organiser(client):
    person = factories.make_user()
    client.force_login(person)
    return person


@pytest.fixture
def phase(tmp_path, organiser):
    return make_phase(tmp_path, organiser=organiser, gold={"lu": [intents("Uses")] * 3})


@pytest.fixture
def run(phase, tmp_path):
    return make_run(phase, tmp_path, NONE, "A text on [0].", system="Abacus")


def asked(client, phase, run, **fields):
    address = reverse("organise-sheet-make", args=[phase.task.season.slug, phase.pk])
    return client.post(address, {"instances": 2, "seed": 7, "runs": [run.pk], **fields})


@pytest.fixture
def job(client, phase, run) -> BackgroundJob:
    asked(client, phase, run)
    return BackgroundJob.objects.get()


def expire(job) -> None:
    past = fetch_database_time() - dt.timedelta(seconds=1)
    Job.all_kinds.filter(pk=job.job_id).update(lease_expires_at=past)


def claim(job, owner):
    return load_background_job(engine.claim_job(job.job_id, owner))


def test_a_request_only_asks_and_a_worker_makes_the_sheet(client, phase, run):
    response = asked(client, phase, run)
    assert not Sheet.objects.exists()
    assert (BackgroundJob.objects.get().job.state, OrmQ.objects.count()) == (
        "queued",
        1,
    )
    page = client.get(response.url)
    assert "It waits for a worker." in text_of(page)
    assert "no worker is running" in text_of(page)
    assert 'hx-trigger="every 1s"' in page.content.decode()
    human = client.get(
        reverse("organise-human", args=[phase.task.season.slug])
    ).content.decode()
    assert f'href="{response.url}"' in human
    made = done(client, response)
    sheet = Sheet.objects.get()
    page = client.get(response.url)
    assert (
        reverse("organise-sheet", args=[phase.task.season.slug, sheet.pk])
        in page.content.decode()
    )
    assert "hx-trigger" not in page.content.decode()
    assert made.result == {"sheet": sheet.pk}
    assert AuditEntry.objects.filter(action="sheet").count() == 1


def test_the_same_is_not_done_twice_at_a_time(client, phase, run, job):
    assert asked(client, phase, run).url == f"/jobs/{job.pk}/"
    assert asked(client, phase, run, seed=8).url != f"/jobs/{job.pk}/"
    assert len(work_off()) == 2
    assert asked(client, phase, run).url != f"/jobs/{job.pk}/"


def test_who_asks_at_the_same_moment_gets_the_job_that_was_stored_whatever_became_of_it(
    client, phase, run, job, monkeypatch
):
    """Both look and find none; once the second is refused, the job of the first may have ended."""
    first = QuerySet.first
    monkeypatch.setattr(
        QuerySet,
        "first",
        lambda rows: None if rows.model is BackgroundJob else first(rows),
    )
    assert asked(client, phase, run).url == f"/jobs/{job.pk}/"
    assert BackgroundJob.objects.count() == 1


def test_one_worker_has_it_and_a_lost_one_stores_nothing(job):
    first = claim(job, "host:1:1")
    expire(first)
    assert sweep_jobs().lost == 1
    second = claim(job, "host:1:2")
    assert second.job.attempt == 2
    written = []
    assert not complete_background_job(first, lambda: written.append(1) or {})
    assert not background.update_background_job_progress(first, 0.5, "reading")
    assert written == []
    assert complete_background_job(second, lambda: {"sheet": 1})


def test_a_crash_in_the_middle_leaves_nothing_and_the_job_begins_again_three_times(
    client, job, monkeypatch
):
    def halfway(drawn, *, by):
        save_rating_sheet(drawn, by=by)
        raise RuntimeError("the machine is on fire")

    monkeypatch.setattr(kinds, "save_rating_sheet", halfway)
    for attempt in (1, 2):
        claim_and_do_job_by_id(job.job_id)
        job.job.refresh_from_db()
        assert (job.state, job.job.attempt) == ("queued", attempt)
        assert not Sheet.objects.exists()
        assert not SheetText.objects.exists()
    claim_and_do_job_by_id(job.job_id)
    job.refresh_from_db()
    assert job.state == "failed"
    told = text_of(client.get(f"/jobs/{job.pk}/"))
    assert "It was begun 3 times, and is not begun again by itself." in told
    assert "on fire" not in told
    assert not AuditEntry.objects.filter(action="sheet").exists()


def test_a_run_that_stands_on_the_board_no_more_is_not_judged(client, job, run):
    run.status = "withdrawn"
    run.save()
    work_off()
    assert (
        "a chosen run does not stand on the board any more"
        in text_of(client.get(f"/jobs/{job.pk}/")).lower()
    )
    assert not Sheet.objects.exists()


def test_whoever_has_no_account_any_more_gets_nothing_made(job, organiser):
    BackgroundJob.objects.update(asked_by=None)
    [ended] = work_off()
    assert (
        ended.reason
        == "Whoever asked for it has no account any more; nothing was stored."
    )


def test_jobs_are_for_organisers_of_their_season(client, job):
    for address in (
        f"/jobs/{job.pk}/",
        f"/jobs/{job.pk}/status/",
        f"/api/v1/jobs/{job.pk}/",
    ):
        assert client.get(address).status_code == 200
    client.force_login(factories.make_user())
    for address in (
        f"/jobs/{job.pk}/",
        f"/jobs/{job.pk}/status/",
        f"/api/v1/jobs/{job.pk}/",
    ):
        assert client.get(address).status_code == 404


def test_programs_ask_with_202_and_follow(client, phase, run):
    sent = {"instances": 2, "runs": str(run.pk)}
    asked = client.post(f"/api/v1/phases/{phase.pk}/sheets/", sent)
    assert asked.status_code == 202, asked.content
    assert asked.json()["waits_for"] == "It waits because no worker is running."
    work_off()
    told = client.get(asked["Location"]).json()
    assert (told["state"], told["progress"], told["problems"]) == ("done", 1.0, [])
    assert told["outcome"].endswith(f"/sheets/{Sheet.objects.get().pk}/")
    refused = client.post(f"/api/v1/phases/{phase.pk}/sheets/", {**sent, "runs": "0"})
    assert refused.json()["errors"]["runs"] == [
        f"No run “0” stands on the board; there are {run.pk}."
    ]


def test_a_file_that_was_sent_goes_with_the_end_of_its_job(phase, organiser, tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text("nonsense\n")
    upload = UploadedRunFile(path, "labels.jsonl")
    job = queue_label_import(
        season=phase.task.season, model="m@1", upload=upload, by=organiser
    )
    assert storage.statistics_file_storage.exists(job.file)
    assert (
        queue_label_import(
            season=phase.task.season, model="m@1", upload=upload, by=organiser
        )
        == job
    )
    with transaction.atomic():
        [ended] = work_off()
    assert (ended.state, ended.file) == ("failed", "")
    assert [problem["line"] for problem in ended.problems] == [1]


def test_ended_jobs_are_forgotten_after_a_month(client, job):
    work_off()
    assert delete_old_background_jobs() == 0
    assert (
        delete_old_background_jobs(fetch_database_time() + dt.timedelta(days=31)) == 1
    )
    assert client.get(f"/jobs/{job.pk}/").status_code == 404
    assert Sheet.objects.exists()


def test_who_organises_no_more_gets_nothing_done(client, phase, run, organiser):
    asked(client, phase, run)
    Organiser.objects.filter(user=organiser).delete()
    [job] = work_off()
    assert job.state == "failed"
    assert not Sheet.objects.exists()


@pytest.mark.parametrize(
    ("state", "label"),
    [
        (Job.State.QUEUED, "waiting for a worker"),
        (Job.State.WAITING, "waiting for a worker"),
        (Job.State.RUNNING, "under way"),
        (Job.State.FAILED, "failed"),
    ],
)
def test_a_list_of_background_jobs_names_the_state_of_each(state, label):
    job = BackgroundJob(pk=1, kind=BackgroundJob.Kind.JUDGE, job=Job(state=state))
    page = render_to_string("background/_jobs.html", {"jobs": [job]})
    assert f", {label}</span>" in page
