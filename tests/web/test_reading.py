"""Home, season and task: what a reader finds without an account."""

import datetime as dt
import io
import itertools
import re
import zipfile

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks.models import Task
from tasks.seasons.cards import load_card_of_task_type
from tasks.types import task_types
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


def text_of(response) -> str:
    return response.content.decode()


@pytest.mark.both_databases
def test_the_first_page_leads_to_open_coming_and_finished_seasons(client):
    now = timezone.now()
    day = dt.timedelta(days=1)
    for title, opens, closes in (
        ("Open season", now - day, now + day),
        ("Coming season", now + day, now + 2 * day),
        ("Finished season", now - 2 * day, now - day),
    ):
        boards.make_phase(
            factories.make_season(title=title), opens=opens, closes=closes
        )
    page = text_of(client.get("/"))
    order = [
        page.index(name)
        for name in (
            "Open season",
            "To come",
            "Coming season",
            "Seasons that are over",
            "Finished season",
        )
    ]
    assert order == sorted(order)


@pytest.mark.both_databases
def test_many_seasons_stand_on_several_pages_what_is_open_first(client):
    now, day = timezone.now(), dt.timedelta(days=1)
    spans = [(f"Past {n:02}", now - 2 * day, now - day) for n in range(12)]
    spans += [
        ("To be", now + day, now + 2 * day),
        ("Endless", now - day, now + 99 * 365 * day),
    ]
    spans += [(f"Open {n}", now - day, now + n * day) for n in (3, 2)]
    for title, opens, closes in spans:
        task = factories.make_task(season=factories.make_season(title=title))
        factories.make_phase(task=task, opens=opens, closes=closes, with_gold=False)
    factories.make_season(title="A draft", is_public=False)
    published = factories.make_season(title="Published alone")
    factories.make_task(season=published, is_reported_only=True)
    pages = [text_of(client.get(address)) for address in ("/", "/?&page=2")]
    shown = [
        re.findall(r'<h2 id="season-[^"]+">\s*<a [^>]+>([^<]+)</a>', page)
        for page in pages
    ]
    assert shown[0][:4] == ["Open 2", "Open 3", "Endless", "To be"]
    assert shown[0][4:] + shown[1] == [f"Past {n:02}" for n in range(11, -1, -1)]
    assert "Published alone" in pages[1]
    assert 'href="?&amp;page=2"' in pages[0]
    assert "page 2 of 2" in pages[1]
    assert "A draft" not in "".join(pages)


def test_the_first_page_names_who_leads_with_the_number(client):
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.25, system="second")
    boards.scored_run(phase, boards.make_team(phase, "Bo"), 0.5, system="winner")
    page = text_of(client.get("/"))
    assert ">winner</strong>" in page
    assert "0.5000" in page
    assert ">second</strong>" not in page


def test_the_first_page_of_a_new_site_says_how_to_begin(client):
    assert "load_season" in text_of(client.get("/"))


@pytest.mark.both_databases
@pytest.mark.parametrize("seasons", [1, 6])
def test_the_first_page_costs_the_same_queries_however_many_seasons_there_are(
    client, seasons, django_assert_max_num_queries
):
    for _ in range(seasons):
        boards.make_phase()
    client.get("/")
    with django_assert_max_num_queries(4):
        client.get("/")


def test_a_draft_is_shown_to_its_organisers_alone(client):
    organiser = factories.make_user()
    season = factories.make_season(
        organiser=organiser, is_public=False, title="Secret season"
    )
    phase = boards.make_phase(season)
    addresses = [reverse("season", args=[season.slug]), boards.address("board", phase)]
    assert "Secret season" not in text_of(client.get("/"))
    assert [client.get(address).status_code for address in addresses] == [404, 404]
    client.force_login(organiser)
    assert "Secret season" in text_of(client.get("/"))
    assert [client.get(address).status_code for address in addresses] == [200, 200]


