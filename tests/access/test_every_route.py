"""Who may open and change what: one table over every address and method, and one without a row fails."""

import io
import re
import zipfile
from dataclasses import dataclass

import pytest
from django.db import transaction
from django.urls import resolve, reverse
from rest_framework.test import APIRequestFactory

from citeboard.core.sessions import SessionStore
from citeboard.teams.models import User
from tasks.models import Gold, Organiser, Phase, Season
from tests import factories
from tests.access.scene import (
    EVERY_ROLE,
    GOLD,
    INPUTS,
    ROLES,
    SCORE_SHOWN,
    SYSTEM,
    Scene,
    asked_as,
    beside,
    make_scene,
    mount_archive,
    routes,
    score_beside,
    without_instants,
)
from tests.access.table import (
    ADD_A_ROW,
    METHODS,
    OUR_ROUTES,
    ROUTES,
    TABLE,
    address,
    ask,
    expected,
    has_row,
    row,
    sign_in,
    with_rows,
)
from tests.kept_worlds import KeptWorld, keep_world

pytestmark = pytest.mark.django_db

WATCHING = ("organiser", "staff")
OTHERS = ("visitor", "reader", "stranger", "removed", "elsewhere")
#: The role that sees most opens every page on PostgreSQL too.
WALKERS = [
    *asked_as(role for role in EVERY_ROLE if role != "organiser"),
    pytest.param("organiser", marks=pytest.mark.both_databases),
]


def test_every_address_has_a_row():
    lacking = [name for name in routes() if not has_row(name)]
    assert lacking == [], f"{', '.join(lacking)}: {ADD_A_ROW}"


def test_the_row_of_an_unknown_address_is_an_error_that_says_where_to_add_it():
    with pytest.raises(LookupError, match=r"'no-such-page' .* tests/access/table\.py"):
        row("no-such-page")


def test_walks_leave_out_an_address_without_a_row():
    home = ROUTES["home"]
    assert with_rows({"home": home, "no-such-page": home}) == {"home": home}


def test_every_row_is_an_address():
    assert [
        name for name in TABLE if name not in ROUTES and not name.endswith("*")
    ] == []


def test_every_row_has_an_answer_to_each_role_by_each_method():
    assert [
        (name, method)
        for name in TABLE
        for method in METHODS
        if len(getattr(TABLE[name], method)) != len(ROLES)
    ] == []


#: The name and the score of a run whose phase shows its board to organisers alone.
HIDDEN_SYSTEM, HIDDEN_SCORE, HIDDEN_SCORE_SHOWN = "Covert system", 0.618, "0.618"


@dataclass
class Scenes:
    """The scene, and the same with a phase beside its own that hides what stands on its board."""

    open: Scene
    hidden: Scene


def make_scenes() -> Scenes:
    scene = make_scene()
    hidden = beside(scene, "hidden")
    score_beside(hidden, HIDDEN_SYSTEM, HIDDEN_SCORE)
    Phase.objects.filter(pk=hidden.phase.pk).update(board="organisers", version=2)
    hidden.phase.refresh_from_db()
    return Scenes(scene, hidden)


@pytest.fixture(scope="module")
def kept_scenes(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_scenes, django_db_blocker)


@pytest.fixture
def scenes(db, kept_scenes) -> Scenes:
    mount_archive()
    return kept_scenes()


@pytest.fixture
def scene(scenes) -> Scene:
    return scenes.open


def walk(
    client,
    scene,
    role,
    names,
    methods=METHODS,
    phase=None,
    *,
    with_refused_methods=True,
):
    """Give each answer; whatever it changes is undone before the next one."""
    sign_in(client, scene, role)
    signed_in = client.cookies.copy()
    for name in names:
        for method in methods:
            if not with_refused_methods and is_refused(name, method, role):
                continue
            client.cookies = signed_in.copy()
            with transaction.atomic():
                yield name, method, ask(client, name, method, scene, phase)
                transaction.set_rollback(True)


def is_refused(name: str, method: str, role: str) -> bool:
    return expected(name, method, role) == 405


@pytest.mark.parametrize("role", WALKERS)
def test_each_role_gets_the_answer_of_the_table(client, scene, role):
    """And nobody but organisers is told of inputs of a phase that has not opened, or of a hidden board.

    The site is asked as a visitor by methods that an address refuses; as any other role the tests below ask
    its view, and the site as an organiser.
    """
    found, wanted = {}, {}
    secrets = (GOLD,) if role in WATCHING else (GOLD, *secrets_of(scene.later))
    if role in OTHERS:
        secrets += HIDDEN_SYSTEM, HIDDEN_SCORE_SHOWN
    answers = walk(
        client,
        scene,
        role,
        OUR_ROUTES,
        with_refused_methods=role == "visitor",
    )
    for name, method, response in answers:
        found[name, method] = response.status_code
        wanted[name, method] = expected(name, method, role)
        said = text_of(response)
        assert [secret for secret in secrets if secret in said] == [], (name, method)
        if response.status_code == 405:
            assert_shows_no_run(said, name, method)
    assert {key: code for key, code in found.items() if code != wanted[key]} == {}


