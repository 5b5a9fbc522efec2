"""Who is in a team: invited, joining, leaving, removed, and who leads."""

import datetime as dt
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.teams.models import Invitation, Membership, Team
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def lead():
    return factories.make_user(name="Ada")


@pytest.fixture
def team(lead):
    return factories.make_team(lead=lead, name="Night Shift", slug="night-shift")


def post(client, person, name, *arguments, **data):
    client.force_login(person)
    return client.post(reverse(name, args=arguments), data, follow=True)


def link_of(client, team, lead) -> str:
    """The path of the invitation link, as the lead reads it on the team's page."""
    client.force_login(lead)
    page = client.get(reverse("team", args=[team.slug])).content.decode()
    found = re.search(r'id="invitation-link">http://testserver(/join/[^<]+)<', page)
    return found[1] if found else ""


def invited(client, team, lead) -> str:
    post(client, lead, "team-invitation-renew", team.slug)
    return link_of(client, team, lead)


def members(team) -> list[tuple[str, str]]:
    return [
        (str(membership.user), membership.role)
        for membership in team.memberships.order_by("joined_at")
    ]


def test_a_link_lets_somebody_join_who_opens_it(client, team, lead):
    link = invited(client, team, lead)
    bob = factories.make_user(name="Bob")
    client.force_login(bob)
    assert "Ada invites you to the team Night Shift, which has 1 member" in text_of(
        client.get(link)
    )
    assert "You are in Night Shift now." in text_of(client.post(link, follow=True))
    assert members(team) == [("Ada", "lead"), ("Bob", "member")]
    assert "You are in Night Shift already" in text_of(client.get(link))
    client.post(link)
    assert team.memberships.count() == 2


def test_looking_at_a_link_joins_nothing(client, team, lead):
    link = invited(client, team, lead)
    client.force_login(factories.make_user())
    client.get(link)
    assert team.memberships.count() == 1


def test_a_visitor_is_told_who_invites_and_sent_back_after_signing_in(
    client, team, lead
):
    link = invited(client, team, lead)
    client.logout()
    page = client.get(link).content.decode()
    assert f"{reverse('account_login')}?next={link}" in page
    client.post(link)
    assert team.memberships.count() == 1


def test_renewing_the_link_ends_the_one_before(client, team, lead):
    old = invited(client, team, lead)
    new = invited(client, team, lead)
    client.force_login(factories.make_user())
    assert client.get(old).status_code == 404
    assert "no longer works" in text_of(client.post(old))
    assert client.get(new).status_code == 200


def test_a_link_that_was_ended_lets_nobody_in(client, team, lead):
    link = invited(client, team, lead)
    post(client, lead, "team-invitation-revoke", team.slug)
    assert link_of(client, team, lead) == ""
    client.force_login(factories.make_user())
    assert client.post(link).status_code == 404
    assert team.memberships.count() == 1


def test_a_link_ends_after_thirty_days(client, team, lead):
    link = invited(client, team, lead)
    Invitation.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    client.force_login(factories.make_user())
    assert client.post(link).status_code == 404


def test_what_the_database_keeps_is_no_link(client, team, lead):
    link = invited(client, team, lead)
    client.force_login(factories.make_user())
    assert client.get(f"/join/{Invitation.objects.get().nonce}/").status_code == 404
    tampered = link[:-3] + ("AA/" if link[-3:-1] != "AA" else "BB/")
    assert client.get(tampered).status_code == 404


def test_members_other_than_the_lead_get_no_link_and_change_nothing(client, team, lead):
    bob = factories.make_user(name="Bob")
    Membership.objects.create(team=team, user=bob)
    invited(client, team, lead)
    client.force_login(bob)
    page = client.get(reverse("team", args=[team.slug])).content.decode()
    assert "/join/" not in page
    for name, arguments in (
        ("team-invitation-renew", []),
        ("team-invitation-revoke", []),
        ("team-member-remove", [lead.pk]),
        ("team-lead", [bob.pk]),
    ):
        response = client.post(reverse(name, args=[team.slug, *arguments]))
        assert response.status_code == 403
        assert "The lead of Night Shift alone may do this" in text_of(response)
    assert members(team) == [("Ada", "lead"), ("Bob", "member")]


