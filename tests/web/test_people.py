"""Who runs a season and who takes part: roles, what organisers see of teams, lists, sizes, frozen members."""

import datetime as dt

import pytest
from allauth.account.models import EmailAddress
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.teams.membership import renew_invitation, sign_invitation_secret
from citeboard.teams.models import Membership
from scoring.models import Rating
from scoring.results.board.visibility import (
    determine_audience,
    may_see_instances,
    may_see_scores,
)
from tasks.models import Organiser, Registration, Season
from tests import factories
from tests.scoring import boards, sheets
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga():
    return factories.make_user(
        name="Olga", email="olga@example.org", affiliation="Rome"
    )


@pytest.fixture
def season(olga):
    return factories.make_season(organiser=olga, title="Our season")


@pytest.fixture
def ada():
    return factories.make_user(name="Ada", email="ada@example.org")


def roles(season) -> dict[str, str]:
    return {str(each.user): each.role for each in season.organisers.all()}


def give(client, season, email, role):
    where = reverse("organise-people", args=[season.slug])
    return client.post(where, {"email": email, "role": role}, follow=True)


def enter(client, season, team, **data):
    return client.post(
        reverse("enter", args=[season.slug]), {"team": team.slug, **data}, follow=True
    )


def set_rules(client, season, **rules):
    return client.post(
        reverse("organise-team-rules", args=[season.slug]), rules, follow=True
    )


def test_an_organiser_adds_helpers_and_organisers_and_removes_them(
    client, season, olga, ada
):
    client.force_login(olga)
    assert "Ada has the chosen role now." in text_of(
        give(client, season, "ADA@example.org", "helper")
    )
    assert roles(season) == {"Olga": "organiser", "Ada": "helper"}
    give(client, season, ada.email, "organiser")
    assert roles(season) == {"Olga": "organiser", "Ada": "organiser"}
    own = season.organisers.get(user=ada)
    client.post(reverse("organise-person-remove", args=[season.slug, own.pk]))
    assert roles(season) == {"Olga": "organiser"}
    assert "Nobody has an account" in text_of(
        give(client, season, "nobody@example.org", "helper")
    )
    assert [str(entry) for entry in find_history_of_place(season)] == [
        "Olga removed Ada as an organiser",
        "Olga made Ada an organiser",
        "Olga made Ada a helper",
    ]
    assert find_history_of_place(season)[1].changes == [
        {"key": "role", "before": "helper", "after": "organiser"}
    ]


@pytest.mark.both_databases
def test_an_account_that_was_closed_is_given_no_role(client, season, olga, ada):
    ada.is_active = False
    ada.save()
    client.force_login(olga)
    give(client, season, ada.email, "organiser")
    assert roles(season) == {"Olga": "organiser"}


def test_a_season_keeps_an_organiser(client, season, olga, ada):
    client.force_login(olga)
    own = season.organisers.get()
    page = client.post(
        reverse("organise-person-remove", args=[season.slug, own.pk]), follow=True
    )
    assert "The season needs an organiser; add another one first." in text_of(page)
    assert "The season needs an organiser" in text_of(
        give(client, season, olga.email, "helper")
    )
    assert roles(season) == {"Olga": "organiser"}


def test_a_season_is_handed_over_to_somebody_else(client, season, olga, ada):
    client.force_login(olga)
    page = give(client, season, ada.email, "hand-over")
    assert roles(season) == {"Ada": "organiser"}
    assert page.redirect_chain[-1][0] == reverse("season", args=[season.slug])
    assert client.get(reverse("organise", args=[season.slug])).status_code == 404


def test_a_helper_sees_runs_and_teams_and_is_led_to_nothing_else(
    client, season, olga, ada
):
    Organiser.objects.create(season=season, user=ada, role="helper")
    client.force_login(ada)
    page = client.get(reverse("organise", args=[season.slug])).content.decode()
    assert reverse("organise-runs", args=[season.slug]) in page
    assert reverse("organise-teams", args=[season.slug]) in page
    for name in ("gold", "phases", "models", "human", "baselines", "people", "terms"):
        where = reverse(f"organise-{name}", args=[season.slug])
        assert f'"{where}"' not in page
        assert client.get(where).status_code == 404
    teams = client.get(reverse("organise-teams", args=[season.slug])).content.decode()
    assert reverse("organise-entry", args=[season.slug]) not in teams


