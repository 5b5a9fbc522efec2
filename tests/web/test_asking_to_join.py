"""The pages of invitations by e-mail and of asking to join."""

import pytest
from django.urls import reverse

from citeboard.teams.membership import invite_by_mail, sign_mailed_invitation_secret
from citeboard.teams.models import MailedInvitation
from tasks.models import JoinRequest, Phase
from tests import factories
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.make_user(name="Ada")


@pytest.fixture
def season():
    return factories.make_season(title="The season")


@pytest.fixture
def team(lead, season):
    return factories.make_team(
        season=season, lead=lead, name="Night Shift", slug="night-shift"
    )


def post(client, person, name, *arguments, **data):
    client.force_login(person)
    return client.post(reverse(name, args=arguments), data, follow=True)


@pytest.mark.parametrize("has_account", [True, False])
def test_the_lead_reads_the_same_whether_or_not_there_is_an_account(
    client, team, lead, has_account
):
    if has_account:
        factories.make_user(email="bob@example.net")
    page = text_of(
        post(client, lead, "team-invite", team.slug, address="Bob@example.net")
    )
    assert "bob@example.net will be sent an invitation." in page
    assert "not answered yet" in page


def test_an_address_is_accepted_or_declined_by_its_link(client, team, lead):
    invited = invite_by_mail(team=team, address="bob@example.net", by=lead)
    link = reverse("join", args=[sign_mailed_invitation_secret(invited)])
    page = text_of(client.get(link))
    assert "Ada invites you to the team Night Shift" in page
    assert "Decline the invitation" in page
    page = text_of(
        client.post(
            reverse("join-decline", args=[sign_mailed_invitation_secret(invited)])
        )
    )
    assert "The invitation to Night Shift has ended." in page
    assert client.get(link).status_code == 404
    client.force_login(lead)
    page = text_of(client.get(reverse("team", args=[team.slug])))
    assert "declined" in page


def test_whoever_signs_in_accepts_by_the_link(client, team, lead):
    invited = invite_by_mail(team=team, address="bob@example.net", by=lead)
    bob = factories.make_user(name="Bob", email="bob@example.net")
    client.force_login(bob)
    assert "Accept or decline: Night Shift" in text_of(client.get(reverse("teams")))
    page = text_of(
        client.post(
            reverse("join", args=[sign_mailed_invitation_secret(invited)]), follow=True
        )
    )
    assert "You are in Night Shift now." in page
    assert not MailedInvitation.objects.exists()


def test_an_invitation_stands_among_the_messages_until_it_is_answered(
    client, team, lead
):
    invited = invite_by_mail(team=team, address="bob@example.net", by=lead)
    bob = factories.make_user(name="Bob", email="bob@example.net")
    other = factories.make_user()
    client.force_login(bob)
    page = text_of(client.get(reverse("messages")))
    assert "Messages 1 new" in page
    assert "no new messages" in page
    assert "Accept or decline: Night Shift from Ada" in page
    client.force_login(other)
    assert "Night Shift" not in text_of(client.get(reverse("messages")))
    client.post(reverse("join-decline", args=[sign_mailed_invitation_secret(invited)]))
    client.force_login(bob)
    page = text_of(client.get(reverse("messages")))
    assert "Night Shift" not in page
    assert "1 new" not in page


def test_members_who_do_not_lead_see_no_addresses(client, team, lead):
    mate = factories.make_user()
    team.memberships.create(user=mate)
    invited = invite_by_mail(team=team, address="bob@example.net", by=lead)
    client.force_login(mate)
    assert "bob@example.net" not in text_of(
        client.get(reverse("team", args=[team.slug]))
    )
    assert client.post(reverse("team-invite", args=[team.slug])).status_code == 403
    withdraw = reverse("team-invite-withdraw", args=[team.slug, invited.pk])
    assert client.post(withdraw).status_code == 403


def test_an_invitation_is_withdrawn(client, team, lead):
    invited = invite_by_mail(team=team, address="bob@example.net", by=lead)
    page = text_of(post(client, lead, "team-invite-withdraw", team.slug, invited.pk))
    assert "does not work any more" in page
    assert (
        client.get(
            reverse("join", args=[sign_mailed_invitation_secret(invited)])
        ).status_code
        == 404
    )


