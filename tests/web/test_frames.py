"""A board in a frame of another page, where its season allows that."""

import pytest

from scoring.results.board.standings import compute_board
from tasks.models import Phase, Season
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase() -> Phase:
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    return phase


def test_frames_are_refused_until_the_season_allows_them_and_then_only_there(
    client, phase
):
    there, board = boards.address("embed", phase), boards.address("board", phase)
    assert client.get(there)["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in client.get(there)["Content-Security-Policy"]
    Season.objects.update(allows_frames=True)
    framed = client.get(there)
    assert "X-Frame-Options" not in framed
    assert "frame-ancestors *" in framed["Content-Security-Policy"]
    assert client.get(board)["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in client.get(board)["Content-Security-Policy"]


def test_it_is_the_board_of_visitors_whoever_asks_and_its_links_leave_the_frame(
    client, phase
):
    Phase.objects.update(board="organisers")
    client.force_login(factories.make_user(is_superuser=True, is_staff=True))
    hidden = client.get(boards.address("embed", phase)).content.decode()
    assert "system-" not in hidden
    assert "The board shows nothing yet." in hidden
    Phase.objects.update(board="everyone")
    shown = client.get(boards.address("embed", phase)).content.decode()
    [row] = compute_board(Phase.objects.get(), None).rows
    there = f"{boards.address('board', phase)}runs/{row.submission}/"
    assert '<base target="_top">' in shown
    assert f'<a href="{there}">{row.system}</a>' in shown
    assert 'id="sort-system" target="_self"' in shown
    assert "<script" not in shown
