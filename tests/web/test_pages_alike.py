"""Pages of signed-in readers: nobody gets what is another's."""

import re

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import reverse

from citeboard.teams.access import find_teams_of_user
from scoring.results.board.visibility import determine_audience, load_viewer_roles
from tests import factories
from tests.access.scene import EVERY_ROLE
from tests.access.table import address

pytestmark = pytest.mark.django_db
PAGES = ("home", "season", "board")


def read(scene, role: str, name: str) -> str:
    client = Client()
    if scene.people[role] is not None:
        client.force_login(scene.people[role])
    page = client.get(address(name, scene)).content.decode()
    # A token of a form is masked anew for each page, and now moves along a line of time.
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"|="[\d.]+%"', "", page)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_the_same_whoever_has_read_it_before(scene, name):
    alone = {}
    for role in EVERY_ROLE:
        caches["pages"].clear()
        caches["boards"].clear()
        alone[role] = read(scene, role, name)
    caches["pages"].clear()
    caches["boards"].clear()
    for role in (*EVERY_ROLE, *reversed(EVERY_ROLE)):
        assert read(scene, role, name) == alone[role]


@pytest.mark.parametrize("name", PAGES)
def test_nobody_reads_the_name_of_another_who_reads_the_same(scene, name):
    people = [
        factories.make_user(name=own) for own in ("Sandpiper Quill", "Lapwing Furrow")
    ]
    for _ in range(2):
        for person, other in (people, people[::-1]):
            client = Client()
            client.force_login(person)
            page = client.get(address(name, scene)).content.decode()
            assert person.name in page
            assert other.name not in page


def test_each_form_of_a_page_has_the_token_of_its_reader(scene):
    tokens = []
    for _ in range(2):
        client = Client(enforce_csrf_checks=True)
        client.force_login(factories.make_user())
        page = client.get(address("season", scene)).content.decode()
        team, token = (
            re.search(pattern, page)[1]
            for pattern in (
                r'<option value="([^"]+)"',
                r'csrfmiddlewaretoken" value="(\w+)"',
            )
        )
        tokens.append(token)
        asked = {"team": team, "message": "", "csrfmiddlewaretoken": token}
        assert (
            client.post(
                reverse("ask-to-join", args=[scene.phase.task.season.slug]), asked
            ).status_code
            == 302
        )
    assert tokens[0] != tokens[1]


def test_a_message_is_shown_to_whom_it_is_for(scene):
    season = address("season", scene)
    first, second = Client(), Client()
    for client in (first, second):
        client.force_login(factories.make_user())
    team = re.search(r'<option value="([^"]+)"', first.get(season).content.decode())[1]
    first.post(
        reverse("ask-to-join", args=[scene.phase.task.season.slug]),
        {"team": team, "message": ""},
    )
    assert 'class="messages"' in first.get(season).content.decode()
    assert 'class="messages"' not in second.get(season).content.decode()
    assert 'class="messages"' not in first.get(season).content.decode()


@pytest.mark.both_databases
@pytest.mark.parametrize("role", EVERY_ROLE)
def test_one_statement_tells_what_somebody_is_as_the_rest_of_the_site_has_it(
    scene, role
):
    person = scene.people[role]
    viewer = load_viewer_roles(person)
    assert viewer.audience(scene.phase.task.season_id) == determine_audience(
        scene.phase, person
    )
    assert viewer.teams == tuple(
        find_teams_of_user(person).order_by("slug").values_list("slug", flat=True)
    )
