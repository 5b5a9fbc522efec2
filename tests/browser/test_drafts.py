"""What is typed into a long form outlasts the session: in the browser, for the same account, and unsent."""

# Scripts are read across.
# ruff: noqa: E501

import json

import pytest
from django.urls import reverse

from tasks.models import Announcement, Season
from tests import factories
from tests.browser.driving import sign_in, wait_for
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
STORED = "JSON.stringify(Object.entries(localStorage).filter(([key]) => key.startsWith('citeboard-draft:')))"
BACK = "text=What you typed here is back."
KEPT = f"{STORED}.includes('Two lines')"
TEXT = "Two lines\nof a summary"


def stored(page) -> list:
    return [json.loads(value) for _, value in json.loads(page.evaluate(STORED))]


def end_session(page) -> None:
    page.context.clear_cookies(name="sessionid")


def sign_in_here(page, email: str) -> None:
    page.fill("input[name=login]", email)
    page.fill("input[name=password]", PASSWORD)
    page.click("main button[type=submit]")


@pytest.fixture
def season(db) -> Season:
    olga = factories.make_user(name="Olga", email="olga@example.org")
    return factories.make_season(organiser=olga, slug="one", is_public=False)


def test_a_text_outlasts_its_session_and_is_sent_by_nobody_but_its_author(
    visit, live_server, season
):
    page = visit()
    sign_in(page, live_server, "olga@example.org", PASSWORD)
    where = live_server.url + reverse("organise-settings-season", args=["one"])
    page.goto(where)
    page.fill("#id_summary", TEXT)
    wait_for(page, KEPT)
    end_session(page)
    page.click("main form.fields button[type=submit]")
    page.wait_for_selector("input[name=password]")
    assert stored(page)[0]["values"] == {"summary": TEXT}
    # Meanwhile somebody else has saved a summary.
    Season.objects.update(summary="Theirs")
    sign_in_here(page, "olga@example.org")
    page.wait_for_selector(BACK)
    assert page.url == where
    assert page.input_value("#id_summary") == TEXT
    assert Season.objects.get().summary == "Theirs"
    page.click("main form.fields .actions button[type=submit]")
    page.wait_for_selector("text=Somebody has changed it meanwhile to “Theirs”")
    page.click("main form.fields .actions button[type=submit]")
    page.wait_for_selector("text=the settings are saved")
    assert Season.objects.get().summary.split() == TEXT.split()
    assert stored(page) == []
    page.goto(where)
    assert page.query_selector(BACK) is None


def test_a_kept_text_can_be_discarded_is_nobody_elses_and_goes_after_an_hour(
    visit, live_server, season
):
    eve = factories.make_user(name="Eve", email="eve@example.org")
    season.organisers.create(user=eve, role="organiser")
    page = visit()
    sign_in(page, live_server, "olga@example.org", PASSWORD)
    where = live_server.url + reverse("organise-announcement", args=["one"])

    def typed() -> None:
        page.goto(where)
        page.fill("main form textarea", TEXT)
        wait_for(page, KEPT)

    typed()
    page.goto(where)
    page.wait_for_selector(BACK)
    page.click("button:text-is('Discard the text')")
    assert page.input_value("main form textarea") == ""
    assert stored(page) == []
    typed()
    page.evaluate(
        "Object.keys(localStorage).filter((key) => key.startsWith('citeboard-draft:')).forEach((key) =>"
        ' localStorage.setItem(key, localStorage[key].replace(/"at":\\d+/, `"at":${Date.now() - 3600001}`)))'
    )
    page.goto(where)
    assert page.input_value("main form textarea") == ""
    assert stored(page) == []
    typed()
    end_session(page)
    page.goto(f"{live_server.url}/accounts/login/")
    assert len(stored(page)) == 1
    sign_in_here(page, "eve@example.org")
    page.wait_for_selector("text=Sign out")
    assert stored(page) == []
    assert not Announcement.objects.exists()


def test_passwords_and_files_are_kept_by_no_form_and_signing_out_forgets_all(
    visit, live_server, season
):
    page = visit()
    sign_in(page, live_server, "olga@example.org", PASSWORD)
    page.goto(live_server.url + reverse("organise-settings-season", args=["one"]))
    page.evaluate(
        """() => {
        const form = document.querySelector("main form.fields");
        for (const [type, name] of [["password", "key"], ["text", "new_token"], ["file", "gold"], ["hidden", "draft"]]) {
            const field = document.createElement("input");
            Object.assign(field, { type, name });
            form.append(field);
        }
    }"""
    )
    page.fill("input[name=new_token]", "abc")
    page.fill("#id_summary", TEXT)
    wait_for(page, "new Promise((done) => setTimeout(() => done(true), 400))")
    assert stored(page) == []
    page.evaluate("document.querySelector('input[name=key]').remove()")
    page.fill("#id_summary", TEXT + ".")
    wait_for(page, KEPT)
    assert stored(page)[0]["values"] == {"summary": TEXT + "."}
    page.goto(f"{live_server.url}{reverse('account_logout')}")
    page.click("main button[type=submit]")
    page.wait_for_selector("text=Sign in")
    assert stored(page) == []
