"""Seeded sampling in strata of field, years, citation count and class; one context a paper if possible."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest

from scoring.tools.builders.classes import COMBINED, SIDE_CONDITIONS, Rules
from scoring.tools.builders.store import Store
from tasks.types.problems import InputRefused, Problem

Stratum = tuple[str | None, ...]


@dataclass
class _Stratum:
    """Contexts of papers that had none yet, and others in case these do not suffice."""

    first: list[int] = field(default_factory=list)
    further: list[int] = field(default_factory=list)


class Dimension:
    """The sample of one dimension, taken from contexts in the order of their draws.

    ``unit`` is the paper of which there is one context if possible: the citing one (`paper_id`) or the cited
    one (`target`).
    """

    def __init__(self, name: str, per_stratum: int, *, unit: str = "paper_id") -> None:
        self.name, self._per_stratum, self._unit = name, per_stratum, unit
        self._strata: dict[str, dict[Stratum, _Stratum]] = defaultdict(lambda: defaultdict(_Stratum))
        self._papers: set[str] = set()

    def offer(self, row: sqlite3.Row) -> None:
        label = row[self.name]
        if label is None or not is_still(self.name, row):
            return
        stratum = self._strata[label][row["field"], row["year_group"], row["citation_group"]]
        if row[self._unit] not in self._papers:
            if len(stratum.first) < self._per_stratum:
                stratum.first.append(row["number"])
                self._papers.add(row[self._unit])
        elif len(stratum.further) < self._per_stratum:
            stratum.further.append(row["number"])

    def chosen(self, most: int) -> Iterator[int]:
        """Of each class at most so many, taken from its strata in turn."""
        for _, strata in sorted(self._strata.items()):
            ordered = sorted(
                strata.items(), key=lambda stratum: [(part is None, part or "") for part in stratum[0]]
            )
            lists = [[*own.first, *own.further][: self._per_stratum] for _, own in ordered]
            yield from in_turn(lists, most)


def is_still(name: str, row: sqlite3.Row) -> bool:
    """Whether the features that are to stay still in a dimension have the classes that they are to have."""
    if name == "field" and row["low_resource"] is not None:
        return False
    return all(row[other] == wanted for other, wanted in SIDE_CONDITIONS[name].items())


def in_turn(lists: Sequence[Sequence[int]], most: int) -> list[int]:
    """The first of each list, the second of each, and so on, at most so many."""
    return [number for turn in zip_longest(*lists) for number in turn if number is not None][:most]


def sample_each(store: Store, rules: Rules) -> None:
    """Fill the table `sampled`: which context stands in which dimension's sample, each on its own."""
    dimensions = [Dimension(name, rules.per_stratum) for name in SIDE_CONDITIONS]
    for row in store.rows("SELECT * FROM classified ORDER BY draw"):
        for dimension in dimensions:
            dimension.offer(row)
    for dimension in dimensions:
        store.write(
            "INSERT INTO sampled VALUES (?, ?)", _rows(dimension.chosen(rules.most_per_class), dimension.name)
        )


def _rows(numbers: Iterable[int], dimension: str) -> Iterator[tuple[int, str]]:
    for number in numbers:
        yield number, dimension


SETS = tuple(name for name in SIDE_CONDITIONS if name not in COMBINED)
#: Set and class, field, years and citation group.
OfficialStratum = tuple[str, str, str, str, str]

_INSERT = "INSERT INTO sampled VALUES (?, ?)"
_SAMPLED = """
SELECT * FROM classified WHERE number IN (SELECT number FROM sampled) ORDER BY draw
"""


def sample_officially(store: Store, rules: Rules) -> None:
    """Fill the table `sampled`. Raises InputRefused where no context has all that strata are made of."""
    chosen = sorted(_chosen(_drawn(store, rules), rules.per_stratum))
    for (name, _), strata in groupby(chosen, key=lambda own: own[0][:2]):
        numbers = in_turn([own for _, own in strata], rules.most_per_class)
        store.write(_INSERT, [(number, name) for number in numbers])
    combined = [Dimension(name, rules.most_per_class, unit="target") for name in COMBINED]
    for row in store.rows(_SAMPLED):
        for dimension in combined:
            dimension.offer(row)
    for dimension in combined:
        numbers = list(dimension.chosen(rules.most_per_class))
        store.write(_INSERT, [(number, dimension.name) for number in numbers])


def _drawn(store: Store, rules: Rules) -> dict[OfficialStratum, dict[str, int]]:
    strata: dict[OfficialStratum, dict[str, int]] = defaultdict(dict)
    for row in store.rows("SELECT * FROM classified ORDER BY draw"):
        for stratum in _strata_of(row):
            own = strata[stratum]
            if len(own) < rules.drawn:
                own.setdefault(row["target"], row["number"])
    if not strata:
        message = "no context has a field, a group of years and a citation count group to be drawn by"
        expected = f"a corpus with fields, years and citation counts from {rules.fewest_citations} up"
        raise InputRefused([Problem(message=message, expected=f"{expected}, or --sampling each")])
    return strata


def _strata_of(row: sqlite3.Row) -> Iterator[OfficialStratum]:
    cell = row["field"], row["year_group"], row["citation_group"]
    if None in cell:
        return
    for name in SETS:
        is_main = row["low_resource"] is None
        if row[name] is not None and is_still(name, row) and is_main != (name == "low_resource"):
            yield (name, row[name], *cell)


def _chosen(
    strata: dict[OfficialStratum, dict[str, int]], count: int
) -> Iterator[tuple[OfficialStratum, list[int]]]:
    taken: set[int] = set()
    for stratum, drawn in sorted(strata.items(), key=lambda own: (len(own[1]), own[0])):
        own = [number for number in drawn.values() if number not in taken][:count]
        taken.update(own)
        yield stratum, own
