"""A team with an organiser or a helper of the season in it is marked on boards and in their exports."""

import csv
import datetime as dt
import io
import json

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.teams.models import Membership
from tasks.models import Season
from tasks.seasons.organisers import add_organiser
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    olga = factories.make_user(name="Olga")
    season = factories.make_season(slug="s", organiser=olga, shows_overall=True)
    phase = factories.make_phase(
        task=factories.make_task(season=season, slug="t"), slug="p"
    )
    teams = [
        factories.make_team(season=season, name="Own", slug="own", lead=olga),
        factories.make_team(season=season, name="Other", slug="other"),
    ]
    for team, value in zip(teams, (0.5, 0.25), strict=True):
        run = factories.make_submission(
            phase=phase, team=team, system=f"Of {team}", status="scored"
        )
        boards.score(run, value)
    return phase


def address(name):
    return reverse(name, args=["s", "t", "p"])


def test_the_board_says_so_in_words(client, phase):
    page = text_of(client.get(address("board")))
    assert "Own, with an organiser" in page
    assert "Other, with an organiser" not in page
    tex = client.get(address("board-tex")).content.decode()
    assert "Own, with an organiser" in tex


def test_every_export_says_so(client, phase):
    lines = csv.DictReader(
        io.StringIO(client.get(address("board-csv")).content.decode())
    )
    assert {line["team"]: line["has_organiser"] for line in lines} == {
        "Own": "yes",
        "Other": "",
    }
    said = json.loads(client.get(address("board-json")).content)["rows"]
    assert [row.get("has_organiser", False) for row in said] == [True, False]
    rows = client.get(reverse("api:leaderboard", args=[phase.pk])).json()["rows"]
    assert [row["has_organiser"] for row in rows] == [True, False]


def test_the_table_over_all_tasks_says_so_too(client, phase):
    assert "Own with an organiser" in text_of(
        client.get(reverse("overall", args=["s"]))
    )
    lines = client.get(reverse("overall-csv", args=["s"])).content.decode().splitlines()
    assert [line.rpartition(",")[2] for line in lines] == ["has_organiser", "yes", ""]
    assert (
        "Own, with an organiser"
        in client.get(reverse("overall-tex", args=["s"])).content.decode()
    )


def test_a_board_without_such_teams_has_no_column_for_them(client, phase):
    Membership.objects.filter(team__slug="own").delete()
    assert "has_organiser" not in client.get(address("board-csv")).content.decode()


@pytest.mark.both_databases
def test_a_kept_page_says_so_as_soon_as_a_member_runs_the_season(client, phase):
    assert "Other, with an organiser" not in text_of(client.get(address("board")))
    member = Membership.objects.get(team__slug="other").user
    add_organiser(season=phase.task.season, user=member, by=None, role="helper")
    assert "Other, with an organiser" in text_of(client.get(address("board")))


def test_an_answer_of_the_api_is_made_anew_with_it(client, phase):
    board = reverse("api:leaderboard", args=[phase.pk])
    known = client.get(board)["ETag"]
    member = Membership.objects.get(team__slug="other").user
    add_organiser(season=phase.task.season, user=member, by=None, role="helper")
    rows = client.get(board, headers={"If-None-Match": known}).json()["rows"]
    assert {row["team"]: row["has_organiser"] for row in rows}["other"]


def test_a_team_without_a_name_has_no_mark_that_narrows_down_who_it_is(client, phase):
    Season.objects.update(anonymous_until=timezone.now() + dt.timedelta(days=1))
    assert "with an organiser" not in text_of(client.get(address("board")))
