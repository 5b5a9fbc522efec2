"""What people are shown who judge the texts of runs: the sources of each instance, and each run's texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.types.files import InputFile

#: Pairs of a heading and a text.
Sources = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Scale:
    """What is asked of a text, and what each of the five levels means, the lowest first."""

    question: str
    levels: tuple[str, str, str, str, str]


@dataclass(frozen=True)
class HumanEvaluation:
    """``sources`` reads the public inputs, never gold; ``texts`` takes the answers that a run was read as.

    Both go by the names of instances. ``scales`` are the task's own, by criterion; what has none is asked
    with no more than the ends named. ``references`` reads the gold texts, where texts can be judged against
    them, and ``reference_scales`` are those that hold then.
    """

    sources: Callable[[Sequence[InputFile]], Mapping[str, Sources]]
    texts: Callable[[Any], Mapping[str, str]]
    scales: Mapping[str, Scale] = field(default_factory=dict)
    references: Callable[[Sequence[InputFile]], Mapping[str, str]] | None = None
    reference_scales: Mapping[str, Scale] = field(default_factory=dict)
