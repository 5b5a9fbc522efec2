"""Classification held to scikit-learn."""

import math
import random

import numpy as np
import pytest

from scoring.metrics.classification import (
    Accuracy,
    ClassAverage,
    Classification,
    Kappa,
    Matthews,
    OneClass,
    QuadraticKappa,
    reshape_to_confusion_matrices,
)
from scoring.metrics.numbers import LevelKappa
from scoring.metrics.weighted import EqualSizeCalibrationError
from scoring.stats.resampling import BootstrapResampler
from tasks.types import OptionRefused
from tasks.types.probabilities import LabelWithProbabilities
from tests.lazily import Lazily

sklearn = Lazily("sklearn.metrics")

LABELS = ("Background", "CompareOrContrast", "Extends", "Future", "Motivation", "Uses")


def answers_of(
    seed: int, n: int = 300, classes: int = 6
) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    gold = rng.choices(LABELS[:classes], weights=range(1, classes + 1), k=n)
    return gold, [label if rng.random() < 0.6 else rng.choice(LABELS) for label in gold]


def metric_of(name: str, labels=LABELS) -> Classification:
    """`accuracy`, `macro_f1`, `recall:Uses` and so on."""
    single = {
        "accuracy": Accuracy,
        "kappa": Kappa,
        "quadratic_kappa": QuadraticKappa,
        "mcc": Matthews,
    }
    if name in single:
        return single[name](name, "corrected", labels=labels)
    part, of, label = name.partition(":")
    if of:
        return OneClass(name, "corrected", part=part, label=label, labels=labels)
    average, _, part = name.partition("_")
    return ClassAverage(name, "corrected", part=part, average=average, labels=labels)


