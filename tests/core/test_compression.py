"""What a visitor gets is compressed; nothing that a session opens, and no page with a form's token."""

import gzip

import pytest
from django.urls import reverse

from tests import factories
from tests.scoring import boards

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.fixture
def board(db):
    phase = factories.make_phase()
    run = factories.make_submission(phase=phase, status="scored", system="first")
    boards.score(run, 0.5)
    return boards.address("board", phase)


def test_a_board_is_sent_compressed_and_says_the_same(client, board):
    plain, packed = client.get(board), client.get(board, headers=GZIP)
    assert "Content-Encoding" not in plain
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert int(packed["Content-Length"]) == len(packed.content) < len(plain.content) / 2
    assert all("Accept-Encoding" in response["Vary"] for response in (plain, packed))


def test_its_validator_is_weak_and_still_spares_the_page(client, board):
    tag = client.get(board, headers=GZIP)["ETag"]
    assert tag.startswith('W/"')
    assert client.get(board, headers={**GZIP, "If-None-Match": tag}).status_code == 304


def test_nothing_that_a_session_opens_is_compressed(client, board):
    client.force_login(factories.make_user())
    assert "Content-Encoding" not in client.get(board, headers=GZIP)


@pytest.mark.django_db
def test_a_page_with_a_token_is_not_compressed(client):
    response = client.get(reverse("account_login"), headers=GZIP)
    assert b"csrfmiddlewaretoken" in response.content
    assert "Content-Encoding" not in response


@pytest.mark.django_db
def test_the_api_is_compressed_and_what_is_short_is_not(client, board):
    assert client.get("/api/v1/schema/", headers=GZIP)["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in client.get("/health/live", headers=GZIP)
