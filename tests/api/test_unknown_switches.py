"""An unknown value of a switch, or an unknown name, is refused before anything is done."""

import json
import re
from functools import cache

import pytest
from django.apps import apps
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from drf_spectacular.generators import SchemaGenerator

from citeboard.api.operations import MULTIPART_CONTENT_TYPE
from citeboard.core.models import Limit
from citeboard.teams.models import Token
from scoring.models import JudgedRun
from tasks.delivery.webhooks.services import make_webhook
from tasks.models import Claim, Delivery, Gold, Job, Season, Submission
from tests.api.conftest import API, World
from tests.api.sending import check, run_file, send
from tests.api.test_every_act import BY_ANOTHER, acts, summed_up
from tests.api.test_fuzz import make_world_to_aim_at
from tests.factories import make_job, make_season
from tests.kept_worlds import KeptWorld, keep_world

OBJECT = "application/json"
#: Who may do something, those first who may do most.
ROLES_OF_POWER = ("organiser", "member", "staff", "reader", "stranger", "mate")
#: Operations that take runs: in this release they warn of unknown fields.
UPLOADS = {"submit", "check", "bundle"}
#: Their role refuses the phase of this world, whose runs are no texts, before a field is read.
OF_TEXTS = {"make_sheet", "make_pairs", "bring_battles"}


@cache
def described() -> dict[str, tuple[str, str, dict]]:
    """By name the method, the path and the description of each operation."""
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    return {
        operation["operationId"]: (method, path, operation)
        for path, methods in paths.items()
        for method, operation in methods.items()
    }


def offering_dry_runs() -> list[str]:
    return [
        name
        for name, (_method, _path, operation) in described().items()
        if any(
            parameter["name"] == "dry_run"
            for parameter in operation.get("parameters", ())
        )
    ]


def changing() -> list[str]:
    return [
        name
        for name, (method, _path, _operation) in described().items()
        if method != "get"
    ]


def make_whole_world() -> tuple[World, dict[str, list]]:
    world, ids = make_world_to_aim_at()
    webhook = make_webhook(
        season=world.season,
        url="https://bot.example.org/",
        by=world.people["organiser"],
    )
    delivery = Delivery.objects.create(
        webhook=webhook, payload={}, job=make_job(Job.Kind.WEBHOOK)
    )
    JudgedRun.objects.create(submission_id=ids["submissions"][0])
    return world, ids | {
        "webhook": [webhook.pk],
        "delivery": [delivery.pk],
        "job": ids["jobs"],
        "claim": [Claim.objects.create(season=make_season(), later=world.season).pk],
    }


@pytest.fixture(scope="module")
def kept_world(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_whole_world, django_db_blocker)


def address_of(name: str, ids: dict[str, list]) -> str:
    _method, path, _operation = described()[name]
    kind = path.split("/")[3]
    first, *others = re.findall(r"{(\w+)}", path) or [""]
    values = {
        first: ids[first if first in ids else kind][0] if first else "",
        **{other: ids[other][0] for other in others},
    }
    return path.format(**values)


def is_sent_with_files(name: str) -> bool:
    return set(described()[name][2].get("requestBody", {}).get("content", {})) == {
        MULTIPART_CONTENT_TYPE
    }


def refusal_of(
    world: World, name: str, address: str, fields: dict
) -> dict[str, list[str]]:
    """Send the request in a role that may do it; return the errors by field of the answer, which is a 400."""
    method = described()[name][0].upper()
    body, kind = json.dumps(fields), OBJECT
    if is_sent_with_files(name):
        body, kind = encode_multipart(BOUNDARY, fields), MULTIPART_CONTENT
    for role in ROLES_OF_POWER:
        response = world.ask(role).generic(method, address, body, kind)
        if response.status_code not in (403, 404):
            assert response.status_code == 400, (role, address, response.content)
            return response.json()["errors"]
    raise AssertionError(f"nobody may {name} at {address}")


def everything() -> dict[str, list]:
    """Return all rows of all tables but tokens and counts of requests, which every request changes."""
    return {
        model._meta.label: list(model._base_manager.order_by("pk").values())
        for model in apps.get_models(include_auto_created=True)
        if model not in (Token, Limit)
    }


@pytest.mark.parametrize("name", offering_dry_runs())
def test_no_unknown_value_of_dry_run_changes_anything(world, name):
    world, ids = world
    before, address = everything(), address_of(name, ids)
    for value in ("yes", "on", "y", "banana", "", "2", "true ", "TRUE"):
        for where, fields in (
            (f"{address}?dry_run={value}", {}),
            (address, {"dry_run": value}),
        ):
            words = f"“{value}” is not a value of “dry_run”; expected: “true”, “1”, “false”, “0”."
            assert refusal_of(world, name, where, fields) == {"dry_run": [words]}
    assert everything() == before