def test_nobody_withdraws_the_invitation_of_another_team(client, team, lead):
    invited = invite_by_mail(team=team, address="bob@example.net", by=lead)
    carl = factories.make_user()
    own = factories.make_team(lead=carl)
    client.force_login(carl)
    withdraw = reverse("team-invite-withdraw", args=[own.slug, invited.pk])
    assert client.post(withdraw).status_code == 404
    assert (
        client.get(
            reverse("join", args=[sign_mailed_invitation_secret(invited)])
        ).status_code
        == 200
    )


def test_an_address_that_is_none_is_refused_in_words(client, team, lead):
    page = text_of(post(client, lead, "team-invite", team.slug, address="nobody"))
    assert "“nobody” is not an e-mail address." in page


@pytest.mark.both_databases
@pytest.mark.parametrize(("decision", "members"), [("accept", 3), ("decline", 2)])
def test_any_member_answers_who_asks(client, team, season, decision, members):
    mate, bob = (
        factories.make_user(),
        factories.make_user(name="Bob", affiliation="A university"),
    )
    team.memberships.create(user=mate)
    page = text_of(
        post(
            client,
            bob,
            "ask-to-join",
            season.slug,
            team=team.slug,
            message="I know parsers.",
        )
    )
    assert "You have asked to join Night Shift; its members decide." in page
    client.force_login(mate)
    page = text_of(client.get(reverse("team", args=[team.slug])))
    for told in ("Bob", "A university", bob.email, "I know parsers."):
        assert told in page
    asked = JoinRequest.objects.get()
    post(client, mate, "team-request", team.slug, asked.pk, decision=decision)
    assert team.memberships.count() == members
    assert "They ask to join" not in text_of(
        client.get(reverse("team", args=[team.slug]))
    )


def test_an_answer_that_is_none_and_one_that_comes_late(client, team, season, lead):
    bob = factories.make_user(name="Bob")
    post(client, bob, "ask-to-join", season.slug, team=team.slug)
    asked = JoinRequest.objects.get()
    page = text_of(
        post(client, lead, "team-request", team.slug, asked.pk, decision="perhaps")
    )
    assert "Say whether to accept or to decline." in page
    post(client, lead, "team-request", team.slug, asked.pk, decision="decline")
    page = text_of(
        post(client, lead, "team-request", team.slug, asked.pk, decision="accept")
    )
    assert "This has been answered or taken back already." in page


def test_nobody_answers_who_asks_another_team(client, team, season):
    bob, carl = factories.make_user(), factories.make_user()
    post(client, bob, "ask-to-join", season.slug, team=team.slug)
    own = factories.make_team(season=season, lead=carl)
    client.force_login(carl)
    answer = reverse("team-request", args=[own.slug, JoinRequest.objects.get().pk])
    assert client.post(answer, {"decision": "accept"}).status_code == 404
    assert not team.memberships.filter(user=bob).exists()


def test_a_request_is_taken_back(client, team, season):
    bob = factories.make_user()
    post(client, bob, "ask-to-join", season.slug, team=team.slug)
    page = text_of(post(client, bob, "join-take-back", JoinRequest.objects.get().pk))
    assert "Your request to join Night Shift is withdrawn." in page
    assert not JoinRequest.objects.exists()


@pytest.mark.both_databases
def test_teams_whose_names_a_phase_hides_cannot_be_asked(client, team, season):
    factories.make_phase(task=factories.make_task(season=season))
    Phase.objects.update(shows_teams=False)
    bob = factories.make_user()
    client.force_login(bob)
    assert "Ask to join" not in text_of(
        client.get(reverse("season", args=[season.slug]))
    )
    response = client.post(
        reverse("ask-to-join", args=[season.slug]), {"team": team.slug}
    )
    assert response.status_code == 404


def test_who_takes_part_already_is_not_invited_to_ask(client, team, season):
    rival = factories.make_user()
    factories.make_team(season=season, lead=rival)
    client.force_login(rival)
    assert "Ask to join" not in text_of(
        client.get(reverse("season", args=[season.slug]))
    )
    page = text_of(post(client, rival, "ask-to-join", season.slug, team=team.slug))
    assert "already takes part" in page
