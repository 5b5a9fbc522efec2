"""People on their way through the site, each ending on what they came for."""

import json
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks.models import Submission
from tests import factories
from tests.browser.driving import NARROW, comes_to, reveal, sign_in, until, wait_for
from tests.browser.scenes import scored
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_reader_compares_systems_and_shares_what_is_seen(page, live_server, scene):
    page.goto(live_server.url)
    page.click("text=Board, Practice")
    page.click("nav[aria-label=Phases] >> text=Test phase")
    # The board before has such a head as well.
    comes_to(page, f"/{scene.phase.slug}/")
    page.click("#sort-overlap_recall_micro")
    comes_to(page, "/?sort=overlap_recall_micro")
    wait_for(page, "document.activeElement.id === 'sort-overlap_recall_micro'")
    page.click("#adjust")
    page.wait_for_selector("#filter-text")
    page.fill("#filter-text", "system a")
    page.press("#filter-text", "Enter")
    wait_for(page, "document.querySelectorAll('table.board tbody tr').length === 1")
    assert "System A" in page.inner_text("table.board tbody")
    comes_to(page, "q=system")
    page.click("#adjust")
    page.click("#show-all")
    wait_for(page, "document.querySelectorAll('table.board tbody tr').length === 7")


def test_a_number_opens_its_signature_by_mouse_and_by_keyboard_and_gives_the_focus_back(
    page, live_server, scene
):
    page.goto(live_server.url + scene.address("board"))
    number = page.locator("td.first > a").first
    number.click()
    page.wait_for_selector("#panel[open]")
    assert "overlap_f1_micro|rules:corrected" in page.inner_text("#panel")
    page.keyboard.press("Escape")
    page.wait_for_selector("#panel", state="hidden")
    number.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel[open]")
    page.click("#panel >> text=Close")
    wait_for(page, "document.activeElement.matches('td.first > a')")


def test_the_classes_are_a_tab_and_every_choice_stands_in_the_address(
    page, live_server, scene
):
    page.goto(live_server.url + scene.address("board"))
    page.click("#differences")
    page.wait_for_selector("#view table.classes")
    page.select_option("#choose-dimension", "facet")
    page.click("#show-classes")
    page.wait_for_selector("#view table.classes >> text=Method")
    comes_to(page, "dimension=facet")
    comes_to(page, "view=classes")
    wait_for(page, "document.activeElement.id === 'show-classes'")
    first = page.locator("#choose-systems option").first.get_attribute("value")
    page.select_option("#choose-systems", first)
    page.click("#show-classes")
    wait_for(
        page,
        "document.querySelectorAll('#view table.classes thead th').length === 3",
    )
    page.reload()
    wait_for(
        page,
        "document.querySelectorAll('#view table.classes thead th').length === 3",
    )
    reveal(page)
    assert page.locator("#bars .bars .point").count() >= 2
    assert page.locator("#heat-map .hm").count() == 1


def test_on_a_narrow_page_a_row_unfolds_all_its_numbers(visit, live_server, scene):
    page = visit(viewport=NARROW)
    page.goto(live_server.url + scene.address("board"))
    row = page.locator("table.board tbody tr").first
    assert [cell.is_visible() for cell in row.locator("td.rest").all()] == [False] * 5
    assert row.locator("td.first").is_visible()
    row.locator("text=all numbers").click()
    until(
        lambda: (
            row.locator("dl.unfolded dt").all_inner_texts()[-2:]
            == ["ROUGE-L F1", "Submitted"]
        )
    )
    row.locator("text=all numbers").click()
    until(lambda: row.locator("dl.unfolded").count() == 0)


def test_a_participant_checks_corrects_submits_and_follows_a_run(
    page, live_server, scene, tmp_path
):
    bad, good = tmp_path / "bad.jsonl", tmp_path / "good.jsonl"
    good.write_bytes(factories.run_bytes(sentences=("2",)))
    bad.write_bytes(good.read_bytes() + b'{"topic": "D01-0001", "sentences": 4}\n')
    sign_in(page, live_server, scene.member.email, PASSWORD)
    page.goto(live_server.url + scene.address("upload"))
    page.fill("#id_system", "Second system")
    page.set_input_files("#id_run", bad)
    page.click("text=Check without submitting")
    page.wait_for_selector(".outcome.bad")
    assert "sentences" in page.inner_text("table.problems")
    wait_for(page, "document.activeElement.id === 'outcome'")
    assert (
        page.evaluate("document.getElementById('id_run').files[0].name") == "bad.jsonl"
    )
    with page.expect_download() as download:
        page.click("text=as CSV")
    assert "bad.jsonl" in download.value.path().read_text()
    page.set_input_files("#id_run", good)
    page.click("text=Check without submitting")
    page.wait_for_selector(".outcome.good")
    assert Submission.objects.filter(system="Second system").count() == 0
    page.click("button[value=submit]")
    comes_to(page, "/submissions/")
    assert "Waiting to be scored" in page.inner_text("#run-status")

    run = Submission.objects.get(system="Second system")
    now = timezone.now()
    run.jobs.filter(sets_status=True).update(
        state="running", progress=0.3, started_at=now, lease_expires_at=now
    )
    Submission.objects.filter(pk=run.pk).update(status="scoring", status_since=now)
    page.wait_for_selector("progress[value='30']")
    scored(run, 0.9)
    page.wait_for_selector("text=rank 1 of 6")
    page.wait_for_selector("#run-result:has-text('0.9000')")
    until(lambda: page.locator("#run-status [hx-get]").count() == 0)
    reveal(page)
    assert page.locator("#chart-topic .bars .point").count() > 0
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.click("text=Withdraw this run")
    assert [address for address in asked if "status" in address] == []
    page.click("button.danger")
    page.wait_for_selector("text=The run is withdrawn.")


