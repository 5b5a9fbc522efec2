"""Before the inputs of a phase are released, no answer tells of them but to its organisers."""

import datetime as dt

import pytest
from django.utils import timezone

from tests.api.conftest import API
from tests.api.sending import check
from tests.factories import make_phase


@pytest.fixture
def later(world):
    now = timezone.now()
    return make_phase(
        task=world.task,
        opens=now + dt.timedelta(days=2),
        closes=now + dt.timedelta(days=9),
    )


def test_a_check_says_when_the_inputs_come_and_nothing_of_the_file(world, later):
    refused = check(world.member, later)
    assert refused.status_code == 409
    assert "the inputs are released at" in refused.json()["detail"].lower()
    assert check(world.ask("organiser"), later).status_code == 200


def test_the_gold_is_named_once_the_inputs_are_released(world, later):
    address = f"{API}/phases/{later.pk}/"
    assert world.member.get(address).json()["gold"] is None
    assert world.ask("organiser").get(address).json()["gold"]
    later.inputs_from = timezone.now()
    later.save()
    assert world.member.get(address).json()["gold"]
    assert check(world.member, later).status_code == 200
