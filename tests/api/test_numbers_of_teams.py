"""The number that stands for a team is not told beside its name before names are hidden."""

import datetime as dt

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.teams.models import Token
from tasks.models import Season
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


def program(user) -> Client:
    _, secret = Token.objects.issue(user=user, name="test")
    return Client(headers={"Authorization": f"Token {secret}"})


def test_the_number_of_a_team_is_told_nobody_before_names_are_hidden():
    season = factories.make_season(organiser=factories.make_user())
    team = factories.make_team(season=season, name="Canary")
    reader = factories.make_user()
    where = reverse("api:registrations", args=[season.slug])
    listed = program(reader).get(where).json()["results"]
    before = {line["name"]: line["alias"] for line in listed}
    Season.objects.update(anonymous_until=timezone.now() + dt.timedelta(days=1))
    phase = factories.make_phase(task=factories.make_task(season=season))
    run = factories.make_submission(phase=phase, team=team, status="scored")
    boards.score(run, 0.5)
    rows = Client().get(reverse("api:leaderboard", args=[phase.pk])).json()["rows"]
    assert rows[0]["team_name"] != f"Team {before['Canary']}"
