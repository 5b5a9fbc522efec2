"""Invitations by e-mail and asking to join: their mails as text, and what may not happen."""

import datetime as dt
import re

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.mail.backends.smtp import EmailBackend
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.core.refusals import ActionRefused
from citeboard.ops.accounts import collect_user_data, delete_account
from citeboard.teams.membership import (
    MAX_OPEN_MAILED_INVITATIONS,
    InvalidInvitation,
    add_member,
    decline_mailed_invitation,
    delete_expired_invitations,
    find_mailed_invitation_by_secret,
    find_waiting_invitations,
    invite_by_mail,
    leave_team,
    remove_member,
    sign_mailed_invitation_secret,
    withdraw_mailed_invitation,
)
from citeboard.teams.models import MailedInvitation
from tasks.jobs.mails import (
    load_outgoing_mail_state,
    requeue_failed_mails,
    send_due_mails,
)
from tasks.models import Job, JoinRequest, Notification, Registration
from tasks.models.notifications import NotificationKind
from tasks.registration.entries import (
    MAX_OPEN_JOIN_REQUESTS as MAX_ASKED,
    TeamEntryRefused,
    accept_join_request,
    ask_to_join,
    decline_join_request,
    join_team,
    take_back_request,
)
from tests import factories
from tests.tasks.mailing import letters_to, refuse_connections

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

ADDRESS = "bob@example.net"


@pytest.fixture(autouse=True)
def _address(settings):
    settings.BASE_URL = "https://board.example.org"


@pytest.fixture
def ada():
    return factories.make_user(name="Ada")


@pytest.fixture
def season():
    return factories.make_season(slug="the-season", title="The season")


@pytest.fixture
def team(season, ada):
    return factories.make_team(
        season=season, lead=ada, name="Night Shift", slug="night-shift"
    )


def make_old(invitation, days: int) -> None:
    MailedInvitation.objects.filter(pk=invitation.pk).update(
        created_at=timezone.now() - dt.timedelta(days=days)
    )


def test_an_invitation_by_mail(team, ada):
    invitation = invite_by_mail(team=team, address=" Bob@example.net ", by=ada)
    MailedInvitation.objects.update(
        expires_at=dt.datetime(2091, 5, 8, 21, 59, tzinfo=dt.UTC)
    )
    assert send_due_mails() == 1
    (letter,) = mail.outbox
    assert letter.to == [ADDRESS]
    assert letter.subject == "[Citeboard] Ada invites you to the team Night Shift"
    assert letter.body == (
        "Ada invites you to the team Night Shift.\n\n"
        "Teams take part in shared tasks together: their members see each other's names and all runs of the "
        "team, and may send runs.\n\n"
        "Accept or decline until 8 May 2091 (UTC):\n"
        f"https://board.example.org/join/{sign_mailed_invitation_secret(invitation)}/\n\n"
        "If you expect no invitation, decline it, or leave it: it ends by itself. Whoever abuses invitations "
        "can be reported: https://board.example.org/report/\n"
    )
    assert send_due_mails() == 0


def test_whoever_has_the_link_joins_with_it_once(team, ada):
    invitation = invite_by_mail(team=team, address=ADDRESS, by=ada)
    bob, other = factories.make_user(name="Bob"), factories.make_user()
    join_team(invitation=invitation, user=bob)
    assert team.memberships.filter(user=bob).exists()
    with pytest.raises(InvalidInvitation):
        find_mailed_invitation_by_secret(sign_mailed_invitation_secret(invitation))
    invitation.pk = 1
    with pytest.raises(InvalidInvitation):
        join_team(invitation=invitation, user=other)


