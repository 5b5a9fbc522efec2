"""A board says what its units can show: where no two systems can differ, and how many more it would take."""

import datetime as dt

import pytest
from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils import timezone

from scoring.board.comparisons import SIGNIFICANCE, FirstTwo, Separation, separation
from scoring.board.standings import standings
from scoring.stats.significance import units_needed
from tasks.models import Phase
from tests import factories
from tests.pages.reading import text_of
from tests.scoring import boards
from tests.scoring.compared import TOPICS, compare, make_phase, scored

VISITOR = AnonymousUser()


def told(units: int, rows: int, *, difference: float | None = 0.1, error: float | None = 0.04, differ=False):
    first_two = FirstTwo(units=units, difference=difference, error=error, differ=differ)
    return separation(first_two, unit="topic", rows=rows)


def test_with_four_topics_no_two_systems_can_differ():
    found = told(4, 2, differ=True)
    assert found.smallest_p == 0.125
    assert found.sentences == ["With 4 topics no two systems can differ at 5 %: the smallest p is 0.125."]


def test_the_correction_for_many_comparisons_counts():
    assert told(6, 2, differ=True).can_differ
    [sentence] = told(6, 4, differ=True).sentences
    assert sentence.startswith("With 6 topics no two of 4 systems can differ at 5 %: the smallest p is 0.031")
    assert sentence.endswith(", and 0.094 after Holm's correction for 3 comparisons.")


@pytest.mark.parametrize("units", [17, 1_000, 100_000, 10_000_000])
@pytest.mark.parametrize("rows", [2, 103, 503, 2_000])
def test_on_a_board_of_any_size_many_units_can_tell_systems_apart(units, rows):
    """At 2,000 trials no two of 103 rows could, at 10,000 no two of 503."""
    assert told(units, rows).can_differ


def test_how_many_more_units_would_separate_the_first_two_is_the_documented_formula():
    found = told(10, 3)
    assert found.more_units == units_needed(0.1, 0.04, 10, comparisons=2) - 10 == 5
    assert found.sentences == ["About 5 more topics would separate first and second."]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (105, "About 100 more topics would separate first and second."),
        (
            111_354,
            "First and second are all but equal: only about 110\u2009000 more topics would separate them.",
        ),
    ],
)
def test_an_estimate_has_two_digits_and_what_nobody_will_collect_says_so(more, words):
    found = Separation(unit="topic", units=10, comparisons=1, smallest_p=0.001, more_units=more)
    assert found.sentences == [words]


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({"differ": True}, None),
        ({"difference": 0.0}, None),
        ({"difference": None}, None),
        ({"error": None}, None),
        ({"difference": 0.9}, None),
    ],
)
def test_nothing_is_said_of_runs_that_differ_or_that_no_number_of_units_would_separate(given, more):
    assert told(10, 3, **given).more_units is more


@pytest.mark.django_db
def test_the_board_its_page_and_the_api_say_so_in_words(client):
    phase = make_phase(topics=TOPICS[:4])
    for right in (4, 3, 0):
        scored(phase, right, topics=TOPICS[:4])
    assert standings(phase, VISITOR).separation is None
    compare(phase)
    words = (
        "With 4 topics no two systems can differ at 5 %: the smallest p is 0.125.",
        "more topics would separate first and second.",
    )
    page = text_of(client.get(boards.address("board", phase)))
    answer = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()["separation"]
    for sentence in words:
        assert sentence in page
        assert sentence in " ".join(answer["words"])
    assert (answer["unit"], answer["units"], answer["can_differ"]) == ("topic", 4, False)
    assert answer["more_units"] >= 3


@pytest.mark.django_db
def test_where_ranks_alone_are_shown_nothing_tells_how_far_the_scores_are_apart(client):
    phase = make_phase(topics=TOPICS[:4], board=Phase.Audience.RANKS)
    for right in (4, 3):
        scored(phase, right, topics=TOPICS[:4])
    compare(phase)
    found = standings(phase, VISITOR, by=SIGNIFICANCE).separation
    assert found.more_units is None
    assert not found.can_differ
    leader = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()["leader"]
    assert leader["system"]
    assert leader["value"] is leader["low"] is leader["metric"] is None


@pytest.mark.django_db
def test_home_season_and_api_name_the_leader_with_its_interval_and_how_many_it_is_tied_with(client):
    phase = make_phase()
    runs = [scored(phase, right, system=f"system {right}") for right in (10, 9, 1)]
    compare(phase)
    row = standings(phase, VISITOR).rows[0]
    cell = row.scores["overlap_f1_micro"]
    number = f"{cell.value:.4f} ({cell.low:.4f} to {cell.high:.4f}) not told apart from 1 other"
    for address in ("/", reverse("season", args=[phase.task.season.slug])):
        page = text_of(client.get(address))
        assert "system 10" in page
        assert number in page, address
    leader = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()["leader"]
    assert (leader["submission"], leader["tied"]) == (runs[0].pk, 1)
    assert (leader["metric"], leader["low"]) == ("overlap_f1_micro", cell.low)
    for phase_in_api in phases_in_api(client, phase):
        assert phase_in_api["leader"] == leader


def phases_in_api(client, phase):
    """What the season, the task and the phase itself say of it."""
    task = phase.task
    [of_season] = client.get(f"/api/v1/seasons/{task.season.slug}/").json()["tasks"]
    of_task = client.get(f"/api/v1/tasks/{task.pk}/").json()
    return [*of_season["phases"], *of_task["phases"], client.get(f"/api/v1/phases/{phase.pk}/").json()]


@pytest.mark.django_db
@pytest.mark.parametrize("shown_to", [Phase.Audience.NOBODY, Phase.Audience.ORGANISERS, Phase.Audience.RANKS])
def test_the_seasons_of_the_api_say_no_more_of_a_leader_than_the_board_shows_to_everybody(client, shown_to):
    phase = make_phase(board=shown_to)
    scored(phase, 10, system="the best")
    found = [phase_in_api["leader"] for phase_in_api in phases_in_api(client, phase)]
    if shown_to == Phase.Audience.RANKS:
        numbers = {"metric": None, "value": None, "low": None, "high": None}
        assert all(leader == {**leader, **numbers, "system": "the best"} for leader in found)
    else:
        assert found == [None, None, None]


@pytest.mark.django_db
def test_a_phase_whose_inputs_are_not_released_names_no_leader_in_the_api(client):
    phase = make_phase()
    scored(phase, 10)
    phase.opens = timezone.now() + dt.timedelta(days=1)
    phase.closes = phase.opens + dt.timedelta(days=1)
    phase.save()
    assert [phase_in_api["leader"] for phase_in_api in phases_in_api(client, phase)] == [None, None, None]


@pytest.mark.django_db
def test_every_task_type_names_its_unit():
    assert {factories.make_task(type=slug).task_type.unit for slug in ("clsumm-1a", "clsumm-2")} == {"topic"}
