"""Classes stand in the order that readers expect of them."""

import pytest

from scoring.metrics import (
    PART_BY_LABEL_METRIC_NAME,
    build_metric,
    list_metric_names_for_dimension,
)
from scoring.results.board.differences import sort_labels_naturally
from tasks.types.declared.folder import read_declaration

TOML = """
[task]
slug = "t"
title = "T"
form = "labels"
dimensions = [{ name = "intent", field = "gold" }, "section"]
[task.gold]
field = "gold"
[task.answer]
labels = ["a", "b", "c"]
probabilities = "optional"
[[task.rules]]
name = "corrected"
measures = ["accuracy", "macro_f1", "log_loss", "brier_score"]
"""


def test_by_gold_label_only_what_is_of_one_label_stands_and_what_each_class_has_comes_first():
    intents = read_declaration({"task.toml": TOML})
    names = [
        "log_loss",
        "accuracy",
        "macro_f1",
        "brier_score",
        *PART_BY_LABEL_METRIC_NAME,
        "unheard_of",
    ]
    assert list(PART_BY_LABEL_METRIC_NAME) == [
        "class_f1",
        "class_recall",
        "class_precision",
    ]
    shown = list_metric_names_for_dimension(intents, "intent", names, "corrected", {})
    assert shown == [*PART_BY_LABEL_METRIC_NAME, "log_loss", "brier_score"]
    assert (
        list_metric_names_for_dimension(intents, "section", names, "corrected", {})
        == names
    )


@pytest.mark.parametrize("name", PART_BY_LABEL_METRIC_NAME)
def test_a_metric_of_each_class_is_built_by_its_own_name(name):
    intents = read_declaration({"task.toml": TOML})
    assert build_metric(intents, name, "corrected", {}).name == name


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["2010", "2004", "2014"], ["2004", "2010", "2014"]),
        (["10", "9", "1"], ["1", "9", "10"]),
        (["4 or more", "2", "1"], ["1", "2", "4 or more"]),
        (["100 or more", "10 to 19", "1 to 9"], ["1 to 9", "10 to 19", "100 or more"]),
        (
            ["50 to 99 words", "fewer than 50 words"],
            ["fewer than 50 words", "50 to 99 words"],
        ),
        (["5", "<5", "2"], ["2", "<5", "5"]),
        (["10 10", "5 5", "10 5"], ["5 5", "10 5", "10 10"]),
        (["None", "2010", "2004"], ["2004", "2010", "None"]),
        (["None", "Method", "Aim"], ["Method", "Aim", "None"]),
        (["W06-3909", "C90-2039"], ["W06-3909", "C90-2039"]),
        (["Method × 2", "Method × 1"], ["Method × 2", "Method × 1"]),
        (["2004", "Aim", "2001"], ["2004", "Aim", "2001"]),
        ([], []),
    ],
)
def test_numbers_years_and_ranges_ascend_and_names_stay(given, expected):
    assert sort_labels_naturally(given) == expected
