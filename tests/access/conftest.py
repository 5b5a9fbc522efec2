"""The scene of the tables, built once, and what of them `make test` leaves to `.ci/run`."""

import os

from tests.access.scene import kept_scene, scene  # noqa: F401  (fixtures are found by being here)


def pytest_collection_modifyitems(config, items) -> None:
    """Let `make test` ask as visitor, member and organiser alone."""
    if os.environ.get("CITEBOARD_TEST_ONLY") != "quick":
        return
    left = [item for item in items if item.get_closest_marker("whole_table")]
    items[:] = [item for item in items if not item.get_closest_marker("whole_table")]
    config.hook.pytest_deselected(items=left)