def test_a_helper_sees_hidden_scores_and_no_single_instance_of_the_gold(client):
    phase = boards.make_phase(board="nobody")
    team = boards.make_team(phase, "Night Shift")
    run = boards.scored_run(phase, team, 0.734)
    ada = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=ada, role="helper")
    assert may_see_scores(run, ada)
    assert not may_see_instances(phase, determine_audience(phase, ada))


def test_a_helper_reads_no_board_before_its_inputs_are_released(client):
    phase = boards.make_phase(opens=timezone.now() + dt.timedelta(days=1))
    boards.scored_run(phase, None, 0.734, system="A baseline")
    ada = factories.make_user()
    organiser = Organiser.objects.create(
        season=phase.task.season, user=ada, role=Organiser.Role.HELPER
    )
    client.force_login(ada)
    reads = []
    for role in Organiser.Role.HELPER, Organiser.Role.ORGANISER:
        Organiser.objects.filter(pk=organiser.pk).update(role=role)
        board = client.get(boards.address("board", phase)).content.decode()
        reads.append("A baseline" in board)
    assert reads == [False, True]


def test_organisers_are_named_on_the_page_of_the_season_and_helpers_are_not(
    client, season, ada
):
    Organiser.objects.create(season=season, user=ada, role="helper")
    page = text_of(client.get(reverse("season", args=[season.slug])))
    assert "Olga, Rome" in page
    assert "Ada" not in page


def test_a_team_with_an_organiser_in_it_is_marked(client, season, olga):
    factories.make_team(season=season, lead=olga, name="Insiders")
    factories.make_team(season=season, name="Outsiders")
    page = text_of(client.get(reverse("season", args=[season.slug])))
    assert "Insiders (with an organiser)" in page
    assert "Outsiders (with" not in page


def test_who_decides_sees_names_affiliations_addresses_and_the_message(
    client, season, olga, ada
):
    Season.objects.update(registration="approval")
    client.force_login(ada)
    profile = {
        "name": "Ada",
        "affiliation": "Analytical  Engines",
        "orcid": "https://orcid.org/0000-0002-1825-0097",
    }
    client.post(reverse("account-name"), profile)
    team = factories.make_team(lead=ada, name="Night Shift")
    enter(client, season, team, message="We wrote the first program.")
    client.force_login(olga)
    page = text_of(client.get(reverse("organise-teams", args=[season.slug])))
    for words in (
        "Analytical Engines",
        ada.email,
        "0000-0002-1825-0097",
        "We wrote the first program.",
    ):
        assert words in page


@pytest.mark.parametrize(
    ("orcid", "said"),
    [
        ("0000-0002-1825-0098", "a digit is mistyped"),
        ("12", "An ORCID iD has sixteen digits"),
    ],
)
def test_a_mistyped_orcid_is_refused(client, ada, orcid, said):
    client.force_login(ada)
    response = client.post(reverse("account-name"), {"name": "Ada", "orcid": orcid})
    assert response.status_code == 422
    assert said in text_of(response)


def test_an_orcid_may_end_with_an_x_and_consent_is_kept(client, ada):
    client.force_login(ada)
    client.post(
        reverse("account-name"),
        {"name": "Ada", "orcid": "000000021694233x", "is_listed": "on"},
    )
    ada.refresh_from_db()
    assert (ada.orcid, ada.is_listed) == ("0000-0002-1694-233X", True)


def test_a_season_is_open_to_a_list_of_addresses_and_domains(client, season, olga, ada):
    client.force_login(olga)
    client.post(reverse("organise-entry", args=[season.slug]), {"registration": "list"})
    page = set_rules(
        client, season, entry_list="ada@example.org\n@uni.example\nno address"
    )
    assert "“no address” is neither an address nor @ and a domain" in text_of(page)
    set_rules(client, season, entry_list="Ada@example.org\n@uni.example")
    for email, is_in in (("bob@uni.example", True), ("eve@example.org", False)):
        person = factories.make_user(email=email)
        client.force_login(person)
        team = factories.make_team(lead=person)
        said = text_of(enter(client, season, team))
        assert Registration.objects.filter(team=team).exists() == is_in
        assert ("ask the organisers" in said) != is_in
    EmailAddress.objects.filter(user=ada).update(verified=False)
    client.force_login(ada)
    assert "has confirmed none of them" in text_of(
        enter(client, season, factories.make_team(lead=ada))
    )


def joins(client, team, person):
    client.force_login(person)
    link = sign_invitation_secret(
        renew_invitation(team=team, by=team.memberships.get(role="lead").user)
    )
    return client.post(reverse("join", args=[link]), follow=True)


