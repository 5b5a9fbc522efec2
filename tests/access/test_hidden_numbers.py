"""Numbers that a phase hides stay hidden on every address: people's ratings and what teams report as well."""

import datetime as dt

import pytest
from django.urls import reverse
from django.urls.converters import IntConverter
from django.utils import timezone

from scoring.models import CRITERIA, HumanScore, OutsideMeasure, OutsideScore
from tasks.models import Phase, Season, Submission, TeamFigure
from tests.access.questions import questions_are_noted  # noqa: F401  (a fixture is found by being here)
from tests.access.scene import SYSTEM, Scene, make_scene, without_instants
from tests.access.table import ROUTES, address, is_read, named
from tests.kept_worlds import KeptWorld, keep_world

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("questions_are_noted")]

#: As a page, an export or the API would begin to write them.
SCORE, RATED, REPORTED, OUTSIDE = "0.734", "4.734", "734,159", "8.734"
#: What the card of a run says, a link in it that leads to its team, and what was measured elsewhere.
CARD, CARD_LINK, MEASURE = "Canary corpus", "https://canary.example.org/team", "Canary measure"
#: Public addresses that have the name of a team in them.
NAME_A_TEAM = (
    "team-badge", "team-system-badge", "team-results", "team-feed", "team-system", "team-system-feed",
    "api:team-results", "api:team-system",
)  # fmt: skip
QUESTIONS = (
    "?rules=corrected",
    "?rank=significance",
    "?cost=wall_seconds",
    "?score=1",
    "?format=json&systems=1",
)


def make_measured_scene() -> Scene:
    scene = make_scene()
    scene.run.evaluations.get().scores.update(value=0.734159)
    scene.sheet.published_at = scene.sheet.created_at
    scene.sheet.save()
    HumanScore.objects.bulk_create(
        HumanScore(
            sheet=scene.sheet, submission=scene.run, criterion=name, value=4.734159, n=3, signature="human"
        )
        for name in CRITERIA
    )
    TeamFigure.objects.create(submission=scene.run, phase=scene.phase, name="wall_seconds", value=734159)
    measure = OutsideMeasure.objects.create(phase=scene.phase, name=MEASURE, source="Canary laboratory")
    OutsideScore.objects.create(measure=measure, submission=scene.run, value=8.734159)
    Submission.objects.filter(pk=scene.run.pk).update(card={"training_data": CARD, "code": CARD_LINK})
    return scene


@pytest.fixture(scope="module")
def kept_scene(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_measured_scene, django_db_blocker)


def by_phase():
    Phase.objects.update(shows_teams=False, version=2)


def by_season():
    Season.objects.update(anonymous_until=timezone.now() + dt.timedelta(days=1))


def bodies(client, scene: Scene, role: str, where: str = ""):
    """Of every address, or those whose names begin so."""
    client.logout()
    if person := scene.people[role]:
        client.force_login(person)
    for name in ROUTES:
        if name.startswith(where) and is_read(name) and not name.startswith("admin:"):
            response = client.get(address(name, scene))
            yield name, read_to_its_end(response)
            # What is not there, or not theirs, does not become so by a question.
            if response.status_code == 200:
                for query in filter(response.wsgi_request.GET.reads, QUESTIONS):
                    yield name + query, read_to_its_end(client.get(address(name, scene) + query))


def read_to_its_end(response) -> str:
    return without_instants(response.getvalue().decode("utf-8", "replace"))


@pytest.mark.parametrize("choice", ["ranks", "organisers", "nobody"])
@pytest.mark.parametrize("role", ["visitor", "stranger"])
def test_no_form_of_any_address_tells_them_to_others(client, scene, choice, role):
    Phase.objects.update(board=choice, shows_instances=True, version=2)
    for where, body in bodies(client, scene, role):
        for number in (SCORE, RATED, REPORTED, "734159", OUTSIDE, MEASURE, "Canary laboratory"):
            assert number not in body, where
        if choice != "ranks":
            # With ranks a row says how its system was made.
            assert CARD not in body, where


@pytest.mark.parametrize("role", ["visitor", "stranger", "member"])
def test_a_frozen_board_tells_no_number_that_came_later_on_any_address(client, scene, role):
    earlier = timezone.now() - dt.timedelta(days=1)
    Phase.objects.update(board="everyone", frozen_from=earlier, shows_instances=True, version=2)
    scene.sheet.published_at = timezone.now()
    scene.sheet.save()
    for where, body in bodies(client, scene, role):
        for number in (SCORE, RATED):
            assert number not in body, where


@pytest.mark.parametrize("role", ["visitor", "stranger", "member"])
def test_until_its_instant_a_board_tells_no_number_on_any_address(client, scene, role):
    later = timezone.now() + dt.timedelta(days=1)
    Phase.objects.update(
        board="nobody", board_from=later, board_then="everyone", shows_instances=True, version=2
    )
    for where, body in bodies(client, scene, role):
        own = () if role == "member" else (REPORTED, "734159", CARD)
        for number in (SCORE, RATED, OUTSIDE, MEASURE, *own):
            assert number not in body, where


@pytest.mark.parametrize("own", ["", "nothing", "scored"])
@pytest.mark.parametrize("choice", ["ranks", "organisers", "nobody"])
def test_a_team_learns_no_score_of_its_own_unless_the_phase_says_so(client, scene, choice, own):
    Phase.objects.update(board=choice, own_scores=own, shows_instances=True, version=2)
    for where, body in bodies(client, scene, "member"):
        for number in (SCORE, RATED, OUTSIDE, MEASURE):
            assert number not in body, where