@pytest.mark.parametrize("name", offering_dry_runs())
def test_an_operation_that_offers_dry_runs_refuses_two_values_that_contradict_each_other(
    world, name
):
    world, ids = world
    where = f"{address_of(name, ids)}?dry_run=true"
    refused = refusal_of(world, name, where, {"dry_run": "false"})
    assert refused == {"dry_run": ["It is both true and false."]}


@pytest.mark.parametrize("name", offering_dry_runs())
def test_an_unknown_parameter_is_refused_with_the_nearest_name(world, name):
    world, ids = world
    words = "“dryrun” is unknown here; did you mean “dry_run”?"
    assert refusal_of(world, name, f"{address_of(name, ids)}?dryrun=true", {}) == {
        "dryrun": [words]
    }


def fields_of(name: str) -> list[str]:
    content = described()[name][2].get("requestBody", {}).get("content", {})
    if MULTIPART_CONTENT_TYPE not in content:
        return ["dry_run"] if name in offering_dry_runs() else []
    component = content[MULTIPART_CONTENT_TYPE]["schema"]["$ref"].rpartition("/")[2]
    return list(components()[component]["properties"])


@cache
def components() -> dict:
    return SchemaGenerator().get_schema(request=None, public=True)["components"][
        "schemas"
    ]


@pytest.mark.parametrize("name", sorted(set(changing()) - UPLOADS - OF_TEXTS))
def test_an_unknown_field_is_refused_with_the_nearest_name_and_changes_nothing(
    world, name
):
    world, ids = world
    fields = fields_of(name)
    unknown = f"{fields[0]}_" if fields else "unknown"
    meant = f"did you mean “{fields[0]}”?" if fields else "nothing is expected."
    before = everything()
    refused = refusal_of(world, name, address_of(name, ids), {unknown: "x"})
    assert refused == {unknown: [f"“{unknown}” is unknown here; {meant}"]}
    assert everything() == before


def test_every_declared_act_is_among_the_operations_that_refuse_unknown_fields():
    tested = {described()[name][2]["summary"] for name in set(changing()) - UPLOADS}
    lacking = {
        name for name, act in acts().items() if summed_up(act.summary) not in tested
    }
    assert lacking == set(BY_ANOTHER)


@pytest.mark.parametrize("name", sorted(set(described()) - set(changing())))
def test_an_operation_that_reads_refuses_unknown_parameters(world, name):
    world, ids = world
    refused = refusal_of(world, name, f"{address_of(name, ids)}?unknwon=1", {})
    assert list(refused) == ["unknwon"]


@pytest.mark.parametrize(
    ("name", "query", "expected"),
    [
        ("leaderboard", "as=other", "“others”"),
        ("leaderboard", "rank=beauty", "“value”, “significance”"),
        ("several", "as=others", None),
        ("exports/tex", "marks=0", "“no”"),
        ("exports/csv", "baselines=no", None),
        ("instances", "which=differs", "“differ”"),
    ],
)
def test_a_switch_of_a_board_accepts_its_values_alone(world, name, query, expected):
    world, _ids = world
    response = world.ask("organiser").get(
        f"{API}/phases/{world.phase.pk}/{name}/?{query}"
    )
    parameter, _, value = query.partition("=")
    assert response.status_code == 400
    [words] = response.json()["errors"][parameter]
    if expected is None:
        assert words.startswith(f"“{parameter}” is unknown here;")
    else:
        assert words.startswith(
            f"“{value}” is not a value of “{parameter}”; expected: {expected}"
        )


class TestDryRunInTheBody:
    @pytest.mark.parametrize("value", [True, 1, "true", "1"])
    def test_it_rehearses_and_changes_nothing(self, world, value):
        world, _ids = world
        client, before = world.ask("organiser"), everything()
        response = client.post(
            f"{API}/phases/{world.phase.pk}/freeze/", {"dry_run": value}, OBJECT
        )
        assert response.status_code == 200
        assert "told" in response.json()
        assert everything() == before

    @pytest.mark.parametrize("value", [False, 0, "false", "0"])
    def test_a_value_that_means_no_does_it(self, world, value):
        world, _ids = world
        sent = {"dry_run": value}
        response = world.ask("organiser").post(
            f"{API}/phases/{world.phase.pk}/freeze/", sent, OBJECT
        )
        assert (response.status_code, response.json()["is_frozen"]) == (200, True)
        world.phase.refresh_from_db()
        assert world.phase.frozen_from is not None

    @pytest.mark.parametrize(
        "value", [None, [True], {"a": 1}, 2, 1.0, "True", "null", "x" * 999]
    )
    def test_what_is_no_switch_is_refused(self, world, value):
        world, _ids = world
        before = everything()
        sent = {"dry_run": value}
        response = world.ask("organiser").post(
            f"{API}/phases/{world.phase.pk}/freeze/", sent, OBJECT
        )
        assert (response.status_code, list(response.json()["errors"])) == (
            400,
            ["dry_run"],
        )
        assert everything() == before

    def test_gold_that_is_sent_with_it_is_not_published(self, world):
        world, _ids = world
        file = run_file(b"".join(world.task.gold.get().file and [b"x"]), "gold.zip")
        sent = {"reason": "A trial.", "file": file, "dry_run": "true"}
        world.ask("organiser").post(f"{API}/tasks/{world.task.pk}/gold/", sent)
        assert Gold.objects.count() == 1

    def test_what_nothing_rehearses_refuses_it(self, world):
        world, _ids = world
        response = send(world.member, world.phase, dry_run="true")
        assert (response.status_code, list(response.json()["errors"])) == (
            400,
            ["dry_run"],
        )

    def test_a_season_file_takes_it_in_the_address(self, world):
        world, _ids = world
        file = run_file(b'[season]\nslug = "fresh"\ntitle = "Fresh"\n', "season.toml")
        response = world.ask("staff").post(
            f"{API}/new-season/?dry_run=1", {"file": file}
        )
        assert (response.status_code, response.json()["dry_run"]) == (200, True)
        assert not Season.objects.filter(slug="fresh").exists()


