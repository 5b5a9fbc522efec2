"""What is read, proposed and refused does not change unnoticed, at the bounds of what is taken neither."""

import json

import pytest

from tests.resting import rests_on_scorer
from tests.tasks.types.standing_reading import FILE, PARTS, of_part

pytestmark = rests_on_scorer

EXPECTED = json.loads(FILE.read_text())


@pytest.mark.parametrize("part", PARTS)
def test_what_is_read_and_the_words_of_refusals_stand(part):
    assert of_part(part) == EXPECTED[part]
