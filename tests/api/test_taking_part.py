"""From nobody to a team in a season by token alone, and what its organisers decide."""

import pytest

from tasks.models import Season
from tests.api.conftest import API


def post(client, path: str, **fields):
    return client.post(f"{API}/{path}", fields)


@pytest.fixture
def team(world) -> str:
    made = post(world.ask("reader"), "teams/", name="Late Comers")
    assert (
        made.status_code,
        made["Location"].endswith(f"{API}/teams/late-comers/"),
    ) == (201, True)
    return made.json()["slug"]


@pytest.mark.both_databases
def test_a_team_is_founded_joined_and_takes_part(world, team):
    link = post(world.ask("reader"), f"teams/{team}/invitation/").json()["link"]
    joined = post(world.ask("staff"), "join/", invitation=link).json()
    assert [member["role"] for member in joined["members"]] == ["lead", "member"]
    path = f"seasons/{world.season.slug}/registrations/"
    entered = post(world.ask("staff"), path, team=team)
    assert (entered.status_code, entered.json()["state"]) == (200, "approved")
    assert post(world.ask("staff"), path, team=team).json() == entered.json()
    assert world.ask("reader").get(f"{API}/teams/{team}/").json()["seasons"] == [
        world.season.slug
    ]
    assert world.ask("reader").delete(f"{API}/{path}{team}/").status_code == 204


@pytest.mark.both_databases
def test_a_link_that_was_ended_and_a_name_that_is_taken_are_refused_in_a_sentence(
    world, team
):
    link = post(world.ask("reader"), f"teams/{team}/invitation/").json()["link"]
    assert (
        world.ask("reader").delete(f"{API}/teams/{team}/invitation/").status_code == 204
    )
    refused = post(world.member, "join/", invitation=link)
    assert (refused.status_code, "no longer works" in refused.json()["detail"]) == (
        409,
        True,
    )
    taken = post(world.member, "teams/", name="late comers")
    assert (taken.status_code, list(taken.json()["errors"])) == (400, ["name"])


def test_the_lead_alone_invites_by_mail(world, team):
    link = post(world.ask("reader"), f"teams/{team}/invitation/").json()["link"]
    post(world.ask("staff"), "join/", invitation=link)
    path, bob = f"teams/{team}/invitations/", "bob@example.net"
    assert post(world.ask("staff"), path, address=bob).status_code == 403
    assert post(world.ask("reader"), path, address=bob).status_code == 201


def test_a_lead_reads_whom_the_own_team_alone_has_invited(world, team):
    post(world.ask("reader"), f"teams/{team}/invitations/", address="bob@example.net")
    own = world.member.get(f"{API}/teams/{world.team.slug}/invitations/").json()
    assert own["results"] == []


def test_organisers_decide_on_a_team_that_waits(world, team):
    Season.objects.update(registration="approval")
    path = f"seasons/{world.season.slug}/registrations/"
    assert post(world.ask("reader"), path, team=team).json()["state"] == "waiting"
    decided = post(
        world.ask("organiser"),
        f"{path}{team}/decision/",
        decision="refuse",
        reason="Too late.",
    )
    assert (decided.json()["state"], decided.json()["reason"]) == (
        "refused",
        "Too late.",
    )
    for role, is_told in (("member", False), ("organiser", True)):
        listed = world.ask(role).get(f"{API}/{path}").json()["results"]
        assert (team in [entry["team"] for entry in listed]) is is_told


def test_the_api_says_where_to_go(client, db):
    for address in ("/api/", f"{API}/"):
        assert client.get(address).json()["schema"].endswith(f"{API}/schema/")
