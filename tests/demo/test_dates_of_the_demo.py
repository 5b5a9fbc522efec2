"""Readers of the demo see one format of dates, on every page and in every mail."""

import re
from collections import Counter, deque
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
from django.core.cache import caches

from citeboard.teams.models import User
from tasks.jobs.mails import build_email_message
from tasks.models.notifications import Notification
from tests.web.test_one_date_format import OTHER_FORMS, other_dates

#: Pages of one kind that differ in a number or in a value of a parameter only.
MAX_OF_ONE_KIND = 2
pytestmark = pytest.mark.slow

PROGRAMS = ("/api/", "/static/", "/admin/")


class Links(HTMLParser):
    """Collects the addresses to which a page leads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "a" and (address := dict(attrs).get("href")):
            self.addresses.append(address)


def kind_of(address: str) -> str:
    """Return the address without numbers and without values of parameters but `view`."""
    parts = urlsplit(address)
    query = (
        f"{name}={value if name == 'view' else ''}"
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    return re.sub(r"\d+", "N", parts.path) + "?" + "&".join(sorted(query))


def pages_by_links(client) -> dict[str, str]:
    """Return the pages that a visitor reaches from the first one, by address."""
    waiting, seen, kinds = deque(["/"]), {"/"}, Counter()
    pages: dict[str, str] = {}
    while waiting:
        address = waiting.popleft()
        response = client.get(address)
        content = response.getvalue()
        if 300 <= response.status_code < 400:
            leads_to = [response["Location"]]
        elif response.get("Content-Type", "").startswith("text/html"):
            assert response.status_code == 200, address
            pages[address] = content.decode()
            leads_to = Links(pages[address]).addresses
        else:
            continue
        for link in leads_to:
            there = urlsplit(urljoin(f"http://testserver{address}", link))
            target = there.path + (f"?{there.query}" if there.query else "")
            if there.netloc != "testserver" or target in seen:
                continue
            if there.path.startswith(PROGRAMS):
                continue
            seen.add(target)
            kinds[kind_of(target)] += 1
            if kinds[kind_of(target)] <= MAX_OF_ONE_KIND:
                waiting.append(target)
    return pages


def test_no_page_of_the_demo_shows_a_date_in_another_form(client, loaded):
    caches["pages"].clear()
    pages = pages_by_links(client)
    kinds = {kind_of(address).partition("?")[0] for address in pages}
    assert len(kinds) > 60, sorted(kinds)
    assert {"/", "/seasons/demo/", "/seasons/demo/Na/practice/"} <= kinds
    found = {
        address: dates for address in pages if (dates := other_dates(pages[address]))
    }
    caches["pages"].clear()
    assert found == {}


@pytest.mark.parametrize("language", ["en", "de"])
def test_no_mail_of_the_demo_shows_a_date_in_another_form(loaded, language):
    """The accounts of the demo get no e-mails: their messages are written as mails."""
    User.objects.update(language=language)
    letters = [
        build_email_message(told)
        for told in Notification.objects.select_related("user")
    ]
    assert len(letters) >= 3
    texts = [f"{letter.subject}\n{letter.body}" for letter in letters]
    assert [text for text in texts if OTHER_FORMS.search(text)] == []
