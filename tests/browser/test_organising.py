"""What organisers and teams do in a browser, and what their pages and published results owe to everybody."""

import io

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from citeboard.teams.membership import renew_invitation, sign_invitation_secret
from citeboard.teams.models import Membership, Team, User
from tasks.models import Organiser, Phase, Registration, Season
from tasks.seasons.announcements import announce
from tests import factories
from tests.browser.driving import comes_to, faults_of, sign_in
from tests.browser.scenes import Scene, make_scene
from tests.browser.test_looks import placed
from tests.factories import PASSWORD
from tests.kept_worlds import KeptWorld, keep_world

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def season_of(scene: Scene) -> Season:
    return scene.phase.task.season


def organise(name: str, *arguments):
    return lambda scene: reverse(name, args=[season_of(scene).slug, *arguments])


OF_AN_ORGANISER = {
    "attention": organise("organise"),
    "runs": organise("organise-runs"),
    "runs of one state": lambda scene: (
        organise("organise-runs")(scene) + "?status=failed"
    ),
    "progress": organise("organise-progress"),
    "phases": organise("organise-phases"),
    "teams": organise("organise-teams"),
    "history": organise("organise-history"),
    "the season": lambda scene: reverse("season", args=[season_of(scene).slug]),
}
OF_A_LEAD = {
    "team": lambda scene: reverse("team", args=[scene.team.slug]),
    "the season": lambda scene: reverse("season", args=[season_of(scene).slug]),
}
OPEN_TO_ALL = {
    "invitation": lambda scene: reverse(
        "join", args=[sign_invitation_secret(scene.team.invitation)]
    ),
    "invitation that has ended": lambda scene: reverse("join", args=["nonsense"]),
    "first page": lambda scene: reverse("home"),
    "published season": lambda scene: "/seasons/cl-summ-2014/",
    "published results": lambda scene: "/seasons/cl-summ-2014/1a/published/",
    "published results with a doubt": lambda scene: (
        "/seasons/cl-summ-2014/1b/published/"
    ),
    "publications": lambda scene: reverse("papers"),
    "publication": lambda scene: reverse("paper", args=["jaidka-2014"]),
    "board with published results": lambda scene: scene.address("board"),
}


def make_organised_scene() -> Scene:
    """A season with something of everything to organise, and the published season that ships."""
    organiser = factories.make_user(name="Olga")
    scene = make_scene()
    season = season_of(scene)
    Organiser.objects.create(season=season, user=organiser)
    Season.objects.filter(pk=season.pk).update(registration="approval")
    announce(season=season, text="The evaluation begins **on Monday**.", by=organiser)
    factories.make_submission(
        phase=scene.phase,
        team=scene.team,
        status="failed",
        has_failed=True,
        reason="It ran out of memory.",
    )
    waiting = factories.make_team(name="Newcomers", lead=scene.reader)
    Registration.objects.create(season=season, team=waiting, is_approved=False)
    refused = factories.make_team(name="Jury")
    Registration.objects.create(
        season=season,
        team=refused,
        is_approved=False,
        decided_at=timezone.now(),
        reason="It judges.",
    )
    Membership.objects.create(team=scene.team, user=factories.make_user(name="Bob"))
    renew_invitation(team=scene.team, by=scene.member)
    call_command("load_season", "examples/cl-summ-2014", stdout=io.StringIO())
    published = Season.objects.get(slug="cl-summ-2014").tasks.first().published
    scene.phase.task.published = published
    scene.phase.task.save()
    return scene


@pytest.fixture(scope="module")
def kept_scene(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_organised_scene, django_db_blocker)


@pytest.fixture
def organiser(scene) -> User:
    return User.objects.get(name="Olga")