class TestRuns:
    def test_an_unknown_field_of_a_run_is_a_warning_with_the_nearest_name(self, world):
        world, _ids = world
        response = send(world.member, world.phase, wall_second="7", warmth="7")
        assert response.status_code == 201
        warnings = {
            row["message"]: row["expected"] for row in response.json()["warnings"]
        }
        near = warnings["the field “wall_second” is unknown, and was not stored"]
        assert near == "“wall_seconds”"
        assert "the field “warmth” is unknown, and was not stored" in warnings
        assert (
            Submission.objects.get(pk=response.json()["id"]).warnings
            == response.json()["warnings"]
        )

    def test_a_check_warns_of_it_too_and_knows_the_fields_of_a_submission(self, world):
        world, _ids = world
        sent = {
            "system": "A",
            "team": world.team.slug,
            "kind": "primary",
            "priority": "1",
        }
        response = check(world.member, world.phase, knowledge_cutof="2024", **sent)
        [warning] = [
            row for row in response.json()["warnings"] if "unknown" in row["message"]
        ]
        assert (
            warning["message"]
            == "the field “knowledge_cutof” is unknown, and was not stored"
        )
        assert warning["expected"] == "“knowledge_cutoff”"
        assert not warning["fatal"]

    def test_each_run_of_a_file_for_several_tasks_has_the_warning(self, world):
        world, _ids = world
        sent = {"run": run_file(), "system": "A system", "descripton": "Words."}
        response = world.member.post(
            f"{API}/seasons/{world.season.slug}/submissions/", sent
        )
        assert response.status_code == 201
        for run in response.json()["submissions"]:
            assert "the field “descripton” is unknown, and was not stored" in [
                row["message"] for row in run["warnings"]
            ]

    def test_many_unknown_fields_are_counted(self, world):
        world, _ids = world
        response = send(
            world.member, world.phase, **{f"zz{number}": "1" for number in range(50)}
        )
        messages = [row["message"] for row in response.json()["warnings"]]
        assert sum("unknown" in message for message in messages) == 21
        assert "30 more fields are unknown, and were not stored" in messages

    def test_a_run_without_unknown_fields_has_no_such_warning(self, world):
        world, _ids = world
        response = send(
            world.member, world.phase, description="Words.", kind="contrastive"
        )
        assert all(
            "unknown" not in row["message"] for row in response.json()["warnings"]
        )


def test_a_preset_refuses_a_date_that_it_does_not_have(world):
    world, _ids = world
    sent = {
        "title": "Next", "slug": "next", "task_type": world.task.type,
        "dates": {"opens": "2027-05-01 00:00", "closes": "2027-06-01 00:00"},
    }  # fmt: skip
    response = world.ask("staff").post(f"{API}/new-season/open/", sent, OBJECT)
    assert response.status_code == 422
    [fault] = response.json()["faults"]
    assert (fault["key"], fault["expected"][:6]) == ("closes", "opens,")
    assert not Season.objects.filter(slug="next").exists()


def test_an_unknown_field_with_half_a_character_is_refused_in_a_sentence(world):
    world, _ids = world
    response = world.member.post(
        f"{API}/teams/", b'{"name": "A", "\\ud800": 1}', OBJECT
    )
    assert (response.status_code, list(response.json()["errors"])) == (400, ["?"])


def test_a_role_that_refuses_what_a_sheet_is_of_does_so_before_any_field_is_read(world):
    world, ids = world
    for name in OF_TEXTS:
        assert refusal_of(world, name, address_of(name, ids), {}) != {}
