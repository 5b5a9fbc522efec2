"""The scene of the table of access, built once."""

from tests.access.scene import kept_scene, scene  # noqa: F401  (fixtures are found by being here)
