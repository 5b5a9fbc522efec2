"""How a season goes, as its organisers read it."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks.models import Job, Submission
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def phase(client):
    organiser = factories.make_user()
    client.force_login(organiser)
    return boards.make_phase(season=factories.make_season(organiser=organiser))


def read(client, phase) -> str:
    return text_of(
        client.get(reverse("organise-progress", args=[phase.task.season.slug]))
    )


def asked(client, phase):
    answer = client.get(reverse("api:progress", args=[phase.task.season.slug]))
    assert answer.status_code == 200
    return answer.json()


def test_a_season_without_runs_says_so(client, phase):
    page = read(client, phase)
    assert "No team has submitted a run yet." in page
    assert "Nothing of the season is in a queue." in page
    assert asked(client, phase)["days"] == []


def test_runs_are_counted_by_day_and_by_what_became_of_them(client, phase):
    team = boards.make_team(phase, "Night Shift")
    today = timezone.now().astimezone(dt.UTC)
    yesterday = today - dt.timedelta(days=1)
    runs = [boards.scored_run(phase, team, 0.5) for _ in range(3)]
    Submission.objects.update(submitted_at=today)
    Submission.objects.filter(pk=runs[0].pk).update(submitted_at=yesterday, size=2048)
    Submission.objects.filter(pk=runs[1].pk).update(
        submitted_at=yesterday, status="failed"
    )
    told = asked(client, phase)
    assert told["days"][0] == {
        "day": f"{yesterday:%Y-%m-%d}", "sent": 2, "scored": 1, "moving": 0, "not_scored": 1
    }  # fmt: skip
    assert [day["sent"] for day in told["days"]] == [2, 1]
    assert told["runs"] == 3
    assert told["run_bytes"] >= 2048
    assert f"{yesterday.day} {yesterday:%b %Y} 2 1 0 1" in read(client, phase)


def test_times_are_those_of_the_scorings_of_a_week(client, phase):
    run = boards.scored_run(phase, boards.make_team(phase, "Night Shift"), 0.5)
    ended = timezone.now()
    times = {
        "state": "done",
        "kind": "score",
        "rules": "corrected",
        "finished_at": ended,
    }
    times["season"] = phase.task.season_id
    Job.objects.filter(submission=run).delete()
    for number, (waited, took) in enumerate([(1, 2), (3, 10), (100, 4)]):
        begun = ended - dt.timedelta(seconds=took)
        created = begun - dt.timedelta(seconds=waited)
        Job.objects.create(
            submission=run, gold=phase.task.gold.get(), options_digest=f"{number}", sets_status=False,
            started_at=begun, created_at=created, **times,
        )  # fmt: skip
    long_ago = Job.objects.create(
        submission=run, gold=phase.task.gold.get(), options_digest="old", sets_status=False,
        started_at=ended - dt.timedelta(days=9), **times | {"finished_at": ended - dt.timedelta(days=8)},
    )  # fmt: skip
    assert asked(client, phase)["times"] == {
        "jobs": 3,
        "waited": 3.0,
        "took": 4.0,
        "longest": 104.0,
    }
    assert "by the median of the last 3 scorings of a week" in read(client, phase)
    assert long_ago.pk


def test_a_queue_is_told_with_its_oldest_job(client):
    organiser = factories.make_user()
    client.force_login(organiser)
    phase = factories.make_phase(
        task=factories.make_task(season=factories.make_season(organiser=organiser))
    )
    run = factories.make_submission(
        phase=phase, team=factories.make_team(season=phase.task.season)
    )
    queued = asked(client, phase)["queues"]
    assert [(each["queue"], each["running"]) for each in queued] == [("light", 0)]
    assert queued[0]["queued"] == run.jobs.count()
    assert "light" in read(client, phase)


def test_the_figure_can_be_had_as_a_file(client, phase):
    boards.scored_run(phase, boards.make_team(phase, "Night Shift"), 0.5)
    address = reverse("organise-progress", args=[phase.task.season.slug])
    answer = client.get(f"{address}?figure=runs-by-day.svg")
    assert answer["Content-Type"] == "image/svg+xml"
    assert client.get(f"{address}?figure=other.svg").status_code == 404