def test_a_file_that_does_not_reach_the_site_is_said_in_words(
    visit, live_server, scene, tmp_path
):
    page = visit()
    sign_in(page, live_server, scene.member.email, PASSWORD)
    page.goto(live_server.url + scene.address("upload"))
    (tmp_path / "run.jsonl").write_bytes(factories.run_bytes())
    page.set_input_files("#id_run", tmp_path / "run.jsonl")
    page.route("**/submit/", lambda route: route.abort())
    page.click("text=Check without submitting")
    page.wait_for_selector("text=The run did not reach the site")
    assert not Submission.objects.filter(
        submitted_by=scene.member, status="queued"
    ).exists()
    visit.faults.clear()  # the browser complains of what the test broke


def test_without_scripts_a_board_is_read_and_a_run_is_sent(
    visit, live_server, scene, tmp_path
):
    page = visit(java_script_enabled=False)
    page.goto(live_server.url + scene.address("board"))
    page.click("#sort-system")
    page.wait_for_selector("caption:has-text('Sorted by system')")
    page.click("td.first > a >> nth=0")
    assert (
        "|rules:corrected|"
        in page.locator("main details code.signature >> nth=0").text_content()
    )
    page.goto(live_server.url + scene.address("board"))
    page.click("#differences")
    page.select_option("#choose-dimension", "topic")
    page.click("#show-classes")
    page.wait_for_selector("table.classes tbody tr >> nth=3")
    assert page.locator("table.classes tbody tr").count() == 4

    run = tmp_path / "run.jsonl"
    run.write_bytes(factories.run_bytes() + b"{\n")
    page.goto(f"{live_server.url}/accounts/login/?next={scene.address('upload')}")
    page.fill("input[name=login]", scene.member.email)
    page.fill("input[name=password]", PASSWORD)
    page.click("main button[type=submit]")
    page.fill("#id_system", "Without scripts")
    page.set_input_files("#id_run", run)
    page.click("button[value=submit]")
    page.wait_for_selector("table.problems tbody tr")
    assert page.locator("table.problems tbody tr").count() == 1
    assert page.input_value("#id_system") == "Without scripts"
    run.write_bytes(factories.run_bytes(sentences=("3",)))
    page.set_input_files("#id_run", run)
    page.click("button[value=submit]")
    page.wait_for_selector("main >> text=Waiting to be scored")
    until(lambda: Submission.objects.filter(system="Without scripts").exists())


def test_times_are_told_relative_and_exactly(page, live_server, scene):
    page.goto(live_server.url + scene.address("board"))
    closes = page.locator("[data-countdown] time").first
    assert closes.inner_text() == "in 29 days"
    assert closes.get_attribute("title").startswith(f"{scene.phase.closes.day} ")
    assert re.search(r"just now|\d minutes? ago", page.inner_text(".facts"))


def test_exact_times_are_chosen_once_for_all_pages(page, live_server, scene):
    page.goto(live_server.url + scene.address("board"))
    shown = "document.querySelector('[data-countdown] time')"
    is_exact = f"{shown}.textContent === {shown}.dataset.exact"
    page.click("text=Show exact times")
    wait_for(page, is_exact)
    page.reload()
    page.wait_for_selector("text=Show times from now")
    wait_for(page, is_exact)
    page.click("text=Show times from now")
    wait_for(page, f"{shown}.textContent === 'in 29 days'")
    page.reload()
    assert page.inner_text("[data-countdown] time >> nth=0") == "in 29 days"


def test_what_a_reader_downloads_is_what_is_shown(page, live_server, scene):
    page.goto(live_server.url + scene.address("board") + "?baselines=no")
    page.click("#share")
    with page.expect_download() as download:
        page.select_option("#choose-file", "board.json")
        page.click("#download-file")
    content = json.loads(download.value.path().read_text())
    assert [row["rank"] for row in content["rows"]] == [1, 2, 3, 4, 5, 6]


def test_a_visitor_finds_the_way_to_take_part(page, live_server, scene):
    page.goto(live_server.url + reverse("season", args=[scene.phase.task.season.slug]))
    page.click("main >> text=sign in")
    page.fill("input[name=login]", scene.reader.email)
    page.fill("input[name=password]", PASSWORD)
    page.click("main button[type=submit]")
    page.click("main >> text=Create a team")
    page.fill("#id_name", "Night Shift")
    page.click("main button")
    page.wait_for_selector("h1 >> text=Night Shift")
    page.goto(live_server.url + reverse("season", args=[scene.phase.task.season.slug]))
    page.click("text=Enter this season")
    page.wait_for_selector("text=Night Shift takes part in A season.")
    page.goto(live_server.url + scene.address("upload"))
    assert page.is_enabled("button[value=submit]")
