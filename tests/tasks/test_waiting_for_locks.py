"""Limits hold for what another request committed while this one waited for its lock."""

import pytest
from django.db.models import QuerySet

from citeboard.core.refusals import ActionRefused
from citeboard.teams import membership
from citeboard.teams.models import MailedInvitation, Membership, User
from tasks.models import Organiser, Season
from tasks.registration import entries
from tasks.seasons.organisers import add_organiser, remove_organiser
from tests.factories import make_season, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def while_waiting(monkeypatch):
    """Return a function that lets an act end just before the next lock of a row of the model is granted."""

    def let(model, act):
        lock = QuerySet.select_for_update

        def locked(rows, *args, **options):
            if rows.model is model:
                monkeypatch.setattr(QuerySet, "select_for_update", lock)
                act()
            return lock(rows, *args, **options)

        monkeypatch.setattr(QuerySet, "select_for_update", locked)

    return let


@pytest.fixture
def season():
    season = make_season(organiser=make_user(name="Olga"))
    add_organiser(season=season, user=make_user(name="Ada"), by=None)
    return season


def organiser(season, name: str) -> Organiser:
    return season.organisers.get(user__name=name)


def test_two_organisers_who_remove_each_other_leave_one(season, while_waiting):
    olga, ada = organiser(season, "Olga"), organiser(season, "Ada")
    while_waiting(Season, lambda: remove_organiser(organiser=ada, by=olga.user))
    with pytest.raises(ActionRefused, match="needs an organiser"):
        remove_organiser(organiser=olga, by=ada.user)


def test_an_organiser_becomes_no_helper_while_the_other_one_leaves(
    season, while_waiting
):
    olga, ada = organiser(season, "Olga"), organiser(season, "Ada")
    while_waiting(Season, lambda: remove_organiser(organiser=ada, by=olga.user))
    with pytest.raises(ActionRefused, match="needs an organiser"):
        add_organiser(
            season=season, user=olga.user, by=ada.user, role=Organiser.Role.HELPER
        )


def test_invitations_of_several_teams_count_for_who_sends_them(
    while_waiting, monkeypatch
):
    monkeypatch.setattr(membership, "MAX_MAILED_INVITATIONS_PER_DAY", 1)
    lead = make_user()
    one, other = make_team(lead=lead), make_team(lead=lead)

    def invite(team, name: str) -> None:
        membership.invite_by_mail(team=team, address=f"{name}@example.org", by=lead)

    while_waiting(User, lambda: invite(other, "bob"))
    with pytest.raises(ActionRefused, match="go on tomorrow"):
        invite(one, "carl")


def test_requests_to_several_teams_count_for_who_asks(while_waiting, monkeypatch):
    monkeypatch.setattr(entries, "MAX_OPEN_JOIN_REQUESTS", 1)
    season, person = make_season(), make_user()
    one, other = make_team(season=season), make_team(season=season)

    def ask(team) -> None:
        entries.ask_to_join(season=season, team=team, user=person, message="")

    while_waiting(User, lambda: ask(other))
    with pytest.raises(ActionRefused, match="wait for an answer"):
        ask(one)


def test_one_who_was_taken_into_the_team_meanwhile_is_not_asked_for(while_waiting):
    season, person = make_season(), make_user()
    team = make_team(season=season)
    while_waiting(type(team), lambda: Membership.objects.create(team=team, user=person))
    with pytest.raises(entries.TeamEntryRefused, match="already"):
        entries.ask_to_join(season=season, team=team, user=person, message="")


def test_an_invitation_that_was_declined_meanwhile_is_not_withdrawn(while_waiting):
    lead = make_user()
    team = make_team(lead=lead)
    membership.invite_by_mail(team=team, address="bob@example.org", by=lead)
    invitation = MailedInvitation.objects.get()
    while_waiting(
        type(team), lambda: membership.decline_mailed_invitation(invitation=invitation)
    )
    membership.withdraw_mailed_invitation(invitation=invitation, by=lead)
    assert MailedInvitation.objects.get().state == MailedInvitation.State.DECLINED
