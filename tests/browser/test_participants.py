"""Sending a run with a mouse: dropped on the form, and what is there to copy is copied."""

import pytest

from tests.browser.driving import sign_in, until
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DROP = """() => {
    const files = new DataTransfer();
    files.items.add(new File(["not a run"], "dropped.jsonl"));
    const form = document.getElementById("run-form");
    form.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
    return form.querySelector("input[type=file]").files[0].name;
}"""


def test_a_file_that_is_dropped_on_the_form_is_the_run(page, live_server, scene):
    sign_in(page, live_server, scene.member.email, PASSWORD)
    page.goto(live_server.url + scene.address("upload"))
    assert page.evaluate(DROP) == "dropped.jsonl"
    page.click("text=Check without submitting")
    page.wait_for_selector("#outcome .bad")
    assert "dropped.jsonl" in page.inner_text("#outcome")


def test_a_command_is_copied_whole(page, live_server, scene):
    page.context.grant_permissions(
        ["clipboard-read", "clipboard-write"], origin=live_server.url
    )
    sign_in(page, live_server, scene.member.email, PASSWORD)
    page.goto(live_server.url + scene.address("upload"))
    button = page.locator(".format pre:has-text('citeboard check') + button.copy")
    # What it says goes back after two seconds, in which a slow machine may not look.
    page.evaluate("window.setTimeout = () => 0")
    button.click()
    until(lambda: button.inner_text() == "Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "citeboard check clsumm-1a --inputs inputs.zip --run run.jsonl"
