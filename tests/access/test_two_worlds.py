"""No answer of the site to those who may not read hidden gold follows from it."""

import re
from collections.abc import Iterator

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator

from tests.access.table import (
    METHODS,
    OUR_ROUTES,
    POSTED,
    address,
    expected,
    takes_team,
)
from tests.access.two_worlds import (
    HIDDEN,
    Answer,
    Laboratory,
    Request,
    World,
    answer_of,
    difference,
    laboratory,  # noqa: F401  (a fixture)
)
from tests.mass import IS_FULL

pytestmark = pytest.mark.django_db

#: A visitor, an account, a team, the organiser of another season.
ROLES = ("visitor", "reader", "member", "elsewhere")
RIVAL = "rival"
#: Acts that the suite tries, and addresses that it asks as every role.
POSTED_IN_SUITE = ("api:check", "api:submit", "api:gold", "organise-gold")
READ_BY_EACH = ("season", "task", "board", "api:leaderboard", "api:phase")
#: Parts of which the suite asks every address; of others those that have numbers.
READ_WHOLE = ("", "labels", HIDDEN, RIVAL)
NUMBERS = (
    *READ_BY_EACH, "api:task", "api:receipts", "api:submission", "board-csv", "board-json", "board-xlsx",
    "classes-csv", "classes-json", "compare", "confidence", "croissant", "differences", "gold-changes",
    "inputs", "instances", "snapshot-json", "standing", "submission", "submission-instances", "thresholds",
)  # fmt: skip


def scenes_of(world: World) -> dict[str, object]:
    return {"": world.scene, **world.parts, RIVAL: world.rival}


def addresses(world: World) -> dict[tuple[str, str], str]:
    """Return the paths by part and name: those of a part are not those of the scene."""
    found: dict[tuple[str, str], str] = {}
    for part, scene in scenes_of(world).items():
        for name in OUR_ROUTES:
            try:
                path = address(name, scene)
            except KeyError:
                # The rival's season does not have everything.
                continue
            if not part or path != found["", name]:
                found[part, name] = path
    return found


def is_asked(request: Request, part_names: set[str]) -> bool:
    """Leave out what the role may not do; in the suite, most of what an earlier role may too."""
    status = status_of(request, request.role)
    if IS_FULL:
        return status not in (401, 404, 405)
    if request.method != "GET":
        return request.name in POSTED_IN_SUITE and status not in (302, 401, 404, 405)
    if not request.part and request.name in part_names:
        return False
    if request.part not in READ_WHOLE and request.name not in NUMBERS:
        return False
    earlier = ROLES[: ROLES.index(request.role)]
    is_new = all(status_of(request, role) != 200 for role in earlier)
    is_repeated = request.name in READ_BY_EACH and request.part in READ_WHOLE
    return status == 200 and (is_new or is_repeated)


def status_of(request: Request, role: str) -> int:
    """Return the answer of the table of access; a rival organises the own season."""
    if request.part == RIVAL:
        role = "organiser" if role == "elsewhere" else "visitor"
    return expected(request.name, request.method, role)


def requests(world: World) -> Iterator[tuple[Request, str]]:
    paths = addresses(world)
    part_names = {name for part, name in paths if part}
    for role in ROLES:
        for (part, name), path in paths.items():
            if part == RIVAL and role != "elsewhere":
                continue
            for method in METHODS:
                request = Request(role, method, part, name)
                if is_asked(request, part_names):
                    yield request, path


def body_of(request: Request, world: World) -> dict:
    upload = SimpleUploadedFile("run.jsonl", world.run)
    if request.name in ("api:check", "api:submit", "upload"):
        return {"run": upload, "system": "Mine", "team": world.scene.team.slug}
    if request.part == RIVAL and "gold" in request.name:
        guesses = SimpleUploadedFile("gold.jsonl", world.rival.guesses + b"\n")
        return {"file": guesses, "gold": guesses, "reason": "A guess."}
    team = {"team": world.scene.team.slug} if takes_team(request.name) else {}
    return POSTED.get(request.name, team)


def answers(laboratory: Laboratory, *, is_swapped: bool) -> dict[Request, Answer]:  # noqa: F811
    found, clients = {}, {}
    with laboratory.world(is_swapped=is_swapped) as world:
        for request, path in requests(world):
            laboratory.chance.begin(str(request))
            if request.role not in clients:
                clients[request.role] = client = Client()
                if person := world.scene.people[request.role]:
                    client.force_login(person)
            client, cookies = (
                clients[request.role],
                clients[request.role].cookies.copy(),
            )
            with transaction.atomic():
                ask = getattr(client, request.method.lower())
                body = [body_of(request, world)] if request.method == "POST" else []
                response = ask(path, *body)
                found[request] = answer_of(response)
                transaction.set_rollback(True)
            client.cookies = cookies
    return found


def test_no_answer_depends_on_hidden_answers(laboratory):  # noqa: F811
    one = answers(laboratory, is_swapped=False)
    other = answers(laboratory, is_swapped=True)
    assert one.keys() == other.keys()
    told = {
        request: difference(one[request], other[request])
        for request in one
        if one[request] != other[request]
    }
    assert told == {}


def test_every_operation_of_the_schema_is_among_the_addresses():
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    for path in paths:
        view = resolve(re.sub(r"\{\w+\}", "1", path))
        assert view.view_name in OUR_ROUTES, path
