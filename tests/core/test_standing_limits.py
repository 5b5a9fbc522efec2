"""A limit that users meet, a constant that numbers rest on and a default change on purpose alone."""

import json

import pytest

from tests.core.standing_limits import FILE, limits
from tests.resting import rests_on_scorer

pytestmark = rests_on_scorer

EXPECTED = json.loads(FILE.read_text())


@pytest.mark.parametrize("module", EXPECTED)
def test_the_limits_constants_and_defaults_of_a_module_stand(module):
    found = json.loads(json.dumps(limits(module)))
    assert {name: found.get(name) for name in EXPECTED[module]} == EXPECTED[module]
