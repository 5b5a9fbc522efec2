"""Fixtures with a complete demo; each test gets its own copy."""

import datetime as dt

import pytest
from django.conf import settings

from citeboard.demo import prepare
from tests.demo.worlds import make_complete
from tests.kept_worlds import KeptWorld, keep_world


@pytest.fixture(autouse=True)
def nothing_begun():
    """Remove files that an unfinished demo of another test left; the database is rolled back."""
    (settings.DATA_DIR / "demo" / prepare.UNFINISHED_DEMO_MARKER_FILE).unlink(
        missing_ok=True
    )


@pytest.fixture(scope="session")
def kept_complete(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_complete, django_db_blocker)


@pytest.fixture
def loaded(db, kept_complete) -> dict[int, dt.datetime]:
    """Load the complete demo; return the submission times of the runs from season files."""
    return kept_complete()
