"""Phases in time: every bar can be seen, whatever the others last."""

import datetime as dt
import re
from itertools import pairwise

import pytest

from tasks.models import Phase
from tasks.seasons.timeline import MIN_MARK_DISTANCE_PERCENT, TimeLine

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)


def phase(opens: int, closes: int) -> Phase:
    """By days from now."""
    return Phase(
        title="A phase",
        opens=NOW + dt.timedelta(opens),
        closes=NOW + dt.timedelta(closes),
    )


def widths(phases) -> list[float]:
    line = TimeLine.from_phases(phases, NOW)
    return [
        float(re.search(r'width="([\d.]+)%" height="10"', line.bar(own))[1])
        for own in phases
    ]


def test_phases_of_like_length_are_drawn_in_proportion():
    first, second = widths([phase(0, 10), phase(10, 30)])
    assert second / first == pytest.approx(2, rel=0.02)


def test_a_day_beside_a_year_can_be_seen():
    practice, evaluation, after = widths([phase(-300, 0), phase(0, 3), phase(3, 303)])
    assert evaluation > 5
    assert practice == pytest.approx(after, abs=1)
    assert practice > 3 * evaluation


def test_phases_stand_in_their_order_and_now_within_the_phase_that_is_open():
    line = TimeLine.from_phases([phase(-300, -1), phase(-1, 1), phase(1, 300)], NOW)
    places = [line.place(NOW + dt.timedelta(days)) for days in (-300, -1, 0, 1, 300)]
    assert places == sorted(places)
    assert len(set(places)) == 5


def test_marks_keep_apart_from_each_other():
    line = TimeLine.from_phases([phase(-300, 0), phase(0, 3), phase(3, 303)], NOW)
    places = [mark.at for mark in line.marks]
    assert places
    assert all(
        second - first >= MIN_MARK_DISTANCE_PERCENT
        for first, second in pairwise(places)
    )
