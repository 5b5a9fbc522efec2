"""Numbers that a phase hides stay hidden on every address: people's ratings and what teams report as well."""

import datetime as dt
from dataclasses import dataclass, replace

import pytest
from django.urls import reverse
from django.urls.converters import IntConverter
from django.utils import timezone

from citeboard.web.boards import files
from scoring.models import RATING_CRITERIA, HumanScore, ManualMeasure, ManualScore
from tasks.models import Gold, GoldOverlap, Phase, Season, Submission, TeamFigure
from tasks.types import task_type, task_types
from tests import factories
from tests.access.questions import questions_are_noted  # noqa: F401  (a fixture is found by being here)
from tests.access.scene import (
    SYSTEM,
    Scene,
    beside,
    make_scene,
    mount_archive,
    score_beside,
    without_instants,
)
from tests.access.table import ROUTES, address, is_read, named
from tests.kept_worlds import KeptWorld, keep_world

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("questions_are_noted", "pictures_are_texts"),
]

#: What the card of a run says in a link that leads to its team.
CARD_LINK = "https://canary.example.org/team"
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
    "?view=classes",
    "?view=over-time",
    "?view=costs",
    "?view=share",
)


CHOICES = ("ranks", "organisers", "nobody")
#: What a phase hides and from whom, by the name of the way; a day before now and one after it are put in.
BY_CHOICE = {choice: {"board": choice, "own_scores": ""} for choice in CHOICES}
BY_OWN_SCORES = {
    f"{choice}, {own}": {"board": choice, "own_scores": own}
    for choice in CHOICES
    for own in ("nothing", "scored")
}
IN_TIME = {
    "frozen": {"board": "everyone", "frozen_from": -1},
    "until": {"board": "nobody", "board_from": 1, "board_then": "everyone"},
}
EXCLUSIONS = ("disqualified", "hidden")
#: The phase shows everything, and one of another season of the same organisers, with some of the same gold,
#: hides its own.
BY_CONTENT = "content"
WAYS = (*BY_CHOICE, *BY_OWN_SCORES, *IN_TIME, *EXCLUSIONS, BY_CONTENT)
OF_OTHERS = (*BY_CHOICE, *IN_TIME, *EXCLUSIONS, BY_CONTENT)
OF_THE_TEAM = (*BY_CHOICE, *BY_OWN_SCORES, *IN_TIME, BY_CONTENT)


@dataclass
class Part:
    """A phase of the scene's task with a run and numbers of its own, and the way in which it hides them."""

    way: str
    scene: Scene

    @property
    def digits(self) -> int:
        """Three, by which its numbers are told; no bound of an interval of another one has them."""
        return 701 + 7 * WAYS.index(self.way)

    # As a page, an export or the API would begin to write them.
    score = property(lambda part: f"0.{part.digits}")
    rated = property(lambda part: f"4.{part.digits}")
    outside = property(lambda part: f"8.{part.digits}")
    in_full = property(lambda part: f"{part.digits}159")
    reported = property(lambda part: f"{part.digits},268")
    reported_plainly = property(lambda part: f"{part.digits}268")
    card = property(lambda part: f"Canary corpus {part.digits}")
    measure = property(lambda part: f"Canary measure {part.digits}")
    laboratory = property(lambda part: f"Canary laboratory {part.digits}")
    system = property(lambda part: f"{SYSTEM} {part.digits}")
    words = property(lambda part: f"Canary words {part.digits}")
    reason = property(lambda part: f"Not its own {part.digits}")

    def forbidden(self, role: str) -> tuple[str, ...]:
        measured = (self.score, self.rated, self.outside, self.measure)
        reported = (self.reported, self.reported_plainly, self.in_full)
        if self.way in EXCLUSIONS:
            return (
                self.system,
                self.score,
                self.rated,
                *reported,
                self.reason,
                self.words,
            )
        if self.way == "frozen":
            return self.score, self.rated
        if role == "member":
            return measured
        if self.way == "until":
            return (*measured, *reported, self.card)
        # With ranks a row says how its system was made.
        card = () if self.way.startswith("ranks") else (self.card,)
        return (*measured, *reported, self.laboratory, *card)

    def hide(self) -> None:
        phase = Phase.objects.filter(pk=self.scene.phase.pk)
        if self.way in EXCLUSIONS:
            self.scene.kept.delete()
            Submission.objects.filter(pk=self.scene.run.pk).update(
                exclusion=self.way, exclusion_reason=self.reason, description=self.words
            )
            phase.update(shows_instances=True, gold_is_public=True, version=2)
        elif self.way == BY_CONTENT:
            phase.update(shows_instances=True, gold_is_public=True, version=2)
            own = Gold.objects.get(
                task=self.scene.phase.task, split=self.scene.phase.split
            )
            other = Gold.objects.current(factories.make_phase(board="nobody"))
            GoldOverlap.objects.create(
                gold=own, other=other, same=1, held=1, alike=0, binds=True
            )
        else:
            fields = (BY_CHOICE | BY_OWN_SCORES | IN_TIME)[self.way]
            now = timezone.now()
            days = {
                name: now + dt.timedelta(days=own)
                for name, own in fields.items()
                if isinstance(own, int)
            }
            phase.update(shows_instances=True, version=2, **(fields | days))
        if self.way == "frozen":
            self.scene.sheet.published_at = now
            self.scene.sheet.save()


