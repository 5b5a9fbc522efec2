"""A view is a rule set with an additional judge, such as `corrected@support-b`, which
is `corrected` with the labels of the judge support-b.

The ranks of a task use scores from the labels of its first judge. A view shows scores
from the labels of the view's additional judge. Views are stored and read in the same
way as rule sets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from tasks.types.base import OF_JUDGE, Options
from tasks.types.ledger import STORE
from tasks.types.stored_judges import stored_judge

#: `JUDGE` matches names of judges, which are part of URLs and file names.
JUDGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MAX_RULES = 60


def view_of(rules: str, judge: str) -> str:
    return f"{rules}{OF_JUDGE}{judge}"


def further_judge(rules: str) -> str:
    """Return the additional judge of a view (rule set with a judge), or an empty text
    for a rule set without an additional judge.
    """
    return rules.partition(OF_JUDGE)[2]


def first_judge(options: Options) -> str:
    """Return the first judge of a task, whose labels the site stores and which the
    options name, or an empty text.
    """
    judge = stored_judge(options)
    return judge.name if judge else ""


def options_of(rules: str, options: Options) -> dict[str, str]:
    """Return the options that select the judge of a rule set or of a view."""
    judge, first = further_judge(rules), stored_judge(options)
    named = {first.option: f"{STORE}:{judge}"} if judge and first else {}
    return {**options, **named}


def plain_rules(rules: Sequence[str]) -> list[str]:
    """Return the rule sets without an additional judge, which use the first judge."""
    return [name for name in rules if not further_judge(name)]


def further_judges(rules: Sequence[str]) -> list[str]:
    """Return the distinct additional judges in the names of rule sets."""
    names = (further_judge(name) for name in rules)
    return list(dict.fromkeys(name for name in names if name))


def is_view(rules: str, offered: Collection[str], options: Options) -> bool:
    """Return True if the name has the form RULES@JUDGE, with a rule set of the task
    type and a judge that is not the task's first judge.
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
