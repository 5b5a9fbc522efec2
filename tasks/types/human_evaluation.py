"""What people are shown who judge the texts of runs: the sources of each instance, and each run's texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.types.files import InputFile

#: Pairs of a heading and a text.
Sources = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class HumanEvaluation:
    """``sources`` reads the public inputs, never gold; ``texts`` takes the answers that a run was read as.

    Both go by the names of instances.
    """

    sources: Callable[[Sequence[InputFile]], Mapping[str, Sources]]
    texts: Callable[[Any], Mapping[str, str]]
