"""Ranking is a plain function over plain rows, and its test is a table."""

import datetime as dt

import pytest

from scoring.results.board.standings import BoardRow, sort_and_rank_rows

START = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)
NONE = None


def row(name: str, value: float | None, **fields) -> BoardRow:
    minute = ord(name[0])
    kind = "baseline" if name.isupper() else "primary"
    return BoardRow(
        0, 0, name, kind, 1, START + dt.timedelta(minutes=minute), value=value, **fields
    )


# Systems in capitals are baselines; a value is that of the ranking metric, higher being better.
TABLE = {
    "one run is first": ({"a": 0.5}, {"a": 1}),
    "no run, no rank": ({}, {}),
    "higher is first": ({"a": 0.1, "b": 0.3, "c": 0.2}, {"b": 1, "c": 2, "a": 3}),
    "ties share a rank and the next counts them all": (
        {"a": 0.4, "b": 0.5, "c": 0.4, "d": 0.3},
        {"b": 1, "a": 2, "c": 2, "d": 4},
    ),
    "what two machines add up differently is a tie": (
        {"a": 0.1 + 0.2, "b": 0.3},
        {"a": 1, "b": 1},
    ),
    "what differs in the eleventh digit is no tie": (
        {"a": 0.3, "b": 0.30000000001},
        {"b": 1, "a": 2},
    ),
    "undefined values come last": (
        {"a": NONE, "b": 0.0, "c": -2.0},
        {"b": 1, "c": 2, "a": 3},
    ),
    "undefined values share the last rank": (
        {"a": NONE, "b": 0.1, "c": NONE},
        {"b": 1, "a": 2, "c": 2},
    ),
    "a baseline stands in its place and takes no rank": (
        {"a": 0.1, "B": 0.2, "c": 0.3},
        {"c": 1, "B": NONE, "a": 2},
    ),
    "a baseline between equals does not part them": (
        {"a": 0.2, "B": 0.2, "c": 0.2},
        {"B": NONE, "a": 1, "c": 1},
    ),
    "zero and minus zero are equal": ({"a": 0.0, "b": -0.0}, {"a": 1, "b": 1}),
}


@pytest.mark.parametrize("case", TABLE)
def test_rows_are_ranked_by_what_they_show(case):
    values, expected = TABLE[case]
    ordered = [row(name, value) for name, value in values.items()]
    sort_and_rank_rows(ordered)
    assert [(each.system, each.rank) for each in ordered] == list(expected.items())
    assert all(
        (each.rank_low, each.rank_high) == (each.rank, each.rank) for each in ordered
    )


def test_the_order_does_not_depend_on_the_order_of_the_rows():
    rows = [
        row(name, value)
        for name, value in {"a": 0.2, "b": 0.3, "c": 0.2, "d": None, "E": 0.2}.items()
    ]
    backwards = rows[::-1]
    sort_and_rank_rows(rows)
    forwards = [(each.system, each.rank) for each in rows]
    sort_and_rank_rows(backwards)
    assert [(each.system, each.rank) for each in backwards] == forwards


def test_a_run_scored_otherwise_than_most_stands_at_the_end_without_a_rank():
    ordered = [row("a", 0.9, is_comparable=False), row("b", 0.1), row("c", None)]
    sort_and_rank_rows(ordered)
    assert [(each.system, each.rank) for each in ordered] == [
        ("b", 1),
        ("c", 2),
        ("a", None),
    ]
