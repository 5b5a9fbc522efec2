"""While names of teams are hidden, neither a number told before nor a team's words say whose a run is."""

import datetime as dt
import io
import zipfile

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks.models import Season, Submission
from tests.factories import make_submission
from tests.scoring import boards


@pytest.fixture
def run(world) -> Submission:
    run = make_submission(phase=world.phase, team=world.team, status="scored")
    boards.score(run, 0.5)
    return run


def hide_names() -> None:
    Season.objects.update(anonymous_until=timezone.now() + dt.timedelta(days=1))


def test_the_number_of_a_team_is_told_beside_its_name_neither_before_nor_while_it_stands_for_it(
    world, run
):
    where = reverse("api:registrations", args=[world.season.slug])
    before = world.ask("reader").get(where).json()["results"]
    assert [
        (line["name"], line["alias"])
        for line in before
        if line["team"] == world.team.slug
    ] == [(world.team.name, None)]
    hide_names()
    number = world.team.registrations.get().alias
    answer = (
        world.ask("visitor")
        .get(reverse("api:leaderboard", args=[world.phase.pk]))
        .json()
    )
    assert [row["team_name"] for row in answer["rows"]] == [f"Team {number}"]
    assert world.team.name not in world.ask("reader").get(where).content.decode()


def test_neither_description_nor_card_is_on_its_page_or_in_its_metadata(
    world, run, client
):
    said = {
        "description": "The system of the Canary lab",
        "card": {"training_data": "Canary corpus"},
    }
    Submission.objects.update(**said)
    place = [world.season.slug, world.task.slug, world.phase.slug]
    page, metadata = (
        reverse("standing", args=[*place, run.pk]),
        reverse("board-ir-metadata", args=place),
    )
    assert b"Canary lab" in client.get(page).content
    hide_names()
    assert b"Canary" not in client.get(page).content
    with zipfile.ZipFile(io.BytesIO(client.get(metadata).getvalue())) as archive:
        assert archive.namelist()
        assert not any(b"Canary" in archive.read(name) for name in archive.namelist())
