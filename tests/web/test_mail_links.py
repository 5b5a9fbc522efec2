"""Links in mails lead to the address that people type, whatever host a request names."""

import pytest
from django.urls import reverse

from tests import factories

pytestmark = pytest.mark.django_db
HOST = "testserver:6666"


@pytest.fixture(autouse=True)
def _public_address(settings):
    settings.BASE_URL = "https://board.example.org:8443"


def only_ours(mail) -> None:
    assert "https://board.example.org:8443/" in mail.body
    assert ":6666" not in mail.body
    assert "testserver" not in mail.body


@pytest.mark.parametrize("email", ["known", "unknown@example.org"])
def test_a_password_is_reset_at_our_own_address(client, mailoutbox, email):
    address = factories.make_user().email if email == "known" else email
    client.post(
        reverse("account_reset_password"), {"email": address}, headers={"Host": HOST}
    )
    [mail] = mailoutbox
    only_ours(mail)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_sign_up_is_confirmed_at_our_own_address(client, mailoutbox, is_known):
    email = factories.make_user().email if is_known else "new@example.org"
    fields = {
        "email": email,
        "password1": factories.PASSWORD,
        "password2": factories.PASSWORD,
        "name": "New",
    }
    client.post(reverse("account_signup"), fields, headers={"Host": HOST})
    [mail] = mailoutbox
    only_ours(mail)


def test_a_new_address_is_confirmed_at_our_own_address(client, mailoutbox):
    client.force_login(factories.make_user())
    fields = {"action_add": "", "email": "new@example.org"}
    client.post(reverse("account_email"), fields, headers={"Host": HOST})
    [mail] = mailoutbox
    only_ours(mail)
