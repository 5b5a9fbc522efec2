"""The page cache has one page for what visitors are shown, however its address is written."""

import pytest
from django.core.cache import caches
from django.urls import reverse

from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db
PAGES = ("board", "differences", "costs", "gold-changes")


@pytest.fixture
def phase():
    phase = factories.make_phase()
    run = factories.make_submission(phase=phase, status="scored")
    boards.score(run, 0.5)
    return phase


def number_kept() -> int:
    return len(caches["pages"]._cache)


def address(phase, name: str) -> str:
    return reverse(name, args=[phase.task.season.slug, phase.task.slug, phase.slug])


@pytest.mark.parametrize("name", PAGES)
def test_parameters_that_a_page_does_not_read_make_no_other_page(client, phase, name):
    answers = {
        client.get(f"{address(phase, name)}?x={number}&y={number}")["ETag"]
        for number in range(5)
    }
    assert len(answers) == 1
    assert number_kept() == 1


def test_the_api_keeps_each_view_and_no_refused_one(client, phase):
    board = reverse("api:leaderboard", args=[phase.pk])
    assert {client.get(f"{board}?x={number}").status_code for number in range(5)} == {
        400
    }
    assert client.get(f"{board}?rank=significance")["ETag"] != client.get(board)["ETag"]
    assert number_kept() == 2


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_a_signed_in_user_is_not_cached(client, phase, name):
    client.force_login(factories.make_user(name="Grace"))
    assert client.get(address(phase, name)).status_code == 200
    assert number_kept() == 0


def test_what_a_page_reads_makes_another_page(client, phase):
    board = address(phase, "board")
    queries = (
        "",
        "?q=x",
        "?sort=team",
        "?rules=fair",
        "?baselines=no",
        "?rank=significance",
    )
    assert len({client.get(f"{board}{query}")["ETag"] for query in queries}) == len(
        queries
    )


def test_no_number_of_searches_keeps_more_pages_than_a_process_may(
    client, phase, settings
):
    caches["pages"]._max_entries = 20
    try:
        for number in range(60):
            client.get(f"{address(phase, 'board')}?q={number}")
            assert number_kept() <= 20
    finally:
        caches["pages"]._max_entries = settings.CACHES["pages"]["OPTIONS"][
            "MAX_ENTRIES"
        ]


def test_searches_push_no_result_out_that_took_long_to_find(client, phase):
    caches["results"].set("tests", "found", 60)
    for number in range(settings_bound() + 50):
        caches["pages"].set(str(number), "page")
    assert caches["results"].get("tests") == "found"


def settings_bound() -> int:
    return caches["pages"]._max_entries
