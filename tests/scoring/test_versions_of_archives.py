"""Archived numbers of earlier versions: counted as not checked, while any other difference is reported."""

import pytest

from scoring.offline.verify.numbers import has_earlier_version, has_intervals_of_version

COLUMN = "pearson|rules:corrected|gold:1a2b|v:"


@pytest.mark.parametrize(
    ("archived", "today", "is_earlier"),
    [
        (f"{COLUMN}1", f"{COLUMN}2", True),
        (f"{COLUMN}2", f"{COLUMN}2", False),
        (f"{COLUMN}3", f"{COLUMN}2", False),
        (f"{COLUMN}0", f"{COLUMN}2", False),
        (f"{COLUMN}-1", f"{COLUMN}2", False),
        (COLUMN, f"{COLUMN}2", False),
        (f"{COLUMN}1".replace("1a2b", "3c4d"), f"{COLUMN}2", False),
        (f"{COLUMN}1", "", False),
    ],
)
def test_a_column_is_of_an_earlier_version_where_nothing_else_differs(
    archived, today, is_earlier
):
    assert has_earlier_version({"column": archived}, today) is is_earlier


@pytest.mark.parametrize(
    ("provenance", "is_same"),
    [
        ("interval:wilson-jackknife|interval_v:3", True),
        ("interval:wilson-jackknife|interval_v:2", False),
        ("interval:wilson-jackknife", False),
        ("resamples:1000|interval:percentile|seed:0", True),
    ],
)
def test_intervals_are_checked_where_their_version_is_that_of_today(
    provenance, is_same
):
    metric = {"signature": f"{COLUMN}2|n:9|{provenance}|numpy:2.0"}
    assert has_intervals_of_version(metric, "3") is is_same
