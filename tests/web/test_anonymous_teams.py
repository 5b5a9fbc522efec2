"""Teams go by numbers until an instant: for everybody but themselves and those who run the season."""

import csv
import datetime as dt
import io
import json

import pytest
from django.urls import reverse
from django.utils import timezone

from scoring.results.board.standings import compute_board
from tasks.models import MergeProposal, Phase, Registration, Season
from tasks.registration.entries import draw_free_team_alias, register_team
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of
from tests.web.test_overview_paper import zipped

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    """Two teams with a run each, in a season that names nobody until tomorrow."""
    olga = factories.make_user(name="Olga")
    season = factories.make_season(
        slug="s",
        organiser=olga,
        anonymous_until=timezone.now() + dt.timedelta(days=1),
        shows_overall=True,
    )
    phase = factories.make_phase(
        task=factories.make_task(season=season, slug="t"), slug="p"
    )
    for name, value in (("Canary", 0.5), ("Heron", 0.25)):
        team = factories.make_team(season=season, name=name, slug=name.lower())
        run = factories.make_submission(
            phase=phase, team=team, system=f"System of {value}", status="scored"
        )
        boards.score(run, value)
    return phase


def alias_of(slug):
    return f"Team {Registration.objects.get(team__slug=slug).alias}"


def lead_of(slug):
    return Registration.objects.get(team__slug=slug).team.memberships.get().user


def address(name):
    return reverse(name, args=["s", "t", "p"])


def test_visitors_read_numbers_on_the_board_and_in_what_they_take_away(client, phase):
    expected = [alias_of("canary"), alias_of("heron")]
    assert [row.team for row in compute_board(phase, None).rows] == expected
    found = csv.DictReader(
        io.StringIO(client.get(address("board-csv")).content.decode())
    )
    assert [line["team"] for line in found] == expected
    said = json.loads(client.get(address("board-json")).content)
    assert [row["team"] for row in said["rows"]] == expected
    rows = client.get(reverse("api:leaderboard", args=[phase.pk])).json()["rows"]
    assert [(row["team"], row["team_name"]) for row in rows] == [
        (None, name) for name in expected
    ]
    for name in ("board", "board-tex", "board-bib"):
        page = client.get(address(name)).content.decode()
        assert expected[0] in page, name
        assert "Canary" not in page, name


def test_a_team_reads_its_own_name_and_its_number_and_the_numbers_of_others(
    client, phase
):
    client.force_login(lead_of("heron"))
    board = text_of(client.get(address("board")))
    assert "Heron, your team" in board
    assert alias_of("canary") in board
    assert "Canary" not in board
    season = text_of(client.get(reverse("season", args=["s"])))
    assert f"which others read as {alias_of('heron')}" in season
    assert "Teams go by numbers until" in season


def test_organisers_read_names_and_which_number_stands_for_each(client, phase):
    client.force_login(phase.task.season.organisers.get().user)
    assert "Canary" in text_of(client.get(address("board")))
    teams = text_of(client.get(reverse("organise-teams", args=["s"])))
    assert f"{alias_of('canary')} to others until" in teams


def test_at_the_instant_names_are_shown_by_the_clock_alone(client, phase):
    """A kept page is made anew, though nothing was written since."""
    season = reverse("season", args=["s"])
    for page in (address("board"), season):
        assert "Canary" not in text_of(client.get(page))
    assert client.get(reverse("team-results", args=["canary"])).status_code == 404
    Season.objects.update(anonymous_until=timezone.now() - dt.timedelta(seconds=1))
    for page in (address("board"), season, reverse("team-results", args=["canary"])):
        assert "Canary" in text_of(client.get(page))


def test_where_a_phase_names_nobody_there_are_no_numbers_either(client, phase):
    """They would say which systems are of one team."""
    Phase.objects.update(shows_teams=False)
    phase.refresh_from_db()
    assert [row.team for row in compute_board(phase, None).rows] == [None, None]


def test_teams_are_ranked_over_tasks_only_once_they_are_named(client, phase):
    overall = reverse("overall", args=["s"])
    assert "Canary" not in text_of(client.get(overall))
    Season.objects.update(anonymous_until=None)
    assert "Canary" in text_of(client.get(overall))


def test_names_are_neither_in_the_zip_for_papers_nor_in_the_names_of_its_files(
    client, phase
):
    lead = lead_of("heron")
    for person in (None, lead):
        client.logout()
        if person:
            client.force_login(person)
        for member, content in zipped(client, phase.task.season).items():
            assert "canary" not in member.lower()
            assert b"canary" not in content.lower(), member