@pytest.mark.parametrize("end", ["declined", "withdrawn", "expired"])
def test_an_invitation_that_has_ended_lets_nobody_in_and_its_mail_is_not_sent(
    team, ada, end
):
    invitation = invite_by_mail(team=team, address=ADDRESS, by=ada)
    if end == "declined":
        decline_mailed_invitation(invitation=invitation)
    elif end == "withdrawn":
        withdraw_mailed_invitation(invitation=invitation, by=ada)
        withdraw_mailed_invitation(invitation=invitation, by=ada)
    else:
        MailedInvitation.objects.update(
            expires_at=timezone.now() - dt.timedelta(days=1)
        )
    with pytest.raises(InvalidInvitation):
        find_mailed_invitation_by_secret(sign_mailed_invitation_secret(invitation))
    send_due_mails()
    assert mail.outbox == []
    if end == "declined":
        with pytest.raises(InvalidInvitation):
            join_team(invitation=invitation, user=factories.make_user())
    entry = find_history_of_place(team).first()
    assert entry.actor_name == {"declined": "Somebody invited"}.get(end, "Ada")


def test_an_invitation_that_was_declined_cannot_be_withdrawn(team, ada):
    invitation = invite_by_mail(team=team, address=ADDRESS, by=ada)
    decline_mailed_invitation(invitation=invitation)
    withdraw_mailed_invitation(invitation=invitation, by=ada)
    invitation.refresh_from_db()
    assert invitation.state == MailedInvitation.State.DECLINED


def test_the_history_keeps_no_address(team, ada):
    withdraw_mailed_invitation(
        invitation=invite_by_mail(team=team, address=ADDRESS, by=ada), by=ada
    )
    for entry in find_history_of_place(team):
        assert ADDRESS not in f"{entry.words} {entry.subject} {entry.changes}"


def test_nobody_is_written_to_again_at_once_or_after_declining(team, ada):
    invitation = invite_by_mail(team=team, address=ADDRESS, by=ada)
    withdraw_mailed_invitation(invitation=invitation, by=ada)
    with pytest.raises(ActionRefused, match="less than a day ago"):
        invite_by_mail(team=team, address=ADDRESS.upper(), by=ada)
    make_old(invitation, days=2)
    before = sign_mailed_invitation_secret(invitation)
    again = invite_by_mail(team=team, address=ADDRESS, by=ada)
    assert sign_mailed_invitation_secret(again) != before
    decline_mailed_invitation(invitation=again)
    make_old(again, days=2)
    with pytest.raises(ActionRefused, match="has declined"):
        invite_by_mail(team=team, address=ADDRESS, by=ada)


@pytest.mark.parametrize(
    "address", ["", "nobody", "a@b", "a@example.org\nBcc: x@example.org", "x" * 300]
)
def test_what_is_no_address_is_refused(team, ada, address):
    with pytest.raises(ValidationError):
        invite_by_mail(team=team, address=address, by=ada)
    assert not MailedInvitation.objects.exists()


