"""A season's teams over its tasks: points, intervals, gaps, and which boards contribute."""

import csv
import io
import json
import re

import pytest
from django.urls import reverse

from scoring.board import public_results as overall_boards
from tasks.models import Phase, Season
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db
VALUES = {"Ants": (0.9, 0.5), "Bees": (0.8, 0.6), "Cats": (0.7, None), "Dogs": (None, 0.7)}


@pytest.fixture
def season() -> Season:
    """Two boards; Cats and Dogs are on one of them each."""
    season = factories.make_season(shows_overall=True)
    phases = [boards.make_phase(season) for _ in range(2)]
    for name, values in VALUES.items():
        team = boards.make_team(phases[0], name)
        for phase, value in zip(phases, values, strict=True):
            if value is not None:
                boards.scored_run(phase, team, value)
    return season


def read(client, season, status=200):
    response = client.get(f"/api/v1/seasons/{season.slug}/overall/")
    assert response.status_code == status
    return response.json()


def points(client, season) -> dict[str, int]:
    return {row["team_name"]: row["borda"] for row in read(client, season)["rows"]}


def test_points_and_mean_ranks_over_two_boards_with_gaps(client, season):
    rows = {row["team_name"]: row for row in read(client, season)["rows"]}
    assert {name: row["borda"] for name, row in rows.items()} == {"Ants": 2, "Bees": 2, "Dogs": 2, "Cats": 0}
    assert {name: row["mean_rank"] for name, row in rows.items()} == {
        "Ants": 2, "Bees": 2, "Dogs": 1, "Cats": 3,
    }  # fmt: skip
    assert [row["rank"] for row in read(client, season)["rows"]] == [1, 1, 1, 4]
    assert rows["Cats"]["boards"] == 1
    assert next(iter(rows)) == "Dogs"


def test_the_interval_adds_up_the_ranks_that_tests_leave_open(season, monkeypatch):
    real = overall_boards.standings

    def uncertain(*arguments, **named):
        board = real(*arguments, **named)
        for row in board.rows:
            row.rank_low, row.rank_high = 1, 3
        return board

    monkeypatch.setattr(overall_boards, "standings", uncertain)
    rows = {row.team: row for row in overall_boards.overall(season).rows}
    assert (rows["Bees"].borda_low, rows["Bees"].borda_high) == (0, 4)
    assert (rows["Cats"].borda_low, rows["Cats"].borda_high) == (0, 2)


def test_hidden_boards_contribute_nothing_to_anybody(client, season):
    hidden = Phase.objects.filter(task__season=season).order_by("pk")[1]
    client.force_login(factories.make_user(is_staff=True))
    for fields in ({"board": "organisers"}, {"board": "everyone", "shows_teams": False}):
        Phase.objects.filter(pk=hidden.pk).update(**fields)
        assert points(client, season) == {"Ants": 2, "Bees": 1, "Cats": 0}
    Phase.objects.filter(pk=hidden.pk).update(board="ranks", shows_teams=True)
    assert points(client, season)["Dogs"] == 2


def test_of_a_task_the_last_phase_counts_that_ranks_teams(client, season):
    first = Phase.objects.filter(task__season=season).order_by("pk").first()
    factories.make_phase(task=first.task, with_gold=False, opens=first.closes)
    assert points(client, season)["Ants"] == 2


def test_page_and_files_say_the_same(client, season):
    page = re.sub(r"\s+", " ", client.get(f"/seasons/{season.slug}/overall/").content.decode())
    assert page.count('<td class="n"><span class="soft">–</span></td>') == 2
    assert "All tasks together" in client.get(f"/seasons/{season.slug}/").content.decode()
    lines = list(csv.reader(io.StringIO(client.get(f"/seasons/{season.slug}/overall.csv").content.decode())))
    assert [line[1] for line in lines] == ["team", "Dogs", "Ants", "Bees", "Cats"]
    said = json.loads(client.get(f"/seasons/{season.slug}/overall.json").content)
    assert [row["team_name"] for row in said["rows"]] == ["Dogs", "Ants", "Bees", "Cats"]
    assert "Cats & 3.00 & 0 [0, 2]" in client.get(f"/seasons/{season.slug}/overall.tex").content.decode()


def test_a_season_that_wants_none_has_none(client, season):
    Season.objects.update(shows_overall=False)
    read(client, season, status=404)
    for end in ("overall/", "overall.csv", "overall.json", "overall.tex"):
        assert client.get(f"/seasons/{season.slug}/{end}").status_code == 404
    assert "All tasks together" not in client.get(f"/seasons/{season.slug}/").content.decode()


def test_a_season_without_ranked_teams_says_so(client):
    season = factories.make_season(shows_overall=True)
    assert "once a board" in client.get(f"/seasons/{season.slug}/overall/").content.decode()


def test_a_draft_keeps_its_table_to_itself(client, season):
    Season.objects.update(is_public=False)
    read(client, season, status=404)
    assert client.get(f"/seasons/{season.slug}/overall/").status_code == 404


def test_an_organiser_switches_it_on_in_the_settings(client):
    organiser = factories.make_user()
    season = factories.make_season(organiser=organiser)
    assert client.get(reverse("overall", args=[season.slug])).status_code == 404
    client.force_login(organiser)
    where = reverse("organise-settings-season", args=[season.slug])
    assert 'name="shows_overall"' in client.get(where).content.decode()
    said = {"title": season.title, "initial-title": season.title, "shows_overall": "on"}
    said |= {"is_public": "on", "initial-is_public": "True"}
    assert client.post(where, said).status_code == 302
    assert client.get(reverse("overall", args=[season.slug])).status_code == 200
    assert Season.objects.get(pk=season.pk).shows_overall
