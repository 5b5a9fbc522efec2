"""Worlds that several files of pages look at, each built once: the scene of the table of access, two runs."""

import pytest

from tasks.models import Phase, Submission
from tests.access.scene import kept_scene, scene  # noqa: F401  (fixtures are found by being here)
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import compared


@pytest.fixture(scope="module")
def kept_pair(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(compared.make_pair, django_db_blocker)


@pytest.fixture
def pair(request, db, kept_pair) -> tuple[Phase, tuple[Submission, ...]]:
    """A phase, with two runs for whoever asks for `runs`."""
    return (
        kept_pair() if "runs" in request.fixturenames else (compared.make_phase(), ())
    )
