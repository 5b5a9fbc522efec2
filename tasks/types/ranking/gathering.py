"""What the readers of a run have in common: its limits, its lists as they come, and what is wrong with it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.types.ranking.choices import Choices
from tasks.types.ranking.declared import Declared
from tasks.types.ranking.lists import Lists, ListsBuilder, Numbers


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """What a ranking may be.

    ``longest`` is the most candidates that it may have, None for all; ``kept`` how many of its first places
    can change a number. Equal scores keep the order that the run gives, or that of the candidates.
    ``declares`` says that probabilities of candidates are read too.
    """

    longest: int | None = None
    kept: int | None = None
    ties_by_candidate: bool = False
    declares: bool = False


@dataclass(frozen=True)
class RankedRun:
    """A list for each instance of the split, not present where the run has none.

    ``ties`` counts answers that have the score of the answer before them.
    """

    lists: Lists
    ties: int
    declared: Declared = field(default_factory=Declared)

    @property
    def missing(self) -> int:
        return int((~self.lists.present).sum())

    @property
    def empty(self) -> int:
        return int((self.lists.present & (self.lists.lengths == 0)).sum())


class Gathering:
    """Lists as they come from the files of a run, with the row of each."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.ties = 0
        self.declared = Declared()
        self._rows, self._builder = array("i"), ListsBuilder()
        self._answered = bytearray(len(choices))

    def __contains__(self, name: object) -> bool:
        """Whether the instance of this name has a list."""
        row = self.choices.rows.get(name) if isinstance(name, str) else None
        return row is not None and self.is_answered(row)

    def is_answered(self, row: int) -> bool:
        return bool(self._answered[row])

    def add(self, row: int, numbers: Sequence[int], tied: Sequence[bool] | None) -> None:
        self._answered[row] = 1
        self._rows.append(row)
        self._builder.add(numbers, tied)
        self.ties += 0 if tied is None else sum(tied)

    def extend(
        self, rows: NDArray[np.intp], lengths: NDArray[np.int64], values: Numbers, tied: NDArray[np.bool_]
    ) -> None:
        """Add many lists at once."""
        np.frombuffer(self._answered, dtype=np.uint8)[rows] = 1
        self._rows.frombytes(rows.astype(np.int32).tobytes())
        self._builder.extend(lengths, values, tied)

    def run(self) -> RankedRun:
        """The lists in the order of the split."""
        places = np.full(len(self.choices), -1, dtype=np.intp)
        places[np.frombuffer(self._rows, dtype=np.int32) if self._rows else []] = np.arange(len(self._rows))
        return RankedRun(self._builder.build().take(places), self.ties, self.declared)
