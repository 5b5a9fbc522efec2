"""Of a board that is hidden or frozen nobody learns that runs came or were scored, whatever they poll."""

import datetime as dt

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone

from scoring.models import Evaluation
from tasks.models import Phase
from tasks.models.seasons import increment_board_version
from tests import factories
from tests.access.scene import without_instants
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
HOUR = dt.timedelta(hours=1)
HIDDEN = {"board": "organisers", "frozen_from": None}


def places(phase):
    """Every address of a phase, and the first page; that of the season draws the present moment."""
    routes = [
        (name, found)
        for name, found in get_resolver().reverse_dict.lists()
        if isinstance(name, str)
    ]
    names = [
        name
        for name, [([(_, parts), *_], *_), *_] in routes
        if parts == ["season", "task", "phase"]
    ]
    assert len(names) > 30
    return [
        # The gold of these phases is a row alone, and a form has a secret of its own each time.
        *(
            boards.address(name, phase)
            for name in names
            if name not in ("inputs", "upload")
        ),
        f"{boards.address('board', phase)}?rank=significance",
        reverse("api:leaderboard", args=[phase.pk]),
        reverse("home"),
    ]


def make_world(**fields):
    phase = boards.make_phase(
        **{"board": "everyone", "shows_run_counts": False} | fields
    )
    phase.task.season.allows_frames = True
    phase.task.season.save()
    member = factories.make_user()
    team = boards.make_team(phase, "Ada", member)
    boards.scored_run(phase, team, 0.5, system="early")
    Evaluation.objects.update(created_at=timezone.now() - 2 * HOUR)
    phase.task.gold.update(created_at=timezone.now() - 3 * HOUR)
    return phase, member


def answers(client, phase):
    """Of each address what it says, and its validator; an error says which request it answers."""
    found = {}
    for where in places(phase):
        answer = client.get(where)
        is_there = answer.status_code == 200
        body = (
            without_instants(answer.getvalue().decode(errors="replace"))
            if is_there
            else ""
        )
        found[where] = answer.status_code, answer.headers.get("ETag", ""), body
    return found


@pytest.mark.parametrize(
    "how", [HIDDEN, {"frozen_from": -HOUR}], ids=["hidden", "frozen"]
)
def test_neither_validators_nor_versions_change_when_a_run_comes_to_a_board_that_does_not_show_it(
    how,
):
    how = {
        **how,
        "frozen_from": how["frozen_from"] and timezone.now() + how["frozen_from"],
    }
    phase, member = make_world(**how)
    visitor, of_team = Client(), Client()
    of_team.force_login(member)
    other = boards.make_team(phase, "Bert")
    before = [answers(client, phase) for client in (visitor, of_team)]
    told = [
        client.get(reverse("api:leaderboard", args=[phase.pk])).json()
        for client in (visitor, of_team)
    ]
    assert [answer["version"] for answer in told] == [0, 0]
    boards.scored_run(phase, other, 0.9, system="late")
    increment_board_version(phase.pk)
    caches["pages"].clear()
    after = [answers(client, phase) for client in (visitor, of_team)]
    for first, second in zip(before, after, strict=True):
        assert [where for where in first if first[where] != second[where]] == []


def test_a_board_that_is_shown_has_another_validator_and_version_for_each_change():
    phase, _member = make_world()
    board = boards.address("board", phase)
    first = Client().get(board)["ETag"]
    version = (
        Client().get(reverse("api:leaderboard", args=[phase.pk])).json()["version"]
    )
    increment_board_version(phase.pk)
    assert Client().get(board, headers={"If-None-Match": first}).status_code == 200
    assert (
        Client().get(reverse("api:leaderboard", args=[phase.pk])).json()["version"]
        == version + 1
    )


def test_a_board_that_is_revealed_has_another_validator():
    phase, _member = make_world(frozen_from=timezone.now() - HOUR)
    board = boards.address("board", phase)
    first = Client().get(board)["ETag"]
    assert Client().get(board, headers={"If-None-Match": first}).status_code == 304
    Phase.objects.filter(pk=phase.pk).update(frozen_until=timezone.now() - HOUR / 2)
    assert Client().get(board, headers={"If-None-Match": first}).status_code == 200
