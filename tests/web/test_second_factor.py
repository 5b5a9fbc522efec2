"""A second factor, and signing in through others: turned on by people, or by the site's settings alone."""

import re

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import (
    TOTP,
    format_hotp_value,
    hotp_value,
    yield_hotp_counters_from_time,
)
from django.conf import settings
from django.urls import reverse

from citeboard.teams.models import Token
from tests import factories

pytestmark = pytest.mark.django_db


def sign_in(client, person):
    fields = {"login": person.email, "password": factories.PASSWORD}
    return client.post(reverse("account_login"), fields)


def give_password_again(client) -> None:
    """As the site asks before anything about the second factor is shown or changed."""
    client.post(reverse("account_reauthenticate"), {"password": factories.PASSWORD})


def code_of(secret: str, monkeypatch) -> str:
    """One that stays good, though half a minute of the clock may end before it is sent."""
    [counter] = yield_hotp_counters_from_time()
    monkeypatch.setattr(
        "allauth.mfa.totp.internal.auth.yield_hotp_counters_from_time",
        lambda: iter([counter]),
    )
    return format_hotp_value(hotp_value(secret, counter))


def turn_on(client, monkeypatch) -> str:
    assert client.get(reverse("mfa_activate_totp")).status_code == 302
    give_password_again(client)
    page = client.get(reverse("mfa_activate_totp")).content.decode()
    secret = re.search(r'id="authenticator-secret">(\w+)<', page)[1]
    code = code_of(secret, monkeypatch)
    assert client.post(reverse("mfa_activate_totp"), {"code": code}).status_code == 302
    return secret


def test_a_second_factor_is_turned_on_asked_for_and_turned_off(client, monkeypatch):
    person = factories.make_user()
    sign_in(client, person)
    secret = turn_on(client, monkeypatch)
    page = client.get(reverse("mfa_view_recovery_codes")).content.decode()
    recovery = re.search(r"<pre[^>]*>(\w+)", page)[1]
    client.post(reverse("account_logout"))

    assert sign_in(client, person)["Location"] == reverse("mfa_authenticate")
    assert "_auth_user_id" not in client.session
    refused = client.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert "_auth_user_id" not in client.session
    assert "Incorrect code" in refused.content.decode()
    client.post(reverse("mfa_authenticate"), {"code": recovery})
    assert "_auth_user_id" in client.session

    assert client.get(reverse("mfa_index")).status_code == 200
    give_password_again(client)
    assert client.post(reverse("mfa_deactivate_totp")).status_code == 302
    assert not Authenticator.objects.filter(type="totp").exists()
    assert secret not in page


def test_the_page_draws_the_secret_as_a_picture_of_its_own(client):
    sign_in(client, factories.make_user())
    give_password_again(client)
    page = client.get(reverse("mfa_activate_totp")).content.decode()
    assert 'src="data:image/svg+xml' in page


@pytest.fixture
def _organisers_need_one(settings):
    settings.ORGANISERS_NEED_SECOND_FACTOR = True


@pytest.mark.usefixtures("_organisers_need_one")
@pytest.mark.parametrize("what", ["organiser", "staff"])
def test_organisers_can_be_required_to_have_one(client, what):
    person = factories.make_user(is_staff=what == "staff")
    season = factories.make_season(organiser=person if what == "organiser" else None)
    _, secret = Token.objects.create_token(user=person, name="a program")
    sign_in(client, person)
    page = reverse("organise", args=[season.slug])
    assert client.get(page)["Location"] == reverse("mfa_index")
    by_token = {"Authorization": f"Token {secret}"}
    client.logout()
    assert client.get(reverse("api:submissions"), headers=by_token).status_code == 403
    sign_in(client, person)
    TOTP.activate(person, "A" * 32)
    assert client.get(page).status_code == 200
    client.logout()
    assert client.get(reverse("api:submissions"), headers=by_token).status_code == 200


@pytest.mark.usefixtures("_organisers_need_one")
def test_others_need_none(client):
    factories.make_season(organiser=factories.make_user())
    sign_in(client, factories.make_user())
    assert client.get(reverse("teams")).status_code == 200
    client.logout()
    assert client.get(reverse("home")).status_code == 200


def test_staff_remove_one_that_is_lost(client):
    person = factories.make_user()
    TOTP.activate(person, "A" * 32)
    client.force_login(factories.make_user(is_staff=True, is_superuser=True))
    action = {"action": "remove_second_factor", "_selected_action": [person.pk]}
    assert (
        client.post(reverse("admin:teams_user_changelist"), action).status_code == 302
    )
    assert not Authenticator.objects.exists()


def test_nothing_is_offered_that_is_not_set_up(client):
    page = client.get(reverse("account_login")).content.decode()
    assert "GitHub" not in page
    assert "ORCID" not in page
    assert settings.CONTENT_SECURITY_POLICY["form-action"] == ["'self'"]