def assert_shows_no_run(said: str, *where: str) -> None:
    assert SCORE_SHOWN not in said, where
    assert SYSTEM not in said, where


@pytest.mark.whole_table
def test_the_site_refuses_an_organiser_the_methods_that_the_table_refuses(
    client, scene
):
    for method in METHODS:
        names = [name for name in OUR_ROUTES if is_refused(name, method, "organiser")]
        for name, _, response in walk(client, scene, "organiser", names, [method]):
            assert response.status_code == 405, (name, method)
            assert_shows_no_run(text_of(response), name, method)


@pytest.mark.parametrize(
    "role", asked_as([role for role in EVERY_ROLE if role != "visitor"])
)
def test_a_view_refuses_the_methods_that_the_table_refuses_to_the_role(scene, role):
    """By itself, without the site around it, which the tests above ask."""
    person = scene.people[role]
    found = {}
    for name in OUR_ROUTES:
        path = address(name, scene)
        for method in METHODS:
            if is_refused(name, method, role):
                found[name, method] = answer_of_view(path, method, person)
    assert len(found) > 800
    assert {key: code for key, code in found.items() if code != 405} == {}


def answer_of_view(path: str, method: str, person: User) -> int:
    """Ask the view without the site around it, which would read the session each time."""
    request = APIRequestFactory().generic(method, path)
    request.user = person
    request.session = SessionStore()
    view = resolve(path)
    return view.func(request, *view.args, **view.kwargs).status_code


@pytest.mark.parametrize("role", ["visitor", "organiser"])
def test_the_admin_asks_everybody_who_is_not_staff_to_sign_in(client, scene, role):
    names = [
        name
        for name, pattern in ROUTES.items()
        if name.startswith("admin:") and pattern.name
    ]
    for name, method, response in walk(client, scene, role, names):
        assert response.status_code == expected(name, method, role), (name, method)


OF_A_SEASON = [
    name
    for name in ROUTES
    if "season" in getattr(ROUTES[name].pattern, "converters", {})
]
IN_THE_API = (
    "season", "task", "phase", "leaderboard", "submit", "check", "bundle",
    "registrations", "registration", "decide", "announcement", "open", "close", "terms", "acceptances",
    "season-file", "clone", "history", "times", "extra-tries", "board", "reveal",
    "season-runs", "counting-runs", "errata", "gold", "export", "people", "ask-to-join",
    "season-merge", "receipts", "published", "several", "outside", "questions", "announcements",
    "overview-paper", "overview-paper-files", "overview-paper-archive",
)  # fmt: skip
OF_A_SEASON += [f"api:{name}" for name in IN_THE_API]


#: Everybody is sent on from there.
LEAD_ELSEWHERE = ("cite", "overview-paper-zip")


@pytest.mark.parametrize("role", asked_as(OTHERS))
def test_nothing_of_a_draft_season_is_there_for_others(client, scene, role):
    """Not even that there is such an address; who is in a team of the season is a stranger to it as well.

    A method that an address refuses is refused before its season is looked for.
    """
    Season.objects.filter(pk=scene.phase.task.season_id).update(is_public=False)
    answers = walk(client, scene, role, OF_A_SEASON, with_refused_methods=False)
    for name, method, response in answers:
        code = expected(name, method, role)
        asks_to_sign_in = (
            role == "visitor" and code in (302, 401) and name not in LEAD_ELSEWHERE
        )
        assert response.status_code == (code if asks_to_sign_in else 404), (
            name,
            method,
        )


def test_whoever_opens_the_address_of_a_form_is_led_to_a_page(client, scene):
    """Every address that takes posts alone, and none of them to another one that does."""
    names = [
        name
        for name in OUR_ROUTES
        if ":" not in name and expected(name, "GET", "organiser") == 405
    ]
    assert len(names) > 30
    leads = {}
    for name, _, response in walk(client, scene, "organiser", names, ["GET"]):
        assert "POST" in response["Allow"], name
        leads[name] = re.search(
            r'<a href="([^"]+)">The page above it', response.said.decode()
        )[1]
    assert [
        path
        for path in sorted(set(leads.values()))
        if client.get(path).status_code == 405
    ] == []
    assert leads["enter"] == reverse("season", args=[scene.phase.task.season.slug])
    assert leads["submission-withdraw"] == reverse("submission", args=[scene.run.pk])


@pytest.mark.parametrize("name", ["api:invitations", "api:merges"])
def test_lists_for_the_lead_of_a_team_are_not_for_its_other_members(
    client, scene, name
):
    for person, code in (("member", 200), ("mate", 403)):
        sign_in(client, scene, person)
        assert ask(client, name, "GET", scene).status_code == code, person


