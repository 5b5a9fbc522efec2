"""What everybody reads of teams and of their systems: what boards say of them, and nothing else."""

from xml.etree import ElementTree as ET

import pytest
from django.urls import reverse

from citeboard.core.audit import find_history_of_place
from citeboard.ops.accounts import collect_user_data
from scoring.results.board.public_results import build_system_slug
from tasks.models import Phase, Registration, Season, Submission
from tasks.submissions.run_acts import disqualify_run
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db
BM25 = build_system_slug("BM25 + RM3")


@pytest.fixture
def phase():
    phase = boards.make_phase()
    for name, value in (("Ada", 0.6), ("Bo", 0.2)):
        team = boards.make_team(phase, name)
        boards.scored_run(
            phase, team, value, system=f"{name}'s own", description=f"What {name} did."
        )
    return phase


@pytest.fixture
def later(phase):
    """Ada's other system on a board of another season."""
    later = boards.make_phase()
    team = phase.task.season.registrations.get(team__slug="ada").team
    Registration.objects.create(season=later.task.season, team=team)
    boards.scored_run(
        later, team, 0.4, system="BM25 + RM3", links=["https://example.org/code"]
    )
    return later


def results(client, team="ada"):
    return client.get(reverse("team-results", args=[team]))


def text_of(client, team="ada") -> str:
    return results(client, team).content.decode()


def as_json(client, team="ada"):
    return client.get(reverse("api:team-results", args=[team]))


@pytest.mark.both_databases
def test_a_teams_page_has_its_rows_over_seasons_with_ranks_and_intervals(
    client, phase, later
):
    page = text_of(client)
    assert "rank 1 of 2" in page
    assert "rank 1 of 1" in page
    assert "0.6000" in page
    assert "0.5500 to 0.6500" in page
    assert str(phase.task.season) in page
    assert str(later.task.season) in page
    assert "Bo&#x27;s own" not in page


def test_programs_get_the_same(client, phase, later):
    told = as_json(client).json()
    assert [
        (row["phase"], row["rank"], row["ranked"], row["value"])
        for row in told["results"]
    ] == [
        (later.pk, 1, 1, 0.4),
        (phase.pk, 1, 2, 0.6),
    ]
    assert {row["system_slug"] for row in told["results"]} == {
        BM25,
        build_system_slug("Ada's own"),
    }
    assert set(told["seasons"]) == {phase.task.season.slug, later.task.season.slug}


def test_a_system_has_a_page_of_its_own(client, phase, later):
    address = reverse("team-system", args=["ada", BM25])
    page = client.get(address).content.decode()
    assert "BM25 + RM3" in page
    assert 'href="https://example.org/code" rel="nofollow ugc noopener"' in page
    assert "0.4000" in page
    assert "0.6000" not in page
    told = client.get(reverse("api:team-system", args=["ada", BM25])).json()
    assert [row["phase"] for row in told["results"]] == [later.pk]
    assert (told["team"], told["links"]) == ("ada", ["https://example.org/code"])


@pytest.mark.parametrize("team", ["ada", "bo", "nobody"])
def test_a_system_of_another_team_is_not_there(client, phase, later, team):
    wanted = 200 if team == "ada" else 404
    assert client.get(reverse("team-system", args=[team, BM25])).status_code == wanted
    assert (
        client.get(reverse("api:team-system", args=[team, BM25])).status_code == wanted
    )


def test_what_a_board_hides_is_not_on_the_page(client, phase):
    Phase.objects.update(board="ranks", version=2)
    page = text_of(client)
    assert "rank 1 of 2" in page
    assert "0.6000" not in page
    [row] = as_json(client).json()["results"]
    assert (row["rank"], row["metric"], row["value"], row["low"]) == (
        1,
        None,
        None,
        None,
    )
    Phase.objects.update(board="organisers", version=3)
    assert "rank 1" not in text_of(client)


def test_a_hidden_name_takes_the_rows_of_that_board_alone(client, phase, later):
    Phase.objects.filter(pk=later.pk).update(shows_teams=False, version=2)
    page = text_of(client)
    assert "BM25" not in page
    assert str(later.task.season) not in page
    assert "0.6000" in page
    assert client.get(reverse("team-system", args=["ada", BM25])).status_code == 404
    assert (
        client.get(reverse("team-system-feed", args=["ada", BM25])).status_code == 404
    )


def test_a_draft_and_a_disqualified_run_tell_nothing(client, phase, later):
    Season.objects.filter(pk=later.task.season_id).update(is_public=False)
    run = Submission.objects.get(system="Ada's own")
    disqualify_run(run, factories.make_user(), "Not its own.")
    page = text_of(client)
    for told in ("BM25", "Ada&#x27;s own", "What Ada did", "Not its own", "0.6000"):
        assert told not in page


