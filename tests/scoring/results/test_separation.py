"""A board says what its units can show: where no two systems can differ, and whether an order would hold."""

import datetime as dt
import importlib
import math
from pathlib import Path

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils import timezone
from scipy import stats

from scoring.results.board.comparisons import (
    RANK_BY_SIGNIFICANCE,
    TopTwoComparison,
    build_separation_of_top_two,
)
from scoring.results.board.standings import compute_board
from scoring.stats.significance import order_chance
from tasks.models import Phase
from tests import factories
from tests.scoring import boards
from tests.scoring.compared import TOPICS, compare, make_phase, scored
from tests.web.reading import text_of

VISITOR = AnonymousUser()


def told(
    units: int,
    rows: int,
    *,
    p: float | None = 0.2,
    chance: float | None = None,
    differ=False,
):
    first_two = TopTwoComparison(units=units, differ=differ, p=p, chance=chance)
    return build_separation_of_top_two(first_two, unit="topic", rows=rows)


def test_with_four_topics_no_two_systems_can_differ():
    found = told(4, 2, differ=True)
    assert found.smallest_p == 0.125
    assert found.sentences == [
        "With 4 topics no two systems can differ at 5 %: the smallest p is 0.125."
    ]


def test_the_correction_for_many_comparisons_counts():
    assert told(6, 2, differ=True).can_differ
    [sentence] = told(6, 4, differ=True).sentences
    assert sentence.startswith(
        "With 6 topics no two of 4 systems can differ at 5 %: the smallest p is 0.031"
    )
    assert sentence.endswith(", and 0.094 after Holm's correction for 3 comparisons.")


@pytest.mark.parametrize("units", [17, 1_000, 100_000, 10_000_000])
@pytest.mark.parametrize("rows", [2, 103, 503, 2_000])
def test_on_a_board_of_any_size_many_units_can_tell_systems_apart(units, rows):
    """At 2,000 trials no two of 103 rows could, at 10,000 no two of 503."""
    assert told(units, rows).can_differ


def test_a_settled_board_keeps_the_p_and_the_chance_of_its_first_two():
    found = told(10, 3, chance=0.712)
    assert found.sentences == [
        "First and second could be tied (p 0.2).",
        (
            "If 10 more topics behave like these, "
            "the first stays ahead of the second with a chance of about 71 %."
        ),
    ]