def test_what_was_measured_elsewhere_and_cards_are_there_where_the_board_shows_scores(client, scene):
    """So that the tests above look for what would be there, on pages, in exports and in the API."""
    Phase.objects.update(version=2)
    said = dict(bodies(client, scene, "visitor"))
    names = ("outside", "board-csv", "board-json", "board-tex", "api:outside")
    assert [name for name in names if OUTSIDE not in said[name]] == []
    assert [name for name in ("board-csv", "board-json") if CARD not in said[name]] == []
    assert {"board?rank=significance", "differences?rules=corrected", "costs?cost=wall_seconds"} <= set(said)
    assert "imprint?score=1" not in said


@pytest.mark.parametrize("choice", ["ranks", "organisers", "nobody"])
def test_a_team_sees_its_own_scores_where_the_phase_says_so(client, scene, choice):
    """So that the test above looks for what would be there."""
    Phase.objects.update(board=choice, own_scores="scores", version=2)
    assert any(SCORE in body for _, body in bodies(client, scene, "member", "submission"))


@pytest.mark.parametrize("hide", [by_phase, by_season])
@pytest.mark.parametrize("role", ["visitor", "stranger"])
def test_names_of_teams_that_are_hidden_are_on_no_address(client, scene, role, hide):
    name_team(scene)
    hide()
    for where, body in bodies(client, scene, role):
        # The link that invites into the team names it.
        if not where.startswith("join"):
            assert "Canary Team" not in body, where
            assert "Canary words" not in body, where
            assert CARD_LINK not in body, where
            # A page that is not there repeats its address.
            assert "canary-team" not in body or where.partition("?")[0] in NAME_A_TEAM, where


@pytest.mark.parametrize("hide", [by_phase, by_season])
@pytest.mark.parametrize("role", ["visitor", "stranger", "organiser"])
def test_a_team_whose_name_is_hidden_has_no_public_page(client, scene, role, hide):
    name_team(scene)
    client.logout()
    if person := scene.people[role]:
        client.force_login(person)

    def answers() -> dict[str, int]:
        return {name: client.get(address(name, scene)).status_code for name in NAME_A_TEAM}

    assert answers() == dict.fromkeys(NAME_A_TEAM, 200)
    hide()
    assert answers() == dict.fromkeys(NAME_A_TEAM, 404)


@pytest.mark.parametrize("hide", [by_phase, by_season])
@pytest.mark.parametrize("role", ["member", "organiser"])
def test_a_team_and_organisers_read_names_that_are_hidden_from_others(client, scene, role, hide):
    name_team(scene)
    hide()
    assert "Canary Team" in dict(bodies(client, scene, role, "board"))["board"]


@pytest.mark.parametrize("exclusion", ["disqualified", "hidden"])
@pytest.mark.parametrize("role", ["visitor", "stranger"])
def test_a_run_that_is_kept_off_the_boards_is_on_no_address_for_others(client, scene, exclusion, role):
    scene.kept.delete()
    Submission.objects.update(
        exclusion=exclusion, exclusion_reason="Not its own.", description="Canary words of a run"
    )
    Phase.objects.update(shows_instances=True, gold_is_public=True, version=2)
    for where, body in bodies(client, scene, role):
        if not where.startswith("snapshot"):
            for told in (SYSTEM, SCORE, RATED, REPORTED, "Not its own.", "Canary words"):
                assert told not in body, where


def name_team(scene):
    scene.team.name, scene.team.slug = "Canary Team", "canary-team"
    scene.team.description = "Canary words of a team"
    scene.team.save()


def test_who_may_see_the_board_sees_what_teams_report(client, scene):
    """So that the tests above look for what would be there."""
    board = reverse("board", args=[scene.phase.task.season.slug, scene.phase.task.slug, scene.phase.slug])
    assert SCORE in client.get(board).content.decode()
    assert REPORTED in client.get(f"{board}costs/").content.decode()


@pytest.mark.parametrize("number", [0, 2**31, 2**63, 10**25])
@pytest.mark.parametrize("role", ["member", "organiser"])
def test_numbers_of_nothing_in_an_address_are_not_there_and_break_nothing(client, scene, number, role):
    client.force_login(scene.people[role])
    for name, pattern in ROUTES.items():
        if not is_read(name) or name.startswith(("admin:", "account")):
            continue
        parts = {part: named(name, scene)[part] for part in pattern.pattern.converters}
        numbers = {part for part, own in pattern.pattern.converters.items() if isinstance(own, IntConverter)}
        if numbers:
            own = parts | dict.fromkeys(numbers, number)
            assert client.get(reverse(name, kwargs=own)).status_code == 404, name


#: What a page that reads all of its questions is asked.
NAMES = ("model", "run", "rules", "system", "dataset", "id", "score", "instance")


def test_a_character_that_no_database_takes_breaks_nothing_where_it_is_asked_for(client, scene):
    client.force_login(scene.people["organiser"])
    asked = set()
    for name in ROUTES:
        if is_read(name) and not name.startswith(("admin:", "account")):
            response = client.get(address(name, scene))
            response.getvalue()
            questions = response.wsgi_request.GET
            for asks in questions.read.union(NAMES if questions.is_read_whole else ()):
                asked.add(asks)
                response = client.get(f"{address(name, scene)}?{asks}=%00")
                response.getvalue()
                assert response.status_code < 500, (name, asks)
    assert asked >= set(NAMES)
