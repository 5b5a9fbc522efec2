"""No answer of the site to those who may not read hidden gold follows from it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator

from tests.access.permitted import PERMITTED, is_of_hidden_board, is_permitted
from tests.access.questions import questions_are_noted  # noqa: F401  (a fixture)
from tests.access.scene import Scene
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
    sent_by,
)
from tests.declared.small_tasks import Secrets
from tests.mass import IS_FULL, mass

pytestmark = pytest.mark.django_db

#: A visitor, an account, a team, the organiser of another season; in `make proofs` a helper too.
ROLES = ("visitor", "reader", "member", "elsewhere", *mass((), ("helper",)))
RIVAL = "rival"
#: What pages are asked beside their addresses in `make proofs`, where they read it.
QUERIES = (
    "?rules=corrected", "?rank=significance", "?sort=macro_f1", "?q=1", "?columns=all", "?score=1",
    "?as=others", "?dimension=intent", "?class=method", "?instance=q22", "?id=q22", "?outcome=only-a",
    "?tests=now", "?view=classes", "?view=over-time", "?view=confidence", "?view=metrics", "?view=cite",
)  # fmt: skip
#: Acts that the suite tries as a member of the team.
POSTED_IN_SUITE = ("api:check", "api:submit")
#: Addresses that the suite asks as every role.
READ_BY_EACH = ("season", "task", "board", "api:leaderboard", "api:phase")
#: Pages that show no season.
OF_NO_SEASON = ("api:schema", "client", "client-file", "guide", "guides")
#: Parts of which the suite asks every address; of others those that have numbers.
READ_WHOLE = ("", "labels", RIVAL)
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
        is_whole = IS_FULL or part in READ_WHOLE
        for name in OUR_ROUTES if is_whole else NUMBERS:
            try:
                path = address(name, scene)
            except KeyError:
                # The rival's season does not have everything.
                continue
            if not part or path != found["", name]:
                found[part, name] = path
    return found


def is_asked(request: Request, roles: Sequence[str], part_names: set[str]) -> bool:
    """Leave out what nobody may do; in the suite, most of what an earlier role may too."""
    status = status_of(request, request.role)
    if IS_FULL:
        # The table is of the scene's phase: others may have what that lacks.
        return status not in ((405,) if request.method == "GET" else (401, 404, 405))
    if request.method != "GET":
        is_tried = request.role == "member" and request.name in POSTED_IN_SUITE
        is_guess = request.part == RIVAL and "gold" in request.name
        return (is_tried or is_guess) and status not in (302, 401, 404, 405)
    if request.name in OF_NO_SEASON or (
        not request.part and request.name in part_names
    ):
        return False
    earlier = roles[: roles.index(request.role)]
    is_new = all(status_of(request, role) != 200 for role in earlier)
    is_repeated = request.name in READ_BY_EACH and request.part in (
        *READ_WHOLE,
        HIDDEN,
    )
    return status == 200 and (is_new or is_repeated)


def status_of(request: Request, role: str) -> int:
    """Return the answer of the table of access; a rival organises the own season."""
    if request.part == RIVAL:
        role = "organiser" if role == "elsewhere" else "visitor"
    return expected(request.name, request.method, role)


def requests(world: World, roles: Sequence[str]) -> Iterator[tuple[Request, str]]:
    paths = addresses(world)
    part_names = {name for part, name in paths if part}
    for role in roles:
        for (part, name), path in paths.items():
            if part == RIVAL and role != "elsewhere":
                continue
            for method in METHODS:
                request = Request(role, method, part, name)
                if is_asked(request, roles, part_names):
                    yield request, path


def queries_of(response: HttpResponse, scene: Scene) -> Iterator[str]:
    """Return the queries that the page reads, in `make proofs` alone."""
    if not IS_FULL or response.status_code != 200:
        return
    own, other = scene.run.pk, scene.run.pk + 1
    pairs = (f"?a={own}&b={other}", f"?run={own}&run={other}", f"?system={own}")
    yield from filter(response.wsgi_request.GET.reads, (*QUERIES, *pairs))


def body_of(request: Request, world: World) -> dict:
    upload = SimpleUploadedFile("run.jsonl", world.run)
    if request.name in ("api:check", "api:submit", "upload"):
        return {"run": upload, "system": "Mine", "team": world.scene.team.slug}
    if request.part == RIVAL and "gold" in request.name:
        guesses = SimpleUploadedFile("gold.jsonl", world.rival.guesses + b"\n")
        return {"file": guesses, "gold": guesses, "reason": "A guess."}
    team = {"team": world.scene.team.slug} if takes_team(request.name) else {}
    return POSTED.get(request.name, team)


@dataclass
class Walk:
    """Ask everything as each role, and keep the answers."""

    laboratory: Laboratory
    world: World
    found: dict[Request, Answer] = field(default_factory=dict)

    def ask(self, client: Client, request: Request, path: str) -> HttpResponse:
        """Roll back what the request did."""
        self.laboratory.chance.begin(str(request))
        cookies = client.cookies.copy()
        with transaction.atomic():
            act = getattr(client, request.method.lower())
            body = [body_of(request, self.world)] if request.method == "POST" else []
            response = act(path, *body)
            self.found[request] = answer_of(response)
            transaction.set_rollback(True)
        client.cookies = cookies
        return response

    def walk(self, roles: Sequence[str]) -> dict[Request, Answer]:
        clients: dict[str, Client] = {}
        scenes = scenes_of(self.world)
        for request, path in requests(self.world, roles):
            if request.role not in clients:
                clients[request.role] = client = Client()
                if person := self.world.scene.people[request.role]:
                    client.force_login(person)
            client = clients[request.role]
            response = self.ask(client, request, path)
            for query in queries_of(response, scenes[request.part]):
                self.ask(client, request._replace(query=query), path + query)
        return self.found


def answers(
    laboratory: Laboratory,  # noqa: F811
    secrets: Secrets,
    roles: Sequence[str],
) -> dict[Request, Answer]:
    with laboratory.world(secrets) as world:
        sent = sent_by(world) if IS_FULL else {}
        return sent | Walk(laboratory, world).walk(roles)


def differences(
    one: dict[Request, Answer],
    other: dict[Request, Answer],
    is_expected: Callable[[Request], bool],
) -> dict[Request, str]:
    """Return the differing answers that are not expected to differ, and where they do."""
    assert one.keys() == other.keys()
    return {
        request: difference(one[request], other[request])
        for request in one
        if one[request] != other[request] and not is_expected(request)
    }


@pytest.mark.slow
@pytest.mark.mass
@pytest.mark.usefixtures("questions_are_noted")
@pytest.mark.parametrize(
    "roles", mass([ROLES], [(role,) for role in ROLES]), ids=" ".join
)
def test_no_answer_depends_on_hidden_answers(laboratory, roles):  # noqa: F811
    one = answers(laboratory, Secrets.OWN, roles)
    other = answers(laboratory, Secrets.SWAPPED, roles)
    assert differences(one, other, is_of_hidden_board) == {}


@pytest.mark.proof
@pytest.mark.usefixtures("questions_are_noted")
@pytest.mark.parametrize("role", ROLES)
def test_other_class_sizes_change_only_what_the_table_lists(laboratory, role):  # noqa: F811
    one = answers(laboratory, Secrets.OWN, (role,))
    other = answers(laboratory, Secrets.RESIZED, (role,))
    assert differences(one, other, is_permitted) == {}
    differing = [request for request in one if one[request] != other[request]]
    unused = [row.fact for row in PERMITTED if not any(map(row.applies, differing))]
    assert not unused or role != "helper"


def test_the_guide_on_security_has_the_table_of_what_answers_may_tell():
    guide = (settings.BASE_DIR / "docs" / "security.md").read_text(encoding="utf-8")
    assert [row.line for row in PERMITTED if row.line not in guide] == []


def test_every_operation_of_the_schema_is_among_the_addresses():
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    for path in paths:
        view = resolve(re.sub(r"\{\w+\}", "1", path))
        assert view.view_name in OUR_ROUTES, path
