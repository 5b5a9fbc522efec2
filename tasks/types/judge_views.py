"""A view is a rule set with an additional judge, such as `corrected@support-b`, which
applies the rule set `corrected` to labels of the judge support-b.

The leaderboard of a task ranks systems by scores from the labels of the task's first
judge. A view shows additional scores, which use the labels of another judge. The names
of views are stored wherever names of rule sets are stored.

If a task takes labels of several kinds from judges, `corrected@support-b@supports`
replaces the judge of one kind only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from tasks.types.base import JUDGE_SEPARATOR, Options, remove_judge_from_rule_set
from tasks.types.ledger import LEDGER_JUDGE_PREFIX
from tasks.types.stored_judges import (
    LedgerJudge,
    list_ledger_judges,
    list_ledger_judges_named,
)

#: `JUDGE_NAME_PATTERN` matches valid names of judges, which occur in URLs and file names.
JUDGE_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MAX_VIEW_NAME_CHARACTERS = 60


def make_view_name(rules: str, judge: str, kind: str = "") -> str:
    return JUDGE_SEPARATOR.join(part for part in (rules, judge, kind) if part)


def judge_key(rules: str) -> str:
    """Return the part of a view's name that names the judge, and the kind of labels if
    the view replaces the judge of one kind only. The key of a rule set is empty.

    >>> judge_key("corrected@support-b@supports"), judge_key("corrected")
    ('support-b@supports', '')
    """
    return rules.partition(JUDGE_SEPARATOR)[2]


def get_judge_in_view_name(rules: str) -> str:
    """Return the judge in the name of a view such as `corrected@support-b`, or an empty
    text for the name of a rule set without a judge.
    """
    return judge_key(rules).partition(JUDGE_SEPARATOR)[0]


def kind_of_view(rules: str) -> str:
    """Return the kind of labels in the name of a view, or an empty text if the name has
    none, and the view replaces the task's first judge.
    """
    return judge_key(rules).partition(JUDGE_SEPARATOR)[2]


def get_first_judge_name(options: Options) -> str:
    """Return the task's first judge, which is the first judge that the options name, or
    an empty text.
    """
    judges = list_ledger_judges(options)
    return judges[0].name if judges else ""


def replaced_judges(rules: str, options: Options) -> list[LedgerJudge]:
    """Return the judges of the options that a view replaces: the judge of one kind of
    labels, or the first judge with each of its kinds. A rule set replaces no judge.
    """
    if not get_judge_in_view_name(rules):
        return []
    if kind := kind_of_view(rules):
        return [judge for judge in list_ledger_judges(options) if judge.kind == kind]
    return list_ledger_judges_named(options, get_first_judge_name(options))


def replace_first_judge_in_options(rules: str, options: Options) -> dict[str, str]:
    """Return the task's options, in which the judge of a view replaces a judge of the
    task.
    """
    judge = get_judge_in_view_name(rules)
    replaced = replaced_judges(rules, options)
    return {
        **options,
        **{one.option: f"{LEDGER_JUDGE_PREFIX}:{judge}" for one in replaced},
    }


def list_judges_of_rule_sets_and_views(
    rules: Sequence[str], options: Options
) -> list[LedgerJudge]:
    """Return the distinct judges of a task, with each kind of labels that its rule sets
    and views take from the judge.
    """
    judges = [
        judge
        for name in ("", *rules)
        for judge in list_ledger_judges(replace_first_judge_in_options(name, options))
    ]
    return list(dict.fromkeys(judges))


def select_rule_sets_without_judge(rules: Sequence[str]) -> list[str]:
    """Return those names that contain no judge, and are therefore rule sets and not
    views.
    """
    return [name for name in rules if not get_judge_in_view_name(name)]


def list_judges_in_view_names(rules: Sequence[str]) -> list[str]:
    """Return the distinct judges in names of views such as `corrected@support-b`."""
    names = (get_judge_in_view_name(name) for name in rules)
    return list(dict.fromkeys(name for name in names if name))


def is_valid_view_name(rules: str, offered: Collection[str], options: Options) -> bool:
    """Return True if the name has the form RULES@JUDGE or
    RULES@JUDGE@KIND, where RULES is a rule set of the task type, and
    JUDGE is another judge than the replaced one.
    """
    judge, kind = get_judge_in_view_name(rules), kind_of_view(rules)
    replaced = replaced_judges(rules, options)
    return bool(
        rules == make_view_name(remove_judge_from_rule_set(rules), judge, kind)
        and remove_judge_from_rule_set(rules) in offered
        and replaced
        and all(judge != one.name for one in replaced)
        and JUDGE_NAME_PATTERN.fullmatch(judge)
        and len(rules) <= MAX_VIEW_NAME_CHARACTERS
    )
