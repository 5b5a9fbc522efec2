"""What a refusal and an outage leave in the log: a line each, with the request's id and no traceback."""

import datetime as dt
import errno
import json

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.core.storage import StorageUnavailable
from tasks.models import Phase
from tests.api.conftest import API
from tests.api.sending import send
from tests.factories import make_user, other_run
from tests.logged import written

ID = "edge-7f3a91c2"
NAMED = {"X-Request-ID": ID}


def too_large(world, settings):
    settings.UPLOAD_MAX_MB = 1
    return send(world.member, world.phase, b" " * ((1 << 20) + 1), headers=NAMED)


def used_up(world, settings):
    Phase.objects.update(runs_per_day=0)
    return send(world.member, world.phase, headers=NAMED)


def too_often(world, settings):
    settings.API_ANONYMOUS_REQUESTS_PER_MINUTE = 0
    return Client().get(f"{API}/seasons/", headers=NAMED)


def closed(world, settings):
    Phase.objects.update(closes=timezone.now() - dt.timedelta(hours=1))
    return send(world.member, world.phase, headers=NAMED)


def unreadable(world, settings):
    """A form whose boundary is missing."""
    return world.member.post(
        f"{API}/phases/{world.phase.pk}/submissions/",
        b"nonsense",
        content_type="multipart/form-data",
        headers=NAMED,
    )


def page(where, role="visitor", method="get", **given):
    """A page as somebody asks for it in a browser."""

    def ask(world, settings):
        client = Client(raise_request_exception=False, **given.pop("client", {}))
        if role != "visitor":
            client.force_login(
                world.people[role] if role in world.people else make_user()
            )
        kind, *names = where.split(" ")
        task = world.task
        values = {
            "season": task.season.slug,
            "task": task.slug,
            "phase": world.phase.slug,
        }
        address = (
            reverse(kind, kwargs={name: values[name] for name in names})
            if "/" not in kind
            else kind
        )
        return getattr(client, method)(address, **{"headers": NAMED, **given})

    return ask


def a_malformed_form(world, settings):
    settings.DEBUG = False
    client = Client(raise_request_exception=False)
    return client.post(
        reverse("account_login"),
        b"x",
        content_type="multipart/form-data",
        headers=NAMED,
    )


without_csrf = page(
    "account_login", method="post", client={"enforce_csrf_checks": True}
)


def wrong(world, settings):
    return send(world.member, world.phase, b"{}\n", headers=NAMED)


REFUSALS = {
    "a field is missing": (400, lambda world, _: send(world.member, world.phase, system=None, headers=NAMED)),
    "an API request that cannot be read": (400, unreadable),
    "a form that cannot be read": (400, a_malformed_form),
    "another host": (400, page("/", headers={**NAMED, "Host": "elsewhere.example"})),
    "no token": (401, lambda world, _: Client().get(f"{API}/submissions/", headers=NAMED)),
    "not in the season, API": (403, lambda world, _: send(world.ask("reader"), world.phase, headers=NAMED)),
    "not in the season, page": (403, page("upload season task phase", "reader")),
    "no secret of the form": (403, without_csrf),
    "an unknown address": (404, page("/no/such/page/")),
    "an unknown address of the API": (404, page(f"{API}/nowhere/")),
    "somebody else's page": (404, page("organise season", "reader")),
    "a method that is not there": (405, page("home", method="delete")),
    "a phase that is over": (409, closed),
    "a run that is too large": (413, too_large),
    "a run that cannot be scored": (422, wrong),
    "a form that lacks something": (422, page("upload season task phase", "member", method="post")),
    "no run is left": (429, used_up),
    "too many requests": (429, too_often),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_an_expected_refusal_is_one_line_with_its_request(world, settings, name):
    status, refuse = REFUSALS[name]
    with written() as log:
        response = refuse(world, settings)
    assert response.status_code == status
    [line] = log.getvalue().splitlines()
    assert f"[{ID}]" in line
    assert ("Traceback" in line, " WARNING " in line or " ERROR " in line) == (
        False,
        True,
    )


def test_a_refused_run_is_one_object_of_the_json_log_and_quotes_nothing_of_it(
    world, settings
):
    with written(form="json") as log:
        response = send(
            world.member, world.phase, b'{"topic": "SECRET"}\n', headers=NAMED
        )
    assert response.status_code == 422
    [event] = [json.loads(line) for line in log.getvalue().splitlines()]
    assert (event["request_id"], event["status_code"], "traceback" in event) == (
        ID,
        422,
        False,
    )
    assert "SECRET" not in json.dumps(event)


def database_away(monkeypatch):
    def refuse(*_, **__):
        raise OperationalError("connection refused\n\tIs the server running?")

    monkeypatch.setattr(connection, "cursor", refuse)


def storage_away(monkeypatch):
    def refuse(*_, **__):
        raise StorageUnavailable(
            errno.EIO, "The storage of the site does not answer", "runs/x"
        )

    monkeypatch.setattr("citeboard.core.storage.FolderStorage.save", refuse)


@pytest.mark.parametrize("away", [database_away, storage_away])
def test_a_request_in_an_outage_is_one_line_without_a_traceback(
    world, monkeypatch, away
):
    program = world.member
    program.raise_request_exception = False
    with monkeypatch.context() as broken, written() as log:
        away(broken)
        response = send(program, world.phase, other_run(1), headers=NAMED)
    assert (response.status_code, response["Retry-After"]) == (503, "10")
    [line] = log.getvalue().splitlines()
    assert f"[{ID}]" in line
    assert "Away: The " in line


def test_probes_in_an_outage_are_one_line_however_many_come_and_one_when_it_is_over(
    db, monkeypatch
):
    Client().get("/health/ready")  # what other tests had taken away is back
    with written() as log:
        with monkeypatch.context() as broken:
            broken.setattr("citeboard.core.health.measure_clock_skew", lambda: 61.0)
            assert {Client().get("/health/ready").status_code for _ in range(5)} == {
                503
            }
        assert Client().get("/health/ready").status_code == 200
    begun, over = log.getvalue().splitlines()
    assert "this machine and the database differ by 61.0 s" in begun
    assert "Back after" in over


def test_what_has_several_lines_carries_the_request_on_each(world, monkeypatch):
    def broken(*_, **__):
        raise ValueError("two\nlines")

    monkeypatch.setattr("citeboard.web.seasons.overview.render_to_string", broken)
    with written() as log:
        answer = Client(raise_request_exception=False).get("/", headers=NAMED)
    assert answer.status_code == 500
    lines = log.getvalue().splitlines()
    assert len(lines) > 5
    assert [line for line in lines if f"[{ID}]" not in line] == []
