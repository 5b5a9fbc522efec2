"""A declaration with one value that is another is refused in the same words, or means what it meant."""

import json

import pytest

from tests.declared.standing_declarations import FILE, PARTS, outcomes
from tests.resting import rests_on_scorer

pytestmark = rests_on_scorer

EXPECTED = json.loads(FILE.read_text())


@pytest.mark.parametrize("part", PARTS)
def test_what_a_declaration_with_another_value_becomes_stands(part):
    assert outcomes(part) == EXPECTED[part]