def value(name: str, gold, answers, labels=LABELS) -> float:
    metric = metric_of(name, labels)
    return float(metric.aggregate(metric.instance_stats(gold, answers).sum(axis=0)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("classes", [1, 3, 6])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_averages_are_those_of_scikit_learn(seed, classes, average):
    """Classes that neither gold nor answers have are among the labels."""
    gold, answers = answers_of(seed, n=60, classes=classes)
    expected = sklearn.precision_recall_fscore_support(
        gold, answers, labels=LABELS, average=average, zero_division=0
    )
    for part, theirs in zip(("precision", "recall", "f1"), expected[:3], strict=True):
        assert value(f"{average}_{part}", gold, answers) == pytest.approx(
            theirs, rel=1e-12
        )


def test_each_class_has_the_numbers_of_scikit_learn():
    gold, answers = answers_of(5)
    expected = sklearn.precision_recall_fscore_support(
        gold, answers, labels=LABELS, zero_division=0
    )
    for part, theirs in zip(("precision", "recall", "f1"), expected[:3], strict=True):
        ours = [value(f"{part}:{label}", gold, answers) for label in LABELS]
        assert ours == pytest.approx(theirs.tolist(), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_accuracy_kappa_and_confusions_are_those_of_scikit_learn(seed):
    gold, answers = answers_of(seed)
    assert value("accuracy", gold, answers) == pytest.approx(
        sklearn.accuracy_score(gold, answers), rel=1e-12
    )
    assert value("kappa", gold, answers) == pytest.approx(
        sklearn.cohen_kappa_score(gold, answers), rel=1e-12
    )
    weighted = sklearn.cohen_kappa_score(
        gold, answers, labels=LABELS, weights="quadratic"
    )
    assert value("quadratic_kappa", gold, answers) == pytest.approx(weighted, rel=1e-12)
    own = QuadraticKappa("quadratic_kappa", "corrected", labels=LABELS)
    table = reshape_to_confusion_matrices(own.instance_stats(gold, answers).sum(axis=0))
    assert (
        table[:, :-1].tolist()
        == sklearn.confusion_matrix(gold, answers, labels=LABELS).tolist()
    )


@pytest.mark.parametrize("seed", range(4))
def test_missing_answers_are_a_class_of_kappa_too_and_as_far_from_each_as_its_ends(
    seed,
):
    gold, answers = answers_of(seed, n=80)
    missing = [
        None if place % 7 == 0 else answer for place, answer in enumerate(answers)
    ]
    theirs = sklearn.cohen_kappa_score(gold, [answer or "none" for answer in missing])
    assert value("kappa", gold, missing) == pytest.approx(theirs, rel=1e-12)
    far = [*LABELS, "none"]
    table = sklearn.confusion_matrix(
        gold, [answer or "none" for answer in missing], labels=far
    )
    last = len(LABELS) - 1
    weight = np.subtract.outer(np.arange(7), np.arange(7)) ** 2
    weight[:, -1] = last**2
    by_chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(gold)
    expected = 1 - (table * weight).sum() / (by_chance * weight).sum()
    assert value("quadratic_kappa", gold, missing) == pytest.approx(expected, rel=1e-12)
    left_out = [
        LabelWithProbabilities("", is_left_out=True) if own is None else own
        for own in missing
    ]
    both = [(own, answer) for own, answer in zip(gold, missing, strict=True) if answer]
    for name, weights in (("kappa", None), ("quadratic_kappa", "quadratic")):
        theirs = sklearn.cohen_kappa_score(
            *zip(*both, strict=True), labels=LABELS, weights=weights
        )
        assert value(name, gold, left_out) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("classes", [1, 2, 6])
def test_the_correlation_is_that_of_scikit_learn_with_missing_answers_as_a_class(
    classes,
):
    gold, answers = answers_of(3, n=80, classes=classes)
    assert value("mcc", gold, answers) == pytest.approx(
        sklearn.matthews_corrcoef(gold, answers), rel=1e-12
    )
    missing = [
        None if place % 7 == 0 else answer for place, answer in enumerate(answers)
    ]
    theirs = sklearn.matthews_corrcoef(gold, [answer or "none" for answer in missing])
    assert value("mcc", gold, missing) == pytest.approx(theirs, rel=1e-12)
    assert value("mcc", ["Uses"] * 3, ["Uses"] * 3) == 0
    assert math.isnan(value("mcc", [], []))


def test_missing_and_unknown_answers_are_wrong_and_of_no_class():
    gold = ["a", "b", "b", None]
    answers = ["a", None, "c", "a"]
    assert value("accuracy", gold, answers, ("a", "b")) == pytest.approx(1 / 3)
    assert value("macro_recall", gold, answers, ("a", "b")) == 0.5
    assert value("macro_precision", gold, answers, ("a", "b")) == 0.5
    assert value("micro_precision", gold, answers, ("a", "b")) == 1
    theirs = sklearn.f1_score(
        ["a", "b", "b"], ["a", "none", "c"], labels=["a", "b"], average="macro"
    )
    assert value("macro_f1", gold, answers, ("a", "b")) == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("average", "holds"), [("micro", True), ("weighted", True), ("macro", False)]
)
def test_rare_classes_dominate_the_error_of_a_mean_over_classes_alone(average, holds):
    metric = ClassAverage("f1", "corrected", part="f1", average=average)
    assert metric.holds_with_rare_classes is holds


def test_without_labels_the_classes_are_those_of_the_gold():
    gold, answers = ["x", "y", "x"], ["x", "z", "y"]
    metric = metric_of("macro_f1", None)
    theirs = sklearn.f1_score(
        gold, answers, labels=["x", "y"], average="macro", zero_division=0
    )
    assert metric.parameters["labels"] == "gold"
    assert value("macro_f1", gold, answers, None) == pytest.approx(theirs)


def test_over_nothing_values_are_undefined_or_nought_as_said():
    assert math.isnan(value("accuracy", [], []))
    assert math.isnan(value("kappa", [], []))
    assert math.isnan(value("quadratic_kappa", [], []))
    assert math.isnan(value("macro_f1", [], [], None))
    assert (
        value("macro_f1", [], [])
        == value("micro_f1", [], [])
        == value("weighted_f1", [], [])
        == 0
    )


def test_all_of_one_class_leaves_no_room_for_kappa():
    assert math.isnan(value("kappa", ["a"] * 3, ["a"] * 3, None))
    assert value("accuracy", ["a"] * 3, ["a"] * 3, None) == 1


def test_macro_f1_is_resampled_by_instances():
    gold, answers = answers_of(9, n=80)
    metric = metric_of("macro_f1")
    stats = metric.instance_stats(gold, answers)
    resampler = BootstrapResampler(80, resamples=5, seed=0)
    weights = np.vstack(list(resampler.weights())).astype(int)
    for own, drawn in zip(
        metric.aggregate(resampler.compute_resampled_sums([stats])[0]),
        weights,
        strict=True,
    ):
        places = np.repeat(np.arange(80), drawn)
        theirs = sklearn.f1_score(
            [gold[place] for place in places],
            [answers[place] for place in places],
            labels=LABELS,
            average="macro",
            zero_division=0,
        )
        assert own == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("part", ["precision", "recall", "f1"])
def test_the_denominator_of_an_average_is_what_its_units_add_to_it(part):
    """Pooled, the answers, the gold labels or both; of a mean over classes the instances."""
    metrics = {
        average: ClassAverage(
            "m", "corrected", part=part, average=average, labels="abc"
        )
        for average in ("micro", "macro", "weighted")
    }
    rows = metrics["micro"].instance_stats(["a", "b", "c", "a"], ["a", None, "b", "c"])
    rows = np.array([rows[:3].sum(axis=0), rows[3]])
    pooled = {"precision": [2, 1], "recall": [3, 1], "f1": [5, 2]}[part]
    assert metrics["micro"].denominators(rows).tolist() == pooled
    assert metrics["macro"].denominators(rows).tolist() == [3, 1]
    assert metrics["weighted"].denominators(rows).tolist() == [3, 1]


def test_numbers_need_two_levels_to_be_compared_by():
    numbers = LevelKappa("level_kappa", "corrected", levels=[0, 1])
    stats = numbers.instance_stats([0, 1, 1], [0.2, 0.5, 0.4])
    theirs = sklearn.cohen_kappa_score([0, 1, 1], [0, 1, 0])
    assert float(numbers.aggregate(stats.sum(axis=0))) == pytest.approx(theirs)
    with pytest.raises(
        OptionRefused, match="level_kappa needs `least`, `most` and `step`"
    ):
        LevelKappa("level_kappa", "corrected", levels=[0])


def test_confidences_that_are_equal_are_pooled_over_the_groups_that_they_fall_into():
    rows = np.array(
        [[0.2, 0, 1], [0.5, 1, 1], [0.5, 0, 1], [0.5, 1, 1], [0.5, 0, 1], [0.9, 1, 1]]
    )
    error, pooled = (
        EqualSizeCalibrationError(
            "ece", "corrected", labels=LABELS, bins=3, pooled=is_pooled
        )
        for is_pooled in (False, True)
    )
    value = pooled.value(rows, np.ones(6))
    assert value == pytest.approx((abs(0.25 - 0.35) + 0 + abs(0.75 - 0.7)) / 3)
    assert error.value(rows, np.ones(6)) != value
