"""Scores of a board by time of submission, and the best so far."""

import datetime as dt

import pytest

from scoring.results.board.charts import compute_running_best_values
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("values", "rises", "best"),
    [
        ([0.2, 0.1, 0.4], True, [0.2, 0.2, 0.4]),
        ([0.2, 0.1, 0.4], False, [0.2, 0.1, 0.1]),
        ([None, 0.3, None], True, [None, 0.3, 0.3]),
        ([], True, []),
    ],
)
def test_the_best_so_far_follows_the_direction_of_the_metric(values, rises, best):
    assert compute_running_best_values(values, rises) == best


def test_a_board_has_its_scores_by_when_they_were_sent_with_intervals_and_as_a_table(
    client,
):
    phase = boards.make_phase()
    for number, (system, value) in enumerate(
        [("First", 0.5), ("Second", 0.3), ("Third", 0.7)]
    ):
        at = boards.START + dt.timedelta(days=number)
        boards.scored_run(
            phase,
            boards.make_team(phase, system),
            value,
            system=system,
            submitted_at=at,
        )
    response = client.get(boards.address("over-time", phase))
    said = text_of(response)
    assert said.index("First") < said.index("Second") < said.index("Third")
    assert said.count("0.5000") >= 2
    assert "0.6500 to 0.7500" in said
    assert "best so far" in response.content.decode()
    board = client.get(boards.address("board", phase)).content.decode()
    assert 'href="?view=over-time#view"' in board


def test_where_a_board_shows_ranks_alone_it_has_no_scores_over_time(client):
    phase = boards.make_phase(board="ranks")
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    assert client.get(boards.address("over-time", phase)).status_code == 404
