"""Every page of the table of access, as those see it who may: no barriers, and nothing that sticks out."""

import pytest
from django.test import Client
from django.urls import reverse

from tests import factories
from tests.access.scene import Scene, make_scene, mount_archive
from tests.access.table import OUR_ROUTES, address, expected
from tests.browser.driving import faults_of
from tests.kept_worlds import KeptWorld, keep_world
from tests.languages.test_german_pages import Skeleton

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


#: Those before see less.
ROLES = ("visitor", "member", "organiser", "staff")


@pytest.fixture(scope="module")
def kept_scene(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_scene, django_db_blocker)


@pytest.fixture
def scene(transactional_db, kept_scene) -> Scene:
    mount_archive()
    return kept_scene()


def open_to(role: str) -> list[str]:
    """The addresses that are read, and that answer the role."""
    return [name for name in OUR_ROUTES if expected(name, "GET", role) == 200]


#: The elements of each role's page by its name, or nothing where it is none: the scene is always the same.
_mains: dict[tuple[str, str], list[str] | None] = {}


def pages_of(role: str, scene: Scene) -> dict[str, str]:
    """The pages that are the role's, and not everybody's or as another one before it sees them, by name."""
    clients = {
        other: signed_in(scene, other) for other in ROLES[: ROLES.index(role) + 1]
    }
    everybodys = set() if role == "visitor" else set(open_to("visitor"))

    def main(who: str, name: str) -> list[str] | None:
        if (who, name) not in _mains:
            _mains[who, name] = main_of(clients[who].get(address(name, scene)))
        return _mains[who, name]

    pages = {}
    for name in open_to(role):
        if name in everybodys or main(role, name) is None:
            continue
        others = [
            other
            for other in clients
            if other != role and expected(name, "GET", other) == 200
        ]
        if all(main(other, name) != main(role, name) for other in others):
            pages[name] = address(name, scene)
    return pages


def main_of(response) -> list[str] | None:
    """The elements of the page itself, without their words: the head is a role's own on all of its pages."""
    page = response.getvalue()  # read to its end, a file that is sent is closed
    if not response["Content-Type"].startswith("text/html"):
        return None
    page = page.decode()
    return Skeleton(page.partition("<main")[2].partition("</main>")[0] or page).parts


def signed_in(scene: Scene, role: str) -> Client:
    client = Client()
    if person := scene.people[role]:
        client.force_login(person)
    return client


@pytest.fixture
def look(visit, live_server, axe):
    """Opens pages as somebody, and says by name what is wrong with which."""

    def look_at(client: Client, pages: dict[str, str]) -> dict[str, list[str]]:
        page = visit()
        cookies = [
            {"name": cookie.key, "value": cookie.value, "url": live_server.url}
            for cookie in client.cookies.values()
        ]
        page.context.add_cookies(cookies)
        return faults_of(
            page, {name: live_server.url + where for name, where in pages.items()}, axe
        )

    return look_at


@pytest.mark.parametrize("role", ROLES)
def test_no_page_of_the_table_of_access_keeps_anybody_out(look, scene, role):
    pages = pages_of(role, scene)
    assert len(pages) > 2
    assert look(signed_in(scene, role), pages) == {}


def test_a_run_that_is_checked_or_refused_keeps_nobody_out(look, settings, scene):
    settings.CHECK_MAX_MB = 0
    checking = factories.make_submission(phase=scene.phase, team=scene.team)
    problem = {
        "file": "run.jsonl",
        "line": 5,
        "message": "not JSON",
        "expected": "JSON",
        "fatal": True,
    }
    refused = factories.make_submission(
        phase=scene.phase,
        team=scene.team,
        status="failed",
        problems=[problem | {"quote": "no JSON"}],
    )
    refused.jobs.update(state="failed")
    pages = {
        name: reverse("submission", args=[run.pk])
        for name, run in {"checking": checking, "refused": refused}.items()
    }
    assert look(signed_in(scene, "member"), pages) == {}