def test_an_address_that_no_mail_can_be_written_to_holds_up_no_other(
    team, ada, settings, monkeypatch
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    # A server that would take everything: the address is looked at before anything is said to it.
    monkeypatch.setattr(
        EmailBackend, "open", lambda self: bool(self.__dict__.update(connection=self))
    )
    monkeypatch.setattr(EmailBackend, "close", lambda self: None)
    invite_by_mail(team=team, address="=?utf-8?q?=0a?=@example.com", by=ada)
    assert send_due_mails() == 0
    state = load_outgoing_mail_state()
    assert (state.waiting, state.failed) == (0, 1)


def test_what_a_person_has_sent_counts_when_their_team_is_gone(ada, monkeypatch):
    monkeypatch.setattr("citeboard.teams.membership.MAX_MAILED_INVITATIONS_PER_DAY", 2)
    for number in range(2):
        own = factories.make_team(lead=ada)
        Registration.objects.filter(team=own).delete()
        invite_by_mail(team=own, address=f"person{number}@example.net", by=ada)
        leave_team(team=own, user=ada)
    assert not MailedInvitation.objects.exists()
    with pytest.raises(ActionRefused, match="within a day"):
        invite_by_mail(team=factories.make_team(lead=ada), address=ADDRESS, by=ada)


def test_who_is_removed_does_not_come_back_by_a_mail(team, ada):
    bob = factories.make_user(email=ADDRESS)
    invitation = invite_by_mail(team=team, address=ADDRESS, by=ada)
    add_member(team=team, user=bob)
    remove_member(team=team, user=bob, by=ada)
    assert list(find_waiting_invitations(bob)) == []
    with pytest.raises(InvalidInvitation):
        find_mailed_invitation_by_secret(sign_mailed_invitation_secret(invitation))


def test_so_many_invitations_of_a_team_wait_at_most(team, ada):
    for number in range(MAX_OPEN_MAILED_INVITATIONS):
        invite_by_mail(team=team, address=f"person{number}@example.net", by=ada)
    with pytest.raises(ActionRefused, match="wait for an answer"):
        invite_by_mail(team=team, address=ADDRESS, by=ada)


def test_a_person_finds_invitations_to_addresses_that_they_have_confirmed(team, ada):
    invite_by_mail(team=team, address=ADDRESS, by=ada)
    bob, mallory = factories.make_user(email=ADDRESS), factories.make_user()
    mallory.emailaddress_set.create(email="Bob@example.net", verified=False)
    assert [own.team for own in find_waiting_invitations(bob)] == [team]
    assert list(find_waiting_invitations(mallory)) == []


def test_a_mail_that_the_server_refuses_is_given_up_and_tried_again(
    team, ada, monkeypatch
):
    invite_by_mail(team=team, address=ADDRESS, by=ada)
    refuse_connections(monkeypatch)
    send_due_mails()
    state = load_outgoing_mail_state()
    assert (state.waiting, state.failed) == (1, 0)
    assert "ConnectionRefusedError" in state.error
    Job.all_kinds.update(state="failed")
    (failure,) = load_outgoing_mail_state().failures
    assert (failure["address"], failure["what"]) == (ADDRESS, "invitation")
    assert requeue_failed_mails(by=ada) == 1
    assert load_outgoing_mail_state().failed == 0


def test_addresses_are_forgotten_a_month_after_an_invitation_ended(team, ada):
    invitation = invite_by_mail(team=team, address=ADDRESS, by=ada)
    assert delete_expired_invitations() == 0
    MailedInvitation.objects.update(expires_at=timezone.now() - dt.timedelta(days=31))
    assert delete_expired_invitations() == 1
    assert not MailedInvitation.objects.filter(pk=invitation.pk).exists()


def test_own_data_and_a_deleted_account_have_invitations_and_requests(
    team, ada, season
):
    bob = factories.make_user(email=ADDRESS, name="Bob")
    invite_by_mail(team=team, address=ADDRESS, by=ada)
    ask_to_join(season=season, team=team, user=bob, message="I know parsers.")
    data = collect_user_data(bob)
    assert [own["team"] for own in data["invited_to"]] == ["Night Shift"]
    assert [own["message"] for own in data["asked_to_join"]] == ["I know parsers."]
    assert [own["address"] for own in collect_user_data(ada)["invited"]] == [ADDRESS]
    delete_account(bob)
    assert not MailedInvitation.objects.exists()
    assert not JoinRequest.objects.exists()
    assert not Notification.objects.filter(kind=NotificationKind.JOIN_ASKED).exists()


def test_members_are_told_who_asks_to_join_and_who_asked_is_told_the_answer(
    team, ada, season
):
    bob = factories.make_user(name="Bob")
    asked = ask_to_join(season=season, team=team, user=bob, message="I know parsers.")
    assert letters_to(ada) == [
        (
            "[Citeboard] Bob asks to join Night Shift\n\nBob asks to join Night Shift.\n\n"
            "They say: I know parsers.\n\nhttps://board.example.org/teams/night-shift/#members"
        )
    ]
    accept_join_request(asked=asked, by=ada)
    assert team.memberships.filter(user=bob).exists()
    assert letters_to(bob) == [
        (
            "[Citeboard] You are in Night Shift now\n\nYou are in Night Shift now.\n\n"
            "A member of the team has accepted you.\n\nhttps://board.example.org/teams/night-shift/"
        )
    ]
    assert not JoinRequest.objects.exists()
    with pytest.raises(TeamEntryRefused, match="answered or taken back"):
        decline_join_request(asked=asked, by=ada)


def test_who_was_declined_is_told_and_does_not_ask_the_same_team_again(
    team, ada, season
):
    bob = factories.make_user(name="Bob")
    asked = ask_to_join(season=season, team=team, user=bob, message="")
    decline_join_request(asked=asked, by=ada)
    assert letters_to(ada) == []
    assert letters_to(bob) == [
        (
            "[Citeboard] Night Shift has declined that you join\n\n"
            "Night Shift has declined that you join.\n\n"
            "You can enter the season with a team of your own, or ask another.\n\n"
            "https://board.example.org/seasons/the-season/"
        )
    ]
    with pytest.raises(TeamEntryRefused, match="has declined"):
        ask_to_join(season=season, team=team, user=bob, message="Please.")
    with pytest.raises(TeamEntryRefused, match="answered or taken back"):
        accept_join_request(asked=asked, by=ada)


def test_asking_twice_is_asking_once_and_can_be_taken_back(team, season, ada):
    bob = factories.make_user(name="Bob")
    asked = ask_to_join(season=season, team=team, user=bob, message="")
    assert ask_to_join(season=season, team=team, user=bob, message="Again.") == asked
    take_back_request(asked=asked)
    assert letters_to(ada) == []
    assert re.match("took back", find_history_of_place(team).first().words)
    ask_to_join(season=season, team=team, user=bob, message="")


def test_a_request_ends_when_its_person_joins_by_other_means(team, season, ada):
    bob = factories.make_user()
    ask_to_join(season=season, team=team, user=bob, message="")
    join_team(invitation=invite_by_mail(team=team, address=ADDRESS, by=ada), user=bob)
    assert not JoinRequest.objects.exists()


def test_what_a_season_says_of_members_holds_for_who_asks(team, season, ada):
    rival = factories.make_user()
    factories.make_team(season=season, lead=rival)
    with pytest.raises(TeamEntryRefused, match="with another team"):
        ask_to_join(season=season, team=team, user=rival, message="")
    bob = factories.make_user()
    asked = ask_to_join(season=season, team=team, user=bob, message="")
    season.max_team_size = 1
    season.save()
    with pytest.raises(TeamEntryRefused, match="at most"):
        accept_join_request(asked=asked, by=ada)
    season.max_team_size, season.members_until = (
        None,
        timezone.now() - dt.timedelta(days=1),
    )
    season.save()
    with pytest.raises(TeamEntryRefused, match="keep their members"):
        accept_join_request(asked=asked, by=ada)
    assert team.memberships.count() == 1


def test_asking_tells_nothing_of_other_seasons_of_the_team(team, season):
    hidden = factories.make_season(title="A draft", is_public=False, max_team_size=1)
    Registration.objects.create(season=hidden, team=team)
    assert (
        ask_to_join(
            season=season, team=team, user=factories.make_user(), message=""
        ).season
        == season
    )


def test_so_often_a_person_asks_in_a_day_at_most(team, season, monkeypatch):
    monkeypatch.setattr("tasks.registration.entries.MAX_JOIN_REQUESTS_PER_DAY", 2)
    bob = factories.make_user()
    for _ in range(2):
        take_back_request(
            asked=ask_to_join(season=season, team=team, user=bob, message="")
        )
    with pytest.raises(TeamEntryRefused, match="within a day"):
        ask_to_join(season=season, team=team, user=bob, message="")
    later = timezone.now() + dt.timedelta(hours=25)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    assert ask_to_join(season=season, team=team, user=bob, message="").user == bob


def test_so_many_requests_of_a_person_wait_at_most(season):
    bob = factories.make_user()
    for _ in range(MAX_ASKED):
        ask_to_join(
            season=season, team=factories.make_team(season=season), user=bob, message=""
        )
    with pytest.raises(TeamEntryRefused, match="wait for an answer"):
        ask_to_join(
            season=season, team=factories.make_team(season=season), user=bob, message=""
        )