def test_nothing_is_said_of_a_first_and_second_that_differ_and_no_number_of_units_is_foretold():
    found = told(10, 3, differ=True, chance=0.9)
    assert (found.sentences, found.p, found.order_chance, found.more_units) == (
        [],
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("systems", "spread", "has_weak_team"),
    [(2, 0.0, False), (2, 3.0, False), (20, 0.0, True), (20, 3.0, False)],
)
def test_the_chance_that_an_order_holds_comes_true_as_often_as_it_says(
    monkeypatch, systems, spread, has_weak_team
):
    """On boards of 10 topics, of systems that are alike, with a weak team or without, and of others."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[3] / "scripts")
    simulation = importlib.import_module("order_calibration")
    told_of, held = simulation.simulated_boards(
        np.random.default_rng(5),
        10,
        systems,
        spread,
        boards=400,
        has_weak_team=has_weak_team,
    )
    assert abs(told_of.mean() - held.mean()) <= 0.05 + 0.05


def test_the_smaller_the_differences_of_a_board_the_less_an_order_is_trusted():
    alike, apart = (
        order_chance(0.1, 0.1, 10, rows=10, squares=squares, errors=0.01)
        for squares in (0.01, 0.5)
    )
    assert 0.83 < alike < apart < 0.92
    assert order_chance(
        0.0, 0.1, 10, rows=3, squares=0.1, errors=0.01
    ) == pytest.approx(0.5)
    trusted = {"rows": 10, "squares": 0.5, "errors": 0.01}
    assert order_chance(0.1, 0.1, 10, **trusted, equal=0.25) <= apart
    alike_before = {"rows": 10, "squares": 0.01, "errors": 0.01}
    assert order_chance(0.1, 0.1, 10, **alike_before, equal=0.25) < alike
    assert math.isnan(order_chance(0.1, 0.0, 10, rows=3, squares=0.1, errors=0.01))


def test_without_evidence_systems_are_equally_good_with_their_prior_probability():
    # One row has no differences, which could tell how much of them is noise.
    common = {"rows": 1, "squares": 0.01, "errors": 0.01}
    otherwise = order_chance(0.1, 0.1, 10, **common)
    equally_good = stats.t.cdf(1, df=9)
    assert order_chance(0.1, 0.1, 10, **common, equal=0.25) == pytest.approx(
        0.75 * otherwise + 0.25 * equally_good
    )


@pytest.mark.django_db
def test_the_board_its_page_and_the_api_say_so_in_words(client):
    phase = make_phase(topics=TOPICS[:4])
    for right in (4, 3, 0):
        scored(phase, right, topics=TOPICS[:4])
    assert compute_board(phase, VISITOR).separation is None
    compare(phase)
    words = (
        "With 4 topics no test can find a difference between any two of them at 5 %: "
        "the smallest possible adjusted p is 0.25."
    )
    page = text_of(client.get(boards.address("board", phase)))
    answer = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()["separation"]
    assert words in page
    assert "stays ahead" not in page
    assert words in answer["words"]
    assert (answer["unit"], answer["units"], answer["can_differ"]) == (
        "topic",
        4,
        False,
    )
    assert 0.5 < answer["order_chance"] < 1
    assert answer["p"] >= 0.125
    assert answer["more_units"] is None


@pytest.mark.django_db
def test_where_ranks_alone_are_shown_nothing_tells_how_far_the_scores_are_apart(client):
    phase = make_phase(topics=TOPICS[:4], board=Phase.Audience.RANKS)
    for right in (4, 3):
        scored(phase, right, topics=TOPICS[:4])
    compare(phase)
    found = compute_board(phase, VISITOR, by=RANK_BY_SIGNIFICANCE).separation
    assert found.p is found.order_chance is None
    assert not found.can_differ
    leader = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()["leader"]
    assert leader["system"]
    assert leader["value"] is leader["low"] is leader["metric"] is None


@pytest.mark.django_db
def test_home_season_and_api_name_the_leader_with_its_interval_and_how_many_it_is_tied_with(
    client,
):
    phase = make_phase()
    runs = [scored(phase, right, system=f"system {right}") for right in (10, 9, 1)]
    compare(phase)
    row = compute_board(phase, VISITOR).rows[0]
    cell = row.scores["overlap_f1_micro"]
    number = f"{cell.value:.4f} ({cell.low:.4f} to {cell.high:.4f})"
    page = text_of(client.get(reverse("season", args=[phase.task.season.slug])))
    assert "system 10" in page
    assert number in page
    assert number in text_of(client.get("/"))
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
    return [
        *of_season["phases"],
        *of_task["phases"],
        client.get(f"/api/v1/phases/{phase.pk}/").json(),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "shown_to", [Phase.Audience.NOBODY, Phase.Audience.ORGANISERS, Phase.Audience.RANKS]
)
def test_the_seasons_of_the_api_say_no_more_of_a_leader_than_the_board_shows_to_everybody(
    client, shown_to
):
    phase = make_phase(board=shown_to)
    scored(phase, 10, system="the best")
    found = [phase_in_api["leader"] for phase_in_api in phases_in_api(client, phase)]
    if shown_to == Phase.Audience.RANKS:
        numbers = {"metric": None, "value": None, "low": None, "high": None}
        assert all(
            leader == {**leader, **numbers, "system": "the best"} for leader in found
        )
    else:
        assert found == [None, None, None]


@pytest.mark.django_db
def test_a_phase_whose_inputs_are_not_released_names_no_leader_in_the_api(client):
    phase = make_phase()
    scored(phase, 10)
    phase.opens = timezone.now() + dt.timedelta(days=1)
    phase.closes = phase.opens + dt.timedelta(days=1)
    phase.save()
    assert [
        phase_in_api["leader"] for phase_in_api in phases_in_api(client, phase)
    ] == [None, None, None]


@pytest.mark.django_db
def test_every_task_type_names_its_unit():
    assert {
        factories.make_task(type=slug).task_type.unit
        for slug in ("clsumm-1a", "clsumm-2")
    } == {"topic"}
