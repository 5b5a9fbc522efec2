"""Names of rule sets by a further judge."""

import pytest

from tasks.types import task_type
from tasks.types.base import base_rules
from tasks.types.judge_views import (
    MAX_RULES,
    first_judge,
    further_judge,
    further_judges,
    is_view,
    judge_key,
    kind_of_view,
    options_of,
    plain_rules,
    view_of,
)
from tasks.types.stored_judges import stored_judges

STORE = {"entailment": "store:support-a"}
OFFERED = ("corrected", "official")


def test_a_view_names_its_rule_set_and_its_judge():
    view = view_of("corrected", "support-b")
    assert (base_rules(view), further_judge(view)) == ("corrected", "support-b")
    assert is_view(view, OFFERED, STORE)
    assert first_judge(STORE) == "support-a"


@pytest.mark.parametrize(
    "rules",
    [
        "corrected",
        "corrected@",
        "@support-b",
        "corrected@support-a",
        "unknown@support-b",
        "corrected@support b",
        "corrected@../b",
        "corrected@b/c",
        "corrected@b@c",
        "corrected@-b",
        "corrected@b\n",
        "corrected@" + "b" * (MAX_RULES - len("corrected@") + 1),
    ],
)
def test_other_names_are_no_views(rules):
    assert not is_view(rules, OFFERED, STORE)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"entailment": "none"},
        {"entailment": "labels:b"},
        {"supports": "supports.jsonl"},
        {"supports": "store:"},
        {"assignments": "assignments.jsonl"},
        {"assignments": "store:"},
    ],
)
def test_without_stored_labels_there_is_no_view(options):
    assert not is_view("corrected@support-b", OFFERED, options)


def test_the_options_of_a_view_name_its_judge_and_change_nothing_else():
    options = {**STORE, "parser": "rules"}
    assert options_of("corrected", options) == options
    assert options_of("corrected@support-b", options) == {
        "entailment": "store:support-b",
        "parser": "rules",
    }


def test_the_judge_of_citations_of_reports_has_views_too():
    options = {"supports": "store:support-a", "track": "none"}
    assert is_view("corrected@support-b", OFFERED, options)
    assert not is_view("corrected@support-a", OFFERED, options)
    assert stored_judges(options) == [("supports", "supports", "support-a")]
    assert options_of("corrected@support-b", options) == {
        "supports": "store:support-b",
        "track": "none",
    }


TWO = {"assignments": "store:nuggets-a", "supports": "store:support-a"}


def test_a_view_of_one_kind_names_its_judge_and_the_kind():
    view = view_of("corrected", "support-b", "supports")
    assert view == "corrected@support-b@supports"
    assert (base_rules(view), further_judge(view)) == ("corrected", "support-b")
    assert (kind_of_view(view), judge_key(view)) == ("supports", "support-b@supports")
    assert is_view(view, OFFERED, TWO)


@pytest.mark.parametrize(
    ("view", "changed"),
    [
        ("corrected@b", {"assignments": "store:b"}),
        ("corrected@b@assigns", {"assignments": "store:b"}),
        ("corrected@b@supports", {"supports": "store:b"}),
        ("corrected@support-a", {"assignments": "store:support-a"}),
        ("corrected@nuggets-a@supports", {"supports": "store:nuggets-a"}),
    ],
)
def test_a_view_replaces_the_judge_of_its_kind_and_keeps_the_other(view, changed):
    assert is_view(view, OFFERED, TWO)
    assert options_of(view, TWO) == {**TWO, **changed}


@pytest.mark.parametrize(
    "rules",
    [
        "corrected@b@",
        "corrected@b@entails",
        "corrected@b@prefers",
        "corrected@b@supports@assigns",
        "corrected@@supports",
        "corrected@support-a@supports",
        "corrected@nuggets-a@assigns",
        "corrected@nuggets-a",
        "@b@supports",
    ],
)
def test_no_view_replaces_a_judge_by_itself_or_the_judge_of_a_kind_without_one(rules):
    assert not is_view(rules, OFFERED, TWO)


def test_the_judges_of_a_task_are_read_from_its_rule_sets():
    rules = ["corrected", "corrected@b", "official", "official@b", "corrected@c"]
    assert plain_rules(rules) == ["corrected", "official"]
    assert further_judges(rules) == ["b", "c"]


def test_a_view_has_the_metrics_of_its_rule_set():
    kind = task_type("positional-citations")
    options = kind.checked_options({})
    assert kind.metrics_of("official@b", options) == kind.metrics_of(
        "official", options
    )
    assert kind.has_rules("official@b")
    assert not kind.has_rules("unknown@b")
