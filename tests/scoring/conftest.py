"""Golden numbers are asked of the wheel: the modules of the checkout, as people install them."""

import sys

import pytest

from tests.scoring import offline
from tests.wheel.conftest import unpacked, wheel  # noqa: F401  (fixtures are found by being here)


@pytest.fixture(scope="session")
def installed_scorer(unpacked):  # noqa: F811  (asked for by name)
    sys.path.insert(0, str(unpacked))
    from citeboard_scorer.__main__ import main

    return main


@pytest.fixture(autouse=True)
def _golden_numbers_by_the_wheel(request, monkeypatch) -> None:
    if request.module.__name__.endswith("_golden") and "capsys" in request.fixturenames:
        monkeypatch.setattr(
            offline, "main", request.getfixturevalue("installed_scorer")
        )
