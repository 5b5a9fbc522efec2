"""Who a request is from: a token in its header, or a browser's session."""

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone

from citeboard.teams.models import Token
from tests.api.conftest import API
from tests.api.sending import run_file
from tests.factories import make_user

LIST = f"{API}/submissions/"


@pytest.fixture
def person(db):
    return make_user()


def ask(header: str, address: str = LIST):
    return Client().get(address, headers={"Authorization": header})


def test_a_token_lets_its_owner_in(person):
    _, secret = Token.objects.create_token(user=person, name="laptop")
    assert ask(f"Token {secret}").status_code == 200
    assert ask(f"token   {secret} ").status_code == 200


def test_the_database_holds_nothing_that_could_be_used(person):
    token, secret = Token.objects.create_token(user=person, name="laptop")
    kept = Token.objects.filter(pk=token.pk).values().get()
    assert not [
        value for value in kept.values() if isinstance(value, str) and secret in value
    ]
    assert ask(f"Token {kept['digest']}").status_code == 401


@pytest.mark.parametrize(
    "header",
    ["Token ", "Token", "Token x", "Token a b c", "Token \xff\xfe", "Token \0"],
)
def test_a_token_that_is_not_known_is_refused_even_where_none_is_needed(db, header):
    for address in (LIST, f"{API}/seasons/"):
        response = ask(header, address)
        assert response.status_code == 401
        assert response["WWW-Authenticate"] == "Token"
        assert response.json() == {
            "detail": "This token is not known; it may be mistyped, revoked or expired."
        }


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer abc", "Tokenx"])
def test_another_scheme_signs_nobody_in(db, header):
    response = ask(header)
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Token"
    assert list(response.json()) == ["detail"]


def test_a_revoked_token_is_not_known_any_more(person):
    token, secret = Token.objects.create_token(user=person, name="laptop")
    Token.objects.filter(pk=token.pk).update(revoked_at=timezone.now())
    assert ask(f"Token {secret}").status_code == 401


def test_somebody_who_is_locked_out_is_locked_out_of_the_api(person):
    _, secret = Token.objects.create_token(user=person, name="laptop")
    person.is_active = False
    person.save()
    assert ask(f"Token {secret}").status_code == 401


@pytest.mark.both_databases
def test_the_last_use_is_noted_at_most_once_a_minute(
    person, django_assert_num_queries, monkeypatch
):
    # In a new minute of the clock requests are counted anew, which takes more queries.
    monkeypatch.setattr("citeboard.core.api.time.time", lambda: 1_000_000.0)
    token, secret = Token.objects.create_token(user=person, name="laptop")
    ask(f"Token {secret}")
    token.refresh_from_db()
    first = token.last_used_at
    assert timezone.now() - first < dt.timedelta(minutes=1)
    # One that looks for the token: requests are told to the database in steps.
    with django_assert_num_queries(1):
        ask(f"Token {secret}", f"{API}/nowhere/")
    token.refresh_from_db()
    assert token.last_used_at == first
    Token.objects.update(last_used_at=first - dt.timedelta(seconds=61))
    ask(f"Token {secret}")
    token.refresh_from_db()
    assert token.last_used_at >= first


def test_a_session_reads_without_more_and_writes_with_the_pages_csrf_token(world):
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.people["member"])
    assert client.get(LIST).status_code == 200
    address, form = (
        f"{API}/phases/{world.phase.pk}/submissions/",
        {"run": run_file(), "system": "S"},
    )
    refused = client.post(address, form)
    assert refused.status_code == 403
    assert refused.json()["detail"].startswith("CSRF")
    client.cookies["csrftoken"] = "a" * 32
    taken = client.post(
        address, {"run": run_file(), "system": "S"}, headers={"X-CSRFToken": "a" * 32}
    )
    assert taken.status_code == 201


def test_a_token_needs_no_csrf_token(world):
    client = Client(enforce_csrf_checks=True, headers=world.signed_in("member"))
    response = client.post(
        f"{API}/phases/{world.phase.pk}/submissions/",
        {"run": run_file(), "system": "S"},
    )
    assert response.status_code == 201
