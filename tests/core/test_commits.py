"""Work that follows a commit fails by itself."""

import sqlite3

import pytest
from django.db import OperationalError, transaction

from citeboard.core import outages
from citeboard.core.commits import call_after_commit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


class Failing:
    """An action without a name, as a partial is."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __call__(self, *_given: object) -> None:
        raise self._error


def busy() -> OperationalError:
    error, reason = OperationalError("locked"), sqlite3.OperationalError("locked")
    reason.sqlite_errorcode = sqlite3.SQLITE_BUSY
    error.__cause__ = reason
    return error


def test_it_is_called_with_its_arguments_once_the_transaction_is_committed():
    called = []
    with transaction.atomic():
        call_after_commit(called.append, 1)
        assert called == []
    assert called == [1]


def test_it_is_not_called_after_a_rollback():
    called = []
    with transaction.atomic():
        call_after_commit(called.append, 1)
        transaction.set_rollback(True)
    assert called == []


def test_a_fault_is_logged_with_a_traceback_and_others_are_called(caplog):
    called = []
    with transaction.atomic():
        call_after_commit(Failing(ValueError("a fault")), "given")
        call_after_commit(called.append, 1)
    assert called == [1]
    [line] = caplog.records
    assert (line.getMessage(), bool(line.exc_info)) == (
        "an action failed after a commit",
        True,
    )


@pytest.mark.parametrize(
    ("error", "level", "words"),
    [
        (busy(), "INFO", "The database is busy: an action is left out after a commit"),
        (
            OperationalError("gone"),
            "ERROR",
            "Away: an action is left out after a commit",
        ),
    ],
)
def test_an_outage_is_one_line(error, level, words, caplog, monkeypatch):
    monkeypatch.setattr(outages, "_outage_times_by_service", {})
    caplog.set_level("INFO")
    with transaction.atomic():
        call_after_commit(Failing(error))
    [line] = caplog.records
    assert (line.levelname, line.exc_info) == (level, None)
    assert line.getMessage().startswith(words)