def text_of(response) -> str:
    """What the answer says, archives unpacked, and where it sends to."""
    body = response.said
    if body.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            body = b"\n".join(
                name.encode() + archive.read(name) for name in archive.namelist()
            )
    return without_instants(
        response.get("Location", "") + body.decode("utf-8", "replace")
    )


def secrets_of(phase) -> tuple[str, ...]:
    gold = Gold.objects.current(phase)
    return INPUTS, gold.plain_digest[:12], gold.nonce


@pytest.mark.parametrize(
    "role", asked_as([role for role in EVERY_ROLE if role not in WATCHING])
)
def test_inputs_of_a_phase_that_has_not_opened_are_there_for_its_organisers_alone(
    client, scene, role
):
    """On its own addresses; on all others the first test looks for them."""
    of_the_phase = [
        name
        for name in OUR_ROUTES
        if address(name, scene) != address(name, scene, scene.later)
    ]
    assert len(of_the_phase) > 50
    answers = walk(
        client,
        scene,
        role,
        of_the_phase,
        ("GET", "POST"),
        scene.later,
        with_refused_methods=False,
    )
    secrets = secrets_of(scene.later)
    told = {
        (name, method)
        for name, method, response in answers
        if any(secret in text_of(response) for secret in secrets)
    }
    assert told == set()


@pytest.mark.parametrize("role", WATCHING)
def test_its_organisers_get_the_inputs_of_a_phase_that_has_not_opened(
    client, scene, role
):
    """So that the test above looks for what would be there."""
    sign_in(client, scene, role)
    assert INPUTS in text_of(ask(client, "inputs", "GET", scene, scene.later))


@pytest.mark.parametrize("role", asked_as(OTHERS))
def test_no_address_of_a_phase_tells_a_hidden_score_or_name_to_those_it_is_hidden_from(
    client, scenes, role
):
    """On those of the phase, its run and the like; on all others the first test looks for them.

    A method that an address refuses tells nothing to anybody: the first test looks at those.
    """
    hidden = scenes.hidden
    own = [
        name
        for name in OUR_ROUTES
        if address(name, hidden) != address(name, scenes.open)
    ]
    assert len(own) > 100
    for name, method, response in walk(
        client, hidden, role, own, with_refused_methods=False
    ):
        said = text_of(response)
        assert HIDDEN_SCORE_SHOWN not in said, (name, method)
        assert HIDDEN_SYSTEM not in said, (name, method)


def same_content(phase) -> Phase:
    """A phase of another season of the same organisers that hides its board, on a split that has one of the
    same topics.
    """
    season = factories.make_season()
    for organiser in phase.task.season.organisers.filter(role=Organiser.Role.ORGANISER):
        Organiser.objects.create(season=season, user=organiser.user)
    other = factories.make_phase(
        task=factories.make_task(season=season), board="organisers", with_gold=False
    )
    factories.make_gold(
        phase=other,
        citances=factories.CITANCES,
        topics=[factories.TOPICS[0], "X00-0001"],
    )
    return other


@pytest.mark.parametrize("role", ["visitor", "member"])
def test_no_address_tells_numbers_on_content_that_another_season_of_its_organisers_hides(
    client, scene, role
):
    """The run's own page tells its team as little: what is secret goes by content."""
    named = [name for name in OUR_ROUTES if expected(name, "GET", role) == 200]
    sign_in(client, scene, role)
    for name in ("board", "standing", "board-csv", "api:leaderboard"):
        assert SCORE_SHOWN in text_of(ask(client, name, "GET", scene)), name
    hiding = same_content(scene.phase)
    told = {
        name
        for name in named
        if SCORE_SHOWN in text_of(ask(client, name, "GET", scene))
    }
    assert told == set()
    Phase.objects.filter(pk=hiding.pk).update(board="everyone")
    assert SCORE_SHOWN in text_of(ask(client, "board", "GET", scene))


def test_who_may_see_them_sees_the_score_the_name_and_the_inputs(client, scenes):
    """So that the tests above look for what would be there."""
    scene = scenes.open
    sign_in(client, scene, "visitor")
    board = text_of(ask(client, "board", "GET", scene))
    assert SCORE_SHOWN in board
    assert SYSTEM in board
    Phase.objects.update(opens="2026-01-01T00:00:00Z", board="everyone", version=3)
    for name in (
        "board",
        "standing",
        "team-system",
        "team-results",
        "api:season",
        "api:task",
    ):
        said = text_of(ask(client, name, "GET", scenes.hidden))
        assert HIDDEN_SCORE_SHOWN in said, name
        assert HIDDEN_SYSTEM in said, name
    assert INPUTS in text_of(ask(client, "inputs", "GET", scene, scene.later))
