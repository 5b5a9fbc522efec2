"""A season's teams over its tasks: points, intervals, gaps, and which boards contribute."""

import csv
import io
import itertools
import json
import random
import re
from types import SimpleNamespace

import pytest
from django.urls import reverse

from scoring.results.board.public_results import (
    OverallBoard,
    OverallRow,
    RankOfTeamOnBoard,
    compute_overall_ranking,
)
from tasks.models import Phase, Season
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db
VALUES = {
    "Ants": (0.9, 0.5),
    "Bees": (0.8, 0.6),
    "Cats": (0.7, None),
    "Dogs": (None, 0.7),
}


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


def test_a_team_has_its_mean_share_over_the_boards_that_it_is_on(client, season):
    rows = {row["team_name"]: row for row in read(client, season)["rows"]}
    assert {name: row["share"] for name, row in rows.items()} == {
        "Dogs": 1, "Ants": 0.5, "Bees": 0.5, "Cats": 0,
    }  # fmt: skip
    assert {name: row["borda"] for name, row in rows.items()} == {
        "Ants": 2,
        "Bees": 2,
        "Dogs": 2,
        "Cats": 0,
    }
    assert {name: row["mean_rank"] for name, row in rows.items()} == {
        "Ants": 2, "Bees": 2, "Dogs": 1, "Cats": 3,
    }  # fmt: skip
    assert [row["rank"] for row in read(client, season)["rows"]] == [1, 2, 2, 4]
    assert (rows["Cats"]["boards"], rows["Cats"]["absent"], rows["Ants"]["absent"]) == (
        1,
        1,
        0,
    )
    assert {row["ranks"] for row in rows.values()} == {"1–4"}
    first, second = (board["phase"] for board in read(client, season)["boards"])
    without = {
        name: {one["phase"]: one["rank"] for one in row["without"]}
        for name, row in rows.items()
    }
    assert without["Ants"] == {first: 3, second: 1}
    assert without["Dogs"] == {first: 1}
    assert without["Cats"] == {second: 3}


def test_absences_count_as_last_places_where_that_is_asked_for(client, season):
    told = client.get(f"/api/v1/seasons/{season.slug}/overall/?absences=last").json()
    assert told["absences"] == "last"
    assert [(row["team_name"], row["share"], row["rank"]) for row in told["rows"]] == [
        ("Dogs", 0.5, 1), ("Ants", 0.5, 1), ("Bees", 0.5, 1), ("Cats", 0.0, 4),
    ]  # fmt: skip
    page = client.get(f"/seasons/{season.slug}/overall/").content.decode()
    assert '<a href="?absences=last">' in page
    assert (
        "counts as its last place"
        in client.get(f"/seasons/{season.slug}/overall/?absences=last").content.decode()
    )


def test_teams_with_one_rank_share_the_points(client, season):
    phase = Phase.objects.filter(task__season=season).order_by("pk").first()
    for name in ("Eels", "Frogs"):
        boards.scored_run(phase, boards.make_team(phase, name), 0.8)
    rows = {row["team_name"]: row for row in read(client, season)["rows"]}
    assert [rows[name]["borda"] for name in ("Ants", "Bees", "Eels", "Cats")] == [
        4 + 0,
        2 + 1,
        2,
        0,
    ]
    assert rows["Eels"]["share"] == rows["Frogs"]["share"] == 0.5


