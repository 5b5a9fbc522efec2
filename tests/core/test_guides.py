"""The documents are pages of the site, with their links and pictures, and found by what they say."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.urls import reverse

from citeboard.core.markdown import GUIDE_GROUPS, load_guides, search_guides

pytestmark = pytest.mark.django_db

DOCS = Path(settings.BASE_DIR) / "docs"
NAMES = sorted(path.stem for path in DOCS.glob("*.md"))


def test_every_document_stands_in_one_group():
    assert sorted(slug for group in GUIDE_GROUPS.values() for slug in group) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_page_whose_links_and_pictures_lead_somewhere(client, name):
    page = client.get(reverse("guide", args=[name])).content.decode()
    anchors = {
        slug: {section.anchor for section in guide.sections}
        for slug, guide in load_guides().items()
    }
    body = (
        page.split('<div class="prose guide">')[1]
        .split('<h2 id="operations">')[0]
        .split("</main>")[0]
    )
    for href in re.findall(r'<a href="([^"]+)"', body):
        path, _, anchor = href.partition("#")
        if href.startswith(("http:", "https:", "mailto:")):
            continue
        if path.startswith(settings.STATIC_URL):
            assert finders.find(path.removeprefix(settings.STATIC_URL)), href
            continue
        slug = path.removeprefix("/docs/").strip("/") if path else name
        assert slug in anchors, href
        assert not anchor or anchor in anchors[slug], href
    for source in re.findall(r'<img src="([^"]+)"', body):
        assert finders.find(source.removeprefix(settings.STATIC_URL)), source
    assert "<h1" not in body


def test_a_picture_leads_to_itself_at_its_full_size(client):
    page = client.get(reverse("guide", args=["readers"])).content.decode()
    pairs = re.findall(r'<a href="([^"]+)" class="picture"><img src="([^"]+)"', page)
    assert pairs
    assert all(link == source for link, source in pairs)
    assert len(pairs) == page.count("<img ")


def test_the_list_leads_to_all_of_them(client):
    page = client.get(reverse("guides")).content.decode()
    assert all(reverse("guide", args=[name]) in page for name in NAMES)


def test_a_search_finds_the_section_that_says_it(client):
    page = client.get(reverse("guides"), {"q": "inputs_from"}).content.decode()
    assert f"{reverse('guide', args=['season-file'])}#tasksphases" in page
    best = search_guides("badge picture rank")[0]
    assert best.guide.slug == "readers"


def test_a_search_needs_all_words_and_says_where_there_are_none(client):
    assert search_guides("badge xyzzy") == []
    assert search_guides("  ") == []
    assert (
        "No section has all of these words"
        in client.get(reverse("guides"), {"q": "xyzzy"}).content.decode()
    )


def test_what_was_typed_stays_text(client):
    page = client.get(reverse("guides"), {"q": '"><script>x</script>'}).content.decode()
    assert "<script>x" not in page


def test_the_foot_of_every_page_leads_to_guides_api_and_command_line(client):
    foot = client.get("/").content.decode().split('<footer class="colophon">')[1]
    for where in (reverse("guides"), reverse("guide", args=["api"]), reverse("client")):
        assert f'href="{where}"' in foot


@pytest.mark.parametrize("where", ["/api/", "/api/v1/"])
def test_the_addresses_that_are_tried_first_say_where_to_go(client, where):
    answer = client.get(where).json()
    assert answer["schema"].endswith("/api/v1/schema/")
    assert answer["guide"].endswith(reverse("guide", args=["api"]))
