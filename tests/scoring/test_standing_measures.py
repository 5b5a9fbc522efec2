"""What measures make of texts, of nothing and of what is awkward does not change unnoticed."""

import json

import pytest

from tests.resting import rests_on_scorer
from tests.scoring.standing_measures import FILE, PARTS, of_part

pytestmark = rests_on_scorer

EXPECTED = json.loads(FILE.read_text())


@pytest.mark.parametrize("part", PARTS)
def test_what_measures_make_of_awkward_answers_stands(part):
    assert of_part(part) == EXPECTED[part]
