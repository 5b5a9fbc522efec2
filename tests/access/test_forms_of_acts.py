"""No form of a page sends a field that its act does not have, which the act would refuse."""

from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from django.urls import resolve

from citeboard.web.pages import _OF_EVERY_FORM
from tests.access.scene import make_scene, mount_archive
from tests.access.table import OUR_ROUTES, address, expected, fields_by_summary, sign_in
from tests.kept_worlds import KeptWorld, keep_world

FIELDS = ("input", "button", "select", "textarea")
#: What stands before the fields of the form that merges teams, which is beside another one.
OF_MERGING = "merge-"
#: Pages that make a file, or an answer for programs.
PREFIXES = ("api:", "health", "metrics")


class PostedForms(HTMLParser):
    """Collect the address of each form that is posted and the names of its fields."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, set[str]]] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list) -> None:
        facts = dict(attrs)
        if tag == "form":
            self._is_inside = facts.get("method", "").lower() == "post"
            if self._is_inside:
                self.forms.append((facts.get("action") or "", set()))
        elif self._is_inside and facts.get("formaction"):
            # The names of the form so far are sent there too; fields stand before their buttons.
            self.forms.insert(-1, (facts["formaction"], set(self.forms[-1][1])))
        elif self._is_inside and tag in FIELDS and facts.get("name"):
            self.forms[-1][1].add(facts["name"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_inside = False


@pytest.fixture(scope="module")
def kept_world(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_scene, django_db_blocker)


@pytest.fixture
def scene(db, kept_world):
    mount_archive()
    return kept_world()


@pytest.mark.parametrize("role", ["member", "organiser", "staff"])
def test_every_form_sends_its_act_the_fields_that_it_has(client, scene, role):
    sign_in(client, scene, role)
    seen, unknown = set(), {}
    for route in OUR_ROUTES:
        if route.startswith(PREFIXES) or expected(route, "GET", role) != 200:
            continue
        where = address(route, scene)
        response = client.get(where)
        if not response.get("Content-Type", "").startswith("text/html"):
            response.getvalue()
            continue
        parser = PostedForms()
        parser.feed(response.content.decode())
        for action, names in parser.forms:
            path = urlsplit(urljoin(where, action)).path
            summary = resolve(path).func.__doc__
            fields = fields_by_summary().get(summary)
            if fields is None:
                continue
            seen.add(summary)
            shown = (
                response.context["form"]
                if path == where and "form" in response.context
                else ()
            )
            known = {*fields, *(field.html_name for field in shown), *_OF_EVERY_FORM}
            if extra := {name.removeprefix(OF_MERGING) for name in names} - known:
                unknown[summary, route] = extra
    assert unknown == {}
    assert seen
