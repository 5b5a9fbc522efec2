"""Pages refuse a field that they do not have, and no form of a page sends one."""

from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from django.db import transaction
from django.urls import resolve

from citeboard.web.pages import _COMMON_FORM_FIELDS
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


#: Uploads warn of an unknown field in this release; a mail program sends a field of its own (RFC 8058).
TAKES_OTHER_FIELDS = {"upload", "season-upload", "unsubscribe"}


#: Before the name of a field, what it held when the form was shown.
HELD = "initial-"
#: Signing in, addresses, passwords and second factors are pages of django-allauth.
OF_ALLAUTH = ("account_", "socialaccount_", "mfa_")


@pytest.mark.parametrize("role", ["reader", "member", "organiser", "staff"])
def test_every_page_that_is_posted_to_refuses_an_unknown_field(client, scene, role):
    sign_in(client, scene, role)
    asked, taken = set(), {}
    for route in OUR_ROUTES:
        if route.startswith((*PREFIXES, *OF_ALLAUTH)) or route in TAKES_OTHER_FIELDS:
            continue
        if expected(route, "POST", role) not in (200, 302, 400, 422):
            continue
        response = client.post(address(route, scene), {"no_such_field": ""})
        asked.add(route)
        if response.status_code != 400 or b"no_such_field" not in response.content:
            taken[route] = response.status_code
    assert taken == {}
    assert asked


@dataclass(frozen=True)
class PostedForm:
    route: str
    path: str
    names: set[str]
    #: Fields of the form that the page itself has, as it names them.
    shown: set[str]

    @property
    def summary(self) -> str | None:
        """That of the act, where an act is posted to."""
        summary = resolve(self.path).func.__doc__
        return summary if summary in fields_by_summary() else None


def posted_forms(client, scene, role: str) -> Iterator[PostedForm]:
    """Yield each form of each page that somebody in this role reads."""
    sign_in(client, scene, role)
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
            is_own = path == where and "form" in response.context
            shown = response.context["form"] if is_own else ()
            yield PostedForm(route, path, names, {field.html_name for field in shown})


@pytest.mark.slow
@pytest.mark.parametrize("role", ["member", "organiser", "staff"])
def test_every_form_sends_its_act_the_fields_that_it_has(client, scene, role):
    seen, unknown = set(), {}
    for form in posted_forms(client, scene, role):
        if form.summary is None:
            continue
        seen.add(form.summary)
        known = {*fields_by_summary()[form.summary], *form.shown, *_COMMON_FORM_FIELDS}
        # The page reads what its fields held when they were shown, and the act does not.
        known |= {f"{HELD}{name}" for name in form.names}
        if extra := {name.removeprefix(OF_MERGING) for name in form.names} - known:
            unknown[form.summary, form.route] = extra
    assert unknown == {}
    assert seen


@pytest.mark.slow
@pytest.mark.parametrize("role", ["member", "organiser", "staff"])
def test_no_other_page_refuses_the_fields_that_its_own_form_sends(client, scene, role):
    seen, refused = set(), {}
    for form in list(posted_forms(client, scene, role)):
        if form.summary or resolve(form.path).view_name not in OUR_ROUTES:
            continue
        with transaction.atomic():
            response = client.post(form.path, dict.fromkeys(form.names, ""))
            transaction.set_rollback(True)
        seen.add(form.path)
        if b"is unknown here" in response.content:
            refused[form.path, form.route] = form.names
    assert refused == {}
    assert seen
