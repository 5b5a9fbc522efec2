"""A team's reason makes nobody an organiser."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from tasks.models import Phase
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("counting", "act", "given"),
    [
        ("priority", "priority", {"priority": 1}),
        ("selected", "select", {}),
        ("best", "withdraw", {}),
    ],
)
def test_a_team_that_gives_a_reason_is_held_to_the_close_all_the_same(
    counting, act, given
):
    season = factories.make_season(organiser=factories.make_user())
    phase = factories.make_phase(
        task=factories.make_task(season=season), counting=counting
    )
    team = factories.make_team(season=season)
    runs = [
        factories.make_submission(phase=phase, team=team, status="scored")
        for _ in range(2)
    ]
    before = runs[1].priority
    ago = timezone.now() - dt.timedelta(hours=1)
    Phase.objects.update(opens=ago - dt.timedelta(days=1), closes=ago)
    client = APIClient()
    client.force_authenticate(team.memberships.get().user)
    where = reverse(f"api:{act}", args=[runs[1].pk])
    answer = client.post(where, {**given, "reason": "because"})
    assert answer.status_code == 409
    assert "closed at" in answer.json()["detail"]
    runs[1].refresh_from_db()
    kept = (runs[1].status, runs[1].is_selected, runs[1].priority)
    assert kept == ("scored", False, before)
    client.force_authenticate(season.organisers.get().user)
    assert client.post(where, {**given, "reason": "because"}).status_code == 200
