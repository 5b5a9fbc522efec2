"""What a team is told of its own runs where a phase tells it nothing: that they were received."""

import pytest
from django.urls import reverse

from citeboard.teams.models import Token
from tasks.jobs.leases import create_scoring_jobs
from tasks.jobs.queue_choice import compute_position_in_queue
from tasks.models import Gold, Submission
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


@pytest.fixture
def veiled(client):
    """A run that was scored, in a phase that does not say so; its sender is signed in."""
    phase = boards.make_phase(board="organisers", own_scores="nothing")
    member = factories.make_user()
    team = factories.make_team(season=phase.task.season, lead=member)
    run = boards.make_run(phase, team, submitted_by=member)
    boards.score(run, 0.5)
    client.force_login(member)
    return run


def api(client, run, path="", method="get"):
    _, secret = Token.objects.create_token(user=run.submitted_by, name="test")
    where = f"/api/v1/submissions/{run.pk}/{path}"
    return getattr(client, method)(where, headers={"Authorization": f"Token {secret}"})


def test_its_page_says_that_it_was_received_and_no_more(client, veiled):
    page = client.get(reverse("submission", args=[veiled.pk])).content.decode()
    assert "Received." in page
    assert "status-scored" not in page
    assert "Scored" not in page


def test_lists_call_it_received(client, veiled):
    phase = veiled.phase
    place = [phase.task.season.slug, phase.task.slug, phase.slug]
    for page in (
        reverse("team", args=[veiled.team.slug]),
        reverse("upload", args=place),
    ):
        said = client.get(page).content.decode()
        assert "received" in said, page
        assert ">scored<" not in said, page


def test_the_api_calls_it_received_since_it_was_sent(client, veiled):
    told = api(client, veiled).json()
    assert (told["status"], told["scores"], told["place"]) == ("received", None, None)
    assert told["since"] == told["submitted_at"]
    assert client.get("/api/v1/submissions/").status_code in (200, 401)


def test_a_run_that_waits_looks_the_same(client, veiled):
    scored = api(client, veiled)
    Submission.objects.filter(pk=veiled.pk).update(status="queued")
    create_scoring_jobs(veiled, Gold.objects.current(veiled.phase))
    assert compute_position_in_queue(Submission.objects.get(pk=veiled.pk)) == 1
    waiting = api(client, veiled)
    assert waiting.json() == scored.json()
    assert set(waiting.headers) == set(scored.headers)


def test_one_that_failed_is_told_so_that_its_team_can_act(client, veiled):
    Submission.objects.filter(pk=veiled.pk).update(
        status="failed", reason="The file ends early."
    )
    told = api(client, veiled).json()
    assert (told["status"], told["reason"]) == ("failed", "The file ends early.")


@pytest.mark.parametrize("asked", ["cancel", "withdraw"])
@pytest.mark.parametrize("status", ["queued", "scored"])
def test_taking_it_back_needs_no_knowledge_of_how_far_it_is(
    client, veiled, asked, status
):
    Submission.objects.filter(pk=veiled.pk).update(status=status)
    assert api(client, veiled, f"{asked}/", "post").status_code == 200
    veiled.refresh_from_db()
    assert veiled.status == ("cancelled" if status == "queued" else "withdrawn")


def test_organisers_see_how_far_it_is(client, veiled):
    organiser = factories.make_user(is_staff=True)
    client.force_login(organiser)
    assert (
        "status-scored"
        in client.get(reverse("submission", args=[veiled.pk])).content.decode()
    )


def test_counts_of_runs_can_be_hidden_from_others_than_organisers(client):
    phase = boards.make_phase(shows_run_counts=False)
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    where = reverse("board", args=[phase.task.season.slug, phase.task.slug, phase.slug])
    assert "<span>1 team</span>" not in client.get(where).content.decode()
    client.force_login(factories.make_user(is_staff=True))
    assert "<span>1 team</span>" in client.get(where).content.decode()