def make_parts() -> dict[str, Part]:
    """One for each way of hiding, which does not hide anything yet."""
    scene = make_scene()
    parts = {
        way: Part(way, beside(scene, f"part-{place}"))
        for place, way in enumerate(WAYS, start=1)
    }
    for part in parts.values():
        _measure(part)
    return parts


def _measure(part: Part) -> None:
    scene = part.scene
    score_beside(scene, part.system, float(f"{part.score}159"))
    scene.sheet.published_at = scene.sheet.created_at
    scene.sheet.save()
    HumanScore.objects.bulk_create(
        HumanScore(
            sheet=scene.sheet,
            submission=scene.run,
            criterion=name,
            value=float(f"{part.rated}159"),
            n=3,
            signature="human",
        )
        for name in RATING_CRITERIA
    )
    TeamFigure.objects.create(
        submission=scene.run,
        phase=scene.phase,
        name="wall_seconds",
        value=int(part.reported_plainly),
    )
    measure = ManualMeasure.objects.create(
        phase=scene.phase, name=part.measure, source=part.laboratory
    )
    ManualScore.objects.create(
        measure=measure, submission=scene.run, value=float(f"{part.outside}159")
    )
    Submission.objects.filter(pk=scene.run.pk).update(
        card={"training_data": part.card, "code": CARD_LINK}
    )


def make_measured_scene() -> Scene:
    """With one phase alone that has numbers."""
    part = Part(WAYS[0], beside(make_scene(), "measured"))
    _measure(part)
    return part.scene


@pytest.fixture(scope="module")
def kept_scene(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_measured_scene, django_db_blocker)


@pytest.fixture(scope="module")
def kept_parts(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_parts, django_db_blocker)


@pytest.fixture
def parts(db, monkeypatch, kept_parts) -> dict[str, Part]:
    """Boards have columns of people's ratings, as those of other task types do."""
    rated = replace(
        task_type("clsumm-1a"),
        human_evaluation=task_type("citation-text").human_evaluation,
    )
    monkeypatch.setitem(task_types(), "clsumm-1a", rated)
    mount_archive()
    return kept_parts()


@pytest.fixture
def pictures_are_texts(monkeypatch) -> None:
    """Answer with the SVG of a picture, whose words a search finds, and which is not drawn as points."""
    monkeypatch.setattr(files, "convert_svg", lambda svg, form, scale: svg)


def by_phase():
    Phase.objects.update(shows_teams=False, version=2)


def by_season():
    Season.objects.update(anonymous_until=timezone.now() + dt.timedelta(days=1))


def bodies(client, scenes: list[Scene], role: str, names=ROUTES):
    """Of every address, by its name; one that is the same in several scenes is asked once."""
    client.logout()
    if person := scenes[0].people[role]:
        client.force_login(person)
    for name in names:
        if is_read(name) and not name.startswith("admin:"):
            for where in dict.fromkeys(address(name, scene) for scene in scenes):
                response = client.get(where)
                yield name, where, read_to_its_end(response)
                # What is not there, or not theirs, does not become so by a question.
                if response.status_code == 200:
                    for query in filter(response.wsgi_request.GET.reads, QUESTIONS):
                        yield (
                            name + query,
                            where + query,
                            read_to_its_end(client.get(where + query)),
                        )


def bodies_by_address(
    client, parts: dict[str, Part], role: str, told: dict[str, tuple[str, ...]]
):
    """Of the addresses that tell something."""
    client.logout()
    if person := next(iter(parts.values())).scene.people[role]:
        client.force_login(person)
    names = dict.fromkeys(name for kind in told.values() for name in kind)
    addresses = dict.fromkeys(
        address(name, part.scene) for part in parts.values() for name in names
    )
    return {where: read_to_its_end(client.get(where)) for where in addresses}


