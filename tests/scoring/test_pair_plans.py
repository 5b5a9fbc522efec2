"""The plan of a sheet of pairs: balanced, and the same for one seed."""

from collections import Counter
from itertools import combinations

import pytest

from citeboard.core.refusals import ActionRefused
from scoring.human.pair_plans import (
    INTERVAL_OF_TWICE_JUDGED_PAIRS,
    PairPlanDivision,
    assign_pairs_to_shares,
    count_planned_pairs,
    plan_pairs,
)

SIZES = [(1, 2, 1), (5, 3, 2), (7, 4, 7), (12, 6, 5), (10, 5, 3)]


@pytest.mark.parametrize(("instances", "systems", "battles"), SIZES)
def test_systems_and_instances_are_compared_equally_often(instances, systems, battles):
    plan = plan_pairs(instances, systems, battles, "a seed")
    met = Counter(frozenset((pair.left, pair.right)) for pair in plan)
    assert set(met.values()) == {battles}
    assert len(met) == systems * (systems - 1) // 2
    of_instances = Counter(pair.instance for pair in plan)
    counts = [of_instances[number] for number in range(instances)]
    assert max(counts) - min(counts) <= 1
    assert len({(pair.instance, pair.left, pair.right) for pair in plan}) == len(plan)


@pytest.mark.parametrize(("instances", "systems", "battles"), SIZES)
def test_no_two_systems_meet_twice_on_an_instance(instances, systems, battles):
    plan = plan_pairs(instances, systems, battles, "a seed")
    places = {(pair.instance, frozenset((pair.left, pair.right))) for pair in plan}
    assert len(places) == len(plan)


def test_a_system_stands_on_the_left_as_often_as_on_the_right_of_another():
    plan = plan_pairs(12, 5, 6, "a seed")
    left = Counter((pair.left, pair.right) for pair in plan)
    assert set(left.values()) == {3}


def test_sides_are_drawn():
    plans = [plan_pairs(1, 2, 1, f"seed {number}") for number in range(40)]
    assert {plan[0].left for plan in plans} == {0, 1}


def test_every_two_systems_meet_before_any_two_meet_again():
    plan = plan_pairs(10, 4, 3, "a seed")
    for beginning in (6, 12, 18):
        met = Counter(frozenset((own.left, own.right)) for own in plan[:beginning])
        assert set(met.values()) == {beginning // 6}


def test_the_seed_alone_decides_the_plan():
    assert plan_pairs(9, 4, 3, "a") == plan_pairs(9, 4, 3, "a")
    assert plan_pairs(9, 4, 3, "a") != plan_pairs(9, 4, 3, "b")


@pytest.mark.parametrize(
    ("runs", "instances", "battles", "reason"),
    [
        (1, 5, 1, "needs two systems"),
        (3, 5, 6, "two systems meet at most once an instance"),
        (3, 5, 0, "two systems meet at most once an instance"),
        (20, 200, 200, "a sheet has at most 5\u2009000 pairs"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(runs, instances, battles, reason):
    with pytest.raises(ActionRefused, match=reason):
        count_planned_pairs(runs, instances, battles)


DIVISIONS = [(20, 6, 4, 3, 2), (12, 6, 5, 4, 1), (50, 10, 3, 7, 3), (7, 4, 7, 5, 5)]


def divided(instances, systems, battles, judges, of_pair):
    plan = plan_pairs(instances, systems, battles, "a seed")
    return plan, assign_pairs_to_shares(
        plan, PairPlanDivision(judges, of_pair), "a seed"
    )


@pytest.mark.parametrize("case", DIVISIONS)
def test_shares_are_equally_large_and_each_has_every_two_systems_equally_often(case):
    _, systems, _, judges, _ = case
    plan, shares = divided(*case)
    sizes = Counter(share for own in shares for share in own)
    assert sorted(sizes) == [*range(1, judges + 1)]
    assert max(sizes.values()) - min(sizes.values()) <= 1
    met = Counter(
        (share, frozenset((pair.left, pair.right)))
        for pair, own in zip(plan, shares, strict=True)
        for share in own
    )
    of_two = [frozenset(two) for two in combinations(range(systems), 2)]
    counts = [met[share, two] for share in sizes for two in of_two]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("case", DIVISIONS)
def test_each_pair_has_as_many_judges_as_asked_and_some_have_two(case):
    of_pair = case[-1]
    _, shares = divided(*case)
    for place, own in enumerate(shares):
        is_shared = of_pair == 1 and place % INTERVAL_OF_TWICE_JUDGED_PAIRS == 0
        assert len(set(own)) == len(own) == (2 if is_shared else of_pair)


def test_every_two_judges_share_pairs_if_each_pair_has_two():
    _, shares = divided(20, 6, 4, 4, 2)
    together = Counter(frozenset(own) for own in shares)
    # Of 60 pairs ten would be shared by every two of four judges if all were equal.
    assert len(together) == 6
    assert min(together.values()) >= 8


@pytest.mark.parametrize(
    ("judges", "of_pair", "pairs", "reason"),
    [
        (1, 1, 10, "a plan is divided among 2 to 10"),
        (11, 2, 10, "a plan is divided among 2 to 10"),
        (51, 2, 100, "a plan is divided among 2 to 50"),
        (3, 4, 10, "4 judges of each pair: there are 3 judges"),
        (3, 0, 10, "no judges of each pair: there are 3 judges"),
    ],
)
def test_a_division_that_cannot_be_is_refused(judges, of_pair, pairs, reason):
    with pytest.raises(ActionRefused, match=reason):
        PairPlanDivision(judges, of_pair).check(pairs)
