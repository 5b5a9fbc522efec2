"""Joining and entering at the same moment, each on its own connection: one team a person and season."""

import pytest

from citeboard.teams.membership import renew_invitation
from citeboard.teams.models import Membership
from tasks.models import Registration
from tasks.registration.entries import TeamEntryRefused, join_team, register_team
from tests.factories import make_season, make_team, make_user
from tests.tasks.test_quota_race import together

pytestmark = pytest.mark.both_databases


@pytest.fixture
def season(transactional_db):
    return make_season()


def test_of_many_teams_of_a_season_that_somebody_joins_at_once_one_takes_them(season):
    person = make_user()
    teams = [make_team(season=season) for _ in range(6)]
    invitations = [renew_invitation(team=team, by=team.members.get()) for team in teams]
    outcomes = together(
        6, lambda number: join_team(invitation=invitations[number], user=person)
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == (
        ["Membership"] + ["TeamEntryRefused"] * 5
    ), outcomes
    assert Membership.objects.filter(user=person).count() == 1


def test_of_many_teams_of_one_person_that_enter_at_once_one_is_in(season):
    person = make_user()
    teams = [make_team(lead=person) for _ in range(6)]
    outcomes = together(
        6, lambda number: register_team(season=season, team=teams[number], by=person)
    )
    assert sum(isinstance(outcome, TeamEntryRefused) for outcome in outcomes) == 5, (
        outcomes
    )
    assert Registration.objects.count() == 1


def test_joining_a_team_while_it_enters_does_not_give_somebody_two_places(season):
    person = make_user()
    make_team(season=season, lead=person)
    newcomers = make_team()
    invitation = renew_invitation(team=newcomers, by=newcomers.members.get())

    def act(number):
        if number % 2:
            return join_team(invitation=invitation, user=person)
        return register_team(season=season, team=newcomers)

    together(2, act)
    is_in = Membership.objects.filter(team=newcomers, user=person).exists()
    has_entered = Registration.objects.filter(team=newcomers).exists()
    assert is_in != has_entered
