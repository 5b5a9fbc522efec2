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

from tasks.types.base import OF_JUDGE, Options, base_rules
from tasks.types.ledger import STORE
from tasks.types.stored_judges import StoredJudge, judges_named, stored_judges

#: `JUDGE` matches valid names of judges, which occur in URLs and file names.
JUDGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MAX_RULES = 60


def view_of(rules: str, judge: str, kind: str = "") -> str:
    return OF_JUDGE.join(part for part in (rules, judge, kind) if part)


def judge_key(rules: str) -> str:
    """Return the part of a view's name that names the judge, and the kind of labels if
    the view replaces the judge of one kind only. The key of a rule set is empty.

    >>> judge_key("corrected@support-b@supports"), judge_key("corrected")
    ('support-b@supports', '')
    """
    return rules.partition(OF_JUDGE)[2]


def further_judge(rules: str) -> str:
    """Return the judge in the name of a view such as `corrected@support-b`, or an empty
    text for the name of a rule set without a judge.
    """
    return judge_key(rules).partition(OF_JUDGE)[0]


def kind_of_view(rules: str) -> str:
    """Return the kind of labels in the name of a view, or an empty text if the name has
    none, and the view replaces the task's first judge.
    """
    return judge_key(rules).partition(OF_JUDGE)[2]


def first_judge(options: Options) -> str:
    """Return the task's first judge, which is the first judge that the options name, or
    an empty text.
    """
    judges = stored_judges(options)
    return judges[0].name if judges else ""


def replaced_judges(rules: str, options: Options) -> list[StoredJudge]:
    """Return the judges of the options that a view replaces: the judge of one kind of
    labels, or the first judge with each of its kinds. A rule set replaces no judge.
    """
    if not further_judge(rules):
        return []
    if kind := kind_of_view(rules):
        return [judge for judge in stored_judges(options) if judge.kind == kind]
    return judges_named(options, first_judge(options))


def options_of(rules: str, options: Options) -> dict[str, str]:
    """Return the task's options, in which the judge of a view replaces a judge of the
    task.
    """
    judge = further_judge(rules)
    replaced = replaced_judges(rules, options)
    return {**options, **{one.option: f"{STORE}:{judge}" for one in replaced}}


def judges_asked(rules: Sequence[str], options: Options) -> list[StoredJudge]:
    """Return the distinct judges of a task, with each kind of labels that its rule sets
    and views take from the judge.
    """
    judges = [
        judge
        for name in ("", *rules)
        for judge in stored_judges(options_of(name, options))
    ]
    return list(dict.fromkeys(judges))


def plain_rules(rules: Sequence[str]) -> list[str]:
    """Return those names that contain no judge, and are therefore rule sets and not
    views.
    """
    return [name for name in rules if not further_judge(name)]


def further_judges(rules: Sequence[str]) -> list[str]:
    """Return the distinct judges in names of views such as `corrected@support-b`."""
    names = (further_judge(name) for name in rules)
    return list(dict.fromkeys(name for name in names if name))


def is_view(rules: str, offered: Collection[str], options: Options) -> bool:
    """Return True if the name has the form RULES@JUDGE or RULES@JUDGE@KIND, where RULES
    is a rule set of the task type, and JUDGE is another judge than the replaced one.
    """
    judge, kind = further_judge(rules), kind_of_view(rules)
    replaced = replaced_judges(rules, options)
    return bool(
        rules == view_of(base_rules(rules), judge, kind)
        and base_rules(rules) in offered
        and replaced
        and all(judge != one.name for one in replaced)
        and JUDGE.fullmatch(judge)
        and len(rules) <= MAX_RULES
    )
