"""By which scorer golden numbers are computed."""

from scoring.__main__ import main
from tests.scoring import offline


def test_golden_numbers_are_asked_of_the_wheel(capsys):
    assert offline.main is not main
    assert offline.main.__module__ == "citeboard_scorer.__main__"
