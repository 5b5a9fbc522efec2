"""Two runs side by side, ranks by significance and corrections of the gold, in a browser."""

import zipfile
from dataclasses import dataclass

import pytest
from django.urls import reverse

from citeboard.teams.models import User
from tasks.models import Phase, Season, Submission
from tests import factories
from tests.api.sending import score
from tests.browser.driving import comes_to, faults_of, reveal, sign_in
from tests.browser.test_looks import placed
from tests.factories import PASSWORD
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import boards, compared

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CORRECTED = (("D05-0001", "3", ["4"], "Method_Citation"), factories.CITANCES[1])


@dataclass
class Compared:
    """Four compared runs, and a second version of the gold that two of them have met."""

    organiser: User
    season: Season
    phase: Phase
    runs: list[Submission]

    def address(self, name: str, query: str = "") -> str:
        return boards.address(name, self.phase) + query


def make_compared() -> Compared:
    organiser = factories.make_user(name="Olga")
    season = factories.make_season(organiser=organiser)
    phase = compared.make_phase(
        task=factories.make_task(season=season, rules=["corrected", "official-2017"]),
        shows_instances=True,
    )
    runs = [
        compared.scored(phase, right, system=f"Of {right}") for right in (10, 9, 4, 0)
    ]
    for rules in ("corrected", "official-2017"):
        compared.compare(phase, rules)
    factories.make_gold(
        phase=phase, topics=compared.TOPICS, citances=CORRECTED, reason="A correction"
    )
    return Compared(organiser, season, phase, runs)


@pytest.fixture(scope="module")
def kept_scene(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_compared, django_db_blocker)


def two(scene, query="") -> str:
    return scene.address(
        "compare", f"?a={scene.runs[0].pk}&b={scene.runs[2].pk}{query}"
    )


OPEN_TO_ALL = {
    "board by significance": lambda scene: scene.address("board", "?rank=significance"),
    "board on the old gold": lambda scene: scene.address("board", "?gold=1"),
    "two runs": two,
    "two runs by class": lambda scene: two(scene, "&dimension=facet&class=Method"),
    "what the gold changed": lambda scene: scene.address("gold-changes"),
}
OF_AN_ORGANISER = {
    "gold": lambda scene: reverse("organise-gold", args=[scene.season.slug]),
    "a run": lambda scene: reverse("submission", args=[scene.runs[0].pk]),
}


def test_no_page_keeps_anybody_out(page, live_server, scene, axe):
    assert faults_of(page, placed(OPEN_TO_ALL, live_server, scene), axe) == {}
    sign_in(page, live_server, scene.organiser.email, PASSWORD)
    assert faults_of(page, placed(OF_AN_ORGANISER, live_server, scene), axe) == {}


def test_a_reader_goes_from_the_board_to_two_runs_and_to_their_classes(
    page, live_server, scene
):
    page.goto(live_server.url + scene.address("board"))
    page.click("#adjust")
    page.select_option("#rank-by", "significance")
    page.click("#apply")
    page.wait_for_selector("tr.group")
    comes_to(page, "rank=significance")
    assert page.inner_text("td.rank >> nth=0").startswith("1\u2013")
    page.click("tbody tr >> nth=2 >> text=compare")
    page.wait_for_selector("text=All metrics")
    assert "Of 4" in page.inner_text("#tests .facts")
    page.select_option("#pick-b", label=f"Of 10 ({scene.runs[0].team.name})")
    page.click("#pick")
    page.wait_for_selector("text=B is Of 10")

    page.click("#dimension-facet")
    page.wait_for_selector('#dimension-facet[aria-current="true"]')
    comes_to(page, "dimension=facet")
    reveal(page)
    assert page.is_visible("#by-class .points")
    page.select_option("#class", "Method")
    page.click("#filter-class")
    page.wait_for_selector("text=of the class “Method”")
    comes_to(page, "class=Method")


def test_without_scripts_two_runs_are_compared_as_well(visit, live_server, scene):
    page = visit(java_script_enabled=False)
    page.goto(live_server.url + two(scene))
    page.click("#dimension-facet")
    page.select_option("#class", "Method")
    page.click("#filter-class")
    page.wait_for_selector("text=of the class “Method”")
    page.click("#swap")
    page.wait_for_selector("#tests .facts:has-text('A is Of 4')")
    assert "B is Of 10" in page.inner_text("#tests .facts")


def test_an_organiser_corrects_the_gold_and_sees_it_through(
    page, live_server, scene, tmp_path
):
    folder = factories.write_corpus(tmp_path / "corpus", topics=compared.TOPICS)
    with zipfile.ZipFile(tmp_path / "gold.zip", "w") as packed:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            packed.write(path, path.relative_to(tmp_path))
    sign_in(page, live_server, scene.organiser.email, PASSWORD)
    page.goto(live_server.url + reverse("organise", args=[scene.season.slug]))
    page.click('nav[aria-label="Organiser\'s pages"] >> text=Gold')
    page.set_input_files("input[type=file]", tmp_path / "gold.zip")
    page.fill("input[name=reason]", "Back to what it was")
    page.click("text=Publish as the next gold version")
    page.wait_for_selector("input[name=again]")
    page.check("input[name=again]")
    page.set_input_files("input[type=file]", tmp_path / "gold.zip")
    page.click("text=Publish as the next gold version")
    page.click("text=Do it")
    page.wait_for_selector("text=0 of 4 runs scored against v3")
    for run in scene.runs:
        score(run)
    page.wait_for_selector("text=4 runs scored against v3")
    page.click("text=What v3 changes")
    page.wait_for_selector("h1 >> text=What gold v3 changed")
    assert page.is_visible("p >> text=Back to what it was")
