"""The page on which people make and revoke their tokens."""

import datetime as dt
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.teams.accounts import MAX_API_TOKENS_PER_USER
from citeboard.teams.models import Token
from tests.factories import make_user

SECRET = re.compile(r'<code id="secret"[^>]*>([^<]+)</code>')


@pytest.fixture
def person(client, db):
    user = make_user()
    client.force_login(user)
    return user


@pytest.fixture
def page(db) -> str:
    return reverse("tokens")


def made(client, page, name="laptop") -> str:
    return SECRET.search(client.post(page, {"name": name}).content.decode())[1]


def test_a_new_token_is_shown_once_and_works(client, person, page):
    response = client.post(page, {"name": "laptop"})
    secret = SECRET.search(response.content.decode())[1]
    assert "no-store" in response["Cache-Control"]
    header = {"Authorization": f"Token {secret}"}
    assert client.get(reverse("api:submissions"), headers=header).status_code == 200
    again = client.get(page).content.decode()
    assert secret not in again
    assert secret[:4] in again
    assert "laptop" in again


def test_the_list_holds_ones_own_tokens_alone(client, person, page):
    Token.objects.create_token(user=make_user(), name="not mine")
    Token.objects.create_token(user=person, name="mine & yours")
    text = client.get(page).content.decode()
    assert "mine &amp; yours" in text
    assert "not mine" not in text


def test_a_revoked_token_stops_working_and_stays_in_the_list(client, person, page):
    secret = made(client, page)
    token = Token.objects.get()
    for _ in range(2):
        assert client.post(reverse("token-revoke", args=[token.pk])).status_code == 302
    token.refresh_from_db()
    first = token.revoked_at
    assert first is not None
    client.logout()
    header = {"Authorization": f"Token {secret}"}
    assert client.get(reverse("api:submissions"), headers=header).status_code == 401
    client.force_login(person)
    assert "revoked" in client.get(page).content.decode()
    token.refresh_from_db()
    assert token.revoked_at == first


def test_the_tokens_of_others_look_absent(client, person):
    token, _ = Token.objects.create_token(user=make_user(), name="not mine")
    assert client.post(reverse("token-revoke", args=[token.pk])).status_code == 404
    token.refresh_from_db()
    assert token.revoked_at is None


def test_a_token_is_not_revoked_by_following_a_link(client, person):
    token, _ = Token.objects.create_token(user=person, name="mine")
    assert client.get(reverse("token-revoke", args=[token.pk])).status_code == 405


def test_a_token_without_a_name_is_not_made(client, person, page):
    response = client.post(page, {"name": " "})
    assert response.status_code == 422
    assert not SECRET.search(response.content.decode())
    assert not Token.objects.exists()


def test_nobody_holds_more_tokens_than_one_can_keep_track_of(client, person, page):
    for number in range(MAX_API_TOKENS_PER_USER):
        Token.objects.create_token(user=person, name=str(number))
    response = client.post(page, {"name": "one more"})
    assert "revoke one" in response.content.decode()
    assert Token.objects.count() == MAX_API_TOKENS_PER_USER
    client.post(reverse("token-revoke", args=[Token.objects.first().pk]))
    assert made(client, page, "one more")


def test_a_visitor_is_asked_to_sign_in(client, db, page):
    assert client.get(page).status_code == 302
    assert client.post(page, {"name": "x"}).status_code == 302
    assert not Token.objects.exists()


def asked(client, secret: str, method: str = "get") -> int:
    client.logout()
    header = {"Authorization": f"Token {secret}"}
    name = "api:submissions" if method == "get" else "api:cancel"
    address = reverse(name, args=[] if method == "get" else [1])
    return getattr(client, method)(address, headers=header).status_code


def test_a_token_that_may_only_read_changes_nothing(client, person, page):
    response = client.post(page, {"name": "reader", "scope": "read"})
    secret = SECRET.search(response.content.decode())[1]
    assert asked(client, secret) == 200
    assert asked(client, secret, "post") == 403
    assert asked(client, secret, "put") == 403


def test_a_token_that_may_submit_gets_to_where_runs_are(client, person, page):
    response = client.post(page, {"name": "writer", "scope": "submit"})
    secret = SECRET.search(response.content.decode())[1]
    assert asked(client, secret, "post") == 404


def test_a_token_expires_when_its_owner_said(client, person, page):
    response = client.post(page, {"name": "short", "lifetime": "7"})
    secret = SECRET.search(response.content.decode())[1]
    token = Token.objects.get()
    assert (
        dt.timedelta(days=6) < token.expires_at - timezone.now() <= dt.timedelta(days=7)
    )
    assert asked(client, secret) == 200
    Token.objects.update(expires_at=timezone.now())
    assert asked(client, secret) == 401
    client.force_login(person)
    assert "expired" in client.get(page).content.decode()


def test_expired_tokens_leave_room_for_new_ones(client, person, page):
    for number in range(MAX_API_TOKENS_PER_USER):
        Token.objects.create_token(
            user=person, name=str(number), expires_at=timezone.now()
        )
    assert made(client, page)


@pytest.mark.parametrize(
    "wrong", [{"scope": "everything"}, {"lifetime": "8"}, {"lifetime": "-1"}]
)
def test_no_other_scope_and_no_other_lifetime_can_be_chosen(
    client, person, page, wrong
):
    assert client.post(page, {"name": "x", **wrong}).status_code == 422
    assert not Token.objects.exists()
