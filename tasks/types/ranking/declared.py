"""Probabilities of candidates that a run declares: ``"probabilities": {"W12": 0.6, "W7": 0.1}``, or their
natural logarithms as ``"log_probabilities"``.

What is left of 1 is shared evenly by the candidates that a line does not name, so that a line without any
gives all the same.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.types.ranking.faults import Fault, unknown_candidates
from tasks.types.ranking.lists import Lists
from tasks.types.text import json_kind

FIELD, LOGS = "probabilities", "log_probabilities"
EXAMPLES = {FIELD: '{"W12": 0.6, "W7": 0.1}', LOGS: '{"W12": -0.51, "W7": -2.3}'}
#: How far above 1 a sum may be, for what was rounded; and what is left of 1 at least, if it is anything.
TOLERANCE, NOTHING = 0.001, 1e-9

Floats = NDArray[np.float64]


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
