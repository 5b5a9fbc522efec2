"""Names of rule sets by a further judge."""

import pytest

from tasks.types import task_type
from tasks.types.base import remove_judge_from_rule_set
from tasks.types.judge_views import (
    MAX_VIEW_NAME_CHARACTERS,
    get_first_judge_name,
    get_judge_in_view_name,
    is_valid_view_name,
    judge_key,
    kind_of_view,
    list_judges_in_view_names,
    make_view_name,
    replace_first_judge_in_options,
    select_rule_sets_without_judge,
)
from tasks.types.stored_judges import list_ledger_judges

STORE = {"entailment": "store:support-a"}
OFFERED = ("corrected", "official")


def test_a_view_names_its_rule_set_and_its_judge():
    view = make_view_name("corrected", "support-b")
    assert (remove_judge_from_rule_set(view), get_judge_in_view_name(view)) == (
        "corrected",
        "support-b",
    )
    assert is_valid_view_name(view, OFFERED, STORE)
    assert get_first_judge_name(STORE) == "support-a"


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
        "corrected@" + "b" * (MAX_VIEW_NAME_CHARACTERS - len("corrected@") + 1),
    ],
)
def test_other_names_are_no_views(rules):
    assert not is_valid_view_name(rules, OFFERED, STORE)


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
    assert not is_valid_view_name("corrected@support-b", OFFERED, options)


def test_the_options_of_a_view_name_its_judge_and_change_nothing_else():
    options = {**STORE, "parser": "rules"}
    assert replace_first_judge_in_options("corrected", options) == options
    assert replace_first_judge_in_options("corrected@support-b", options) == {
        "entailment": "store:support-b",
        "parser": "rules",
    }


def test_the_judge_of_citations_of_reports_has_views_too():
    options = {"supports": "store:support-a", "track": "none"}
    assert is_valid_view_name("corrected@support-b", OFFERED, options)
    assert not is_valid_view_name("corrected@support-a", OFFERED, options)
    assert list_ledger_judges(options) == [("supports", "supports", "support-a")]
    assert replace_first_judge_in_options("corrected@support-b", options) == {
        "supports": "store:support-b",
        "track": "none",
    }


TWO = {"assignments": "store:nuggets-a", "supports": "store:support-a"}


def test_a_view_of_one_kind_names_its_judge_and_the_kind():
    view = make_view_name("corrected", "support-b", "supports")
    assert view == "corrected@support-b@supports"
    assert (remove_judge_from_rule_set(view), get_judge_in_view_name(view)) == (
        "corrected",
        "support-b",
    )
    assert (kind_of_view(view), judge_key(view)) == ("supports", "support-b@supports")
    assert is_valid_view_name(view, OFFERED, TWO)


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
    assert is_valid_view_name(view, OFFERED, TWO)
    assert replace_first_judge_in_options(view, TWO) == {**TWO, **changed}


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
    assert not is_valid_view_name(rules, OFFERED, TWO)


def test_the_judges_of_a_task_are_read_from_its_rule_sets():
    rules = ["corrected", "corrected@b", "official", "official@b", "corrected@c"]
    assert select_rule_sets_without_judge(rules) == ["corrected", "official"]
    assert list_judges_in_view_names(rules) == ["b", "c"]


def test_a_view_has_the_metrics_of_its_rule_set():
    kind = task_type("positional-citations")
    options = kind.validate_options({})
    assert kind.list_metrics_of_rule_set(
        "official@b", options
    ) == kind.list_metrics_of_rule_set("official", options)
    assert kind.has_rule_set("official@b")
    assert not kind.has_rule_set("unknown@b")