@pytest.mark.both_databases
def test_nobody_joins_a_team_that_is_full(client, season, olga, ada):
    client.force_login(olga)
    set_rules(client, season, max_team_size=2)
    team = factories.make_team(season=season, lead=ada)
    assert "You are in" in text_of(joins(client, team, factories.make_user()))
    assert "A team has at most 2 members in Our season." in text_of(
        joins(client, team, factories.make_user())
    )
    large = factories.make_team(
        lead=ada, members=[factories.make_user() for _ in range(2)]
    )
    Season.objects.update(allows_several_teams=True)
    client.force_login(ada)
    assert "at most 2 members" in text_of(enter(client, season, large))


@pytest.mark.both_databases
def test_members_are_frozen_from_a_date_on_and_may_still_leave(
    client, season, olga, ada
):
    bob = factories.make_user(name="Bob")
    team = factories.make_team(season=season, lead=ada, members=[bob])
    client.force_login(olga)
    ahead = timezone.now() + dt.timedelta(days=1)
    set_rules(client, season, members_until=ahead.strftime("%Y-%m-%dT%H:%M"))
    assert "You are in" in text_of(joins(client, team, factories.make_user()))
    Season.objects.update(members_until=timezone.now())
    assert "keep their members since" in text_of(
        joins(client, team, factories.make_user())
    )
    client.force_login(ada)
    page = client.post(
        reverse("team-member-remove", args=[team.slug, bob.pk]), follow=True
    )
    assert "keep their members since" in text_of(page)
    client.force_login(bob)
    client.post(reverse("team-leave", args=[team.slug]))
    assert not Membership.objects.filter(user=bob).exists()


def test_the_date_of_settled_members_is_read_in_the_zone_of_the_season(
    client, season, olga
):
    client.force_login(olga)
    Season.objects.update(time_zone="Europe/Rome")
    set_rules(client, season, members_until="2027-05-01 12:00")
    assert Season.objects.get(pk=season.pk).members_until == dt.datetime(
        2027, 5, 1, 10, tzinfo=dt.UTC
    )
    page = text_of(client.get(reverse("organise-teams", args=[season.slug])))
    assert "In Europe/Rome, such as 2026-05-01 23:59" in page
    set_rules(client, season, members_until="2027-05-01 12:00 AoE")
    assert Season.objects.get(pk=season.pk).members_until == dt.datetime(
        2027, 5, 2, tzinfo=dt.UTC
    )
    refused = client.post(
        reverse("organise-team-rules", args=[season.slug]),
        {"members_until": "soon", "entry_list": ""},
    )
    assert refused.status_code == 422
    assert "“soon” is not a date and time" in text_of(refused)
    assert Season.objects.get(pk=season.pk).members_until == dt.datetime(
        2027, 5, 2, tzinfo=dt.UTC
    )


def test_the_rules_for_teams_stand_in_the_history_with_before_and_after(
    client, season, olga
):
    client.force_login(olga)
    set_rules(
        client,
        season,
        max_team_size=3,
        members_until="2027-05-01T12:00",
        entry_list="@uni.example",
    )
    assert {
        change["key"]: change["after"]
        for entry in find_history_of_place(season)
        for change in entry.changes
    } == {
        "max_team_size": 3,
        "members_until": "2027-05-01T12:00:00Z",
        "entry_list": "@uni.example",
    }
    before = find_history_of_place(season).count()
    set_rules(
        client,
        season,
        max_team_size=3,
        members_until="2027-05-01T12:00",
        entry_list="@uni.example",
    )
    assert find_history_of_place(season).count() == before


@pytest.mark.both_databases
def test_an_annotator_is_removed_with_what_they_rated_while_the_sheet_is_open(
    client, season, olga, ada
):
    phase = boards.make_phase(season)
    run = boards.make_run(phase, boards.make_team(phase, "Night Shift"))
    sheet = sheets.make_sheet(phase, {"r-1": {run: "A text."}}, annotators=[ada])
    sheets.rate(sheet, "Ada", {("r-1", run): (1, 1)})
    annotator = sheet.annotators.get()
    client.force_login(olga)
    where = reverse(
        "organise-annotator-remove", args=[season.slug, sheet.pk, annotator.pk]
    )
    type(sheet).objects.update(published_at=timezone.now())
    assert "unpublish it before" in text_of(client.post(where, follow=True))
    type(sheet).objects.update(published_at=None)
    assert "Ada is off the sheet, with 1 rating." in text_of(
        client.post(where, follow=True)
    )
    assert not sheet.annotators.exists()
    assert not Rating.objects.exists()
    assert find_history_of_place(season).filter(action="annotator-removed").exists()
