"""Waiting for a database that is locked or away."""

import pytest
from django.db import IntegrityError, OperationalError

from tasks.jobs import interruptions as module
from tasks.jobs.interruptions import default_on_database_error, retry_on_database_error

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr(module, "RETRY_PAUSE_SECONDS", 0)
    monkeypatch.setattr("django.db.connection.close", lambda: None)


def failing(times: int, error: type[Exception] = OperationalError):
    left = [error("database is locked")] * times

    def action() -> str:
        if left:
            raise left.pop()
        return "done"

    return action


def test_it_is_done_as_soon_as_the_database_is_back():
    assert retry_on_database_error(failing(3)) == "done"


def test_it_is_given_up_when_the_database_stays_away(monkeypatch):
    monkeypatch.setattr(module, "MAX_RETRY_SECONDS", -1)
    with pytest.raises(OperationalError):
        retry_on_database_error(failing(3))


def test_what_will_not_go_away_is_told_at_once():
    with pytest.raises(IntegrityError):
        retry_on_database_error(failing(1, IntegrityError))


def test_what_can_wait_goes_on_without_the_database():
    assert default_on_database_error(failing(0), "something else") == "done"
    assert default_on_database_error(failing(1), "something else") == "something else"
