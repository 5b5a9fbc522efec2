"""Classes whose precision, recall or F1 is 0/0, left out as scikit-learn's `zero_division=np.nan` does."""

import numpy as np
import pytest
from sklearn import metrics as sklearn

from scoring.metrics.classification import ClassAverage, OneClass
from scoring.offline.sample import compute_sample_scores
from tasks.types import InputRefused
from tasks.types.declared.folder import read_declaration

LABELS = ["a", "b", "c", "d"]
GOLD = ["a", "a", "b", "d", "d", "b"]
RUN = ["a", "b", "b", "a", "a", "b"]
TASK = """[task]
slug = "t"
title = "T"
form = "labels"
[task.gold]
field = "label"
shown = ["text"]
[task.answer]
labels = ["a", "b", "c"]
[[task.rules]]
name = "corrected"
measures = ["macro_f1", "accuracy"]
zero = "%s"
"""


@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("part", ["precision", "recall", "f1"])
@pytest.mark.parametrize("run", [RUN, GOLD, ["c"] * 6])
def test_averages_over_classes_are_those_of_scikit_learn(part, average, run):
    metric = ClassAverage(
        "m", "corrected", part=part, average=average, labels=LABELS, zero="left-out"
    )
    stats = metric.instance_stats(GOLD, run)
    score = getattr(sklearn, f"{part}_score")
    expected = score(GOLD, run, labels=LABELS, average=average, zero_division=np.nan)
    assert metric.aggregate(stats.sum(axis=0)) == pytest.approx(expected, nan_ok=True)


def test_one_class_that_nobody_has_is_undefined():
    metric = OneClass(
        "m", "corrected", part="f1", label="c", labels=LABELS, zero="left-out"
    )
    assert np.isnan(metric.aggregate(metric.instance_stats(GOLD, RUN).sum(axis=0)))


@pytest.mark.parametrize(("zero", "value"), [("left-out", 1.0), ("0", 2 / 3)])
def test_a_rule_set_leaves_absent_labels_out(zero, value):
    files = {
        "task.toml": TASK % zero,
        "sample/gold.jsonl": '{"id": "1", "text": "x", "label": "a"}\n'
        '{"id": "2", "text": "y", "label": "b"}\n',
        "sample/run.jsonl": '{"id": "1", "label": "a"}\n{"id": "2", "label": "b"}\n',
    }
    found = compute_sample_scores(read_declaration(files), files)["corrected"]
    assert found == {"macro_f1": pytest.approx(value), "accuracy": 1.0}


def test_another_value_is_refused_by_line():
    with pytest.raises(InputRefused, match="“out” is not known here"):
        read_declaration({"task.toml": TASK % "out"})
