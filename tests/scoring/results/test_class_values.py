"""No class shows a number that its own gold fixes, and no sentence compares classes without a test."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from scoring.metrics.base import ClassGold, FixedValueReason, Metric
from scoring.metrics.classification import (
    Accuracy,
    ClassAverage,
    Matthews,
    OneClass,
)
from scoring.metrics.numbers import AbsoluteError, Pearson
from scoring.metrics.spans import SemEval
from scoring.results.board import differences
from scoring.results.board.charts import (
    build_class_bar_chart,
    describe_gold_determined_classes,
    describe_missing_intervals,
    summarise_class_table,
)
from scoring.results.board.differences import (
    GoldDeterminedClass,
    InstanceClass,
    ScoresByClassTable,
    find_gold_determined_classes,
)
from scoring.results.comparison import paired_scores
from tasks.types.declared.folder import read_declaration
from tests.declared.folders import EXAMPLES

LABELS = ["no", "yes"]


def measure(kind: type[Metric], **facts) -> Metric:
    return kind("name", "rules", **facts)


def label_rows(gold: list[str], answers: list[str]) -> np.ndarray:
    return measure(Accuracy, labels=LABELS).instance_stats(gold, answers)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (
            measure(OneClass, part="f1", label="yes", labels=LABELS),
            FixedValueReason.ONE_LABEL,
        ),
        (
            measure(OneClass, part="precision", label="yes", labels=LABELS),
            FixedValueReason.ONE_LABEL,
        ),
        (
            measure(OneClass, part="recall", label="no", labels=LABELS),
            FixedValueReason.ONE_LABEL,
        ),
        (measure(Matthews, labels=LABELS), FixedValueReason.ONE_LABEL),
        (
            measure(ClassAverage, part="f1", average="macro", labels=LABELS),
            FixedValueReason.ONE_LABEL,
        ),
        (measure(ClassAverage, part="f1", average="micro", labels=LABELS), None),
        (measure(OneClass, part="recall", label="yes", labels=LABELS), None),
        (measure(Accuracy, labels=LABELS), None),
    ],
)
def test_a_measure_of_labels_declares_whether_one_label_in_the_gold_fixes_it(
    own, expected
):
    one = ClassGold(rows=label_rows(["yes", "yes"], ["yes", "no"]), labels=1)
    assert own.fixed_by(one) == expected
    both = ClassGold(rows=label_rows(["yes", "no"], ["yes", "no"]), labels=2)
    assert own.fixed_by(both) is None


def test_a_correlation_is_restricted_within_bands_of_its_gold_and_an_error_is_not():
    rows = np.zeros((3, 7))
    band = ClassGold(rows=rows, is_band=True)
    assert measure(Pearson).fixed_by(band) == FixedValueReason.BAND_OF_GOLD
    assert measure(Pearson).fixed_by(ClassGold(rows=rows)) is None
    assert measure(AbsoluteError).fixed_by(band) is None
    assert FixedValueReason.BAND_OF_GOLD in AbsoluteError.stands_in


def test_spans_are_fixed_where_the_gold_has_none():
    spans = measure(SemEval, part="f1", scheme="strict")
    assert (
        spans.fixed_by(ClassGold(rows=np.array([[0.0, 2, 0]])))
        == FixedValueReason.EMPTY_GOLD
    )
    assert spans.fixed_by(ClassGold(rows=np.array([[0.0, 2, 1]]))) is None


def test_spans_are_not_fixed_where_some_instances_of_the_gold_have_none():
    spans = measure(SemEval, part="f1", scheme="strict")
    assert spans.fixed_by(ClassGold(rows=np.array([[0.0, 2, 0], [0, 2, 1]]))) is None


def test_a_run_with_one_answer_everywhere_is_constant():
    accuracy = measure(Accuracy, labels=LABELS)
    assert accuracy.is_constant(label_rows(["yes", "no"], ["yes", "yes"]))
    assert not accuracy.is_constant(label_rows(["yes", "no"], ["yes", "no"]))


def test_the_classes_of_a_declared_task_are_fixed_by_its_gold(monkeypatch):
    folder = EXAMPLES / "reference-verification"
    content = {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    kind = read_declaration(content)
    labels = ["HALLUCINATED", "VALID"]
    rows = measure(Accuracy, labels=labels).instance_stats(
        ["HALLUCINATED", "HALLUCINATED", "VALID", "HALLUCINATED"], [None] * 4
    )
    run = SimpleNamespace(
        matrices=dict.fromkeys(["classes:HALLUCINATED,VALID"], rows),
        features={"type": [("made up",), ("made up",), ("mixed",), ("mixed",)]},
    )
    monkeypatch.setattr(
        differences, "read_statistics_of_run", lambda evaluation, names: run
    )
    task = SimpleNamespace(task_type=kind, options={})
    evaluation = SimpleNamespace(phase=SimpleNamespace(task=task), rules="official")
    assert find_gold_determined_classes(evaluation, "type", "f1") == {
        "made up": (FixedValueReason.ONE_LABEL, "detection_rate")
    }
    assert find_gold_determined_classes(evaluation, "type", "detection_rate") == {}
    assert find_gold_determined_classes(evaluation, "type", "no-such-metric") == {}


def table(
    values: dict[str, tuple[float | None, ...]], half: float | None = 0.05, **facts
) -> ScoresByClassTable:
    count = max(map(len, values.values()))
    systems = [
        SimpleNamespace(evaluation=number, system=name)
        for number, name in enumerate(("first", "second")[:count])
    ]
    numbers = {
        (label, number): value
        for label, own in values.items()
        for number, value in enumerate(own)
    }
    return ScoresByClassTable(
        dimension="topic",
        metric="f1",
        scale=1.0,
        higher_is_better=True,
        classes=[InstanceClass(label, 50) for label in values],
        systems=systems,
        values=numbers,
        intervals={}
        if half is None
        else {
            key: (value - half, value + half)
            for key, value in numbers.items()
            if value is not None
        },
        **{"is_tested": True, **facts},
    )


def test_two_classes_are_compared_only_if_the_interval_of_their_difference_excludes_zero():
    apart = table({"a": (0.2, 0.2), "b": (0.5, 0.5), "c": (0.8, 0.9)})
    assert summarise_class_table(apart) == (
        "Over these systems c (mean 0.8500) is easier than a (0.2000): "
        "the 95 % interval of the difference, 0.5073 to 0.7927, excludes zero."
    )
    assert summarise_class_table(table({"a": (0.6500,), "b": (0.6497,)})) == ""
    assert summarise_class_table(table({"a": (0.2,), "b": (0.9,)}, half=None)) == ""
    lower = replace(apart, higher_is_better=False)
    assert "a (mean 0.2000) is easier than c (0.8500)" in summarise_class_table(lower)


def test_a_tie_at_the_end_of_the_scale_is_nobodys_best():
    tied = table({"a": (0.0, 0.0), "b": (1.0, 1.0), "c": (0.5, 0.5), "d": (1.0, 0.5)})
    assert [len(tied.best(label)) for label in "abcd"] == [0, 0, 2, 1]
    assert len(replace(tied, is_tested=False).best("b")) == 2


def test_fixed_classes_have_a_reason_the_valid_measure_and_no_missing_interval():
    fixed = table(
        {"a": (None, None), "b": (0.5, 0.6)},
        fixed={"a": GoldDeterminedClass(FixedValueReason.ONE_LABEL, "accuracy")},
    )
    assert describe_gold_determined_classes(fixed) == (
        "No value of F1 in a: one label occurs in the gold there, so that the class fixes the value. "
        "Accuracy is valid there."
    )
    assert describe_missing_intervals(fixed, set()) == ""
    assert build_class_bar_chart(fixed).labels == ["b"]
    unknown = replace(
        fixed, fixed={"a": GoldDeterminedClass(FixedValueReason.ONE_LABEL)}
    )
    assert describe_gold_determined_classes(unknown).endswith(
        "The recall of the label, or accuracy, is valid there."
    )


def test_the_line_on_missing_intervals_names_systems_and_not_all_classes():
    lacking = table({"a": (0.5, 0.5), "b": (0.5, 0.6)})
    del lacking.intervals["a", 1], lacking.intervals["b", 1]
    assert describe_missing_intervals(lacking, {1}) == (
        "Without an interval: “second” (not computed yet)."
    )
    del lacking.intervals["a", 0]
    assert describe_missing_intervals(lacking, {1}) == (
        "Without an interval: “first” in a (too few instances to tell one); "
        "“second” (not computed yet)."
    )


def test_the_difference_of_systems_that_are_equal_whichever_unit_is_left_out_has_no_interval(
    monkeypatch,
):
    """Both have no right answer, and other wrong ones."""
    f1 = measure(OneClass, part="f1", label="yes", labels=LABELS)
    gold = ["yes"] * 6 + ["no"] * 6
    both = [["no"] * 12, ["no"] * 6 + ["yes"] * 6]
    runs = [SimpleNamespace(pk=pk) for pk in (0, 1)]

    def statistics(run, names):
        return paired_scores.StoredStatistics(
            matrices={f1.statistic: label_rows(gold, both[run.pk])},
            units=np.arange(12),
            unit_names=[f"u{place:02}" for place in range(12)],
            features={"half": [("one",)] * 12},
            answered=np.ones(12, dtype=bool),
        )

    numbers = [
        ("one", run.pk, SimpleNamespace(value=0.0, n=12, withheld="")) for run in runs
    ]
    monkeypatch.setattr(paired_scores, "read_statistics_of_run", statistics)
    monkeypatch.setattr(
        paired_scores, "load_class_scores_of_evaluations", lambda *facts: numbers
    )
    monkeypatch.setattr(
        paired_scores, "find_gold_determined_classes", lambda *facts: {}
    )
    [line] = paired_scores.compute_class_differences(
        SimpleNamespace(a=runs[0], b=runs[1]), "half", f1
    )
    assert (line.difference, line.low, line.high) == (0.0, None, None)
