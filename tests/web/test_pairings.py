"""One metric against another, one point a system: the chart, the table behind it, and who sees neither."""

import json
import re

import pytest
from django.urls import reverse

from scoring.stats.finding import summarise_differences
from scoring.worker.score import score
from tasks.models import Phase
from tests.factories import make_phase
from tests.scoring.citing import CLAIM, citing_phase, citing_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(tmp_path):
    found = citing_phase(tmp_path / "phase", entailment="word-overlap")
    for output in (f"{CLAIM} [1][2].", f"{CLAIM} [1]. Nobody knows.", "It rains."):
        run = citing_run(found, output)
        for job in run.jobs.all():
            score(job.pk)
    return found


def address(phase, name="pairings") -> str:
    return reverse(name, args=[phase.task.season.slug, phase.task.slug, phase.slug])


def figures(told: str) -> list[dict]:
    return [
        json.loads(found)
        for found in re.findall(r'type="application/json">(.*?)</script>', told)
    ]


def test_recall_against_recall_and_precision_against_precision_are_drawn_and_cvcp_against_f1(
    client, phase
):
    told = client.get(address(phase)).content.decode()
    recall, precision, spread = figures(told)
    axes = [
        (
            drawn["layout"]["xaxis"]["title"]["text"],
            drawn["layout"]["yaxis"]["title"]["text"],
        )
        for drawn in (recall, precision, spread)
    ]
    assert axes == [
        ("ALCE recall", "ALiiCE recall"),
        ("ALCE precision", "ALiiCE precision"),
        ("ALiiCE F1", "CVCP"),
    ]
    assert [drawn["data"][1]["mode"] for drawn in (recall, precision)] == [
        "lines",
        "lines",
    ]
    assert len(spread["data"]) == 1, "no line of equal values where the scales differ"
    assert "1 system without one of the numbers left out." in told


def test_what_the_paper_finds_is_held_to_the_systems_of_the_board(client, phase):
    """Two systems are too few for an interval: neither holds and neither fails."""
    told = client.get(address(phase)).content.decode()
    assert (
        "What the paper finds, ALiiCE recall below ALCE recall, cannot be decided here: in "
        in told
    )
    assert (
        "What the paper finds, ALiiCE precision above ALCE precision, cannot be decided here: in "
        in told
    )
    assert "of 2 systems, a mean difference of" in told


@pytest.mark.parametrize(
    ("differences", "holds"),
    [
        ((4, 5, 6), True),
        ((-4, -5, -6), False),
        ((1, 2, 3), None),
        ((1, 2), None),
        ((), None),
    ],
)
def test_a_finding_holds_where_the_whole_interval_is_above_zero(differences, holds):
    """By hand of three with a spread of 1: the mean -/+ Student's t of two degrees of freedom by root 3."""
    found = summarise_differences(list(map(float, differences)))
    assert found.holds is holds
    assert found.above == sum(value > 0 for value in differences)
    if found.units > 2:
        reach = 4.302653 / 3**0.5
        assert (found.low, found.high) == pytest.approx(
            (found.mean - reach, found.mean + reach), abs=1e-5
        )


def test_the_board_leads_there_and_others_do_not(client, phase):
    board = client.get(address(phase, "board")).content.decode()
    assert 'href="?view=metrics#view"' in board
    other = make_phase()
    assert "view=metrics" not in client.get(address(other, "board")).content.decode()
    assert "not drawn against each other" in client.get(address(other)).content.decode()


@pytest.mark.parametrize("board", ["ranks", "organisers", "nobody"])
def test_nobody_sees_them_where_the_scores_are_hidden(client, phase, board):
    Phase.objects.update(board=board)
    assert client.get(address(phase)).status_code == 404