def test_no_page_keeps_anybody_out(visit, page, live_server, scene, organiser, axe):
    assert faults_of(page, placed(OPEN_TO_ALL, live_server, scene), axe) == {}
    sign_in(page, live_server, organiser.email, PASSWORD)
    assert faults_of(page, placed(OF_AN_ORGANISER, live_server, scene), axe) == {}
    lead = visit()
    sign_in(lead, live_server, scene.member.email, PASSWORD)
    assert faults_of(lead, placed(OF_A_LEAD, live_server, scene), axe) == {}


def test_an_organiser_sees_what_is_wrong_lets_a_team_in_and_closes_a_phase(
    visit, page, live_server, scene, organiser
):
    sign_in(page, live_server, organiser.email, PASSWORD)
    page.goto(live_server.url + reverse("season", args=[season_of(scene).slug]))
    page.click("text=Organise this season")
    page.wait_for_selector("text=It ran out of memory.")
    assert page.inner_text(".concern >> nth=0").startswith("Runs that failed")

    page.click("text=Newcomers")
    page.click("button[aria-label='Approve Newcomers']")
    page.wait_for_selector("text=Newcomers takes part.")

    page.click('nav[aria-label="Organiser\'s pages"] >> text=Phases')
    page.click(
        f"button[aria-label='Close now: {scene.phase.task.title}, {scene.phase.title}']"
    )
    page.click("text=Do it")
    page.wait_for_selector("text=is closed now.")
    assert not Phase.objects.get(pk=scene.phase.pk).is_open()

    page.click('nav[aria-label="Organiser\'s pages"] >> text=Announcement')
    page.fill("textarea", "The test phase is **over**.")
    page.click("text=Announce it")
    page.wait_for_selector("text=The announcement stands on the season's page now.")

    reader = visit()
    reader.goto(live_server.url + reverse("season", args=[season_of(scene).slug]))
    assert reader.inner_text(".announcement strong") == "over"
    page.click('nav[aria-label="Organiser\'s pages"] >> text=History')
    page.wait_for_selector("table:has-text('approved Newcomers')")


def test_a_team_is_founded_joined_by_its_link_and_entered_without_scripts(
    visit, live_server, scene
):
    ada, bob = factories.make_user(name="Ada"), factories.make_user(name="Bob")
    page = visit(java_script_enabled=False)
    sign_in(page, live_server, ada.email, PASSWORD)
    page.click("text=Teams")
    page.fill("input[name=name]", "Night Shift")
    page.click("text=Create the team")
    page.click("text=Create an invitation link")
    link = page.inner_text("#invitation-link")

    invited = visit(java_script_enabled=False)
    invited.goto(link)
    invited.click("text=Sign in to join")
    invited.fill("input[name=login]", bob.email)
    invited.fill("input[name=password]", PASSWORD)
    invited.click("main button[type=submit]")
    invited.click("main button:has-text('Join Night Shift')")
    invited.wait_for_selector("text=You are in Night Shift now.")

    page.goto(live_server.url + reverse("season", args=[season_of(scene).slug]))
    page.select_option("#enter-team", label="Night Shift")
    page.click("text=Ask to enter this season")
    page.wait_for_selector("text=an organiser has yet to approve it")
    team = Team.objects.get(slug="night-shift")
    members = team.memberships.order_by("joined_at")
    assert [(str(membership.user), membership.role) for membership in members] == [
        ("Ada", "lead"), ("Bob", "member"),
    ]  # fmt: skip


def test_a_reader_follows_a_published_figure_to_its_line(page, live_server, scene):
    page.goto(live_server.url)
    page.click("a[href='/seasons/cl-summ-2014/1a/published/'] >> nth=0")
    page.click("table.published >> nth=0 >> a.source >> nth=0")
    comes_to(page, "/published/jaidka-2014/#table-2-1")
    assert "clair_umich" in page.inner_text("section[aria-labelledby=table-2]")


def test_published_results_are_a_tab_of_a_board(page, live_server, scene):
    page.goto(live_server.url + scene.address("board"))
    page.click("#published")
    page.wait_for_selector(".published-below >> text=clair_umich")
    comes_to(page, "?view=published#view")
