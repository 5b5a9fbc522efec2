"""A page in German is the page in English in other words, and what is done on it stores the same."""

import re
from html.parser import HTMLParser

import pytest
from django.apps import apps
from django.core.cache import caches
from django.db import models, transaction

from tests.access.table import OUR_ROUTES, address, ask, row, sign_in
from tests.written_tables import noting_tables

pytestmark = pytest.mark.django_db
GERMAN = {"HTTP_ACCEPT_LANGUAGE": "de"}
#: Attributes that hold words, and what differs with each request or with the language as such.
OF_WORDS = (
    "title",
    "aria-label",
    "alt",
    "placeholder",
    "content",
    "label",
    "lang",
    "data-label",
    "aria-current",
)
PASSING = re.compile(r"csrf|nonce|\d{9,}\.\d+|\d{4}-\d\d-\d\d[T ]\d\d:[\d:.]+Z?")
#: Fields with what is drawn by chance, or names a row by its number.
DRAWN = re.compile(
    r"nonce|digest|secret|hint|token|password|trace|lease|key$|^key|unsubscribe|value|alias|^event$"
)
#: What programs read as texts. What is packed says when it was.
TEXTS = (
    "text/",
    "application/json",
    "application/atom",
    "application/toml",
    "application/x-bibtex",
    "image/svg",
)


def _lasting(said: bytes) -> str:
    return PASSING.sub("", said.decode())


class Skeleton(HTMLParser):
    """Elements with their attributes, without words; svg is words and places, and is left out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._within = 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._within += tag == "svg"
        given = dict(attrs)
        if (
            self._within
            or "csrf" in (given.get("name") or "")
            or given.get("id") == "script-texts"
        ):
            return
        kept = {name: value for name, value in attrs if name not in OF_WORDS}
        if tag == "input" and given.get("type") in ("submit", "button"):
            kept.pop("value", None)
        self.parts.append(PASSING.sub("", f"{tag} {sorted(kept.items(), key=str)}"))

    def handle_endtag(self, tag):
        self._within -= tag == "svg"


@pytest.mark.slow
@pytest.mark.parametrize("role", ["visitor", "member", "organiser", "staff"])
def test_a_german_page_has_the_elements_and_attributes_of_the_english_one(
    client, scene, role
):
    """No word is a key: no German name and no number with a comma is in an address, an id or a class."""
    sign_in(client, scene, role)
    signed_in, differ = client.cookies.copy(), {}
    for name in OUR_ROUTES:
        if 200 not in row(name).GET or name.startswith("api:"):
            continue
        caches["pages"].clear()
        pages = []
        for asked in ({}, GERMAN):
            client.cookies = signed_in.copy()
            with transaction.atomic():
                response = client.get(address(name, scene), **asked)
                pages.append((response, response.getvalue()))
                transaction.set_rollback(True)
        (english, one), (german, other) = pages
        assert english.status_code == german.status_code, name
        kind = english.get("Content-Type", "")
        if not kind.startswith("text/html"):
            if (
                name not in ("health-ready", "metrics")
                and kind.startswith(TEXTS)
                and _lasting(one) != _lasting(other)
            ):
                differ[name] = "what programs read differs"
            continue
        in_english, in_german = (
            sorted(Skeleton(said.decode()).parts) for said in (one, other)
        )
        if in_english != in_german:
            differ[name] = sorted(set(in_english) ^ set(in_german))[:4]
    caches["pages"].clear()
    assert differ == {}


Texts = dict[type[models.Model], str]


def stored(before: Texts, written: set[str]) -> Texts:
    """Every text in the database that was not drawn by chance and does not follow from one that was.

    A table that has not been written has what it had before.
    """
    return {
        model: before[model]
        if model in before and model._meta.db_table not in written
        else texts_of(model)
        for model in apps.get_models()
        if model._meta.app_label in ("teams", "core", "tasks", "scoring")
    }


def texts_of(model: type[models.Model]) -> str:
    fields = [
        field.name
        for field in model._meta.fields
        if isinstance(field, models.CharField | models.TextField | models.JSONField)
        and not DRAWN.search(field.name)
    ]
    rows = model.objects.order_by("pk").values_list("pk", *fields)
    return PASSING.sub(
        "", "\n".join(f"{model.__name__} {values[1:]}" for values in rows)
    )


@pytest.mark.slow
@pytest.mark.parametrize("role", ["member", "organiser", "staff"])
def test_what_is_done_on_a_german_page_is_stored_as_on_an_english_one(
    client, scene, role
):
    sign_in(client, scene, role)
    signed_in, before, differ = client.cookies.copy(), stored({}, set()), {}
    for name in OUR_ROUTES:
        if 302 not in row(name).POST or name.startswith(("account", "mfa", "social")):
            continue
        found = []
        for language in ("en", "de"):
            client.cookies = signed_in.copy()
            client.defaults["HTTP_ACCEPT_LANGUAGE"] = language
            with transaction.atomic():
                with noting_tables() as written:
                    ask(client, name, "POST", scene)
                found.append(stored(before, written))
                transaction.set_rollback(True)
        if found[0] != found[1]:
            in_english, in_german = (
                "\n".join(texts.values()).splitlines() for texts in found
            )
            differ[name] = set(in_english) ^ set(in_german)
    assert differ == {}