def test_the_lead_removes_a_member_and_the_link_they_may_know_ends(client, team, lead):
    bob = factories.make_user(name="Bob")
    link = invited(client, team, lead)
    client.force_login(bob)
    client.post(link)
    page = text_of(post(client, lead, "team-member-remove", team.slug, bob.pk))
    assert "Bob is not in Night Shift any more" in page
    assert members(team) == [("Ada", "lead")]
    client.force_login(bob)
    assert client.get(reverse("team", args=[team.slug])).status_code == 404
    assert client.post(link).status_code == 404


def test_the_lead_is_handed_over_and_one_leads_at_a_time(client, team, lead):
    bob = factories.make_user(name="Bob")
    Membership.objects.create(team=team, user=bob)
    assert "Bob leads Night Shift now." in text_of(
        post(client, lead, "team-lead", team.slug, bob.pk)
    )
    assert members(team) == [("Ada", "member"), ("Bob", "lead")]
    assert (
        client.post(reverse("team-lead", args=[team.slug, lead.pk])).status_code == 403
    )


def test_a_lead_hands_over_before_leaving(client, team, lead):
    bob = factories.make_user(name="Bob")
    Membership.objects.create(team=team, user=bob)
    assert "Hand the lead over to another member" in text_of(
        post(client, lead, "team-leave", team.slug)
    )
    post(client, lead, "team-lead", team.slug, bob.pk)
    assert "You are not in Night Shift any more." in text_of(
        post(client, lead, "team-leave", team.slug)
    )
    assert members(team) == [("Bob", "lead")]


def test_the_lead_cannot_be_removed(client, team, lead):
    page = text_of(post(client, lead, "team-member-remove", team.slug, lead.pk))
    assert "The lead cannot be removed" in page
    assert members(team) == [("Ada", "lead")]


def test_nobody_is_changed_who_is_not_in_the_team(client, team, lead):
    stranger = factories.make_user(name="Bob")
    other = factories.make_team(lead=factories.make_user(name="Carl"))
    other.memberships.create(user=stranger)
    client.force_login(lead)
    for name in ("team-member-remove", "team-lead"):
        assert (
            client.post(reverse(name, args=[team.slug, stranger.pk])).status_code == 404
        )
    assert members(other) == [("Carl", "lead"), ("Bob", "member")]


def test_a_team_that_took_part_nowhere_goes_with_its_last_member(client, team, lead):
    post(client, lead, "team-leave", team.slug)
    assert not Team.objects.exists()


def test_the_last_of_a_team_in_a_season_stays(client, lead):
    team = factories.make_team(
        season=factories.make_season(), lead=lead, name="Night Shift"
    )
    page = text_of(post(client, lead, "team-leave", team.slug))
    assert "You are the last of Night Shift, which takes part in a season" in page
    assert members(team) == [("Ada", "lead")]


def test_runs_stay_with_the_team_when_their_sender_leaves(client, lead):
    phase = boards.make_phase()
    bob = factories.make_user(name="Bob")
    team = boards.make_team(phase, "Night Shift", lead, bob)
    run = boards.scored_run(phase, team, 0.5, submitted_by=bob)
    post(client, bob, "team-leave", team.slug)
    assert client.get(reverse("submission", args=[run.pk])).status_code == 404
    client.force_login(lead)
    assert "Bob" in text_of(client.get(reverse("submission", args=[run.pk])))


def test_what_changed_in_a_team_is_told_to_its_members(client, team, lead):
    bob = factories.make_user(name="Bob")
    link = invited(client, team, lead)
    client.force_login(bob)
    client.post(link)
    post(client, lead, "team-lead", team.slug, bob.pk)
    page = text_of(client.get(reverse("team", args=[team.slug])))
    for words in (
        "Ada made an invitation link",
        "Bob joined",
        "Ada handed the lead over to Bob",
    ):
        assert words in page
    assert [entry.action for entry in find_history_of_place(team)] == [
        "lead-handed-over", "member-joined", "invitation-renewed",
    ]  # fmt: skip


def test_buttons_of_members_work_with_csrf_alone(team, lead):
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    strict.force_login(lead)
    assert strict.post(reverse("team-leave", args=[team.slug])).status_code == 403
    assert members(team) == [("Ada", "lead")]