def test_a_team_of_a_draft_alone_has_no_public_page(client, phase):
    assert results(client).status_code == 200
    Season.objects.filter(pk=phase.task.season_id).update(is_public=False)
    assert results(client).status_code == 404


def test_a_team_that_no_list_and_no_board_names_is_there_for_its_members_alone(client):
    member = factories.make_user()
    team = factories.make_team(
        lead=member, name="Quiet", slug="quiet", description="Canary words."
    )
    Registration.objects.filter(team=team).delete()
    assert results(client, "quiet").status_code == 404
    client.force_login(member)
    page = text_of(client, "quiet")
    assert "Canary words." in page
    assert "Nobody else can read this page yet" in page


def test_members_say_who_the_team_is_and_the_history_has_it(client, phase):
    member = factories.make_user()
    team = boards.make_team(phase, "Cy", member)
    client.force_login(member)
    said = {"description": "Three <b>people</b>.", "links": "https://example.org/group"}
    client.post(reverse("team-describe", args=["cy"]), said)
    page = text_of(client, "cy")
    assert "Three &lt;b&gt;people&lt;/b&gt;." in page
    assert 'href="https://example.org/group" rel="nofollow ugc noopener"' in page
    form = client.get(reverse("team", args=["cy"])).content.decode()
    assert ">https://example.org/group</textarea>" in form
    [entry] = find_history_of_place(team)
    assert [change["key"] for change in entry.changes] == ["description", "links"]
    client.post(reverse("team-describe", args=["cy"]), said)
    assert find_history_of_place(team).count() == 1
    [own] = collect_user_data(member)["teams"]
    assert (own["description"], own["links"]) == (said["description"], [said["links"]])


@pytest.mark.parametrize(
    "said",
    [{"description": "x" * 4001}, {"links": "javascript:alert(1)"}, {"links": "example.org"},
     {"links": "\n".join(f"https://example.org/{number}" for number in range(6))}],
)  # fmt: skip
def test_what_does_not_fit_is_refused_and_nothing_is_kept(client, phase, said):
    member = factories.make_user()
    team = boards.make_team(phase, "Cy", member)
    client.force_login(member)
    given = {"description": "As it was.", "links": "", **said}
    page = client.post(
        reverse("team-describe", args=["cy"]), given, follow=True
    ).content.decode()
    assert 'class="message error"' in page
    team.refresh_from_db()
    assert (team.description, team.links) == ("", [])


def test_feeds_have_an_entry_for_each_row(client, phase, later):
    def titles(name, *args):
        feed = ET.fromstring(client.get(reverse(name, args=args)).content)  # noqa: S314  (our own)
        return [title.text for title in feed.findall("{*}entry/{*}title")]

    assert len(titles("team-feed", "ada")) == 2
    [own] = titles("team-system-feed", "ada", BM25)
    assert own == f"BM25 + RM3: rank 1 of 1, {later.task}, {later}"


def test_a_badge_is_of_the_system_that_stands_on_the_board(client, phase):
    where = [phase.task.season.slug, phase.task.slug, phase.slug, "ada"]
    own = client.get(
        reverse("team-system-badge", args=[*where, build_system_slug("Ada's own")])
    ).content.decode()
    assert "rank 1 of 2 · 0.6000 0.5500 to 0.6500" in own
    other = client.get(
        reverse("team-system-badge", args=[*where, "other-12345678"])
    ).content.decode()
    assert "not ranked" in other


@pytest.mark.both_databases
def test_names_that_differ_by_a_sign_have_different_addresses_and_any_name_has_one():
    names = ["A+", "A++", "a", "系统", "💡", "x" * 80, "BM25/RM3"]
    assert len({build_system_slug(name) for name in names}) == len(names)
    assert build_system_slug("BM25 + RM3") == build_system_slug("bm25 + rm3")
    assert all(
        reverse("team-system", args=["ada", build_system_slug(name)]) for name in names
    )


def test_the_season_and_the_run_lead_to_the_pages(client, phase):
    season = client.get(
        reverse("season", args=[phase.task.season.slug])
    ).content.decode()
    assert reverse("team-results", args=["ada"]) in season
    run = Submission.objects.get(system="Ada's own")
    place = [phase.task.season.slug, phase.task.slug, phase.slug, run.pk]
    page = client.get(reverse("standing", args=place)).content.decode()
    assert reverse("team-results", args=["ada"]) in page
    assert reverse("team-system", args=["ada", build_system_slug("Ada's own")]) in page
    assert (
        reverse("team-results", args=["ada"])
        in client.get("/sitemap.xml").content.decode()
    )


def test_the_report_of_abuse_knows_the_page(client, phase):
    client.force_login(factories.make_user())
    page = client.get(
        reverse("report"), {"about": "/teams/ada/results/"}
    ).content.decode()
    assert 'value="/teams/ada/results/"' in page
