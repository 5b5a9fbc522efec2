"""Failures that organisers acknowledge: they leave the page of what needs attention, and come back."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.ops.accounts import delete_account
from tasks.jobs.leases import create_scoring_jobs
from tasks.models import Acknowledgement, Gold, Job, Organiser, Submission
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
REASON = "The scorer ran out of memory."


@pytest.fixture
def phase():
    return boards.make_phase()


@pytest.fixture
def organiser(phase, client):
    found = factories.make_user(name="Olga")
    Organiser.objects.create(season=phase.task.season, user=found)
    client.force_login(found)
    return found


@pytest.fixture
def failed(phase) -> Submission:
    team = boards.make_team(phase, "Ada")
    return boards.make_run(phase, team, status="failed", reason=REASON, system="alpha")


def attention(client, phase) -> str:
    return text_of(client.get(reverse("organise", args=[phase.task.season.slug])))


def acknowledge(client, phase, run, **said):
    where = reverse("organise-acknowledge", args=[phase.task.season.slug, run.pk])
    return text_of(client.post(where, said, follow=True))


def fails_again(run) -> None:
    Submission.objects.filter(pk=run.pk).update(
        status_since=timezone.now() + dt.timedelta(seconds=1)
    )


def test_a_failure_that_is_acknowledged_leaves_the_page_with_its_note_and_comes_back(
    client, organiser, phase, failed
):
    assert "Runs that failed 1" in attention(client, phase)
    page = acknowledge(client, phase, failed, note="The team was  told.")
    assert "Acknowledged. It comes back if it fails again." in page
    assert "Runs that failed" not in page
    assert REASON not in page
    assert "Acknowledged failures: 1" in page
    assert "The team was told." in page
    assert "by Olga" in page
    fails_again(failed)
    page = attention(client, phase)
    assert "Runs that failed 1" in page
    assert "Acknowledged failures" not in page
    acknowledge(client, phase, failed)
    assert "Runs that failed" not in attention(client, phase)
    assert failed.acknowledgements.count() == 2


@pytest.mark.both_databases
def test_it_is_taken_back_and_both_stand_in_the_history(
    client, organiser, phase, failed
):
    acknowledge(client, phase, failed, note="Seen.")
    own = Acknowledgement.objects.get()
    where = reverse("organise-acknowledge-back", args=[phase.task.season.slug, own.pk])
    assert "Runs that failed 1" in text_of(client.post(where, follow=True))
    assert client.post(where).status_code == 404
    newest, first = find_history_of_place(phase.task.season)[:2]
    assert (first.action, first.actor, first.changes) == (
        "failure-acknowledged",
        organiser,
        [{"key": "acknowledged", "before": None, "after": "Seen."}],
    )
    assert newest.changes == [{"key": "acknowledged", "before": "Seen.", "after": None}]


@pytest.mark.both_databases
def test_twice_is_once_and_the_first_note_stays(client, organiser, phase, failed):
    acknowledge(client, phase, failed, note="First.")
    acknowledge(client, phase, failed, note="Second.")
    assert [own.note for own in failed.acknowledgements.all()] == ["First."]
    assert find_history_of_place(phase.task.season).count() == 1


def test_a_run_that_did_not_fail_cannot_be_acknowledged(client, organiser, phase):
    run = boards.scored_run(phase, boards.make_team(phase, "Bo"), 0.5)
    assert "has not failed; it is scored" in acknowledge(client, phase, run)
    assert not Acknowledgement.objects.exists()


def test_a_note_that_is_too_long_is_refused(client, organiser, phase, failed):
    page = acknowledge(client, phase, failed, note="x" * 501)
    assert "The note has 501 characters; at most 500 are allowed." in page
    assert not Acknowledgement.objects.exists()


@pytest.mark.both_databases
def test_a_scoring_that_failed_is_acknowledged_apart_from_its_run(
    client, organiser, phase
):
    run = boards.scored_run(
        phase, boards.make_team(phase, "Bo"), 0.5, system="beta", has_failed=True
    )
    job = create_scoring_jobs(run, Gold.objects.get())[0]
    Job.objects.filter(pk=job.pk).update(
        state="failed", reason=REASON, finished_at=timezone.now()
    )
    assert "Scored runs that could not be rescored 1" in attention(client, phase)
    assert "has not failed; it is scored" in acknowledge(client, phase, run)
    page = acknowledge(client, phase, run, job=job.pk)
    assert "could not be rescored" not in page
    assert "Acknowledged failures: 1" in page
    Job.objects.filter(pk=job.pk).update(
        finished_at=timezone.now() + dt.timedelta(seconds=1)
    )
    assert "Scored runs that could not be rescored 1" in attention(client, phase)
    other = boards.scored_run(phase, boards.make_team(phase, "Cy"), 0.4)
    for number in (job.pk, "x", "0", 2**70):
        where = reverse("organise-acknowledge", args=[phase.task.season.slug, other.pk])
        assert client.post(where, {"job": number}).status_code == 404


def test_a_run_of_another_season_is_not_there(client, organiser, phase):
    elsewhere = boards.make_phase()
    run = boards.make_run(elsewhere, boards.make_team(elsewhere, "Bo"), status="failed")
    for season in (phase.task.season, elsewhere.task.season):
        where = reverse("organise-acknowledge", args=[season.slug, run.pk])
        assert client.post(where).status_code == 404


def test_programs_read_acknowledge_and_take_back(client, organiser, phase, failed):
    where = f"/api/v1/seasons/{phase.task.season.slug}/failures/"
    [listed] = client.get(where).json()
    assert (listed["submission"], listed["reason"], listed["acknowledged"]) == (
        failed.pk,
        REASON,
        None,
    )
    made = client.post(where, {"submission": failed.pk, "note": "Seen."})
    assert (made.status_code, made.json()["note"], made.json()["by"]) == (
        201,
        "Seen.",
        "Olga",
    )
    assert client.get(where).json()[0]["acknowledged"]["id"] == made.json()["id"]
    assert client.delete(f"{where}{made.json()['id']}/").status_code == 204
    assert client.get(where).json()[0]["acknowledged"] is None
    Submission.objects.filter(pk=failed.pk).update(status="scored")
    refused = client.post(where, {"submission": failed.pk})
    assert refused.status_code == 409
    assert "has not failed" in refused.json()["detail"]


def test_who_leaves_the_site_is_not_named_any_more(client, organiser, phase, failed):
    acknowledge(client, phase, failed, note="Seen.")
    Organiser.objects.create(
        season=phase.task.season, user=factories.make_user(name="Bo")
    )
    delete_account(organiser)
    client.force_login(Organiser.objects.get().user)
    page = attention(client, phase)
    assert "by a deleted account" in page
    assert "Olga" not in page
