"""The same metric over the instances that share a feature."""

import numpy as np
import pytest

from scoring.metrics.base import compute_metric_value
from scoring.stats import jackknife
from scoring.stats.breakdown import (
    compute_breakdown,
    compute_intervals_by_class,
    cross_class_labels,
    find_instances_by_class,
    has_enough_instances,
)
from tasks.types.columns import ClassColumn
from tests.scoring.toys import Counts, Divergence, Mean, mean_rows


def test_classes_stand_in_the_order_of_their_first_instance_and_those_without_one_last():
    labels = [(), ("b",), ("a",), ("b", "c"), ()]
    found = {
        label: rows.tolist() for label, rows in find_instances_by_class(labels).items()
    }
    assert list(found.items()) == [
        ("b", [1, 3]),
        ("a", [2]),
        ("c", [3]),
        ("None", [0, 4]),
    ]


def test_a_column_of_classes_names_them_in_its_own_order():
    labels = ClassColumn.of([None, "b", "a", "b", None], order=["b", "a"])
    found = {
        label: rows.tolist() for label, rows in find_instances_by_class(labels).items()
    }
    assert found == {"b": [1, 3], "a": [2], "None": [0, 4]}
    assert list(found)[:2] == ["b", "a"]


def test_two_dimensions_cross_into_pairs_of_classes():
    assert cross_class_labels([("a",), ("a", "b"), ()], [("1",), ("2",), ("1",)]) == [
        ("a × 1",),
        ("a × 2", "b × 2"),
        ("None × 1",),
    ]


def test_a_class_has_the_value_of_its_instances_alone():
    rows = np.array([[3.0, 1, 0], [0, 2, 2], [5, 0, 1], [1, 1, 1]])
    metrics = [
        Counts("f1", "micro"),
        Counts("precision", "micro"),
        Counts("f1", "macro"),
    ]
    has_gold = np.array([True, True, False, True])
    found = compute_breakdown(
        metrics, {"counts": rows}, [("x",), ("y",), ("x",), ("y",)], has_gold
    )
    assert found["x"]["precision_micro"] == {"value": 8 / 9, "n": 1}
    assert found["y"]["f1_micro"] == {
        "value": pytest.approx(2 * 1 / (2 * 1 + 3 + 3)),
        "n": 2,
    }
    # A macro average within a class would be one over the units that happen to occur in it.
    assert "f1_macro" not in found["x"]


def test_a_class_without_a_value_says_so():
    nothing = np.zeros((2, 2))
    found = compute_breakdown(
        [Mean()], {"numbers": nothing}, [("x",), ("x",)], np.array([False, False])
    )
    assert found == {"x": {"mean": {"value": None, "n": 0}}}


def test_a_class_whose_value_is_infinite_says_so():
    found = compute_breakdown(
        [Divergence()],
        {"shares": np.eye(3)[:2]},
        [("x",), ("x",)],
        np.array([True, True]),
    )
    assert found == {"x": {"kl": {"value": None, "infinite": True, "n": 2}}}


def test_a_class_has_the_interval_of_its_own_units():
    numbers = np.arange(12.0)
    labels = [("even",) if number % 2 == 0 else ("odd",) for number in numbers]
    units = np.arange(12) // 2
    statistics = {"numbers": mean_rows(numbers)}
    found = compute_intervals_by_class([Mean()], statistics, units, labels)
    alone = jackknife.intervals([(Mean(), mean_rows(numbers[::2]))])[0]
    assert found["even"]["mean"] == alone
    value = compute_metric_value(Mean(), statistics["numbers"][::2], units[::2])
    assert alone[0] < value < alone[1]


def test_a_class_of_two_units_has_no_interval():
    statistics = {"numbers": mean_rows([0.1, 0.2, 0.4])}
    found = compute_intervals_by_class(
        [Mean()], statistics, np.array([0, 0, 1]), [("x",)] * 3
    )
    assert found == {"x": {"mean": None}}


def test_few_instances_are_little_support():
    assert [has_enough_instances(n) for n in (0, 9, 10)] == [False, False, True]
