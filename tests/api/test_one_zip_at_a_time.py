"""However often a season changes, one zip for its paper is made at a time."""

import pytest
from django.urls import reverse

from scoring.models import BackgroundJob
from tests.factories import make_submission
from tests.scoring import boards


@pytest.mark.both_databases
def test_a_team_that_describes_its_run_again_and_again_fills_no_queue(world):
    run = make_submission(phase=world.phase, team=world.team, status="scored")
    boards.score(run, 0.5)
    where = reverse("api:description", args=[run.pk])
    for number in range(5):
        assert world.member.post(where, {"description": f"{number}"}).status_code == 200
        answer = world.ask("visitor").post(
            reverse("api:overview-paper-archive", args=[world.season.slug])
        )
        assert answer.status_code == 202
    assert BackgroundJob.objects.count() == 1