def test_a_deadline_has_one_name_on_a_page_in_the_zone_of_its_phase(client):
    closes = dt.datetime(2031, 3, 2, 11, 59, tzinfo=dt.UTC)
    phase = boards.make_phase(closes=closes, time_zone="AoE")
    season, task = phase.task.season.slug, phase.task.slug
    where = [
        reverse("home"),
        reverse("season", args=[season]),
        reverse("task", args=[season, task]),
    ]
    for address in [*where, boards.address("board", phase)]:
        page = text_of(client.get(address))
        closing = re.findall(
            r'<time datetime="2031-03-02T11:59:00Z"[^>]*>(.*?)</time>', page
        )
        assert set(closing) == {"1 Mar 2031, 23:59 AoE"}, address
        assert 'title="2 Mar 2031, 11:59 UTC">1 Mar 2031, 23:59 AoE</time>' in page
        assert "AoE)" not in page


def test_what_organisers_write_is_markdown_without_harm(client):
    harm = "# Head\n\n*Read* <script>alert(1)</script> ![x](http://example.org/x.png) [y](javascript:alert(1))"  # noqa: E501
    season = factories.make_season(summary=harm)
    page = text_of(client.get(reverse("season", args=[season.slug])))
    assert "<em>Read</em>" in page
    assert "<h2>Head</h2>" in page
    body = page[page.index('class="prose"') :]
    assert "<script>alert" not in body
    assert "<img" not in body
    assert 'href="javascript:' not in body


def test_a_task_shows_its_card_its_limits_and_its_inputs(client):
    phase = factories.make_phase(runs_per_day=3, runs_in_total=20)
    page = text_of(
        client.get(reverse("task", args=[phase.task.season.slug, phase.task.slug]))
    )
    assert "3 a day, 20 in all" in page
    assert "reference paper" in page
    assert boards.address("inputs", phase) in page
    assert boards.address("upload", phase) in page


def test_the_headings_of_a_card_follow_that_of_the_page(client):
    phase = boards.make_phase()
    page = text_of(
        client.get(reverse("task", args=[phase.task.season.slug, phase.task.slug]))
    )
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_the_inputs_are_a_zip_without_gold(client):
    phase = factories.make_phase()
    response = client.get(boards.address("inputs", phase))
    assert response["Content-Type"] == "application/zip"
    assert "inputs.zip" in response["Content-Disposition"]
    packed = zipfile.ZipFile(io.BytesIO(response.getvalue()))
    assert packed.namelist()
    assert not any(
        "Discourse Facet" in packed.read(name).decode() for name in packed.namelist()
    )


def test_inputs_that_are_not_published_yet_are_not_there(client):
    phase = factories.make_phase(with_gold=False)
    assert client.get(boards.address("inputs", phase)).status_code == 404


@pytest.mark.parametrize("slug", task_types())
def test_a_card_has_what_other_pages_quote(slug):
    own = load_card_of_task_type(slug)
    assert "<code>" in own.format
    assert [rules for rules in task_types()[slug].rules if not own.rules(rules)] == []
    assert own.rules("no-such-rules") == ""


def test_a_task_type_without_a_card_has_an_empty_one():
    assert load_card_of_task_type("no-such-type").text == ""


def test_a_task_page_describes_the_rules_and_options_of_its_own_season_alone(client):
    task = factories.make_task(type="clsumm-1b", rules=["corrected", "official-2018"])

    def page() -> str:
        return text_of(client.get(reverse("task", args=[task.season.slug, task.slug])))

    assert "official-2018" in page()
    assert "official-2016" not in page()
    assert "Brier score" not in page()
    Task.objects.filter(pk=task.pk).update(
        options={"calibration": "yes"}, rules=["official-2016"]
    )
    assert "Brier score" in page()
    assert "official-2018" not in page()


def test_a_page_that_does_not_exist_helps(client):
    response = client.get("/seasons/nowhere/")
    assert response.status_code == 404
    assert "All seasons and their boards" in text_of(response)
    assert "no season at this address" in text_of(response)


def test_the_help_page_explains_what_a_board_shows(client):
    assert "signature" in text_of(client.get(reverse("about")))