def read_to_its_end(response) -> str:
    return without_instants(response.getvalue().decode("utf-8", "replace"))


@pytest.mark.whole_table
@pytest.mark.parametrize("role", ["visitor", "stranger", "member"])
def test_no_form_of_any_address_tells_what_its_phase_hides(client, parts, role):
    """In each way in which a phase hides numbers, on its own addresses and on all that are of no phase."""
    hiding = [parts[way] for way in (OF_THE_TEAM if role == "member" else OF_OTHERS)]
    for part in hiding:
        part.hide()
    forbidden = {text: part for part in hiding for text in part.forbidden(role)}
    for _, where, body in bodies(client, [part.scene for part in hiding], role):
        told = {text: part.way for text, part in forbidden.items() if text in body}
        assert told == {}, where


def drawn_at(client, *addresses: str) -> str:
    DRAWN.clear()
    for where in addresses:
        assert client.get(where).status_code in (200, 404), where
    return "\n".join(DRAWN)


def drawn_of(client, part: Part) -> str:
    card = address("board-card", part.scene)
    return drawn_at(client, card, f"{card}?run={part.scene.run.pk}")


#: What is drawn on pictures, which no search of their bytes finds.
DRAWN: list[str] = []


@pytest.mark.whole_table
def test_pictures_that_are_shared_draw_nothing_that_a_phase_hides(
    client, parts, monkeypatch
):
    def noted(*drawn):
        DRAWN.append(repr(drawn))
        return share_card(*drawn)

    share_card = files.draw_share_card
    monkeypatch.setattr(files, "draw_share_card", noted)
    hiding = [parts[way] for way in OF_OTHERS]
    of_season = address("season-card", hiding[0].scene)
    said_by_season = drawn_at(client, of_season)
    for part in hiding:
        assert part.score in said_by_season, part.way
        assert part.score in drawn_of(client, part), part.way
    for part in hiding:
        part.hide()
    # What was drawn before is kept by it.
    Phase.objects.update(version=3)
    said_by_season = drawn_at(client, of_season)
    for part in hiding:
        said = drawn_of(client, part) + said_by_season
        assert [text for text in part.forbidden("visitor") if text in said] == [], (
            part.way
        )


#: Where the phase hides nothing, every visitor is told: so that the test above looks for what would be there.
TOLD = {
    "score": (
        "board", "standing", "snapshot-json", "team-results", "team-feed", "overview-paper-file",
        "api:season", "api:task", "api:team-results",
    ),
    "system": ("board", "team-results", "overview-paper-file", "api:season", "api:task"),
    "reported": ("costs",),
    "reported_plainly": ("board-csv", "board-json"),
    "rated": ("board-csv", "board-json"),
    "outside": ("outside", "board-csv", "board-json", "board-tex", "api:outside"),
    "measure": ("outside", "board-csv", "board-json", "board-tex", "api:outside"),
    "laboratory": ("outside", "board-json", "api:outside"),
    "card": ("board-csv", "board-json", "standing"),
}  # fmt: skip


@pytest.mark.whole_table
def test_what_phases_hide_is_there_where_they_do_not(client, parts):
    """Of each phase: addresses of many phases have all of them."""
    said = bodies_by_address(client, parts, "visitor", TOLD)
    for part in parts.values():
        for kind, names in TOLD.items():
            told = [
                name
                for name in names
                if getattr(part, kind) in said[address(name, part.scene)]
            ]
            assert told == list(names), (part.way, kind)


@pytest.mark.whole_table
def test_a_team_sees_its_own_scores_where_the_phase_says_so(client, parts):
    """So that the test above looks for what would be there."""
    own = [parts[way] for way in (*BY_CHOICE, *BY_OWN_SCORES)]
    for part in own:
        part.hide()
    Phase.objects.update(own_scores="scores")
    where = {
        "score": ("submission", "submission-status", "api:submission", "team"),
        "system": ("own-runs", "team", "api:submissions"),
        "card": ("submission", "api:submissions"),
    }
    said = bodies_by_address(client, parts, "member", where)
    for part in own:
        for kind, names in where.items():
            told = [
                name
                for name in names
                if getattr(part, kind) in said[address(name, part.scene)]
            ]
            assert told == list(names), (part.way, kind)


