from collections.abc import Iterable, Mapping
from typing import Any

from django import template

from tasks.types.problems import FurtherLines, Problem, merge_with_further_lines

register = template.Library()


@register.filter
def total(problems: Iterable[Problem | Mapping[str, Any]]) -> int:
    """Return the total number of problems in a file.

    The attribute ``count`` of a problem is the number of times that the problem occurs.
    """
    return sum(
        problem.count if isinstance(problem, Problem) else problem.get("count", 1)
        for problem in problems
    )


@register.filter
def by_words(
    problems: Iterable[Problem | Mapping[str, Any]],
) -> list[tuple[Problem, FurtherLines]]:
    """Return the problems of a file, with equal problems grouped.

    Problems may be dictionaries, because runs store problems as JSON.
    """
    return merge_with_further_lines(
        problem if isinstance(problem, Problem) else Problem(**problem)
        for problem in problems
    )