@pytest.mark.parametrize("seed", range(12))
def test_ends_are_of_the_orders_that_are_possible_together(seed):
    """Against all joint orders of two small boards: shares reach both ends, and no rank is outside of its."""
    draw = random.Random(seed)
    names, counts_absences = "abcde", bool(seed % 2)
    tables = []
    for number in range(2):
        on = draw.sample(names, draw.randint(2, 4))
        above: dict[str, frozenset[str]] = {}
        for place, name in enumerate(on):
            direct = {other for other in on[:place] if draw.random() < 0.5}
            above[name] = frozenset(direct.union(*(above[other] for other in direct)))
        places = {
            name: RankOfTeamOnBoard(
                rank=place + 1, low=1 + len(above[name]), points=len(on) - 1 - place,
                high=len(on) - sum(name in others for others in above.values()),
            )
            for place, name in enumerate(on)
        }  # fmt: skip
        tables.append(
            OverallBoard(phase=SimpleNamespace(pk=number), places=places, above=above)
        )
    teams = sorted({name for table in tables for name in table.places})
    rows = [
        OverallRow(
            team=name,
            slug=name,
            places={t.phase.pk: t.places[name] for t in tables if name in t.places},
        )
        for name in teams
    ]
    found = {
        row.slug: row
        for row in compute_overall_ranking(
            tables, rows, counts_absences=counts_absences
        ).rows
    }
    possible = [
        [
            order
            for order in itertools.permutations(table.places)
            if all(
                order.index(up) < order.index(name)
                for name in order
                for up in table.above[name]
            )
        ]
        for table in tables
    ]
    seen: dict[str, list[float]] = {name: [] for name in teams}
    for orders in itertools.product(*possible):
        shares = {}
        for name in teams:
            own = [
                (len(o) - 1 - o.index(name)) / (len(o) - 1) for o in orders if name in o
            ]
            shares[name] = sum(own) / (len(tables) if counts_absences else len(own))
        for name in teams:
            seen[name].append(shares[name])
            better = sum(other > shares[name] + 1e-9 for other in shares.values())
            worse = sum(other < shares[name] - 1e-9 for other in shares.values())
            assert found[name].rank_low <= len(teams) - worse
            assert 1 + better <= found[name].rank_high
    for name in teams:
        assert found[name].share_low == pytest.approx(min(seen[name]))
        assert found[name].share_high == pytest.approx(max(seen[name]))


def test_hidden_boards_contribute_nothing_to_anybody(client, season):
    hidden = Phase.objects.filter(task__season=season).order_by("pk")[1]
    client.force_login(factories.make_user(is_staff=True))
    for fields in (
        {"board": "organisers"},
        {"board": "everyone", "shows_teams": False},
    ):
        Phase.objects.filter(pk=hidden.pk).update(**fields)
        assert points(client, season) == {"Ants": 2, "Bees": 1, "Cats": 0}
    Phase.objects.filter(pk=hidden.pk).update(board="ranks", shows_teams=True)
    assert points(client, season)["Dogs"] == 2


def test_of_a_task_the_last_phase_counts_that_ranks_teams(client, season):
    first = Phase.objects.filter(task__season=season).order_by("pk").first()
    factories.make_phase(task=first.task, with_gold=False, opens=first.closes)
    assert points(client, season)["Ants"] == 2


def test_page_and_files_say_the_same(client, season):
    page = re.sub(
        r"\s+", " ", client.get(f"/seasons/{season.slug}/overall/").content.decode()
    )
    assert page.count('<td class="n"><span class="soft">–</span></td>') == 4
    assert "Without each task" in page
    assert (
        "All tasks together" in client.get(f"/seasons/{season.slug}/").content.decode()
    )
    lines = list(
        csv.reader(
            io.StringIO(
                client.get(f"/seasons/{season.slug}/overall.csv").content.decode()
            )
        )
    )
    assert [line[4] for line in lines] == ["team", "Dogs", "Ants", "Bees", "Cats"]
    said = json.loads(client.get(f"/seasons/{season.slug}/overall.json").content)
    assert [row["team_name"] for row in said["rows"]] == [
        "Dogs",
        "Ants",
        "Bees",
        "Cats",
    ]
    assert (
        "Cats & 0.0 [0.0, 100.0] & 1 of 2"
        in client.get(f"/seasons/{season.slug}/overall.tex").content.decode()
    )


def test_a_season_that_wants_none_has_none(client, season):
    Season.objects.update(shows_overall=False)
    read(client, season, status=404)
    for end in ("overall/", "overall.csv", "overall.json", "overall.tex"):
        assert client.get(f"/seasons/{season.slug}/{end}").status_code == 404
    assert (
        "All tasks together"
        not in client.get(f"/seasons/{season.slug}/").content.decode()
    )


def test_a_season_without_ranked_teams_says_so(client):
    season = factories.make_season(shows_overall=True)
    assert (
        "once a board"
        in client.get(f"/seasons/{season.slug}/overall/").content.decode()
    )


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
