"""Founding a team, entering a season, and a team's own page."""

import re

import pytest
from django.core import mail
from django.urls import reverse

from citeboard.teams.membership import transfer_team_lead
from citeboard.teams.models import Team
from tasks.models import Registration
from tests import factories
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def text_of(response) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def test_somebody_new_signs_up_confirms_the_address_and_founds_a_team_for_a_season(
    client,
):
    season = factories.make_season(title="The season")
    password = "a longer password than most"
    fields = {"email": "new@example.org", "password1": password, "password2": password}
    assert "Check your mail" in text_of(
        client.post("/accounts/signup/", fields, follow=True)
    )
    link = re.search(r"/accounts/confirm-email/\S+", mail.outbox[0].body)[0]
    assert "Is new@example.org yours?" in text_of(client.get(link))
    client.post(link)
    client.post("/accounts/login/", {"login": "new@example.org", "password": password})
    response = client.post(reverse("teams"), {"name": "Night  Shift"}, follow=True)
    assert "Night Shift" in text_of(response)
    assert "Enter this season" in text_of(
        client.get(reverse("season", args=[season.slug]))
    )
    response = client.post(
        reverse("enter", args=[season.slug]), {"team": "night-shift"}, follow=True
    )
    assert "Night Shift takes part in The season." in text_of(response)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "Give the team a name."),
        ("Taken", "another team has this name"),
        ("!!!", "at least one letter"),
        ("x" * 81, "80"),
    ],
)
def test_a_name_that_cannot_be_taken_is_refused_in_words(client, name, said):
    factories.make_team(name="Taken", slug="taken")
    client.force_login(factories.make_user())
    response = client.post(reverse("teams"), {"name": name})
    assert response.status_code == 422
    assert said.lower() in text_of(response).lower()
    assert Team.objects.count() == 1


def test_members_are_listed_after_the_lead_in_the_order_in_which_they_came(client):
    zoe, ben, ada = (factories.make_user(name=name) for name in ("Zoe", "Ben", "Ada"))
    team = factories.make_team(lead=zoe, members=[ben, ada])
    transfer_team_lead(team=team, to=ada, by=zoe)
    client.force_login(ben)
    people = client.get(reverse("team", args=[team.slug])).context["people"]
    assert [str(one.user) for one in people.memberships] == ["Ada", "Zoe", "Ben"]


def test_a_name_may_be_in_any_script(client):
    client.force_login(factories.make_user())
    names = ["团队三", "小组3", "Команда 3", "ทีม", "Équipe d’été"]
    for name in names:
        client.post(reverse("teams"), {"name": name})
    slugs = dict(Team.objects.values_list("name", "slug"))
    assert sorted(slugs) == sorted(names)
    assert slugs["Équipe d’été"] == "equipe-dete"
    assert slugs["小组3"].startswith("3-")
    for name, slug in slugs.items():
        response = client.get(reverse("team", args=[slug]))
        assert (response.status_code, name in text_of(response)) == (200, True)
    response = client.post(reverse("teams"), {"name": "团队三"})
    assert "another team has this name" in text_of(response).lower()


def test_a_season_is_entered_with_one_s_own_team_alone(client):
    season = factories.make_season()
    client.force_login(factories.make_user())
    others = factories.make_team()
    assert (
        client.post(
            reverse("enter", args=[season.slug]), {"team": others.slug}
        ).status_code
        == 404
    )
    assert not Registration.objects.exists()


def test_a_person_takes_part_with_one_team(client):
    season, person = factories.make_season(), factories.make_user(name="Ada")
    factories.make_team(season=season, lead=person)
    second = factories.make_team(lead=person)
    client.force_login(person)
    response = client.post(
        reverse("enter", args=[season.slug]), {"team": second.slug}, follow=True
    )
    assert "Ada already takes part" in text_of(response)
    assert Registration.objects.count() == 1


def test_entering_twice_changes_nothing(client):
    season, person = factories.make_season(), factories.make_user()
    team = factories.make_team(season=season, lead=person)
    client.force_login(person)
    client.post(reverse("enter", args=[season.slug]), {"team": team.slug})
    assert Registration.objects.count() == 1


def test_a_team_sees_all_its_runs_with_their_numbers(client):
    phase, person = boards.make_phase(), factories.make_user(name="Ada")
    team = boards.make_team(phase, "The team", person)
    for value, system in ((0.2, "first"), (0.4, "second")):
        boards.scored_run(phase, team, value, system=system)
    boards.make_run(phase, team, status="failed", system="third")
    client.force_login(person)
    page = text_of(client.get(reverse("team", args=[team.slug])))
    assert "Ada (lead)" in page
    for shown in (
        "first",
        "second",
        "third",
        "0.2000",
        "0.4000",
        "0.3500 to 0.4500",
        "failed",
    ):
        assert shown in page
    assert '"y": [0.2, 0.4]' in page


def test_a_new_team_is_told_what_comes_next(client):
    person = factories.make_user()
    team = factories.make_team(lead=person)
    client.force_login(person)
    assert "entered no season yet" in text_of(
        client.get(reverse("team", args=[team.slug]))
    )
