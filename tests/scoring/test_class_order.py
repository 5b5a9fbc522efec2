"""Classes stand in the order that readers expect of them."""

import pytest

from scoring.board.differences import natural_order


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["2010", "2004", "2014"], ["2004", "2010", "2014"]),
        (["10", "9", "1"], ["1", "9", "10"]),
        (["4 or more", "2", "1"], ["1", "2", "4 or more"]),
        (["100 or more", "10 to 19", "1 to 9"], ["1 to 9", "10 to 19", "100 or more"]),
        (["50 to 99 words", "fewer than 50 words"], ["fewer than 50 words", "50 to 99 words"]),
        (["5", "<5", "2"], ["2", "<5", "5"]),
        (["10 10", "5 5", "10 5"], ["5 5", "10 5", "10 10"]),
        (["None", "2010", "2004"], ["2004", "2010", "None"]),
        (["None", "Method", "Aim"], ["Method", "Aim", "None"]),
        (["W06-3909", "C90-2039"], ["W06-3909", "C90-2039"]),
        (["Method × 2", "Method × 1"], ["Method × 2", "Method × 1"]),
        (["2004", "Aim", "2001"], ["2004", "Aim", "2001"]),
        ([], []),
    ],
)
def test_numbers_years_and_ranges_ascend_and_names_stay(given, expected):
    assert natural_order(given) == expected
