"""By which scorer golden numbers are computed."""

from scoring.__main__ import main
from tests.resting import rests_on_scorer
from tests.scoring import offline

pytestmark = rests_on_scorer


def test_golden_numbers_are_asked_of_the_wheel(capsys):
    assert offline.main is not main
    assert offline.main.__module__ == "citeboard_scorer.__main__"
