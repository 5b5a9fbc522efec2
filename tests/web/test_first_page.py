"""The first page: what a task asks, drawn, and the first rows of its board."""

import datetime as dt
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.instants import WITHOUT_END
from scoring.results.comparison.drawing import BOTH, PLACE, draw, example_of
from tasks.types import task_types
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of

DRAWN = [slug for slug, kind in task_types().items() if example_of(kind)]


def test_every_type_that_comes_with_a_sample_is_drawn():
    assert set(DRAWN) == set(task_types())


@pytest.mark.parametrize("slug", DRAWN)
def test_a_drawn_sample_marks_what_gold_and_answer_share_and_where_it_is_cited(slug):
    kind = task_types()[slug]
    parts = draw(kind.drawn_as, example_of(kind))
    kinds = {
        piece.kind for part in parts for line in part.lines for piece in line.pieces
    }
    assert kinds & {BOTH, PLACE}
    assert all(line.words for part in parts for line in part.lines if line.kind)


@pytest.mark.django_db
def test_an_open_task_stands_with_an_example_and_the_first_rows_of_its_board(client):
    phase = boards.make_phase()
    for value in (0.5, 0.4, 0.3, 0.2, 0.1):
        boards.scored_run(phase, boards.make_team(phase, f"Team {value}"), value)
    boards.scored_run(phase, None, 0.05, system="<Lead>")
    response = client.get("/")
    page, said = response.content.decode(), text_of(response)
    assert "Which sentences of the cited paper does this citation mean?" in said
    assert '<mark class="both">[1] Lists end where readers stop.</mark>' in page
    assert "right" in said
    assert page.count('<svg class="whisker"') == 4
    assert "&lt;Lead&gt;" in page
    assert "0.5000" in page
    assert "0.2000" not in page
    assert boards.address("board", phase) in page


@pytest.mark.django_db
def test_where_a_board_shows_ranks_alone_the_first_page_draws_no_number(client):
    phase = boards.make_phase(board="ranks")
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5, system="Ahead")
    page = client.get("/").content.decode()
    assert "Ahead" in page
    assert "0.5000" not in page
    assert "whisker" not in page


@pytest.mark.django_db
def test_dates_stand_on_the_first_page_where_there_are_any(client):
    closes = timezone.now() + dt.timedelta(days=20)
    ending = boards.make_phase(closes=closes)
    boards.make_phase(season=ending.task.season, closes=WITHOUT_END)
    said = text_of(client.get("/"))
    assert len(re.findall(r"\buntil \d", said)) == 1
    assert "no end" not in said


@pytest.mark.django_db
def test_three_doors_lead_to_taking_part_reading_and_organising(client):
    season = boards.make_phase().task.season
    page = client.get("/").content.decode()
    doors = page.partition('<ul class="doors">')[2].partition("<section")[0]
    for address in (
        reverse("season", args=[season.slug]),
        reverse("papers"),
        reverse("guide", args=["organisers"]),
    ):
        assert f'href="{address}"' in doors
    client.force_login(factories.make_user(is_staff=True))
    assert (
        reverse("new-season")
        in client.get("/").content.decode().partition('<ul class="doors">')[2]
    )
