"""Lists of numbers and columns of classes read like the plain lists that they stand for."""

import random

import numpy as np
import pytest

from scoring.stats.breakdown import find_instances_by_class
from tasks.types.columns import (
    NO_CLASS_CODE,
    NOT_APPLICABLE_CODE,
    ClassColumn,
    compute_mask_of_present_rows,
)
from tasks.types.ranking import lists
from tasks.types.ranking.lists import (
    InstanceAndCandidateLookup,
    ListColumn,
    build_ranking_index,
    compute_ranks_of_gold,
    divide_rows_into_blocks,
)


def made_up(chance: random.Random, rows: int, candidates: int, longest: int):
    return [
        None
        if chance.random() < 0.2
        else chance.sample(range(candidates), chance.randint(0, longest))
        for _ in range(rows)
    ]


def plain(own: ListColumn):
    return [None if row is None else list(row) for row in own]


def test_rows_are_looked_at_together_up_to_so_many_members_and_each_at_least_alone():
    offsets = np.array([0, 2, 4, 4, 9, 20, 20])
    assert divide_rows_into_blocks(offsets, 5) == [(0, 3), (3, 4), (4, 5), (5, 6)]
    assert divide_rows_into_blocks(offsets, 4) == [(0, 3), (3, 4), (4, 5), (5, 6)]
    assert divide_rows_into_blocks(offsets, 20) == [(0, 6)]
    assert divide_rows_into_blocks(offsets[:1], 5) == []


def test_a_run_in_the_order_of_the_instances_needs_no_table_of_them():
    choices = InstanceAndCandidateLookup(build_ranking_index(["a", "b", "c"], [["W"]]))
    assert [choices.find_row_of_instance(name) for name in "abc"] == [0, 1, 2]
    assert "rows" not in vars(choices)
    assert [choices.find_row_of_instance(name) for name in "bcxa"] == [1, 2, None, 0]


def test_the_numbers_of_256_pools_at_most_are_kept_at_hand():
    pools = [[f"W{number}"] for number in range(300)]
    choices = InstanceAndCandidateLookup(
        build_ranking_index(list(map(str, range(300))), pools, range(300))
    )
    kept = []
    for row, pool in enumerate(pools):
        assert choices.candidates(row) == {pool[0]: 0}
        kept.append(len(choices._at_hand))
    assert (max(kept), kept[256], kept[-1]) == (256, 1, 44)


def test_they_read_like_lists():
    rows = [[3, 1], None, [], [2]]
    own = ListColumn.of(rows)
    assert plain(own) == rows
    assert len(own) == 4
    assert own[-1] == (2,)
    assert plain(own[1:3]) == [None, []]
    assert compute_mask_of_present_rows(own).tolist() == [True, False, True, True]
    with pytest.raises(IndexError):
        own[4]


@pytest.mark.parametrize("step", [1, 7, 1_000_000])
def test_ranks_are_those_that_a_search_finds_however_small_the_steps(monkeypatch, step):
    monkeypatch.setattr(lists, "ITEMS_PER_BLOCK", step)
    chance = random.Random(5)
    answers = made_up(chance, 80, 12, 9)
    gold = [chance.sample(range(12), chance.randint(0, 4)) for _ in answers]
    expected = [
        (ranked or []).index(member) + 1 if member in (ranked or []) else 0
        for own, ranked in zip(gold, answers, strict=True)
        for member in own
    ]
    assert (
        compute_ranks_of_gold(ListColumn.of(gold), ListColumn.of(answers)).tolist()
        == expected
    )


@pytest.mark.parametrize("step", [1, 7, 1_000_000])
def test_rows_are_taken_in_any_order_and_minus_one_gives_none(monkeypatch, step):
    monkeypatch.setattr(lists, "ITEMS_PER_BLOCK", step)
    chance = random.Random(6)
    rows = made_up(chance, 50, 9, 6)
    wanted = [chance.randrange(-1, 50) for _ in range(70)]
    taken = ListColumn.of(rows).select_rows(np.array(wanted))
    assert plain(taken) == [None if place < 0 else rows[place] for place in wanted]


def test_columns_of_classes_read_like_tuples_and_break_down_like_them():
    values = ["b", None, "a", "b", None, "c"]
    column = ClassColumn.of(values, order=("b", "a"))
    as_tuples = [(value,) if value else () for value in values]
    assert list(column) == as_tuples
    assert column.labels == ("b", "a", "c")
    own, others = find_instances_by_class(column), find_instances_by_class(as_tuples)
    assert {label: rows.tolist() for label, rows in own.items()} == {
        label: rows.tolist() for label, rows in others.items()
    }
    assert list(own) == ["b", "a", "c", "None"]


def test_rows_outside_of_a_dimension_are_in_no_class_of_it():
    column = ClassColumn(
        ("a", "b"), np.array([NOT_APPLICABLE_CODE, NO_CLASS_CODE, 1], dtype=np.int32)
    )
    assert {
        label: rows.tolist() for label, rows in find_instances_by_class(column).items()
    } == {
        "b": [2],
        "None": [1],
    }
    assert list(column) == [(), (), ("b",)]
