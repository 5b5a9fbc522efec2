"""Seasons, tasks and phases: public, except for drafts."""

import pytest

from tests.api.conftest import API, ROLES
from tests.api.sending import send
from tests.factories import lasting_day, make_phase, make_season, make_task, make_team


@pytest.mark.both_databases
def test_the_list_holds_public_seasons_and_drafts_for_those_who_organise_them(world):
    draft = make_season(organiser=world.people["organiser"], is_public=False)
    for role in ROLES:
        body = world.ask(role).get(f"{API}/seasons/").json()
        slugs = {result["slug"] for result in body["results"]}
        expected = {world.season.slug} | (
            {draft.slug} if role in ("organiser", "staff") else set()
        )
        assert slugs == expected, role
        assert body["count"] == len(expected)


def test_a_season_has_its_tasks_and_their_phases(world):
    body = world.ask("visitor").get(f"{API}/seasons/{world.season.slug}/").json()
    [task] = body["tasks"]
    assert set(body) == {
        "slug", "title", "summary", "licence", "is_public", "anonymous_until",
        "results_at", "papers_until", "camera_ready_until", "workshop_at", "url", "page", "tasks",
    }  # fmt: skip
    assert body["page"] == f"http://testserver/seasons/{world.season.slug}/"
    assert (task["id"], task["type"], task["season"]) == (
        world.task.pk,
        "clsumm-1a",
        world.season.slug,
    )
    assert task["rules"] == ["corrected", "official-2017"]
    assert task["metrics"]["corrected"][0] == "overlap_f1_micro"
    assert "topic" in task["dimensions"]
    assert [phase["id"] for phase in task["phases"]] == [world.phase.pk]


def test_a_task_is_what_its_season_says_of_it(world):
    season = world.ask("visitor").get(f"{API}/seasons/{world.season.slug}/").json()
    task = world.ask("visitor").get(f"{API}/tasks/{world.task.pk}/").json()
    assert [task] == season["tasks"]
    assert (
        task["page"]
        == f"http://testserver/seasons/{world.season.slug}/{world.task.slug}/"
    )
    assert world.ask("visitor").get(task["url"]).json() == task


def test_a_phase_says_when_it_is_open_and_against_which_gold_runs_are_checked(world):
    body = world.ask("visitor").get(f"{API}/phases/{world.phase.pk}/").json()
    assert body["is_open"] is True
    assert body["opens"] < body["closes"]
    assert (body["task"], body["season"]) == (world.task.pk, world.season.slug)
    assert (body["gold"]["number"], body["gold"]["instances"]) == (1, 4)
    assert len(body["gold"]["sha256"]) == 64
    assert body["teams"] == []
    assert (
        world.ask("visitor").get(body["leaderboard"]).json()["phase"] == world.phase.pk
    )
    without = make_phase(task=make_task(season=world.season), with_gold=False)
    assert (
        world.ask("visitor").get(f"{API}/phases/{without.pk}/").json()["gold"] is None
    )


def test_a_member_reads_what_is_left_of_the_teams_quota(world):
    world.phase.runs_in_total, world.phase.runs_per_day = 5, 2
    world.phase.time_zone = lasting_day()
    world.phase.save()
    make_team(season=make_season(), lead=world.people["member"])
    send(world.member, world.phase)
    [quota] = world.member.get(f"{API}/phases/{world.phase.pk}/").json()["teams"]
    assert (quota["team"], quota["left"]) == (world.team.slug, 1)
    assert (quota["left_today"], quota["left_in_total"]) == (1, 4)
    assert quota["renews_at"]
    [other] = (
        world.ask("stranger").get(f"{API}/phases/{world.phase.pk}/").json()["teams"]
    )
    assert (other["team"], other["left"]) == (world.other_team.slug, 2)


@pytest.mark.parametrize("role", ROLES)
def test_a_draft_and_all_below_it_looks_absent(world, role):
    world.season.is_public = False
    world.season.save()
    expected = 200 if role in ("organiser", "staff") else 404
    for part in (
        f"seasons/{world.season.slug}/",
        f"tasks/{world.task.pk}/",
        f"phases/{world.phase.pk}/",
        f"phases/{world.phase.pk}/leaderboard/",
    ):
        response = world.ask(role).get(f"{API}/{part}")
        assert response.status_code == expected, part
        if expected == 404:
            assert response.json() == {
                "detail": "There is nothing here, or nothing that you may see."
            }


@pytest.mark.both_databases
def test_a_season_with_many_tasks_takes_the_same_number_of_queries(
    world, django_assert_max_num_queries
):
    for _ in range(4):
        make_phase(task=make_task(season=world.season), with_gold=False)
    with django_assert_max_num_queries(7):
        body = world.ask("visitor").get(f"{API}/seasons/{world.season.slug}/").json()
    assert len(body["tasks"]) == 5
