"""No number of the statistics changes unnoticed, at the bounds of what they are asked neither."""

import json

import pytest

from tests.resting import rests_on_scorer
from tests.scoring.standing_statistics import FILE, PARTS, of_part

pytestmark = rests_on_scorer

EXPECTED = json.loads(FILE.read_text())


@pytest.mark.parametrize("part", PARTS)
def test_numbers_of_the_statistics_stand(part):
    assert of_part(part) == EXPECTED[part]
