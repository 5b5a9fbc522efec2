"""In which language a page is: the reader's choice, else the browser's; what programs read is English."""

import re
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress
from django.conf import settings
from django.test import Client
from django.urls import reverse

from citeboard.core.templatetags.page import TRANSLATED_SCRIPT_TEXTS
from citeboard.teams.models import User

pytestmark = pytest.mark.django_db
GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


def language_of(response) -> str:
    return re.search(r'<html lang="(\w+)">', response.content.decode()).group(1)


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "de"),
        ("fr,de;q=0.5", "de"),
        ("fr", "en"),
        ("", "en"),
        ("x" * 5000, "en"),
    ],
)
def test_a_page_is_in_the_language_that_the_browser_asks_for(client, asked, language):
    page = client.get("/", headers={"Accept-Language": asked})
    assert language_of(page) == page["Content-Language"] == language
    assert "Accept-Language" in page["Vary"]


def test_that_a_page_has_not_changed_is_said_for_its_language_alone(client):
    tag = client.get("/", headers=GERMAN)["ETag"]
    unchanged = client.get("/", headers={**GERMAN, "If-None-Match": tag})
    assert unchanged.status_code == 304
    assert "Accept-Language" in unchanged["Vary"]
    assert client.get("/", headers={"If-None-Match": tag}).status_code == 200


def test_a_choice_counts_more_than_the_browser_and_leads_back(client):
    there = "http://testserver/about/?x=1"
    chosen = client.get(reverse("language", args=["en"]), headers={"Referer": there})
    assert chosen["Location"] == there
    assert language_of(client.get("/", headers=GERMAN)) == "en"
    client.get(reverse("language", args=["de"]))
    assert language_of(client.get("/")) == "de"


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""]
)
def test_a_choice_leads_to_no_other_site(client, elsewhere):
    chosen = client.get(
        reverse("language", args=["de"]), headers={"Referer": elsewhere}
    )
    assert chosen["Location"] == reverse("home")


def test_there_is_no_choice_of_a_language_that_the_site_does_not_speak(client):
    answer = client.get(reverse("language", args=["fr"]))
    assert answer.status_code == 404
    assert settings.LANGUAGE_COOKIE_NAME not in answer.cookies


@pytest.mark.parametrize("path", ["/api/v1/", "/health/ready", "/admin/login/"])
def test_programs_and_operators_read_english(client, path):
    german, english = client.get(path, headers=GERMAN), client.get(path)
    assert "Content-Language" not in german
    assert "Passwort" not in german.content.decode()
    assert german.status_code == english.status_code


def test_pages_speak_the_language_of_the_account_wherever_its_person_signs_in(client):
    ada = User.objects.create_user("ada@example.org", "correct horse", language="de")
    EmailAddress.objects.create(user=ada, email=ada.email, verified=True, primary=True)
    client.post(
        reverse("account_login"),
        {"login": "ada@example.org", "password": "correct horse"},
    )
    assert client.cookies[settings.LANGUAGE_COOKIE_NAME].value == "de"
    assert language_of(client.get("/")) == "de"


def test_a_mail_on_a_password_has_the_language_of_the_account_whoever_asks_for_it(
    client, mailoutbox
):
    ada = User.objects.create_user("ada@example.org", "correct horse", language="en")
    EmailAddress.objects.create(user=ada, email=ada.email, verified=True, primary=True)
    for language in ("en", "de"):
        User.objects.update(language=language)
        asked = {"Accept-Language": "de" if language == "en" else "en"}
        client.post(
            reverse("account_reset_password"), {"email": ada.email}, headers=asked
        )
    english, german = (mail.body for mail in mailoutbox)
    assert "password" in english
    assert "Passwort" not in english
    assert "Passwort" in german


def test_a_new_account_has_the_language_of_the_page_where_it_was_made(client):
    sent = {
        "email": "ada@example.org",
        "name": "Ada",
        "password1": "correct horse battery",
    }
    sent["password2"] = sent["password1"]
    client.post(reverse("account_signup"), sent, headers=GERMAN)
    assert User.objects.get(email="ada@example.org").language == "de"


def test_who_changes_the_language_of_the_account_reads_on_in_it(client):
    user = User.objects.create_user("ada@example.org", "correct horse")
    client.force_login(user)
    page = client.post(
        reverse("account-name"), {"name": "Ada", "language": "de"}, follow=True
    )
    user.refresh_from_db()
    assert (user.language, language_of(page)) == ("de", "de")
    client.post(reverse("account-name"), {"name": "Ada B"})
    user.refresh_from_db()
    assert (user.name, user.language) == ("Ada B", "de")


def test_scripts_say_nothing_that_has_no_word_for_other_languages():
    scripts = [
        path.read_text("utf-8")
        for path in Path(settings.BASE_DIR, "static").glob("*.js")
    ]
    said = {word for script in scripts for call in re.findall(r"[sS]ay\((.*)\)", script)
            for word in re.findall(r'"([^"]+)"', call)}  # fmt: skip
    assert said == set(TRANSLATED_SCRIPT_TEXTS)


@pytest.mark.parametrize(
    ("asked", "said"),
    [("de", "Das Formular ist abgelaufen"), ("en", "The form has expired")],
)
def test_a_form_that_has_expired_is_said_on_a_page_of_the_site_in_the_language_of_its_reader(
    asked, said
):
    page = Client(enforce_csrf_checks=True).post(
        reverse("account_login"), headers={"Accept-Language": asked}
    )
    assert page.status_code == 403
    assert language_of(page) == page["Content-Language"] == asked
    assert said in page.content.decode()
