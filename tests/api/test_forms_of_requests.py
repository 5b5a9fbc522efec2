"""Fields come as JSON, as a form or with files; errors, lists and tags come as the web knows them."""

import pytest
from django.test import Client

from citeboard.api.operations import MULTIPART_CONTENT_TYPE, URL_ENCODED_CONTENT_TYPE
from tests.api.conftest import API
from tests.api.sending import send
from tests.api.test_schema import described, operations
from tests.factories import make_season

OBJECT, PROBLEM = "application/json", "application/problem+json"


class TestBodies:
    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            (OBJECT, {"name": "Ärger & Co"}),
            (URL_ENCODED_CONTENT_TYPE, "name=%C3%84rger+%26+Co"),
        ],
    )
    def test_fields_may_come_as_an_object_or_as_a_form(self, world, kind, body):
        response = world.member.post(f"{API}/teams/", body, content_type=kind)
        assert (response.status_code, response.json()["name"]) == (201, "Ärger & Co")

    def test_every_operation_without_a_file_takes_all_three_and_one_with_a_file_takes_parts(
        self, db
    ):
        taken = {
            name: set(operation["requestBody"]["content"])
            for name, operation in operations(described())
            if "requestBody" in operation
        }
        with_files = {
            name for name, kinds in taken.items() if kinds == {MULTIPART_CONTENT_TYPE}
        }
        assert f"post {API}/phases/{{id}}/submissions/" in with_files
        assert f"post {API}/tasks/{{id}}/gold/" in with_files
        assert all(
            kinds == {MULTIPART_CONTENT_TYPE, OBJECT, URL_ENCODED_CONTENT_TYPE}
            for name, kinds in taken.items()
            if name not in with_files
        )
        assert len(taken) > 3 * len(with_files)

    def test_what_is_a_list_is_a_list_in_an_object(self, world):
        links = ["https://example.org/a", "https://example.org/b"]
        address = f"{API}/teams/{world.team.slug}/description/"
        response = world.member.post(address, {"links": links}, content_type=OBJECT)
        assert (response.status_code, response.json()["links"]) == (200, links)

    @pytest.mark.both_databases
    @pytest.mark.parametrize(
        ("body", "words"),
        [
            (b"[]", "Send a JSON object"),
            (b'"name"', "Send a JSON object"),
            (b"{", "JSON parse error"),
            (b"\xff", "JSON parse error"),
            (b'{"name": NaN}', "JSON parse error"),
            (
                b'{"name": ' + b"[" * 100_000,
                "nested 100,001 deep (limit: 100) in line 1",
            ),
            (b'{"name": ["a"]}', "name: Not a valid string."),
            (b'{"name": {"a": 1}}', "name: Not a valid string."),
            (b'{"name": null}', "name: This field may not be null."),
            (b'{"name": "\\u0000"}', "name: Null characters are not allowed."),
            (b'{"name": "\\ud800"}', "name: Surrogate characters are not allowed"),
        ],
    )
    def test_an_object_that_cannot_be_meant_is_refused_in_a_sentence(
        self, world, body, words
    ):
        response = world.member.post(f"{API}/teams/", body, content_type=OBJECT)
        assert response.status_code == 400
        assert words in response.json()["detail"]

    @pytest.mark.parametrize("kind", [OBJECT, URL_ENCODED_CONTENT_TYPE])
    def test_a_body_beyond_what_the_site_reads_is_refused_unread(
        self, world, settings, kind
    ):
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
        response = world.member.post(
            f"{API}/teams/", b"name=" + b"x" * 1000, content_type=kind
        )
        assert response.status_code == 413

    def test_a_session_of_a_browser_still_needs_its_secret(self, world):
        client = Client(enforce_csrf_checks=True)
        client.force_login(world.people["member"])
        for kind, body in (
            (OBJECT, b'{"name": "A"}'),
            (URL_ENCODED_CONTENT_TYPE, b"name=A"),
        ):
            assert (
                client.post(f"{API}/teams/", body, content_type=kind).status_code == 403
            )


class TestProblems:
    @pytest.mark.parametrize(
        ("address", "code", "title"),
        [
            ("/api/v1/none/", 404, "Not Found"),
            (f"{API}/submissions/", 401, "Unauthorized"),
        ],
    )
    def test_who_accepts_problems_by_name_gets_them(self, world, address, code, title):
        accepted = f"{OBJECT}, {PROBLEM}"
        plain = world.ask("visitor").get(address)
        response = world.ask("visitor").get(address, headers={"Accept": accepted})
        assert response["Content-Type"] == PROBLEM
        assert response.json() == {
            "type": "about:blank",
            "title": title,
            "status": code,
            **plain.json(),
        }
        assert "Accept" in response["Vary"]

    def test_a_refused_run_has_its_problems_as_members(self, world):
        response = send(
            world.member, world.phase, b"no answers", headers={"Accept": PROBLEM}
        )
        assert (response.status_code, response["Content-Type"]) == (422, PROBLEM)
        assert response.json()["status"] == 422
        assert response.json()["problems"]

    @pytest.mark.parametrize("accepted", ["*/*", OBJECT, f"{PROBLEM};q=0"])
    def test_nobody_else_does(self, world, accepted):
        response = world.ask("visitor").get(
            "/api/v1/none/", headers={"Accept": accepted}
        )
        assert (response["Content-Type"], list(response.json())) == (OBJECT, ["detail"])


class TestLists:
    def test_pages_name_their_neighbours_in_a_header(self, world):
        for _ in range(3):
            make_season()
        visitor = world.ask("visitor")
        first = visitor.get(f"{API}/seasons/?page_size=1")
        body = first.json()
        assert f'<{body["next"]}>; rel="next"' in first["Link"]
        assert 'rel="prev"' not in first["Link"]
        assert f'page={body["count"]}&page_size=1>; rel="last"' in first["Link"]
        second = visitor.get(body["next"])
        assert f'<{second.json()["previous"]}>; rel="prev"' in second["Link"]

    def test_what_a_program_has_is_not_sent_again_until_it_changes(self, world):
        address = f"{API}/teams/{world.team.slug}/"
        answer = world.member.get(address)
        known = {"If-None-Match": answer["ETag"]}
        assert (
            answer.status_code,
            world.member.get(address, headers=known).status_code,
        ) == (200, 304)
        world.member.post(
            f"{address}description/",
            {"description": "Other words."},
            content_type=OBJECT,
        )
        assert world.member.get(address, headers=known).status_code == 200


@pytest.mark.parametrize("name", ["leaderboard", "several", "errata", "outside"])
def test_scripts_of_other_sites_read_what_is_open_to_everybody(world, name):
    address = f"{API}/phases/{world.phase.pk}/{name}/"
    assert world.ask("visitor").get(address)["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Origin" not in world.member.get(address)


@pytest.mark.parametrize(
    "name", ["board.csv", "board.json", "classes.csv", "classes.json", "board.tex"]
)
def test_scripts_of_other_sites_read_what_a_board_gives_out(world, name):
    season, task = world.season.slug, world.task.slug
    response = world.ask("visitor").get(
        f"/seasons/{season}/{task}/{world.phase.slug}/{name}"
    )
    assert response["Access-Control-Allow-Origin"] == "*"
    named = world.member.get(f"/seasons/{season}/{task}/{world.phase.slug}/{name}")
    assert "Access-Control-Allow-Origin" not in named
