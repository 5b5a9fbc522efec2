"""However often a season changes, one zip for its paper is made at a time."""

import pytest
from django.test import Client
from django.urls import reverse

from citeboard.teams.models import Token
from scoring.models import BackgroundJob
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


def program(user) -> Client:
    _, secret = Token.objects.issue(user=user, name="test")
    return Client(headers={"Authorization": f"Token {secret}"})


def test_a_team_that_describes_its_run_again_and_again_fills_no_queue():
    season = factories.make_season(organiser=factories.make_user())
    phase = boards.make_phase(season, rules=("corrected",))
    team = boards.make_team(phase, "Mallory", mallory := factories.make_user())
    run = boards.scored_run(phase, team, 0.5, system="x")
    asks, visitor = program(mallory), Client()
    for number in range(5):
        where = reverse("api:description", args=[run.pk])
        assert asks.post(where, {"description": f"{number}"}).status_code == 200
        answer = visitor.post(reverse("api:overview-paper-archive", args=[season.slug]))
        assert answer.status_code == 202
    assert BackgroundJob.objects.count() == 1
