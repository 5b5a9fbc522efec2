"""While names of teams are hidden, nobody reads what a team wrote of itself."""

import datetime as dt
import io
import zipfile

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks.models import Season, Submission
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


def test_neither_description_nor_card_of_a_hidden_team_is_on_its_page_or_in_its_metadata(client):
    season = factories.make_season(organiser=factories.make_user())
    phase = boards.make_phase(season, rules=("corrected",))
    run = boards.scored_run(phase, boards.make_team(phase, "Canary", factories.make_user()), 0.5, system="x")
    Submission.objects.update(
        description="The system of the Canary lab", card={"training_data": "Canary corpus"}
    )
    Season.objects.update(anonymous_until=timezone.now() + dt.timedelta(days=1))
    place = [season.slug, phase.task.slug, phase.slug]
    assert b"Canary" not in client.get(reverse("standing", args=[*place, run.pk])).content
    zipped = client.get(reverse("board-ir-metadata", args=place))
    with zipfile.ZipFile(io.BytesIO(zipped.getvalue())) as archive:
        assert not any(b"Canary" in archive.read(name) for name in archive.namelist())