def test_an_address_is_asked_the_questions_that_it_reads(client, scene):
    names = ("board", "differences", "costs", "imprint")
    asked = {name for name, _, _ in bodies(client, [scene], "visitor", names)}
    assert {
        "board?rank=significance",
        "differences?rules=corrected",
        "costs?cost=wall_seconds",
    } <= asked
    assert "imprint?score=1" not in asked


@pytest.mark.whole_table
@pytest.mark.parametrize("hide", [by_phase, by_season])
@pytest.mark.parametrize("role", ["visitor", "stranger"])
def test_names_of_teams_that_are_hidden_are_on_no_address(client, scene, role, hide):
    name_team(scene)
    hide()
    for name, _, body in bodies(client, [scene], role):
        # The link that invites into the team names it.
        if not name.startswith("join"):
            assert "Canary Team" not in body, name
            assert "Canary words" not in body, name
            assert CARD_LINK not in body, name
            # A page that is not there repeats its address.
            assert "canary-team" not in body or name.partition("?")[0] in NAME_A_TEAM, (
                name
            )


@pytest.mark.parametrize("hide", [by_phase, by_season])
@pytest.mark.parametrize("role", ["visitor", "stranger", "organiser"])
def test_a_team_whose_name_is_hidden_has_no_public_page(client, scene, role, hide):
    name_team(scene)
    client.logout()
    if person := scene.people[role]:
        client.force_login(person)

    def answers() -> dict[str, int]:
        return {
            name: client.get(address(name, scene)).status_code for name in NAME_A_TEAM
        }

    assert answers() == dict.fromkeys(NAME_A_TEAM, 200)
    hide()
    assert answers() == dict.fromkeys(NAME_A_TEAM, 404)


@pytest.mark.parametrize("hide", [by_phase, by_season])
@pytest.mark.parametrize("role", ["member", "organiser"])
def test_a_team_and_organisers_read_names_that_are_hidden_from_others(
    client, scene, role, hide
):
    name_team(scene)
    hide()
    _, _, board = next(bodies(client, [scene], role, ["board"]))
    assert "Canary Team" in board


def named_in_tables(body: str) -> int:
    return body.partition('id="differences"')[0].count(SYSTEM)


@pytest.mark.both_databases
@pytest.mark.parametrize("hide", [by_phase, by_season])
def test_nobody_finds_a_hidden_name_of_a_team_by_searching_for_it(client, scene, hide):
    name_team(scene)
    asked = ("board", "board-csv", "board-json")

    def bodies_of(words: str) -> dict[str, str]:
        answers = {
            name: client.get(address(name, scene), {"q": words}) for name in asked
        }
        return {
            name: read_to_its_end(answer).replace(words.replace(" ", "+"), "")
            for name, answer in answers.items()
        }

    def found(words: str) -> list[str]:
        # The chart by class has all systems, and the verdict names some, whatever is searched for.
        nothing, bodies = bodies_of("nobody at all"), bodies_of(words)
        return [
            name
            for name, body in bodies.items()
            if named_in_tables(body) > named_in_tables(nothing[name])
        ]

    assert found("canary team") == list(asked)
    hide()
    assert (found("canary team"), found("canary system")) == ([], list(asked))
    charts = [
        bodies_of(words)["board"].partition('id="differences"')[2]
        for words in ("canary team", "nobody here")
    ]
    assert charts[0] == charts[1] != ""


def name_team(scene):
    scene.team.name, scene.team.slug = "Canary Team", "canary-team"
    scene.team.description = "Canary words of a team"
    scene.team.save()


@pytest.mark.both_databases
@pytest.mark.parametrize("number", [0, 2**31, 2**63, 10**25])
@pytest.mark.parametrize("role", ["member", "organiser"])
def test_numbers_of_nothing_in_an_address_are_not_there_and_break_nothing(
    client, scene, number, role
):
    client.force_login(scene.people[role])
    for name, pattern in ROUTES.items():
        if not is_read(name) or name.startswith(("admin:", "account")):
            continue
        parts = {part: named(name, scene)[part] for part in pattern.pattern.converters}
        numbers = {
            part
            for part, own in pattern.pattern.converters.items()
            if isinstance(own, IntConverter)
        }
        if numbers:
            own = parts | dict.fromkeys(numbers, number)
            assert client.get(reverse(name, kwargs=own)).status_code == 404, name


#: What a page that reads all of its questions is asked.
NAMES = ("model", "run", "rules", "system", "dataset", "id", "score", "instance")


@pytest.mark.both_databases
@pytest.mark.whole_table
def test_a_character_that_no_database_takes_breaks_nothing_where_it_is_asked_for(
    client, scene
):
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
