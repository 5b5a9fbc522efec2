"""Every page of the table of access, as those see it who may: no barriers, and nothing that sticks out."""

import pytest
from django.test import Client
from django.urls import reverse

from tests import factories
from tests.access.scene import Scene, make_scene, mount_archive
from tests.access.table import OUR_ROUTES, address, expected
from tests.browser.driving import LOOKS, barriers, reveal
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


def pages_of(role: str, scene: Scene) -> dict[str, str]:
    """The pages that are the role's, and not everybody's or as another one before it sees them, by name."""
    clients = {other: signed_in(scene, other) for other in ROLES[: ROLES.index(role) + 1]}
    everybodys = set() if role == "visitor" else set(open_to("visitor"))
    pages = {}
    for name in open_to(role):
        where = address(name, scene)
        if name in everybodys or not is_page(response := clients[role].get(where)):
            continue
        others = [other for other in clients if other != role and expected(name, "GET", other) == 200]
        if all(main_of(clients[other].get(where)) != main_of(response) for other in others):
            pages[name] = where
    return pages


def main_of(response) -> list[str]:
    """The elements of the page itself, without their words: the head is a role's own on all of its pages."""
    page = response.content.decode()
    return Skeleton(page.partition("<main")[2].partition("</main>")[0] or page).parts


def is_page(response) -> bool:
    response.getvalue()  # read to its end, a file that is sent is closed
    return response["Content-Type"].startswith("text/html")


def signed_in(scene: Scene, role: str) -> Client:
    client = Client()
    if person := scene.people[role]:
        client.force_login(person)
    return client


def is_whole(page) -> bool:
    """A fragment that only ever stands inside a page is looked at there."""
    return page.evaluate("document.querySelector('h1') !== null")


def faults_of(page, where: str, axe: str) -> list[str]:
    page.goto(where)
    if not is_whole(page):
        return []
    reveal(page)
    too_wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return barriers(page, axe) + (["wider than the window"] if too_wide else [])


@pytest.fixture
def look(visit, live_server, axe):
    """Opens pages as somebody, and says by name what is wrong with which."""

    def look_at(client: Client, pages: dict[str, str], size: str) -> dict[str, list[str]]:
        page = visit(**LOOKS[size])
        cookies = [
            {"name": cookie.key, "value": cookie.value, "url": live_server.url}
            for cookie in client.cookies.values()
        ]
        page.context.add_cookies(cookies)
        found = {name: faults_of(page, live_server.url + where, axe) for name, where in pages.items()}
        return {name: faults for name, faults in found.items() if faults}

    return look_at


@pytest.mark.parametrize("size", LOOKS)
@pytest.mark.parametrize("role", ROLES)
def test_no_page_of_the_table_of_access_keeps_anybody_out(look, scene, role, size):
    pages = pages_of(role, scene)
    assert len(pages) > 2
    assert look(signed_in(scene, role), pages, size) == {}


@pytest.mark.parametrize("size", LOOKS)
def test_a_run_that_is_checked_or_refused_keeps_nobody_out(look, settings, scene, size):
    settings.CHECK_MAX_MB = 0
    checking = factories.make_submission(phase=scene.phase, team=scene.team)
    problem = {"file": "run.jsonl", "line": 5, "message": "not JSON", "expected": "JSON", "fatal": True}
    refused = factories.make_submission(
        phase=scene.phase, team=scene.team, status="failed", problems=[problem | {"quote": "no JSON"}]
    )
    refused.jobs.update(state="failed")
    pages = {
        name: reverse("submission", args=[run.pk])
        for name, run in {"checking": checking, "refused": refused}.items()
    }
    assert look(signed_in(scene, "member"), pages, size) == {}