@pytest.mark.both_databases
def test_numbers_tell_no_order_and_no_team_gets_that_of_another(phase):
    season = phase.task.season
    drawn = set()
    for _ in range(30):
        team = factories.make_team()
        drawn.add(register_team(season=season, team=team).alias)
    assert len(drawn) == 30
    assert drawn <= set(range(1, 125))
    assert sorted(drawn) != list(range(min(drawn), min(drawn) + 30))
    assert draw_free_team_alias(season) not in drawn


@pytest.mark.both_databases
def test_a_team_keeps_its_number(phase):
    entry = Registration.objects.get(team__slug="canary")
    before = entry.alias
    assert register_team(season=phase.task.season, team=entry.team).alias == before


def test_nobody_asks_to_join_by_a_list_of_names(client, phase):
    client.force_login(factories.make_user())
    assert "Canary" not in text_of(client.get(reverse("season", args=["s"])))
    listed = client.get(reverse("api:registrations", args=["s"])).json()
    assert listed["results"] == []


@pytest.mark.parametrize("hides", ["season", "phase"])
def test_leads_merge_by_numbers_and_neither_learns_the_name_of_the_other(
    client, phase, hides
):
    tomorrow = timezone.now() + dt.timedelta(days=1)
    Season.objects.update(merge_until=tomorrow)
    if hides == "phase":
        Season.objects.update(anonymous_until=None)
        Phase.objects.update(shows_teams=False)
    heron, canary = lead_of("heron"), lead_of("canary")
    numbers = {"heron": alias_of("heron"), "canary": alias_of("canary")}
    for merged in (False, True):
        client.force_login(heron)
        page = text_of(client.get(reverse("team", args=["heron"])))
        assert f"Yours is {numbers['heron']}" in page
        into = numbers["canary"] if merged else numbers["canary"].removeprefix("Team ")
        asking = {"season": "s", "into": into}
        page = text_of(
            client.post(reverse("team-merge", args=["heron"]), asking, follow=True)
        )
        assert (
            f"You have asked to merge into {numbers['canary']}; its lead decides."
            in page
        )
        proposal = client.get(reverse("api:merges", args=["heron"])).json()["results"][
            0
        ]
        assert (proposal["team"], proposal["into"]) == ("heron", None)
        assert proposal["names"] == {"team": "Heron", "into": numbers["canary"]}
        read = page + str(proposal) + told_to(client, heron)
        client.force_login(canary)
        asked = text_of(client.get(reverse("team", args=["canary"])))
        assert f"{numbers['heron']} asks to merge into Canary" in asked
        answered = client.get(reverse("api:merges", args=["canary"])).json()["results"][
            0
        ]
        assert answered["names"] == {"team": numbers["heron"], "into": "Canary"}
        asked += str(answered) + told_to(client, canary)
        decision = {"decision": "accept" if merged else "drop"}
        answer = reverse("team-merge-answer", args=["canary", proposal["id"]])
        said = text_of(client.post(answer, decision, follow=True))
        read, asked = (
            (read, asked) if merged else (read + told_to(client, heron), asked + said)
        )
        assert not any(name in read for name in ("Canary", str(canary)))
        assert not any(name in asked for name in ("Heron", str(heron)))
        assert ("Heron is part of Canary now, with 1 run." in said) == merged


def told_to(client, person):
    """All that the person reads of what was done: messages, the page of the team, the history by API."""
    client.force_login(person)
    pages = [reverse("messages"), reverse("api:history", args=["s"])]
    pages += [reverse("team", args=[team.slug]) for team in person.teams.all()]
    return "".join(client.get(page).content.decode() for page in pages)


@pytest.mark.both_databases
@pytest.mark.parametrize("number", ["Canary", "canary", "Team 0", "9" * 90, "own"])
def test_who_guesses_a_name_or_a_number_learns_nothing(client, phase, number):
    Season.objects.update(merge_until=timezone.now() + dt.timedelta(days=1))
    client.force_login(lead_of("heron"))
    into = alias_of("heron") if number == "own" else number
    asking = {"season": "s", "into": into}
    page = text_of(
        client.post(reverse("team-merge", args=["heron"]), asking, follow=True)
    )
    expected = "a team does not merge with itself" if number == "own" else "no team of"
    assert expected in page.casefold()
    assert "Canary" not in page.replace(f"“{number}”", "")
    assert not MergeProposal.objects.exists()
