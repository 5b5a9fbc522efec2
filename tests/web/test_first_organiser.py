"""A new site's first organiser, made in a browser with a token from where the site runs."""

import datetime as dt
import io
import json
import re
from contextlib import suppress

import pytest
from django.core.cache import caches
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from citeboard.teams.models import FirstOrganiserToken, User
from tasks.seasons.organisers import (
    MAX_FIRST_ORGANISER_TOKENS,
    is_first_organiser_missing,
    write_first_organiser_instructions,
)
from tests.factories import make_season, make_user
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
HERE = "/first-organiser/"
GIVEN = {
    "email": "olga@example.org",
    "name": "Olga",
    "password": "correct horse battery",
}


@pytest.fixture(autouse=True)
def fresh():
    caches["default"].clear()


def printed() -> str:
    return re.search(
        r"with the token (\S+) \(good once", write_first_organiser_instructions()
    )[1]


@pytest.mark.both_databases
def test_the_token_that_the_doctor_prints_makes_the_first_organiser_once(client):
    out = io.StringIO()
    with suppress(SystemExit):
        call_command("doctor", "--only", "organiser", "--json", stdout=out)
    [said] = json.loads(out.getvalue())
    assert said["found"] == "nobody may organise yet"
    secret = re.search(r"/first-organiser/ with the token (\S+)", said["advice"])[1]
    answer = client.post(HERE, {**GIVEN, "secret": secret})
    assert (answer.status_code, answer["Location"]) == (302, "/new-season/")
    assert client.get("/new-season/").status_code == 200
    olga = User.objects.get()
    assert (olga.email, olga.is_staff, olga.check_password(GIVEN["password"])) == (
        "olga@example.org", True, True,
    )  # fmt: skip
    assert olga.emailaddress_set.get().verified
    assert not FirstOrganiserToken.objects.exists()
    assert write_first_organiser_instructions() == ""
    again = Client()
    assert again.get(HERE).status_code == 404
    assert (
        again.post(
            HERE, {**GIVEN, "email": "eve@example.org", "secret": secret}
        ).status_code
        == 404
    )
    assert User.objects.count() == 1


def test_the_store_knows_no_token_and_only_the_newest_are_good():
    secrets = [printed() for _number in range(MAX_FIRST_ORGANISER_TOKENS + 1)]
    kept = FirstOrganiserToken.objects.values_list("digest", flat=True)
    assert len(kept) == MAX_FIRST_ORGANISER_TOKENS
    assert not any(secret in digest for secret in secrets for digest in kept)
    wrong = Client().post(HERE, {**GIVEN, "secret": secrets[0]})
    assert (wrong.status_code, User.objects.count()) == (422, 0)
    assert "This token is wrong" in text_of(wrong)
    assert Client().post(HERE, {**GIVEN, "secret": secrets[1]}).status_code == 302


def test_a_token_is_good_for_a_day(client):
    secret = printed()
    FirstOrganiserToken.objects.update(
        made_at=timezone.now() - dt.timedelta(days=1, minutes=1)
    )
    assert client.post(HERE, {**GIVEN, "secret": secret}).status_code == 422
    assert not User.objects.exists()


@pytest.mark.parametrize("organises", ["staff", "organiser"])
def test_where_somebody_may_organise_nothing_is_printed_and_no_token_is_good(
    client, organises
):
    secret, somebody = printed(), make_user(is_staff=organises == "staff")
    if organises == "organiser":
        make_season(organiser=somebody)
    assert not is_first_organiser_missing()
    assert write_first_organiser_instructions() == ""
    assert client.post(HERE, {**GIVEN, "secret": secret}).status_code == 404


def test_who_may_not_organise_is_not_in_the_way(client):
    make_user()
    make_user(is_staff=True, is_active=False)
    assert client.post(HERE, {**GIVEN, "secret": printed()}).status_code == 302


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("email", "taken@example.org", "An account has this address already"),
        ("password", "12345", "too short"),
        ("secret", "", "required"),
    ],
)
def test_a_mistake_costs_no_token(client, field, value, words):
    make_user(email="taken@example.org")
    given = {**GIVEN, "secret": printed()}
    answer = client.post(HERE, {**given, field: value})
    assert (answer.status_code, FirstOrganiserToken.objects.count()) == (422, 1)
    assert words in text_of(answer)
    assert given["secret"] not in answer.content.decode()
    assert client.post(HERE, given).status_code == 302


def test_tokens_are_not_guessed_faster_than_ten_a_minute(client):
    secret = printed()
    tries = [
        client.post(HERE, {**GIVEN, "secret": str(number)}).status_code
        for number in range(11)
    ]
    assert tries == [422] * 10 + [429]
    assert client.post(HERE, {**GIVEN, "secret": secret}).status_code == 429
    assert not User.objects.exists()
