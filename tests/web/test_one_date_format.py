"""Readers see one format of dates, `1 May 2026`; ISO dates are for programs."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import caches
from django.db import transaction

from tests.access.scene import kept_scene, scene  # noqa: F401  (fixtures)
from tests.access.table import OUR_ROUTES, address, row, sign_in

#: Dates as programs write them, and as Django writes them unless a template chooses a format.
OTHER_FORMS = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b(?:Jan|Feb|March|April|May|June|July|Aug|Sept|Oct|Nov|Dec)\.? \d{1,2}, \d{4}"
)
#: What a field of a form takes, as its help and its refusal quote it.
EXAMPLES = re.compile(r"2026-05-01 23:59(?: AoE)?|2024-06-30")
#: Elements whose content is a file, a command, a key or what somebody typed.
MACHINE = ("script", "style", "code", "pre", "textarea", "svg", "title", "option")
#: Modules with dates for fields of forms, a command, a leaderboard's file and signatures.
FOR_PROGRAMS = (
    "platform/citeboard/core/instants.py",
    "platform/citeboard/management/commands/later_runs.py",
    "scoring/exchange/formats.py",
    "scoring/models/boards.py",
)
ISO_FORMAT = re.compile(r"%Y-%m-%d(?!T)")


class Sentences(HTMLParser):
    """Collects the texts that a reader sees, without what is written for programs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._machine: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag in MACHINE:
            self._machine.append(tag)
        self.texts += [
            text for name, text in attrs if name in ("title", "aria-label") and text
        ]

    def handle_endtag(self, tag):
        if self._machine and tag == self._machine[-1]:
            self._machine.pop()

    def handle_data(self, data):
        if not self._machine:
            self.texts.append(data)


def other_dates(page: str) -> list[str]:
    return [
        text.strip()
        for text in Sentences(page).texts
        if OTHER_FORMS.search(EXAMPLES.sub("", text))
    ]


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("role", ["visitor", "member", "organiser", "staff"])
def test_no_page_shows_a_date_in_another_form(client, scene, role):  # noqa: F811
    caches["pages"].clear()
    sign_in(client, scene, role)
    signed_in, found = client.cookies.copy(), {}
    for name in OUR_ROUTES:
        # Guides are files of the repository, which show what programs and forms take.
        is_guide = name == "guide"
        if 200 not in row(name).GET or name.startswith("api:") or is_guide:
            continue
        client.cookies = signed_in.copy()
        with transaction.atomic():
            response = client.get(address(name, scene))
            page = response.getvalue()
            transaction.set_rollback(True)
        if response.get("Content-Type", "").startswith("text/html") and (
            dates := other_dates(page.decode())
        ):
            found[name] = dates
    caches["pages"].clear()
    assert found == {}


def test_only_what_programs_read_is_written_with_iso_dates():
    """Sentences of services, mails and feeds use `citeboard.core.instants`."""
    found = set()
    for room in ("platform", "scoring", "tasks"):
        for path in Path(settings.BASE_DIR, room).rglob("*.py"):
            is_migration = "migrations" in path.parts
            if not is_migration and ISO_FORMAT.search(path.read_text("utf-8")):
                found.add(path.relative_to(settings.BASE_DIR).as_posix())
    assert found == set(FOR_PROGRAMS)
