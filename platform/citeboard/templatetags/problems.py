from collections.abc import Iterable, Mapping
from typing import Any

from django import template

from tasks.types.problems import Lines, Problem, alike

register = template.Library()


@register.filter
def total(problems: Iterable[Problem | Mapping[str, Any]]) -> int:
    """Return the number of problems in a file.

    A problem's ``count`` says how often the problem occurred.
    """
    return sum(
        problem.count if isinstance(problem, Problem) else problem.get("count", 1)
        for problem in problems
    )


@register.filter
def by_words(
    problems: Iterable[Problem | Mapping[str, Any]],
) -> list[tuple[Problem, Lines]]:
    """Group equal problems of a file.

    Problems may be dictionaries, because runs store them as JSON.
    """
    return alike(
        problem if isinstance(problem, Problem) else Problem(**problem)
        for problem in problems
    )
