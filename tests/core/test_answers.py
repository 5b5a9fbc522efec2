"""What every answer carries, and what probes are told."""

import hashlib
import io
import json
import logging
import re

import pytest
from django.db import DatabaseError, connection
from django.test import RequestFactory

from citeboard.core import errors, health, writability
from citeboard.core.logs import (
    JsonLineFormatter,
    RequestIdFilter,
    build_logging_config,
    request_id,
)
from citeboard.core.middleware import RequestIdMiddleware

LIVE = "/health/live"
PLOTLY_DIGEST = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"


def policy(response) -> dict[str, list[str]]:
    parts = (part.split() for part in response["Content-Security-Policy"].split(";"))
    return {name: sources for name, *sources in parts}


def test_the_policy_allows_our_own_scripts_and_nothing_else(client):
    rules = policy(client.get(LIVE))
    assert rules["default-src"] == ["'none'"]
    assert rules["script-src"] == ["'self'"]
    assert rules["frame-ancestors"] == rules["base-uri"] == ["'none'"]
    assert rules["form-action"] == ["'self'"]
    assert not [
        word
        for words in rules.values()
        for word in words
        if word.startswith("'unsafe") or word == "*"
    ]


def test_the_policy_knows_the_empty_style_element_of_the_charts(client):
    assert (
        "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
        in policy(client.get(LIVE))["style-src"]
    )


def test_a_page_that_does_not_exist_carries_the_policy_too(client):
    response = client.get("/health/nowhere")
    assert response.status_code == 404
    assert policy(response)["default-src"] == ["'none'"]


def test_an_answer_says_little_about_where_a_reader_came_from(client):
    response = client.get(LIVE)
    assert response["Referrer-Policy"] == "same-origin"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "geolocation=()" in response["Permissions-Policy"]


def test_every_answer_has_an_id_of_its_own(client):
    first, second = client.get(LIVE)["X-Request-ID"], client.get(LIVE)["X-Request-ID"]
    assert len(first) == 32
    assert first != second


def test_an_id_a_proxy_gave_is_kept(client):
    assert (
        client.get(LIVE, headers={"X-Request-ID": "edge-7f3a91c2"})["X-Request-ID"]
        == "edge-7f3a91c2"
    )


@pytest.mark.parametrize("given", ["short", "x" * 65, 'ab"cd}{efgh', "two words in it"])
def test_an_id_that_could_forge_a_log_line_is_replaced(client, given):
    assert client.get(LIVE, headers={"X-Request-ID": given})["X-Request-ID"] != given


def test_the_id_is_in_the_log_while_the_request_lasts_and_not_after():
    seen = []

    def view(request):
        seen.append((request.id, request_id.get()))
        return health.respond_to_liveness_probe(request)

    response = RequestIdMiddleware(view)(RequestFactory().get(LIVE))
    assert seen == [(response["X-Request-ID"], response["X-Request-ID"])]
    assert request_id.get() == "-"


def test_a_log_line_is_one_json_object_with_the_request_and_what_the_caller_added():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLineFormatter())
    handler.addFilter(RequestIdFilter())
    reason = ValueError("two\nlines")
    trace = (ValueError, reason, None)
    token = request_id.set("edge-7f3a91c2")
    try:
        log = logging.getLogger("a")
        handler.handle(
            log.makeRecord(
                "a", logging.ERROR, "f", 1, "run %s", ("r1",), trace, extra={"job": 7}
            )
        )
    finally:
        request_id.reset(token)
    [line] = stream.getvalue().splitlines()
    event = json.loads(line)
    assert (event["message"], event["level"], event["job"]) == ("run r1", "ERROR", 7)
    assert event["request_id"] == "edge-7f3a91c2"
    assert "ValueError: two\nlines" in event["traceback"]


def test_the_log_has_the_form_and_level_that_were_asked_for():
    config = build_logging_config(form="json", level="WARNING")
    assert config["handlers"]["stderr"]["formatter"] == "json"
    assert config["root"]["level"] == "WARNING"


def test_a_live_process_says_so_without_the_database(client):
    # No database mark: a query here would fail the test.
    response = client.get(LIVE)
    assert (response.status_code, response.json()) == (200, {"status": "live"})
    assert "no-store" in response["Cache-Control"]


@pytest.mark.both_databases
@pytest.mark.django_db
def test_a_ready_process_has_asked_the_database(
    client, settings, tmp_path, django_assert_num_queries
):
    # Where `serve` records whether this machine can write, nothing else is asked.
    settings.WORK_DIR = tmp_path / "work"
    writability.write_heartbeat()
    # The first probe of a process asks for the schema as well.
    client.get("/health/ready")
    with django_assert_num_queries(1):
        response = client.get("/health/ready")
    assert (response.status_code, response.json()["status"]) == (200, "ready")


@pytest.mark.both_databases
def test_a_database_that_does_not_answer_keeps_requests_away(client, monkeypatch):
    def broken():
        raise DatabaseError("gone")

    monkeypatch.setattr(connection, "cursor", broken)
    response = client.get("/health/ready")
    assert response.status_code == 503
    assert response.json()["reason"] == "the database does not answer"


def test_a_probe_cannot_post(client):
    assert client.post(LIVE).status_code == 405


def test_an_error_of_ours_names_the_request():
    request = RequestFactory().get("/")
    request.id = "edge-7f3a91c2"
    response = errors.server_error(request)
    assert response.status_code == 500
    assert b"edge-7f3a91c2" in response.content


@pytest.mark.parametrize(
    "name", ["vendor/plotly-cartesian.min.js", "django_htmx/htmx-2.min.js"]
)
def test_scripts_of_others_are_served_from_our_own_address(client, name):
    response = client.get(f"/static/{name}")
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/javascript")
    assert len(b"".join(response.streaming_content)) > 10_000


def test_the_bundle_of_plotly_is_the_published_one_with_its_licence(root):
    """Of `plotly.js-cartesian-dist-min` 4.1.1, the release that the Python package describes figures for."""
    from plotly.offline import get_plotlyjs_version

    folder = root / "static" / "vendor"
    bundle = (folder / "plotly-cartesian.min.js").read_bytes()
    assert hashlib.sha256(bundle).hexdigest() == PLOTLY_DIGEST
    assert (
        f"plotly.js (cartesian - minified) v{get_plotlyjs_version()}".encode()
        in bundle[:400]
    )
    assert "MIT License" in (folder / "plotly-LICENSE.txt").read_text()


def test_the_fonts_are_served_from_our_own_address_and_are_small(client, root):
    sheet = (root / "static" / "citeboard.css").read_text()
    faces = re.findall(r"@font-face \{(.*?)\}", sheet, re.DOTALL)
    assert all("font-display: optional" in face for face in faces)
    names = [re.search(r'url\("(fonts/.*?)"\)', face)[1] for face in faces]
    answers = [client.get(f"/static/{name}") for name in names]
    sizes = [len(b"".join(answer.streaming_content)) for answer in answers]
    assert len(sizes) == 3
    assert sum(sizes) <= 60_000
    licence = (root / "static" / "fonts" / "OFL.txt").read_text()
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    assert "Reserved Font Name" in licence


def test_nothing_else_of_those_packages_is_served(client):
    assert client.get("/static/vendor/widgetbundle.js").status_code == 404
    assert (
        client.get("/static/vendor/../vendor/plotly-cartesian.min.js/..").status_code
        == 404
    )
