"""A view is a rule set with an additional judge, such as `corrected@support-b`, which
applies the rule set `corrected` to labels of the judge support-b.

The leaderboard of a task ranks systems by scores from the labels of the task's first
judge. A view shows additional scores, which use the labels of another judge. The names
of views are stored wherever names of rule sets are stored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from tasks.types.base import OF_JUDGE, Options
from tasks.types.ledger import STORE
from tasks.types.stored_judges import StoredJudge, judges_named, stored_judges

#: `JUDGE` matches valid names of judges, which occur in URLs and file names.
JUDGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MAX_RULES = 60


def view_of(rules: str, judge: str) -> str:
    return f"{rules}{OF_JUDGE}{judge}"


def further_judge(rules: str) -> str:
    """Return the judge in the name of a view such as `corrected@support-b`, or an empty
    text for the name of a rule set without a judge.
    """
    return rules.partition(OF_JUDGE)[2]


def first_judge(options: Options) -> str:
    """Return the task's first judge, which is the first judge that the options name, or
    an empty text.
    """
    judges = stored_judges(options)
    return judges[0].name if judges else ""


def viewed_judges(options: Options) -> list[StoredJudge]:
    """Return the first judge with each kind of labels that the task takes from the first
    judge. A view replaces the judge for these kinds, and keeps other judges.
    """
    return judges_named(options, first_judge(options))


def options_of(rules: str, options: Options) -> dict[str, str]:
    """Return the task's options, in which the judge of a view replaces the task's first
    judge.
    """
    judge = further_judge(rules)
    replaced = viewed_judges(options) if judge else []
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
    """Return True if the name has the form RULES@JUDGE, where RULES is a rule set of
    the task type, and JUDGE is not the task's first judge.
    """
    base, mark, judge = rules.partition(OF_JUDGE)
    first = first_judge(options)
    return bool(
        mark
        and base in offered
        and first
        and judge != first
        and JUDGE.fullmatch(judge)
        and len(rules) <= MAX_RULES
    )
