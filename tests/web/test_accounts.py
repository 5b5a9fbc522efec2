"""Accounts: signing up, a forgotten password, another address, a name; in words of ours throughout."""

import re

import pytest
from django.conf import settings
from django.core import mail
from django.urls import reverse

from citeboard.teams.models import User
from tests import factories
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
PASSWORD = "a longer password than most"


def link_in(message, path: str) -> str:
    return re.search(rf"{settings.BASE_URL}({path}\S+)", message.body)[1]


def sign_up(client, email="new@example.org", name="New Person"):
    fields = {
        "email": email,
        "password1": PASSWORD,
        "password2": PASSWORD,
        "name": name,
    }
    return client.post(reverse("account_signup"), fields, follow=True)


@pytest.mark.both_databases
def test_a_sign_up_is_completed_by_the_link_in_the_mail(client):
    assert "Check your mail" in text_of(sign_up(client))
    [message] = mail.outbox
    assert message.subject == "[Citeboard] Confirm your address"
    assert "Somebody, probably you, has signed up for Citeboard" in message.body
    link = link_in(message, "/accounts/confirm-email/")
    assert "Is new@example.org yours?" in text_of(client.get(link))
    client.post(link)
    client.post(
        reverse("account_login"), {"login": "NEW@example.org", "password": PASSWORD}
    )
    assert "New Person" in text_of(client.get(reverse("home")))


def test_nobody_signs_in_before_the_address_is_confirmed(client):
    sign_up(client)
    client.logout()
    page = client.post(
        reverse("account_login"),
        {"login": "new@example.org", "password": PASSWORD},
        follow=True,
    )
    assert "Check your mail" in text_of(page)
    assert client.get(reverse("teams")).status_code == 302


@pytest.mark.both_databases
def test_a_second_sign_up_with_an_address_says_nothing_to_strangers_and_all_to_its_owner(
    client,
):
    person = factories.make_user()
    assert "Check your mail" in text_of(sign_up(client, email=person.email.upper()))
    [message] = mail.outbox
    assert message.subject == "[Citeboard] You have an account already"
    assert User.objects.count() == 1


def test_a_forgotten_password_is_replaced_by_the_link_in_the_mail(client):
    person = factories.make_user()
    page = client.post(
        reverse("account_reset_password"), {"email": person.email}, follow=True
    )
    assert "Check your mail" in text_of(page)
    link = link_in(mail.outbox[0], "/accounts/password/reset/key/")
    page = client.get(link, follow=True)
    assert "Choose a new password" in text_of(page)
    fields = {"password1": PASSWORD, "password2": PASSWORD}
    page = client.post(page.redirect_chain[-1][0], fields, follow=True)
    assert "Your password is changed" in text_of(page)
    person.refresh_from_db()
    assert person.check_password(PASSWORD)
    assert "This link does not work any more" in text_of(client.get(link, follow=True))


def test_an_unknown_address_is_told_by_mail_alone(client):
    page = client.post(
        reverse("account_reset_password"), {"email": "none@example.org"}, follow=True
    )
    assert "Check your mail" in text_of(page)
    assert mail.outbox[0].subject == "[Citeboard] No account with this address"
    assert reverse("account_signup") in mail.outbox[0].body


@pytest.mark.both_databases
def test_an_address_is_changed_once_the_new_one_is_confirmed(client):
    person = factories.make_user(email="old@example.org")
    client.force_login(person)
    address = reverse("account_email")
    page = client.post(
        address, {"action_add": "", "email": "new@example.org"}, follow=True
    )
    assert "not confirmed yet" in text_of(page)
    client.post(link_in(mail.outbox[0], "/accounts/confirm-email/"))
    client.post(address, {"action_primary": "", "email": "new@example.org"})
    client.post(address, {"action_remove": "", "email": "old@example.org"})
    person.refresh_from_db()
    assert person.email == "new@example.org"
    assert "Removed email address old@example.org" in text_of(client.get(address))
    page = text_of(client.get(address))
    assert "new@example.org primary, confirmed" in page
    assert "old@example.org" not in page


def test_a_password_is_changed_by_those_who_know_the_old_one(client):
    person = factories.make_user()
    client.force_login(person)
    fields = {
        "oldpassword": factories.PASSWORD,
        "password1": PASSWORD,
        "password2": PASSWORD,
    }
    client.post(reverse("account_change_password"), {**fields, "oldpassword": "wrong"})
    person.refresh_from_db()
    assert person.check_password(factories.PASSWORD)
    client.post(reverse("account_change_password"), fields)
    person.refresh_from_db()
    assert person.check_password(PASSWORD)


def test_a_name_is_changed_and_without_one_part_of_the_address_stands_for_it(client):
    person = factories.make_user(email="ada@example.org", name="")
    client.force_login(person)
    address = reverse("account-name")
    assert "You are called Ada Lovelace here now." in text_of(
        client.post(address, {"name": " Ada  Lovelace "}, follow=True)
    )
    assert "You are called ada here now." in text_of(
        client.post(address, {"name": ""}, follow=True)
    )
    assert client.post(address, {"name": "x" * 121}).status_code == 422


def test_pages_that_wait_for_a_mail_say_where_it_is_when_there_is_no_mail_server(
    client, settings
):
    pages = [
        reverse("account_email_verification_sent"),
        reverse("account_reset_password_done"),
    ]
    for page in pages:
        assert "console" not in text_of(client.get(page))
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    for page in pages:
        assert "writes its e-mails to the console" in text_of(client.get(page))


OF_ALLAUTH = (
    "account_login", "account_signup", "account_email_verification_sent", "account_inactive",
    "account_reset_password", "account_reset_password_done", "account_reset_password_from_key_done",
)  # fmt: skip


@pytest.mark.parametrize("name", OF_ALLAUTH)
def test_every_page_for_visitors_is_a_template_of_ours(client, name, root):
    assert_ours(client.get(reverse(name)), root)


@pytest.mark.parametrize(
    "name",
    [
        "account_logout",
        "account_email",
        "account_change_password",
        "account_reauthenticate",
    ],
)
def test_every_page_for_those_signed_in_is_a_template_of_ours(client, name, root):
    client.force_login(factories.make_user())
    assert_ours(client.get(reverse(name)), root)


def assert_ours(response, root) -> None:
    page = response.templates[0]
    assert page.origin.name.startswith(str(root / "templates")), page.origin.name
    assert response.content.decode().count("<h1") == 1


def test_every_mail_that_is_sent_is_written_by_us(root):
    ours = root / "templates" / "account" / "email"
    sent = (
        "email_confirmation", "email_confirmation_signup", "password_reset_key", "unknown_account",
        "account_already_exists",
    )  # fmt: skip
    for name in sent:
        assert (ours / f"{name}_message.txt").is_file(), name
        subject = (
            "email_confirmation" if name.startswith("email_confirmation") else name
        )
        assert (ours / f"{subject}_subject.txt").is_file(), name
