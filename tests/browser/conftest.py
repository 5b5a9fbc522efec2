"""A season worth looking at, built once."""

import pytest

from tests.browser.scenes import Scene, make_scene
from tests.kept_worlds import KeptWorld, keep_world


@pytest.fixture(scope="module")
def kept_scene(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_scene, django_db_blocker)


@pytest.fixture
def scene(transactional_db, kept_scene) -> Scene:
    return kept_scene()
