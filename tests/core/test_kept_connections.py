"""A connection to SQLite's file is kept from one request to the next, and never beyond the file."""

import sqlite3
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import dj_database_url
import pytest
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.utils import ConnectionHandler

from citeboard.core.env import configure_for_many_writers
from citeboard.core.outages import find_outage
from citeboard.core.sqlite.base import _WRITER_LOCKS


def written(path: Path, word: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE said (word)")
        made.execute("INSERT INTO said VALUES (?)", [word])
    return path


@pytest.fixture
def file(tmp_path) -> Path:
    return written(tmp_path / "data" / "site.sqlite3", "first")


@pytest.fixture
def connections(file, django_db_blocker):
    """As a web process has them, of which each thread has its own."""
    handler = ConnectionHandler(
        {
            "default": configure_for_many_writers(
                dj_database_url.parse(f"sqlite:///{file}")
            )
        }
    )
    with django_db_blocker.unblock():
        yield handler
        handler.close_all()


def word_of_a_request(connections) -> str:
    """What stands there; a request begins and ends with a look at the connection."""
    connection = connections["default"]
    connection.close_if_unusable_or_obsolete()
    try:
        with connection.cursor() as cursor:
            return cursor.execute("SELECT word FROM said").fetchone()[0]
    finally:
        connection.close_if_unusable_or_obsolete()


def test_a_second_request_opens_nothing(connections):
    word_of_a_request(connections)
    opened = connections["default"].connection
    assert opened is not None
    assert word_of_a_request(connections) == "first"
    assert connections["default"].connection is opened


def test_each_thread_keeps_a_connection_of_its_own(connections):
    found = []

    def ask() -> None:
        found.append(
            (word_of_a_request(connections), connections["default"].connection)
        )
        connections.close_all()

    word_of_a_request(connections)
    other = threading.Thread(target=ask)
    other.start()
    other.join()
    [(word, opened)] = found
    assert word == "first"
    assert opened is not connections["default"].connection


def test_what_another_process_writes_is_read_through_a_kept_connection(
    connections, file
):
    word_of_a_request(connections)
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("UPDATE said SET word = 'second'")
    assert word_of_a_request(connections) == "second"


def test_a_backup_put_into_the_file_is_read_through_a_kept_connection(
    connections, file, tmp_path
):
    word_of_a_request(connections)
    backup = written(tmp_path / "backup", "restored")
    with (
        closing(sqlite3.connect(backup)) as copy,
        closing(sqlite3.connect(file)) as site,
    ):
        copy.backup(site)
    assert word_of_a_request(connections) == "restored"


def test_a_file_in_the_place_of_the_first_is_opened_at_the_next_request(
    connections, file, tmp_path
):
    assert word_of_a_request(connections) == "first"
    written(tmp_path / "other", "second").replace(file)
    assert word_of_a_request(connections) == "second"


def test_a_folder_that_is_gone_is_an_outage_until_it_is_back(
    connections, file, tmp_path
):
    word_of_a_request(connections)
    away = file.parent.rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(OperationalError) as failed:
            word_of_a_request(connections)
        assert find_outage(failed.value).status == 503
    away.rename(file.parent)
    assert word_of_a_request(connections) == "first"


def test_after_an_error_the_file_is_opened_anew(connections):
    word_of_a_request(connections)
    connection = connections["default"]
    opened = connection.connection
    with pytest.raises(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT * FROM nothing")
    assert word_of_a_request(connections) == "first"
    assert connection.connection is not opened


def test_a_transaction_that_was_left_open_goes_with_its_connection(connections, file):
    connection = connections["default"]
    word_of_a_request(connections)
    connection.set_autocommit(
        False, force_begin_transaction_with_broken_autocommit=True
    )
    with connection.cursor() as cursor:
        cursor.execute("UPDATE said SET word = 'lost'")
    assert word_of_a_request(connections) == "first"
    with closing(sqlite3.connect(file, timeout=0)) as other, other:
        other.execute("UPDATE said SET word = 'second'")
    assert word_of_a_request(connections) == "second"


def test_transactions_of_one_process_wait_for_each_other_and_a_failed_one_gives_its_turn_up(
    connections, file
):
    """SQLite itself has no queue: who has waited long looks seldom."""
    told, begun = [], threading.Event()

    def write(word: str) -> None:
        begun.set()
        with transaction_of(connections["default"]) as cursor:
            cursor.execute("UPDATE said SET word = word || %s", [word])
        told.append(word)
        connections.close_all()

    with (
        pytest.raises(OperationalError),
        transaction_of(connections["default"]) as cursor,
    ):
        cursor.execute("UPDATE nowhere SET word = 'lost'")
    [turn] = [lock for name, lock in _WRITER_LOCKS.items() if name == str(file)]
    assert not turn.locked()
    with transaction_of(connections["default"]) as cursor:
        cursor.execute("UPDATE said SET word = 'second'")
        others = [threading.Thread(target=write, args=(word,)) for word in "abcdefgh"]
        for other in others:
            other.start()
        assert begun.wait(60)
        assert turn.locked()
        assert told == []
    for other in others:
        other.join(60)
    assert not turn.locked()
    assert word_of_a_request(connections) == f"second{''.join(told)}"
    assert sorted(told) == [*"abcdefgh"]


@contextmanager
def transaction_of(connection):
    """As `atomic` begins and ends one."""
    connection.ensure_connection()
    connection.set_autocommit(
        False, force_begin_transaction_with_broken_autocommit=True
    )
    try:
        with connection.cursor() as cursor:
            yield cursor
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    finally:
        connection.set_autocommit(True)


@pytest.mark.skipif(
    "sqlite" not in settings.DATABASES["default"]["ENGINE"],
    reason="a server has a queue",
)
@pytest.mark.django_db(transaction=True)
def test_what_is_done_on_commit_and_what_follows_a_lost_connection_may_write_at_once():
    def is_free() -> bool:
        with transaction.atomic():
            return connection._turn is not None

    found = []
    with transaction.atomic():
        transaction.on_commit(lambda: found.append(is_free()))
    with transaction.atomic():
        connection.close()
    assert [*found, is_free()] == [True, True]
