"""The description of the API: valid, complete, and true of what is answered."""

import warnings
from functools import cache
from html import unescape

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator

from tasks.models.run_cards import RUN_CARD_FIELDS
from tests.api.conftest import API
from tests.api.test_every_answer import strict

ERRORS = {
    "Error", "InvalidFields", "TooManyRequests", "RejectedRun", "Closed", "TooEarly", "Conflicts", "Faults",
}  # fmt: skip


@pytest.fixture
def schema(db) -> dict:
    return described()


@cache
def described() -> dict:
    response = Client().get(f"{API}/schema/")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    return response.json()


def test_the_description_is_valid_and_is_made_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call_command(
            "spectacular",
            "--validate",
            "--fail-on-warn",
            "--file",
            str(tmp_path / "schema.yaml"),
        )
    assert (tmp_path / "schema.yaml").stat().st_size > 1000


@pytest.mark.slow
def test_everybody_reads_the_same_description(world, schema):
    validate_schema(schema)
    for role in ("visitor", "member", "staff"):
        assert world.ask(role).get(f"{API}/schema/").json() == schema


def operations(schema: dict) -> list[tuple[str, dict]]:
    return [
        (f"{method} {path}", operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_says_what_it_does_and_which_errors_it_answers_with(schema):
    assert operations(schema)
    for name, operation in operations(schema):
        assert operation["summary"], name
        codes = set(operation["responses"])
        assert {"401", "429", "default"} <= codes, name
        assert ("404" in codes) or "{" not in name, name
        assert ("409" in codes) or name.startswith("get "), name
        for code, response in operation["responses"].items():
            assert response["description"], (name, code)
            if not code.startswith(("2", "3")):
                reference = response["content"]["application/json"]["schema"]["$ref"]
                assert reference.rpartition("/")[2] in ERRORS, (name, code)


def test_every_error_has_a_sentence_for_its_detail(schema):
    for name in ERRORS:
        component = schema["components"]["schemas"][name]
        assert component["properties"]["detail"]["type"] == "string"
        assert "detail" in component["required"]


def test_what_is_sent_is_described_as_a_form_with_a_file(schema):
    operation = schema["paths"][f"{API}/phases/{{id}}/submissions/"]["post"]
    reference = operation["requestBody"]["content"]["multipart/form-data"]["schema"][
        "$ref"
    ]
    form = schema["components"]["schemas"][reference.rpartition("/")[2]]
    assert form["properties"]["run"]["format"] == "binary"
    assert sorted(form["required"]) == ["run", "system"]
    told = {"wall_seconds", "cpu_seconds", "memory_mib", "gpu_seconds", "mauve"}
    told |= {"tokens", "cost_usd", "seeds_of"}
    said = {"run", "system", "team", "description", "kind", "metadata", "priority"}
    mended = {"repair", "encoding"}
    assert set(form["properties"]) == {*said, *mended, *told, *RUN_CARD_FIELDS}
    assert "Idempotency-Key" in [
        parameter["name"] for parameter in operation["parameters"]
    ]


def test_every_request_and_answer_has_an_example_that_holds_to_its_description(schema):
    components, made = schema["components"]["schemas"], {}
    found = 0
    for name, operation in operations(schema):
        bodies = {**operation["responses"], "request": operation.get("requestBody", {})}
        for code, body in bodies.items():
            for media in body.get("content", {}).values():
                if "$ref" in media["schema"]:
                    validator = Draft202012Validator(
                        strict(media["schema"], components, made)
                    )
                    example = media["example"]
                    if code == "request":
                        # A file has no example; everything else of a form has.
                        example = {
                            **dict.fromkeys(("run", "file"), "(a file)"),
                            **example,
                        }
                        validator = Draft202012Validator(
                            {
                                **strict(media["schema"], components, made),
                                "additionalProperties": True,
                            }
                        )
                    faults = [
                        f"{fault.json_path}: {fault.message}"
                        for fault in validator.iter_errors(example)
                    ]
                    assert faults == [], (name, code)
                    found += 1
    assert found > 150


def test_the_guide_names_every_operation_of_the_api(schema):
    guide = unescape(Client().get(reverse("guide", args=["api"])).content.decode())
    for operation, _ in operations(schema):
        method, _, path = operation.partition(" ")
        assert f"<code>{method.upper()} {path}</code>" in guide, operation


def test_acts_of_organisers_name_by_what_one_goes_on_before_the_time(schema):
    posted = dict(operations(schema))
    going_on = {"let_out_task", "let_out_reason"}
    for name in ("post /api/v1/phases/{id}/board/", "post /api/v1/tasks/{id}/gold/"):
        assert going_on <= {
            parameter["name"] for parameter in posted[name]["parameters"]
        }
        assert posted[name]["responses"]["409"]["content"]["application/json"][
            "schema"
        ]["$ref"].endswith("TooEarly")
    assert not going_on & {
        one["name"]
        for one in posted["post /api/v1/phases/{id}/submissions/"]["parameters"]
    }
