"""What scripts of other sites may read: public JSON and badges, as a visitor gets them, and nothing else."""

import pytest

from tests.access.scene import Scene, make_scene
from tests.access.table import METHODS, OUR_ROUTES, address
from tests.kept_worlds import KeptWorld, keep_world

pytestmark = pytest.mark.django_db
READABLE = {
    "board-json", "snapshot-json", "croissant", "board-papers-with-code", "published-json", "team-badge",
    "team-system-badge", "board-csv", "board-tex", "board-bib", "board-every-eval-ever", "board-ir-metadata",
    "classes-csv", "classes-json", "published-csv",
    "api:seasons", "api:season", "api:task", "api:phase", "api:leaderboard", "api:published", "api:schema",
    "api:archives", "api:archive", "api:export", "api:receipt-log", "api:log-entries", "api:log-inclusion",
    "api:log-consistency", "api:announcements", "api:background-job", "api:errata", "api:instances",
    "api:notices", "api:outside", "api:overall", "api:overview-paper", "api:overview-paper-files",
    "api:questions", "api:receipts", "api:several", "api:team-results", "api:team-system", "api:terms",
    "board-xlsx", "api:battles", "api:battle-rows", "api:estimates",
    "api:judges",
}  # fmt: skip
HEADERS = (
    "Access-Control-Allow-Origin",
    "Access-Control-Allow-Credentials",
    "Access-Control-Allow-Headers",
)


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_scene, django_db_blocker)


@pytest.fixture
def scene(db, kept) -> Scene:
    return kept()


def readable(client, scene, method: str, **headers: str) -> set[str]:
    found = set()
    for name in OUR_ROUTES:
        response = client.generic(
            method,
            address(name, scene),
            headers={"Origin": "https://else.org", **headers},
        )
        response.getvalue()
        if any(header in response for header in HEADERS):
            assert response[HEADERS[0]] == "*"
            assert [header for header in HEADERS if header in response] == [HEADERS[0]]
            found.add(name)
    return found


def test_a_visitor_may_read_public_json_from_anywhere(client, scene):
    assert readable(client, scene, "GET") == READABLE


@pytest.mark.parametrize("method", ["OPTIONS", *METHODS[1:]])
def test_nothing_else_is_let_through_and_no_browser_is_told_that_it_may_send_a_token(
    client, scene, method
):
    assert readable(client, scene, method) == set()


@pytest.mark.slow
def test_what_somebody_is_answered_is_for_them_alone(client, scene):
    client.force_login(scene.people["organiser"])
    assert readable(client, scene, "GET") == set()
    client.logout()
    assert readable(client, scene, "GET", Authorization="Token no-such") == set()
