"""A plugin for a test run: the offline scorer that tests start is that of an unpacked wheel."""

import os
import sys

import pytest

sys.path.insert(0, os.environ["CITEBOARD_TESTED_WHEEL"])


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Only tests that read what the scorer prints start it."""
    starting = [item for item in items if "capsys" in item.fixturenames]
    config.hook.pytest_deselected(
        items=[item for item in items if item not in starting]
    )
    items[:] = starting


def pytest_collection_finish() -> None:
    from citeboard_scorer.__main__ import main

    from tests.scoring import offline

    offline.main = main
