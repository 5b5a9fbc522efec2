"""One season with a phase, and somebody of each kind in front of it."""

from dataclasses import dataclass, field

import pytest
from django.test import Client

from citeboard.teams.models import Team, Token, User
from tasks.models import Phase, Season, Task
from tests.factories import make_phase, make_season, make_task, make_team, make_user
from tests.kept_worlds import KeptWorld, keep_world

API = "/api/v1"
ROLES = ("visitor", "reader", "stranger", "member", "organiser", "staff")


@dataclass
class World:
    """`stranger` is of another team of the same season, `reader` of none."""

    season: Season
    task: Task
    phase: Phase
    team: Team
    other_team: Team
    people: dict[str, User]
    clients: dict[str, Client] = field(default_factory=dict)

    def ask(self, role: str) -> Client:
        """A program with a token of somebody of this kind; a visitor has none."""
        if role not in self.clients:
            self.clients[role] = Client(headers=self.signed_in(role))
        return self.clients[role]

    def signed_in(self, role: str) -> dict[str, str]:
        """The header of a new token."""
        if role == "visitor":
            return {}
        _, secret = Token.objects.create_token(user=self.people[role], name="test")
        return {"Authorization": f"Token {secret}"}

    @property
    def member(self) -> Client:
        return self.ask("member")


def make_world() -> World:
    people = {
        role: make_user(is_staff=role == "staff") for role in ROLES if role != "visitor"
    }
    season = make_season(organiser=people["organiser"])
    task = make_task(season=season, rules=["corrected", "official-2017"])
    phase = make_phase(task=task)
    return World(
        season=season,
        task=task,
        phase=phase,
        team=make_team(season=season, lead=people["member"]),
        other_team=make_team(season=season, lead=people["stranger"]),
        people=people,
    )


@pytest.fixture(scope="module")
def kept_world(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_world, django_db_blocker)


@pytest.fixture
def world(db, kept_world) -> World:
    return kept_world()
