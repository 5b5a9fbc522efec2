"""Scores and problems as lines for people, the same offline and from a site."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from scoring.offline.terminal import RED, YELLOW, painted
from tasks.types import Problem


def score_lines(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Two lines for each metric: its value with the interval, and its signature."""
    for name, value in metrics.items():
        yield f"{name:<40} {shown(value['value'], infinite=value.get('infinite', False))}  {between(value)}"
        yield f"{'':<40} {value['signature']}"


def shown(value: float | None, *, infinite: bool) -> str:
    if value is None:
        return "infinite" if infinite else "undefined"
    return f"{value:.6f}"


def between(value: Mapping[str, Any]) -> str:
    return "" if value["low"] is None else f"[{value['low']:.6f}, {value['high']:.6f}]"


def problem_line(problem: Problem, stream: TextIO) -> str:
    """What is fatal in red, and what is not as a warning in yellow, where the stream shows colours."""
    if problem.fatal:
        return painted(str(problem), RED, stream)
    return f"{painted('warning:', YELLOW, stream)} {problem}"
