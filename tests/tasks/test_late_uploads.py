"""Deadlines go by the instant at which an upload began; what began after them is refused, or kept as late."""

import datetime as dt

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.core.middleware import find_request_start_time, parse_start_header
from citeboard.teams.models import Token
from scoring.results.board.standings import compute_board
from tasks.models import Organiser, Phase, Submission
from tasks.submissions.refusals import PhaseNotOpen
from tasks.submissions.run_acts import accept_late_run
from tasks.submissions.uploads import UploadedRunFile
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db
MINUTE = dt.timedelta(minutes=1)


def over(**fields) -> Phase:
    """A phase that closed ten minutes ago, on a whole second."""
    now = timezone.now().replace(microsecond=0)
    return factories.make_phase(
        opens=now - dt.timedelta(days=1), closes=now - 10 * MINUTE, **fields
    )


def send(client, phase, team, begun=None):
    client.force_login(team.memberships.get(role="lead").user)
    place = [phase.task.season.slug, phase.task.slug, phase.slug]
    file = SimpleUploadedFile("run.jsonl", factories.run_bytes())
    headers = {"X-Request-Start": f"t={begun.timestamp():.3f}"} if begun else {}
    return client.post(
        reverse("upload", args=place),
        {"run": file, "system": "S", "kind": "primary"},
        headers=headers,
    )


@pytest.fixture
def behind_proxy(settings):
    settings.REQUEST_START_HEADER = "X-Request-Start"


def test_an_upload_that_began_before_the_deadline_counts(client, behind_proxy):
    phase = over()
    team = factories.make_team(season=phase.task.season)
    begun = phase.closes - dt.timedelta(milliseconds=1)
    assert send(client, phase, team, begun).status_code == 302
    run = Submission.objects.get()
    assert not run.is_late
    assert abs(run.begun_at - begun) < dt.timedelta(milliseconds=2)


def test_one_that_began_after_it_is_refused_with_the_time_by_which_it_was_late(
    client, behind_proxy
):
    phase = over()
    team = factories.make_team(season=phase.task.season)
    response = send(
        client, phase, team, phase.closes + dt.timedelta(minutes=3, seconds=5)
    )
    assert response.status_code == 422
    assert "began 3 minutes and 5 seconds too late" in response.content.decode()
    assert not Submission.objects.exists()


def test_a_start_that_no_trusted_proxy_states_is_passed_over(client):
    phase = over()
    team = factories.make_team(season=phase.task.season)
    response = send(client, phase, team, phase.closes - MINUTE)
    assert "began 10 minutes" in response.content.decode()


def test_the_site_notes_when_the_first_byte_came(client, monkeypatch):
    """The clock is asked before the body is read, and the run counts from then."""
    phase = factories.make_phase()
    team = factories.make_team(season=phase.task.season)
    before = timezone.now()
    send(client, phase, team)
    run = Submission.objects.get()
    assert before <= run.begun_at <= run.submitted_at


def test_the_api_says_by_how_many_seconds_a_run_was_late(client, behind_proxy):
    phase = over()
    team = factories.make_team(season=phase.task.season)
    _, secret = Token.objects.create_token(
        user=team.memberships.get().user, name="test"
    )
    begun = phase.closes + MINUTE
    response = client.post(
        f"/api/v1/phases/{phase.pk}/submissions/",
        {"run": SimpleUploadedFile("run.jsonl", factories.run_bytes()), "system": "S"},
        headers={
            "Authorization": f"Token {secret}",
            "X-Request-Start": f"t={begun.timestamp():.3f}",
        },
    )
    assert response.status_code == 409
    assert response.json()["late_by_seconds"] == pytest.approx(60, abs=0.01)


def test_a_phase_that_keeps_late_runs_marks_them_and_sets_them_on_no_board(client):
    phase = over(late_until=timezone.now() + MINUTE)
    team = factories.make_team(season=phase.task.season)
    assert send(client, phase, team).status_code == 302
    run = Submission.objects.get()
    assert run.is_late
    Submission.objects.update(status="scored")
    boards.score(run, 0.5, gold=phase.task.gold.get())
    organiser = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=organiser)
    assert compute_board(phase, None).rows == []
    assert (
        "This run is late"
        in client.get(reverse("submission", args=[run.pk])).content.decode()
    )

    client.force_login(organiser)
    client.post(
        reverse("submission-accept", args=[run.pk]), {"reason": "The site was away."}
    )
    assert [row.submission for row in compute_board(phase, None).rows] == [run.pk]
    assert (
        "The site was away." in find_history_of_place(phase.task.season).first().words
    )


def test_a_run_that_was_in_time_is_not_accepted_as_a_late_one():
    run = factories.make_submission()
    accept_late_run(run, factories.make_user(), "The site was away.")
    assert run.reason == ""
    history = find_history_of_place(run.phase.task.season)
    assert not history.filter(action="run-accepted").exists()


def test_after_that_too_a_run_is_refused():
    phase = over(late_until=timezone.now() - MINUTE)
    team = factories.make_team(season=phase.task.season)
    with pytest.raises(PhaseNotOpen, match="too late"):
        factories.make_submission(phase=phase, team=team)


def test_organisers_withdraw_by_token_with_a_reason_and_not_without(client):
    phase = factories.make_phase()
    run = factories.make_submission(phase=phase, status="scored")
    organiser = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=organiser)
    _, secret = Token.objects.create_token(user=organiser, name="test")
    where, headers = (
        f"/api/v1/submissions/{run.pk}/withdraw/",
        {"Authorization": f"Token {secret}"},
    )
    assert client.post(where, headers=headers).status_code == 400
    told = client.post(where, {"reason": "Its team asked us."}, headers=headers).json()
    assert (told["status"], "Its team asked us." in told["reason"]) == (
        "withdrawn",
        True,
    )


NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (f"t={NOW.timestamp():.3f}", NOW),
        (f"{NOW.timestamp():.0f}", NOW),
        (f"t={NOW.timestamp() * 1e3:.0f}", NOW),
        (f"{NOW.timestamp() * 1e6:.0f}", NOW),
        ("", None),
        ("yesterday", None),
        ("t=-5", None),
    ],
)
def test_a_stated_start_is_read_in_the_units_that_proxies_use(text, at):
    assert parse_start_header(text) == at


@pytest.mark.parametrize("offset", [dt.timedelta(hours=1), -dt.timedelta(days=1)])
def test_a_start_in_the_future_or_long_ago_is_the_present(behind_proxy, offset):
    stated = NOW + offset
    request = RequestFactory().get(
        "/", headers={"X-Request-Start": f"{stated.timestamp():.0f}"}
    )
    assert find_request_start_time(request, NOW) == NOW


def test_an_upload_whose_start_is_unknown_counts_from_when_it_is_taken():
    assert UploadedRunFile(factories.make_upload().path, "run.jsonl").begun_at is None
