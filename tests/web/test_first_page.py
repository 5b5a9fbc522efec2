"""The first page: what a task asks, drawn, and the first rows of its board."""

import datetime as dt
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.instants import ENDLESS_PHASE_END
from scoring.results.board.public_results import load_public_verdict
from scoring.results.comparison.drawing import (
    build_parts_of_whole_instance,
    find_first_answered_example,
)
from scoring.results.comparison.examples import (
    MAX_EXAMPLE_LINE_CHARACTERS,
    MAX_EXAMPLE_LINES,
    build_short_example,
)
from scoring.results.comparison.pieces import CITATION_POSITION, IN_GOLD_AND_ANSWER
from tasks.models import Task
from tasks.seasons.cards import (
    DESCRIPTIONS_BY_TASK_TYPE,
    TaskCard,
    extract_first_sentence_of_card,
    get_one_sentence_description,
)
from tasks.types import task_types
from tests import factories
from tests.scoring import boards
from tests.scoring.publications import PLACEMENTS, keep_publication
from tests.web.reading import text_of

DRAWN = [
    slug for slug, kind in task_types().items() if find_first_answered_example(kind)
]


def test_every_type_that_comes_with_a_sample_is_drawn():
    assert set(DRAWN) == set(task_types())


@pytest.mark.parametrize("slug", DRAWN)
def test_a_drawn_sample_marks_what_gold_and_answer_share_and_where_it_is_cited(slug):
    kind = task_types()[slug]
    parts = build_parts_of_whole_instance(kind, find_first_answered_example(kind))
    kinds = {
        piece.kind for part in parts for line in part.lines for piece in line.pieces
    }
    assert kinds & {IN_GOLD_AND_ANSWER, CITATION_POSITION}
    assert all(line.words for part in parts for line in part.lines if line.kind)


@pytest.mark.django_db
def test_an_open_task_stands_with_its_sentence_leader_verdict_and_an_example(client):
    phase = boards.make_phase()
    for value in (0.5, 0.4):
        boards.scored_run(phase, boards.make_team(phase, f"Team {value}"), value)
    response = client.get("/")
    page, said = response.content.decode(), text_of(response)
    assert "Which sentences of the cited paper does this citation mean?" in said
    assert '<mark class="both">[1] Lists end where readers stop.</mark>' in page
    assert "right" in said
    assert "0.5000" in page
    assert "Team 0.5" in said
    assert load_public_verdict(phase).text in said
    assert boards.address("board", phase) in page


def examples(page: str) -> tuple[int, int]:
    """Return the number of open examples, and of closed ones."""
    return page.count('<div class="example">'), page.count('<details class="example">')


@pytest.mark.django_db
def test_from_the_fourth_task_on_readers_open_the_example(client):
    season = boards.make_phase().task.season
    for _ in range(4):
        boards.make_phase(season)
    assert examples(client.get("/").content.decode()) == (3, 2)


@pytest.mark.django_db
def test_organisers_say_their_task_in_a_sentence_of_their_own(client):
    phase = boards.make_phase()
    phase.task.sentence = "What does <this> citation mean?"
    phase.task.save()
    page = client.get("/").content.decode()
    assert "What does &lt;this&gt; citation mean?" in page
    assert "Which sentences of the cited paper" not in page


@pytest.mark.parametrize("slug", sorted(task_types()))
def test_every_built_in_type_has_a_sentence_and_a_short_example(slug):
    kind = task_types()[slug]
    assert get_one_sentence_description(Task(type=slug)) == str(
        DESCRIPTIONS_BY_TASK_TYPE[slug]
    )
    for part in build_short_example(kind):
        assert len(part.lines) <= MAX_EXAMPLE_LINES + 1
        assert part.characters <= (MAX_EXAMPLE_LINES + 1) * (
            MAX_EXAMPLE_LINE_CHARACTERS + 2
        )


@pytest.mark.parametrize(
    ("card", "sentence"),
    [
        ("# Title\n\nWhich *word* is `X`, [as here](y)? More.\n", "Which word is X, as here?"),
        ("No title. And more.", "No title."),
        ("# Title\n\n## Format\n\nOne a line.\n", ""),
        (f"# Title\n\n{'long ' * 60}.\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_declared_task_is_described_by_the_first_sentence_of_its_card(card, sentence):
    assert extract_first_sentence_of_card(TaskCard(card)) == sentence


@pytest.mark.django_db
def test_a_published_paper_takes_one_line_with_its_tasks(client):
    season = factories.make_season(title="As published")
    for title in ("First", "Second"):
        factories.make_task(
            season=season, is_reported_only=True, published=PLACEMENTS, title=title
        )
    keep_publication()
    page = client.get("/").content.decode()
    lines = page.partition('class="published-papers')[2].partition("</ul>")[0]
    assert lines.count("<li>") == 1
    assert 'href="/published/own-2020/"' in lines
    assert lines.index("First") < lines.index("Second")


@pytest.mark.django_db
def test_a_season_that_is_over_stands_apart_and_asks_for_no_team(client):
    now, day = timezone.now(), dt.timedelta(days=1)
    over = boards.make_phase(opens=now - 2 * day, closes=now - day).task.season
    page = client.get("/").content.decode()
    assert page.index("Seasons that are over") < page.index(over.title)
    assert 'class="small-task"' not in page
    said = text_of(client.get(reverse("season", args=[over.slug])))
    assert "This season is over; it takes no more teams." in said
    assert "create a team" not in said


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
    boards.make_phase(season=ending.task.season, closes=ENDLESS_PHASE_END)
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
