"""What the readers of a run have in common: its limits, its lists as they come, and what is wrong with it."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.types.ranking.lists import Choices, Lists, ListsBuilder, Numbers
from tasks.types.text import json_kind


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


class Declared:
    """As they come from a run: the row, the number of the candidate, and the logarithm of its probability."""

    def __init__(self) -> None:
        self._rows, self._numbers, self._logs = array("i"), array("i"), array("d")

    def add(self, row: int, logs: Mapping[int, float]) -> None:
        self._rows.extend([row] * len(logs))
        self._numbers.extend(logs)
        self._logs.extend(logs.values())

    def __bool__(self) -> bool:
        return bool(self._rows)

    def log_probabilities(self, gold: Lists, candidates: int) -> Floats:
        """Of each member of ``gold``, one of so many candidates; minus infinity for what cannot be."""
        rows, logs = np.array(self._rows, dtype=np.int64), np.array(self._logs)
        keys = rows * candidates + np.array(self._numbers, dtype=np.int64)
        order = np.argsort(keys)
        keys, ordered = keys[order], logs[order]
        left = 1 - np.bincount(rows, np.exp(logs), minlength=len(gold))
        unnamed = candidates - np.bincount(rows, minlength=len(gold))
        is_any = (left > NOTHING) & (unnamed > 0)
        share = np.divide(left, unnamed, out=np.zeros(len(gold)), where=is_any)
        rest = np.log(share, out=np.full(len(gold), -np.inf), where=is_any)
        own = np.repeat(np.arange(len(gold)), gold.lengths)
        wanted = own * candidates + gold.values
        places = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        is_named = keys[places] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
        return np.where(is_named, ordered[places] if len(keys) else -np.inf, rest[own])


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


#: What was found, and what was expected.
Fault = tuple[str, str]


#: So many unknown candidates of one ranking are named.
NAMED = 3


def unknown_instance(name: str, choices: Choices) -> Fault:
    known = f"an id of the split, such as “{choices.instances[0]}”" if len(choices) else "an id of the split"
    return f"instance “{name}” is not in this split", known


def unknown_candidates(names: Sequence[str], candidates: Container[str]) -> Iterator[Fault]:
    """One fault for all of a ranking's unknown candidates."""
    unknown = [(place, name) for place, name in enumerate(names, start=1) if name not in candidates]
    if unknown:
        some = ", ".join(f"“{name}” at place {place}" for place, name in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        yield (
            f"{len(unknown)} of {len(names)} are no candidates: {some}{more}",
            "ids of the candidates of this instance",
        )


def duplicates(names: Sequence[str]) -> Iterator[Fault]:
    """A fault for each candidate that stands in a ranking again."""
    first: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name in first:
            yield f"“{name}” stands at place {first[name]} and again at place {place}", "each candidate once"
        first.setdefault(name, place)


def too_long(length: int, longest: int) -> Fault:
    return f"{length:,} candidates are ranked", f"at most {longest:,}"


FIELD, LOGS = "probabilities", "log_probabilities"


EXAMPLES = {FIELD: '{"W12": 0.6, "W7": 0.1}', LOGS: '{"W12": -0.51, "W7": -2.3}'}


#: How far above 1 a sum may be, for what was rounded; and what is left of 1 at least, if it is anything.
TOLERANCE, NOTHING = 0.001, 1e-9


Floats = NDArray[np.float64]


class DeclaredLists(Lists):
    """The rankings of a run that declares probabilities of candidates, of which there are so many."""

    def __init__(self, lists: Lists, declared: Declared, candidates: int) -> None:
        super().__init__(lists.values, lists.offsets, lists.present, lists.tied)
        self.declared, self.candidates = declared, candidates


def read_declared(record: Mapping[str, Any], candidates: Mapping[str, int]) -> dict[int, float] | list[Fault]:
    """Logarithms by candidate, empty where the line gives none; or what is wrong with them."""
    given = [name for name in (FIELD, LOGS) if record.get(name) is not None]
    if not given:
        return {}
    if len(given) > 1:
        return [(f"the line has both “{FIELD}” and “{LOGS}”", "one of them")]
    [name] = given
    values = record[name]
    if not isinstance(values, dict):
        return [(f"“{name}” is {json_kind(values)}", f"an object such as {EXAMPLES[name]}")]
    faults = [*unknown_candidates(list(values), candidates), *_wrong_numbers(name, values)]
    if faults:
        return faults
    found = {candidates[key]: _log(name, value) for key, value in values.items()}
    total = math.fsum(map(math.exp, found.values()))
    if total > 1 + TOLERANCE:
        return [(f"the probabilities in “{name}” sum to {total:.4g}", f"no more than 1, to {TOLERANCE}")]
    return found


def _wrong_numbers(name: str, values: Mapping[str, Any]) -> Iterator[Fault]:
    """The first value that is none."""
    low, high = (0, 1) if name == FIELD else (-sys.float_info.max, 0)
    expected = "a number from 0 to 1" if name == FIELD else "a natural logarithm, which is never above 0"
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield f"the value of “{key}” in “{name}” is {json_kind(value)}", expected
            return
        if not low <= value <= high:
            yield f"the value of “{key}” in “{name}” is out of range", expected
            return


def _log(name: str, value: float) -> float:
    if name == LOGS:
        return float(value)
    return math.log(value) if value else -math.inf
