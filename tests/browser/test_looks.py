"""What pages full of content owe to everybody: no barriers, no sideways scrolling, in light and in dark.

Pages that are the same in every season are among those of `tests.browser.test_every_page`.
"""

import pytest
from django.urls import reverse

from scoring.models import Score, Signature
from scoring.stats.jackknife import NoIntervalReason
from scoring.stats.signature import NO_INTERVAL_KEY
from tests.browser.driving import (
    NARROW,
    barriers,
    faults_of,
    is_too_wide,
    reveal,
    sign_in,
    turn,
    wait_for,
)
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

OPEN_TO_ALL = {
    "home": lambda scene: reverse("home"),
    "season": lambda scene: reverse("season", args=[scene.phase.task.season.slug]),
    "task": lambda scene: reverse(
        "task", args=[scene.phase.task.season.slug, scene.phase.task.slug]
    ),
    "board": lambda scene: scene.address("board"),
    "board sorted and searched": lambda scene: (
        scene.address("board") + "?sort=-date&q=team&baselines=no"
    ),
    "board by facet": lambda scene: scene.address("board") + "?dimension=facet",
    "differences": lambda scene: scene.address("differences"),
    "standing": lambda scene: scene.address("board") + f"runs/{scene.run.pk}/",
    "nothing here": lambda scene: "/seasons/nowhere/",
}
OF_A_MEMBER = {
    "upload": lambda scene: scene.address("upload"),
    "submission": lambda scene: reverse("submission", args=[scene.run.pk]),
    "team": lambda scene: reverse("team", args=[scene.team.slug]),
    "teams": lambda scene: reverse("teams"),
}


def placed(pages, live_server, scene) -> dict[str, str]:
    return {name: live_server.url + address(scene) for name, address in pages.items()}


def test_no_page_keeps_anybody_out(page, live_server, scene, axe):
    assert faults_of(page, placed(OPEN_TO_ALL, live_server, scene), axe) == {}
    sign_in(page, live_server, scene.member.email, PASSWORD)
    assert faults_of(page, placed(OF_A_MEMBER, live_server, scene), axe) == {}


BROKEN = """<!doctype html>
<html lang="en"><title>Broken</title>
<style>
:root { color-scheme: light dark; background: light-dark(white, black); color: light-dark(black, white) }
.light { color: light-dark(#ddd, white) }
.dark { color: light-dark(black, #333) }
div { width: 700px }
@media (min-width: 46rem) { .narrow { display: none } }
</style>
<main><h1>Broken</h1><p class="light">Light</p><p class="dark">Dark</p><div>Wide</div>
<button class="narrow"></button></main>"""


def test_what_is_wrong_in_one_look_is_found_whichever_a_page_is_loaded_in(
    page, live_server, axe
):
    page.route(
        "**/broken/", lambda route: route.fulfill(body=BROKEN, content_type="text/html")
    )
    wide = ["color-contrast at ['.light']"]
    narrow = [
        "button-name at ['button']",
        "color-contrast at ['.dark']",
        "wider than the window",
    ]
    pages = dict.fromkeys(
        ("loaded wide", "loaded narrow"), f"{live_server.url}/broken/"
    )
    assert faults_of(page, pages, axe) == {
        f"{name}, {look}": faults
        for name in pages
        for look, faults in {"wide and light": wide, "narrow and dark": narrow}.items()
    }


def test_why_a_number_has_no_interval_fits_a_narrow_page(page, live_server, scene):
    score = Score.objects.filter(evaluation__submission=scene.run).last()
    Score.objects.filter(pk=score.pk).update(value=None, low=None, high=None)
    text = f"{score.shared.text}|{NO_INTERVAL_KEY}:{NoIntervalReason.UNDEFINED}"
    Signature.objects.filter(pk=score.shared_id).update(text=text)
    page.goto(live_server.url + OPEN_TO_ALL["standing"](scene))
    turn(page, "narrow and dark")
    assert page.get_by_text("no interval: leaving out one of the units").is_visible()
    assert not is_too_wide(page)


def test_a_number_that_is_opened_keeps_nobody_out(page, live_server, scene, axe):
    page.goto(live_server.url + scene.address("board"))
    page.click("td.first > a >> nth=0")
    page.wait_for_selector("#panel[open] .parts")
    assert barriers(page, axe) == []


def test_a_switched_theme_is_remembered_from_page_to_page(visit, live_server, scene):
    page = visit(color_scheme="light")
    page.goto(live_server.url)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.click("text=Use dark colours")
    wait_for(page, f"{paper} !== '{light}'")
    dark = page.evaluate(paper)
    page.goto(live_server.url + reverse("about"))
    assert page.evaluate(paper) == dark
    page.click("text=Use light colours")
    wait_for(page, f"{paper} === '{light}'")


def test_charts_follow_the_theme(page, live_server, scene):
    page.goto(live_server.url + scene.address("differences"))
    reveal(page)
    ink = "getComputedStyle(document.querySelector('#bars .xtick text')).fill"
    before = page.evaluate(ink)
    page.click("text=Use dark colours")
    wait_for(page, f"{ink} !== '{before}'")
    assert page.evaluate(ink) == page.evaluate("getComputedStyle(document.body).color")


def test_charts_follow_the_width(page, live_server, scene):
    page.goto(live_server.url + scene.address("differences"))
    reveal(page)
    drawn = "document.querySelector('#bars .main-svg').clientWidth"
    wide = page.evaluate(drawn)
    turn(page, "narrow and dark")
    reveal(page)
    assert page.evaluate(drawn) < NARROW["width"] < wide


def test_a_board_on_paper_has_its_table_and_the_signature_and_no_controls(
    page, live_server, scene
):
    page.goto(live_server.url + scene.address("board"))
    page.emulate_media(media="print")
    assert page.is_visible("table.board")
    assert page.is_visible(".footnote code.signature")
    assert not page.is_visible(".filter")
    assert not page.is_visible(".masthead nav")


def test_the_first_tab_leads_past_the_head_of_the_page(page, live_server, scene):
    page.goto(live_server.url + scene.address("board"))
    page.keyboard.press("Tab")
    wait_for(page, "document.activeElement.textContent === 'Skip to the content'")
    page.keyboard.press("Enter")
    wait_for(page, "document.activeElement.id === 'content'")
    assert page.url.endswith("#content")
