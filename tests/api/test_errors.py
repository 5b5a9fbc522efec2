"""One shape for every error, wherever it happens."""

import json

import pytest
from django.test import Client

from citeboard.api import operations
from tests.api.conftest import API
from tests.api.sending import run_file


def is_sentence(text: str) -> bool:
    return isinstance(text, str) and text[:1].isupper() and text.endswith((".", "?"))


@pytest.mark.parametrize(
    ("address", "code"),
    [
        (f"{API}/nowhere/", 404),
        (f"{API}/submissions/%0E%0Aw/", 404),
        (f"{API}/seasons", 404),
        ("/api/v1/none/", 404),
        ("/api/v2/seasons/", 404),
        (f"{API}/seasons/none/", 404),
        (f"{API}/tasks/999999/", 404),
        (f"{API}/tasks/99999999999999999999/", 404),
        (f"{API}/phases/0/leaderboard/", 404),
        (f"{API}/seasons/?page=last-of-all", 404),
        (f"{API}/submissions/", 401),
    ],
)
def test_an_address_that_does_not_answer_says_so_in_a_sentence(world, address, code):
    response = world.ask("visitor").get(address)
    assert response.status_code == code
    assert list(response.json()) == ["detail"]
    assert is_sentence(response.json()["detail"])


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_a_method_that_is_not_meant_is_refused_in_the_same_shape(world, method):
    response = getattr(world.member, method)(f"{API}/seasons/")
    assert response.status_code == 405
    assert list(response.json()) == ["detail"]
    assert "GET" in response["Allow"]


def test_what_may_be_asked_is_asked_with_options_and_what_is_there_with_head(world):
    address = f"{API}/phases/{world.phase.pk}/leaderboard/"
    asked = world.ask("visitor").options(address)
    assert (asked.status_code, asked.json()) == (
        200,
        {"methods": ["GET", "HEAD", "OPTIONS"]},
    )
    assert set(asked["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}
    seen, head = world.ask("visitor").get(address), world.ask("visitor").head(address)
    assert (head.status_code, head.content, head["ETag"]) == (200, b"", seen["ETag"])


@pytest.mark.parametrize("address", ["submissions", "check"])
def test_a_request_that_does_not_say_how_long_it_is_is_told_to(world, address):
    response = world.member.post(
        f"{API}/phases/{world.phase.pk}/{address}/",
        {"run": run_file(), "system": "S"},
        headers={"Transfer-Encoding": "chunked"},
    )
    assert response.status_code == 411
    assert "Content-Length" in response.json()["detail"]


@pytest.mark.parametrize(
    "kind",
    ["application/json", "application/x-www-form-urlencoded", "text/plain", "???"],
)
def test_another_form_than_multipart_is_refused_in_the_same_shape(world, kind):
    response = world.member.post(
        f"{API}/phases/{world.phase.pk}/submissions/", "{}", content_type=kind
    )
    assert response.status_code == 415
    assert list(response.json()) == ["detail"]


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\xff",
    ],
)
def test_a_form_that_cannot_be_read_is_refused_in_the_same_shape(world, kind):
    response = world.member.post(
        f"{API}/phases/{world.phase.pk}/submissions/", b"--b\r\n", content_type=kind
    )
    assert response.status_code == 400
    assert list(response.json()) == ["detail"]
    assert is_sentence(response.json()["detail"])


def test_a_form_with_a_thousand_fields_is_refused_in_the_same_shape(world):
    fields = {f"field{number}": "x" for number in range(1200)}
    response = world.member.post(
        f"{API}/phases/{world.phase.pk}/check/", {"run": run_file(), **fields}
    )
    assert response.status_code == 400
    assert list(response.json()) == ["detail"]


def test_what_a_program_accepts_makes_no_difference(world):
    for accepted in ("text/html", "application/xml", "application/json;q=0", "???"):
        response = world.ask("visitor").get(
            f"{API}/seasons/", headers={"Accept": accepted}
        )
        assert response.status_code == 200
        assert response["Content-Type"] == "application/json"


@pytest.mark.both_databases
def test_too_many_requests_are_told_when_to_come_back(world, settings):
    settings.API_ANONYMOUS_REQUESTS_PER_MINUTE = 2
    client = Client(REMOTE_ADDR="192.0.2.7")
    answers = [client.get(f"{API}/seasons/") for _ in range(3)]
    if [answer.status_code for answer in answers] == [200, 200, 200]:
        # The minute was over in between.
        answers += [client.get(f"{API}/seasons/") for _ in range(3)]
    refused = answers[-1]
    assert refused.status_code == 429
    assert set(refused.json()) == {"detail", "retry_after"}
    assert 1 <= refused.json()["retry_after"] <= 60
    assert 0 <= int(refused["Retry-After"]) <= 60
    assert Client(REMOTE_ADDR="192.0.2.8").get(f"{API}/seasons/").status_code == 200


@pytest.mark.both_databases
def test_uploads_are_counted_apart_from_reading_and_for_each_person(
    world, settings, monkeypatch
):
    settings.API_UPLOADS_PER_MINUTE = 1
    monkeypatch.setattr("citeboard.core.api.time.time", lambda: 1_000_000.0)
    address = f"{API}/phases/{world.phase.pk}/check/"
    codes = [
        world.member.post(address, {"run": run_file()}).status_code for _ in range(2)
    ]
    assert codes == [200, 429]
    assert world.ask("stranger").post(address, {"run": run_file()}).status_code == 200
    assert world.member.get(f"{API}/submissions/").status_code == 200
    monkeypatch.setattr("citeboard.core.api.time.time", lambda: 1_000_060.0)
    assert world.member.post(address, {"run": run_file()}).status_code == 200


def test_an_error_of_ours_has_the_same_shape_and_names_the_request(world, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("a line of our own code")

    monkeypatch.setattr(operations.api, "build_paginated_response", broken)
    client = Client(raise_request_exception=False)
    response = client.get(f"{API}/seasons/")
    assert response.status_code == 500
    assert is_sentence(response.json()["detail"])
    assert response.json()["request_id"] == response["X-Request-ID"]
    assert b"our own code" not in response.content


def test_a_request_to_another_host_is_refused_in_the_same_shape(db):
    response = Client(headers={"Host": "elsewhere.example.org"}).get(f"{API}/seasons/")
    assert response.status_code == 400
    assert is_sentence(json.loads(response.content)["detail"])


def test_an_address_outside_of_the_api_is_answered_with_a_page(db):
    response = Client(headers={"Host": "elsewhere.example.org"}).get("/")
    assert response.status_code == 400
    assert response["Content-Type"].startswith("text/html")
