from collections.abc import Iterable, Mapping
from typing import Any

from django import template

from tasks.types.problems import Lines, Problem, alike

register = template.Library()


@register.filter
def by_words(
    problems: Iterable[Problem | Mapping[str, Any]],
) -> list[tuple[Problem, Lines]]:
    """Group equal problems. A run stores its problems as JSON."""
    return alike(
        problem if isinstance(problem, Problem) else Problem(**problem)
        for problem in problems
    )
