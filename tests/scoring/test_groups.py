"""Rank intervals, as tables."""

import math

import numpy as np
import pytest

from scoring.stats.significance import (
    BOARD_FAMILY,
    RankWithRange,
    compute_ranks_with_ranges,
    find_significant_differences,
)


def p_values(
    count: int, same: set[tuple[int, int]] = frozenset(), p: float = 1e-6
) -> np.ndarray:
    """Every two rows differ, but those named."""
    table = np.full((count, count), p)
    for first, second in same:
        table[first, second] = table[second, first] = 0.9
    np.fill_diagonal(table, math.nan)
    return table


def test_rows_that_all_differ_have_one_rank_each():
    assert compute_ranks_with_ranges([0.9, 0.7, 0.8], p_values(3)) == [
        RankWithRange(rank=1, low=1, high=1),
        RankWithRange(rank=3, low=3, high=3),
        RankWithRange(rank=2, low=2, high=2),
    ]


def test_rows_that_do_not_differ_share_their_ranks():
    standings = compute_ranks_with_ranges(
        [0.9, 0.8, 0.7], p_values(3, {(0, 1), (0, 2), (1, 2)})
    )
    assert [(row.rank, row.low, row.high) for row in standings] == [
        (1, 1, 3),
        (2, 1, 3),
        (3, 1, 3),
    ]


def test_a_row_between_two_that_differ_may_have_the_rank_of_either():
    """The second row differs from neither neighbour; the third from the first."""
    standings = compute_ranks_with_ranges(
        [0.9, 0.8, 0.7, 0.6], p_values(4, {(0, 1), (1, 2), (2, 3)})
    )
    assert [(row.low, row.high) for row in standings] == [
        (1, 2),
        (1, 3),
        (2, 4),
        (3, 4),
    ]


def test_equal_values_share_a_rank():
    standings = compute_ranks_with_ranges([0.5, 0.9, 0.5], p_values(3, {(0, 2)}))
    assert [(row.rank, row.low, row.high) for row in standings] == [
        (2, 2, 3),
        (1, 1, 1),
        (2, 2, 3),
    ]


@pytest.mark.parametrize("seed", range(40))
def test_what_one_rank_says_of_another_that_one_says_too(seed):
    """Random boards: with ties, rows that were not compared, and p-values about the correction's limits."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 15))
    p = np.triu(rng.choice([1e-5, 0.004, 0.01, 0.03, 0.2, math.nan], (count, count)), 1)
    p += p.T
    values = np.round(rng.normal(0, 1, count), 1)
    standings = compute_ranks_with_ranges(values.tolist(), p)
    for one in standings:
        assert 1 <= one.low <= one.rank <= one.high <= count
    # Each pair that is told apart moves one row's best rank down and the other's worst rank up.
    assert sum(row.low - 1 for row in standings) == sum(
        count - row.high for row in standings
    )
    # Each row alone told apart from another: both sides of the pair change, or neither.
    for one in range(count):
        for other in range(one):
            pair = compute_ranks_with_ranges(
                [values[one], values[other]], p[np.ix_([one, other], [one, other])]
            )
            assert (pair[0].low == pair[0].high) == (pair[1].low == pair[1].high)
    surely_above = [
        (a, b)
        for a in range(count)
        for b in range(count)
        if standings[a].high < standings[b].low
    ]
    assert all(values[a] > values[b] for a, b in surely_above)
    assert min((row.low for row in standings), default=1) == 1


def test_undefined_values_come_last_together():
    table = p_values(3)
    table[2, :] = table[:, 2] = math.nan
    standings = compute_ranks_with_ranges([0.2, 0.4, math.nan], table)
    assert [row.rank for row in standings] == [2, 1, 3]
    assert (standings[2].low, standings[2].high) == (1, 3)


def test_rows_that_were_not_compared_leave_their_order_open():
    table = p_values(3)
    table[0, 1] = table[1, 0] = math.nan
    assert [
        (each.low, each.high)
        for each in compute_ranks_with_ranges([0.9, 0.8, 0.7], table)
    ] == [
        (1, 2),
        (1, 2),
        (3, 3),
    ]


def test_a_row_corrects_over_its_own_comparisons_and_the_board_over_all():
    table = p_values(4, p=0.012)
    assert find_significant_differences(table).sum() == 12
    assert find_significant_differences(table, family=BOARD_FAMILY).sum() == 0
    assert (
        find_significant_differences(p_values(4, p=0.008), family=BOARD_FAMILY).sum()
        == 12
    )


def test_a_board_of_one_row_or_none():
    assert compute_ranks_with_ranges([0.3], np.full((1, 1), math.nan)) == [
        RankWithRange(1, 1, 1)
    ]
    assert compute_ranks_with_ranges([], np.zeros((0, 0))) == []


def test_a_table_of_another_size_is_refused():
    with pytest.raises(ValueError, match="2 rows and p-values of"):
        compute_ranks_with_ranges([0.1, 0.2], p_values(3))
    with pytest.raises(ValueError, match="there are row, board"):
        find_significant_differences(p_values(2), family="season")


@pytest.mark.parametrize("seed", range(5))
def test_a_rank_interval_holds_the_rank_and_the_true_order_as_often_as_promised(seed):
    """Ranks of ten runs from noisy values whose noise is known: each row's interval misses in at most 5 % of
    boards.
    """
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1, 10)
    true_ranks = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    misses = 0
    for _ in range(60):
        seen = truth + rng.normal(0, 0.3, 10)
        z = np.abs(seen[:, None] - seen[None, :]) / (0.3 * math.sqrt(2))
        p = np.vectorize(lambda value: math.erfc(value / math.sqrt(2)))(z)
        standings = compute_ranks_with_ranges(seen.tolist(), p)
        assert all(row.low <= row.rank <= row.high for row in standings)
        misses += sum(
            not row.low <= true <= row.high
            for row, true in zip(standings, true_ranks, strict=True)
        )
    assert misses / 600 <= 0.05
