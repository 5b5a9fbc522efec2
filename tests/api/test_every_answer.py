"""Every answer about every task type holds to the description: each field is described, and has its type."""

from functools import cache

import pytest
from django.test import Client
from jsonschema import Draft202012Validator

from tasks.gold.gold_files import load_gold
from tasks.types import task_types
from tests.api.conftest import API
from tests.api.sending import score
from tests.factories import make_phase, make_submission, make_task
from tests.tasks.test_every_type import sample, sample_options

TYPES = task_types()


def strict(part, components, made: dict | None = None):
    """A part of the description as JSON Schema in which a field that is not described is an error.

    ``made`` keeps components for other parts of the same description.
    """
    made = {} if made is None else made
    if isinstance(part, list):
        return [strict(each, components, made) for each in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        if name not in made:
            made[name] = strict(components[name], components, made)
        return made[name]
    own = {
        name: strict(value, components, made)
        for name, value in part.items()
        if name != "nullable"
    }
    if "properties" in own:
        own.setdefault("additionalProperties", False)
    return _nullable(own, is_nullable=part.get("nullable", False))


def _nullable(schema, *, is_nullable: bool):
    return {"anyOf": [schema, {"type": "null"}]} if is_nullable else schema


@pytest.fixture
def described(db):
    return answers_as_described()


@cache
def answers_as_described() -> dict[str, Draft202012Validator]:
    """By operation, the strict schema of its answer; the description is the same for every test."""
    schema = Client().get(f"{API}/schema/").json()
    components, made = schema["components"]["schemas"], {}
    return {
        operation["operationId"]: Draft202012Validator(
            strict(response["content"]["application/json"]["schema"], components, made)
        )
        for methods in schema["paths"].values()
        for operation in methods.values()
        for code, response in operation["responses"].items()
        if code.startswith("2") and "application/json" in response.get("content", {})
    }


@pytest.fixture(params=sorted(TYPES))
def scored_sample(request, world):
    """A run of the type's own sample that was scored, in a season of the world."""
    kind = TYPES[request.param]
    gold, run, _ = sample(kind)
    options = dict(
        word.split("=", 1) for word in sample_options(kind) if word != "--option"
    )
    task = make_task(
        season=world.season, type=kind.slug, rules=list(kind.rules), options=options
    )
    phase = make_phase(task=task, with_gold=False)
    load_gold(task=task, split=phase.split, paths=gold, reason="the sample")
    submission = make_submission(phase=phase, team=world.team, content=run.read_bytes())
    score(submission)
    return submission


def answers(world, run, role):
    ask = world.ask(role)
    phase = run.phase
    own = (
        {"submission": f"submissions/{run.pk}/", "submissions": "submissions/"}
        if role != "visitor"
        else {}
    )
    for operation, path in {
        "seasons": "seasons/",
        "season": f"seasons/{phase.task.season.slug}/",
        "task": f"tasks/{phase.task_id}/",
        "phase": f"phases/{phase.pk}/",
        "leaderboard": f"phases/{phase.pk}/leaderboard/",
        **own,
    }.items():
        yield operation, ask.get(f"{API}/{path}")


def test_every_field_of_every_answer_is_as_described_and_a_scored_sample_has_numbers_to_look_at(
    world, described, scored_sample
):
    for role in ("visitor", "member", "organiser"):
        for operation, response in answers(world, scored_sample, role):
            assert response.status_code == 200, (role, operation)
            faults = described[operation].iter_errors(response.json())
            assert [f"{fault.json_path}: {fault.message}" for fault in faults] == [], (
                role,
                operation,
            )
    body = world.member.get(f"{API}/submissions/{scored_sample.pk}/").json()
    assert body["status"] == "scored"
    names = [evaluation["rules"] for evaluation in body["evaluations"]]
    assert names == scored_sample.phase.task.rules
    assert all(evaluation["metrics"] for evaluation in body["evaluations"])
    board = world.member.get(
        f"{API}/phases/{scored_sample.phase_id}/leaderboard/"
    ).json()
    assert board["rows"][0]["scores"]


def test_a_field_that_is_not_described_would_be_found(described):
    [fault] = described["seasons"].iter_errors(
        {"count": 0, "next": None, "previous": None, "results": [], "more": 1}
    )
    assert "more" in fault.message
