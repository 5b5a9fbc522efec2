"""A badge says a team's rank as everybody may see it, and other sites may show it."""

from xml.etree import ElementTree as ET

import pytest
from django.urls import reverse

from tasks.models import Phase
from tests.scoring import boards

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    phase = boards.make_phase()
    for name, value in (("Ada", 0.6), ("Bo", 0.2)):
        boards.score(
            boards.make_run(phase, boards.make_team(phase, name), system=name), value
        )
    boards.make_team(phase, "Idle")
    return phase


def badge(client, phase, team: str):
    task = phase.task
    return client.get(
        reverse("team-badge", args=[task.season.slug, task.slug, phase.slug, team])
    )


def said(response) -> str:
    """The picture's words, from XML that is well formed."""
    return ET.fromstring(response.content).get("aria-label")  # noqa: S314  (our own)


def test_it_says_the_rank_the_value_and_its_interval(client, phase):
    response = badge(client, phase, "ada")
    assert response["Content-Type"] == "image/svg+xml"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert said(response) == f"{phase.task}: rank 1 of 2 · 0.6000 0.5500 to 0.6500"
    assert said(badge(client, phase, "idle")) == f"{phase.task}: not ranked"


def test_it_changes_with_the_board_and_is_not_sent_twice(client, phase):
    first = badge(client, phase, "bo")
    address = first.wsgi_request.path
    assert (
        client.get(address, headers={"If-None-Match": first["ETag"]}).status_code == 304
    )
    boards.score(
        boards.make_run(
            phase, phase.task.season.registrations.get(team__slug="bo").team
        ),
        0.9,
    )
    Phase.objects.update(version=7)
    later = client.get(address, headers={"If-None-Match": first["ETag"]})
    assert "rank 1 of 2" in said(later)


def test_it_shows_no_number_that_the_board_hides(client, phase):
    Phase.objects.update(board="ranks", version=2)
    assert said(badge(client, phase, "ada")) == f"{phase.task}: rank 1 of 2"
    Phase.objects.update(board="organisers", version=3)
    assert badge(client, phase, "ada").status_code == 404


def test_a_title_of_markup_stays_text(client, phase):
    phase.task.title = "<script>&amp;"
    phase.task.save()
    assert said(badge(client, phase, "ada")).startswith("<script>&amp;: rank 1")


def test_nobody_elses_team_has_one(client, phase):
    assert badge(client, phase, "nobody").status_code == 404
