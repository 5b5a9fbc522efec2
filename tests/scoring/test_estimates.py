"""Scores estimated from a judge's values of all units and people's labels of a sample."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scoring.stats.estimates import (
    INTERVAL_WIDENING_FACTORS,
    MIN_LABELS_OF_RARER_KIND,
    LabelledSample,
    NoEstimateReason,
    ScoreEstimate,
    estimate_score,
    estimate_signed_sum,
    estimated_difference,
)
from scoring.stats.sampling import compute_label_weights, draw_unit_sample
from tests.mass import mass

ROOT = Path(__file__).resolve().parents[2]
#: Test sets of a population in the suite; `make proofs` has more, and all populations.
SETS, SEED = mass(60, 400), 52


@pytest.fixture(scope="module")
def simulation():
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        import estimates
    finally:
        sys.path.pop(0)
    return estimates


def drawn_sample(seed, *, topics=30, size=10, labels=60, share=0.6, accuracy=0.85):
    rng = np.random.default_rng(seed)
    of_units = np.repeat(np.arange(topics), size)
    people = (rng.random(len(of_units)) < share).astype(float)
    judged = np.where(rng.random(len(of_units)) < accuracy, people, 1 - people)
    labelled = rng.permutation(len(of_units))[:labels]
    return LabelledSample(
        topics=of_units,
        judged=judged,
        weights=np.ones(len(of_units)),
        label_topics=of_units[labelled],
        label_judged=judged[labelled],
        people=people[labelled],
        label_weights=np.ones(labels),
    )


def by_the_formulas(topics, judged, labelled, people):
    """The formulas with equal weights, unit by unit: value, error and degrees of freedom."""
    units, labels = len(judged), len(labelled)
    names = sorted(set(topics))
    mean = sum(judged) / units
    people_mean = sum(people) / labels
    label_mean = sum(judged[unit] for unit in labelled) / labels
    own = {
        topic: (
            sum(
                (people[place] - people_mean) / labels
                for place, unit in enumerate(labelled)
                if topics[unit] == topic
            ),
            sum(
                (judged[unit] - label_mean) / labels
                for unit in labelled
                if topics[unit] == topic
            )
            - sum(
                (judged[unit] - mean) / units
                for unit in range(units)
                if topics[unit] == topic
            ),
        )
        for topic in names
    }
    a, b = zip(*own.values(), strict=True)
    weight = sum(x * y for x, y in zip(a, b, strict=True)) / sum(y * y for y in b)
    weight = min(1, max(0, weight))
    rest = sum(
        people[place] - weight * judged[unit] for place, unit in enumerate(labelled)
    )
    counts = [sum(topics[unit] == topic for unit in labelled) for topic in names]
    some = sum(count > 0 for count in counts)
    every = len(names)
    factor = every / (every - 1) * max(1, some / (some - 1) * (every - 1) / every)
    squares = sum((x - weight * y) ** 2 for x, y in zip(a, b, strict=True))
    df = max(1, sum(counts) ** 2 / sum(count**2 for count in counts) - 1)
    return weight * mean + rest / labels, (factor * squares) ** 0.5, df


@pytest.mark.parametrize("seed", range(5))
def test_with_equal_weights_an_estimate_equals_the_formulas_unit_by_unit(seed):
    rng = np.random.default_rng(seed)
    topics = sorted(rng.integers(0, 25, 200).tolist())
    topics = [*range(25), *topics]
    judged = rng.integers(0, 3, len(topics)) / 2
    labelled = rng.permutation(len(topics))[:50].tolist()
    people = rng.integers(0, 3, 50) / 2
    sample = LabelledSample(
        topics=np.array(topics),
        judged=judged,
        weights=np.ones(len(topics)),
        label_topics=np.array(topics)[labelled],
        label_judged=judged[labelled],
        people=people,
        label_weights=np.ones(50),
    )
    found = estimate_signed_sum([(1.0, sample)], (-9.0, 9.0))
    value, error, df = by_the_formulas(topics, judged.tolist(), labelled, people)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.error == pytest.approx(error, abs=1e-12)
    assert found.df == pytest.approx(df, abs=1e-9)


def test_a_difference_on_shared_units_is_the_estimate_of_the_units_differences():
    first, other = drawn_sample(1), drawn_sample(2)
    second = replace(
        other,
        label_topics=first.label_topics,
        label_judged=other.judged[:60],
        people=other.people,
    )
    both = replace(
        first,
        judged=first.judged - second.judged,
        label_judged=first.label_judged - second.label_judged,
        people=first.people - second.people,
    )
    difference = estimated_difference(first, second)
    whole = estimate_signed_sum([(1.0, both)], (-1.0, 1.0))
    assert (difference.value, difference.error, difference.df) == pytest.approx(
        (whole.value, whole.error, whole.df)
    )


def test_a_system_does_not_differ_from_itself():
    sample = drawn_sample(3)
    found = estimated_difference(sample, sample)
    assert (found.value, found.error, found.worth) == (0, 0, None)


def test_a_judge_that_agrees_with_people_decides_the_estimate():
    sample = drawn_sample(4, accuracy=1.0)
    found = estimate_score(sample)
    assert found.judge_weight > 0.9
    mixed = (
        found.judge_weight * sample.compute_judge_mean()
        + (1 - found.judge_weight) * sample.people.mean()
    )
    assert found.value == pytest.approx(mixed)
    assert found.worth > 3 * found.labels


def test_a_judge_that_contradicts_people_gets_no_weight():
    sample = drawn_sample(5, accuracy=0.1)
    found = estimate_score(sample)
    assert found.judge_weight == 0
    assert found.value == pytest.approx(sample.people.mean())
    assert found.worth == pytest.approx(found.labels)


def test_the_same_value_of_every_unit_gets_no_weight():
    sample = drawn_sample(6)
    constant = replace(
        sample, judged=np.ones_like(sample.judged), label_judged=np.ones(60)
    )
    assert estimate_score(constant).judge_weight == 0


def test_labels_are_worth_more_with_a_better_judge():
    worth = [
        estimate_score(drawn_sample(7, labels=120, accuracy=right)).worth
        for right in (0.6, 0.8, 0.95)
    ]
    assert worth == sorted(worth)
    assert worth[0] >= 120


def test_intervals_stay_within_the_ends_of_the_score():
    found = estimate_score(drawn_sample(8, share=0.85, labels=100))
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_labels_of_mostly_one_topic_leave_one_degree_of_freedom():
    """50² / (40² + 10) - 1 is below 1."""
    topics = np.array([0] * 40 + [*range(1, 11)])
    sample = replace(drawn_sample(3, labels=50), label_topics=topics)
    assert estimate_signed_sum([(1.0, sample)], (0.0, 1.0)).df == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"topics": 19}, NoEstimateReason.TOPICS),
        ({"labels": 19}, NoEstimateReason.LABELS),
        ({"share": 1.0}, NoEstimateReason.OF_A_KIND),
        ({"share": 0.0, "accuracy": 1.0}, NoEstimateReason.OF_A_KIND),
    ],
)
def test_few_topics_or_labels_of_a_kind_give_no_single_value(change, reason):
    assert estimate_score(drawn_sample(9, **change)) is reason


def with_labels(seed, ones, zeros):
    sample = drawn_sample(seed, labels=ones + zeros)
    return replace(sample, people=np.repeat([1.0, 0.0], [ones, zeros]))


def test_intervals_are_wider_where_few_labels_of_a_kind_are_just_enough():
    for count, factor in enumerate(
        INTERVAL_WIDENING_FACTORS, start=MIN_LABELS_OF_RARER_KIND
    ):
        for sample in (with_labels(14, 60, count), with_labels(14, count, 60)):
            found, plain = (
                estimate_score(sample),
                estimate_signed_sum([(1.0, sample)], (0.0, 1.0)),
            )
            below = (found.value - found.low) / (plain.value - plain.low)
            above = (found.high - found.value) / (plain.high - plain.value)
            rarer, other = (
                (above, below) if sample.number_of_upper_labels > 30 else (below, above)
            )
            at_end = 1.0 in (found.high, 1 - found.low)
            assert rarer == pytest.approx(factor) or (at_end and 1 < rarer < factor)
            assert other == 1
    many = with_labels(
        14, 60, MIN_LABELS_OF_RARER_KIND + len(INTERVAL_WIDENING_FACTORS)
    )
    assert estimate_score(many) == estimate_signed_sum([(1.0, many)], (0.0, 1.0))


def test_a_widened_interval_ends_where_the_score_ends():
    assert estimate_score(with_labels(14, 60, MIN_LABELS_OF_RARER_KIND)).high == 1
    assert estimate_score(with_labels(14, MIN_LABELS_OF_RARER_KIND, 60)).low == 0


def test_the_factors_follow_from_a_poisson_count_of_at_least_ten():
    from scipy.optimize import brentq
    from scipy.stats import poisson

    def tail(mean, count):
        return poisson.sf(count - 1, mean)

    for place, count in enumerate(
        range(MIN_LABELS_OF_RARER_KIND + 1, MIN_LABELS_OF_RARER_KIND + 10), 1
    ):
        plain = brentq(lambda mean, of=count: tail(mean, of) - 0.025, 0.01, count)
        shown = brentq(
            lambda mean, of=count: (
                tail(mean, of) / tail(mean, MIN_LABELS_OF_RARER_KIND) - 0.025
            ),
            0.01,
            count,
        )
        assert INTERVAL_WIDENING_FACTORS[place] == pytest.approx(
            (count - shown) / (count - plain), abs=1e-3
        )


def test_labels_that_do_not_vary_give_no_difference():
    """Their error is zero, although other units may differ."""
    ones, zeros = with_labels(15, 60, 0), with_labels(16, 0, 60)
    assert estimated_difference(ones, ones) is NoEstimateReason.OF_A_KIND
    assert estimated_difference(ones, zeros) is NoEstimateReason.OF_A_KIND
    assert isinstance(estimated_difference(ones, drawn_sample(17)), ScoreEstimate)


def test_a_difference_needs_labels_on_ten_topics_of_both_systems():
    many = drawn_sample(10)
    few = replace(many, label_topics=np.minimum(many.label_topics, 8))
    assert estimated_difference(many, few) is NoEstimateReason.TOPICS
    assert estimated_difference(few, many) is NoEstimateReason.TOPICS
    assert isinstance(estimated_difference(many, drawn_sample(11)), ScoreEstimate)


def test_a_topic_may_lack_units_of_one_system_whatever_its_number():
    first, other = drawn_sample(13, labels=120), drawn_sample(14, labels=120)
    units, labels = other.topics < 27, other.label_topics < 27
    second = LabelledSample(
        topics=other.topics[units],
        judged=other.judged[units],
        weights=other.weights[units],
        label_topics=other.label_topics[labels],
        label_judged=other.label_judged[labels],
        people=other.people[labels],
        label_weights=other.label_weights[labels],
    )
    turned = [
        replace(own, topics=29 - own.topics, label_topics=29 - own.label_topics)
        for own in (first, second)
    ]
    there, back = estimated_difference(first, second), estimated_difference(*turned)
    assert vars(there) == pytest.approx(vars(back))


def test_the_order_of_units_changes_nothing():
    sample = drawn_sample(12)
    turned = replace(
        sample,
        topics=sample.topics[::-1],
        judged=sample.judged[::-1],
        label_topics=sample.label_topics[::-1],
        label_judged=sample.label_judged[::-1],
        people=sample.people[::-1],
    )
    assert vars(estimate_score(turned)) == pytest.approx(vars(estimate_score(sample)))


def test_topics_take_turns_until_all_units_are_drawn():
    units = [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1"), ("c", "1")]
    drawn = draw_unit_sample(units, 5, "seed")
    assert sorted(topic for topic, _name in drawn[:3]) == ["a", "b", "c"]
    assert sorted(drawn) == sorted(units)
    assert draw_unit_sample(units, 99, "seed") == drawn
    assert draw_unit_sample(units, 2, "seed") == drawn[:2]
    assert draw_unit_sample([], 5, "seed") == []


def test_another_order_of_the_units_draws_the_same_sample():
    units = [(str(topic), str(unit)) for topic in range(9) for unit in range(5)]
    assert draw_unit_sample(units[::-1], 20, "s") == draw_unit_sample(units, 20, "s")
    assert draw_unit_sample(units, 20, "other") != draw_unit_sample(units, 20, "s")


def test_each_unit_of_a_topic_is_drawn_equally_often():
    units = [("a", str(unit)) for unit in range(4)]
    counts = dict.fromkeys("0123", 0)
    for seed in range(400):
        [(_topic, name)] = draw_unit_sample(units, 1, str(seed))
        counts[name] += 1
    assert all(60 < count < 140 for count in counts.values())


def test_labels_stand_for_the_units_of_their_topic():
    topics = np.array([0, 0, 0, 0, 1, 1])
    weights = np.array([1.0, 1, 1, 1, 2, 2])
    found = compute_label_weights(topics, weights, [0, 1, 4])
    assert found.tolist() == [2, 2, 4]


SHORT = (
    "nuggets, 50 labels, right in 0.9 and 0.7",
    "nuggets, 100 labels, 0.9 supported",
    "citations, 50 labels, right in 0.95 and 0.95",
    "citations, lenient judge",
    "claims, 60 labels, 20 topics",
    "claims, strict judge, 60 labels",
)


@pytest.mark.parametrize("name", SHORT)
def test_intervals_hold_the_true_value_as_often_as_they_should(simulation, name):
    [population] = [one for one in simulation.POPULATIONS if one.name == name]
    assert simulation.measured(population, SETS, SEED).faults == []


@pytest.mark.proof
@pytest.mark.parametrize("kind", ["nuggets", "citations", "claims"])
def test_intervals_of_every_population_hold_the_true_value(simulation, kind):
    faults = [
        fault for line in simulation.lines(SETS, SEED, kind) for fault in line.faults
    ]
    assert faults == []


def test_the_simulation_finds_intervals_that_are_too_narrow(simulation, monkeypatch):
    narrow = simulation.estimated_difference

    def halved(first, second):
        found = narrow(first, second)
        quarter = (found.high - found.low) / 4
        return replace(found, low=found.low + quarter, high=found.high - quarter)

    monkeypatch.setattr(simulation, "estimated_difference", halved)
    line = simulation.measured(simulation.POPULATIONS[0], SETS, SEED)
    assert len(line.faults) == 1
