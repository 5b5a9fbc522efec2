"""Odd values of gold and answers are refused in the same words, or mean what they meant, in every form."""

import json

import pytest

from tests.declared.standing_values import FILE, FORMS, of_qrels, outcomes
from tests.resting import rests_on_scorer

pytestmark = rests_on_scorer

EXPECTED = json.loads(FILE.read_text())


@pytest.mark.parametrize("case", FORMS)
def test_what_odd_values_lead_to_stands(case):
    assert outcomes(case) == EXPECTED[case]


def test_what_lines_of_qrels_lead_to_stands():
    assert json.loads(json.dumps(of_qrels())) == EXPECTED["qrels"]
