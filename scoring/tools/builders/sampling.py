"""Seeded sampling in strata of field, years, citation count and class; one context a paper if possible."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest

from scoring.tools.builders.classes import COMBINED, SIDE_CONDITIONS, Rules
from scoring.tools.builders.reading import refusal
from scoring.tools.builders.store import Store

Stratum = tuple[str | None, ...]


#: Of a stratum contexts of papers that had none yet, and others in case these do not suffice.
_Stratum = tuple[list[int], list[int]]


class Dimension:
    """The sample of one dimension, taken from contexts in the order of their draws.

    ``unit`` is the paper of which there is one context if possible: the citing one (`paper_id`) or the cited
    one (`target`).
    """

    def __init__(self, name: str, per_stratum: int, *, unit: str = "paper_id") -> None:
        self.name, self._per_stratum, self._unit = name, per_stratum, unit
        self._strata: dict[str, dict[Stratum, _Stratum]] = defaultdict(lambda: defaultdict(lambda: ([], [])))
        self._papers: set[str] = set()

    def offer(self, row: sqlite3.Row) -> None:
        label = row[self.name]
        if label is None or not is_still(self.name, row):
            return
        first, further = self._strata[label][row["field"], row["year_group"], row["citation_group"]]
        if row[self._unit] not in self._papers:
            if len(first) < self._per_stratum:
                first.append(row["number"])
                self._papers.add(row[self._unit])
        elif len(further) < self._per_stratum:
            further.append(row["number"])

    def chosen(self, most: int) -> Iterator[int]:
        for _, strata in sorted(self._strata.items()):
            keys = sorted(strata, key=lambda stratum: [(part is None, part or "") for part in stratum])
            lists = [[*strata[key][0], *strata[key][1]][: self._per_stratum] for key in keys]
            yield from in_turn(lists, most)


def is_still(name: str, row: sqlite3.Row) -> bool:
    """Whether the features that are to stay still in a dimension have the classes that they are to have."""
    if name == "field" and row["low_resource"] is not None:
        return False
    return all(row[other] == wanted for other, wanted in SIDE_CONDITIONS[name].items())


def in_turn(lists: Sequence[Sequence[int]], most: int) -> list[int]:
    return [number for turn in zip_longest(*lists) for number in turn if number is not None][:most]


def sample_each(store: Store, rules: Rules) -> None:
    dimensions = [Dimension(name, rules.per_stratum) for name in SIDE_CONDITIONS]
    _fill(store, dimensions, "SELECT * FROM classified ORDER BY draw", rules)


def _fill(store: Store, dimensions: Sequence[Dimension], contexts: str, rules: Rules) -> None:
    for row in store.rows(contexts):
        for dimension in dimensions:
            dimension.offer(row)
    for dimension in dimensions:
        numbers = list(dimension.chosen(rules.most_per_class))
        store.write(_INSERT, [(number, dimension.name) for number in numbers])


SETS = tuple(name for name in SIDE_CONDITIONS if name not in COMBINED)
#: Set and class, field, years and citation group.
OfficialStratum = tuple[str, str, str, str, str]

_INSERT = "INSERT INTO sampled VALUES (?, ?)"
_SAMPLED = """
SELECT * FROM classified WHERE number IN (SELECT number FROM sampled) ORDER BY draw
"""


def sample_officially(store: Store, rules: Rules) -> None:
    """Fill the table `sampled`. Raises InputRefused where no context has all that strata are made of."""
    strata: dict[OfficialStratum, dict[str, int]] = defaultdict(dict)
    for row in store.rows("SELECT * FROM classified ORDER BY draw"):
        cell = row["field"], row["year_group"], row["citation_group"]
        is_main = row["low_resource"] is None
        for name in SETS if None not in cell else ():
            if row[name] is not None and is_still(name, row) and is_main != (name == "low_resource"):
                drawn = strata[name, row[name], *cell]
                if len(drawn) < rules.drawn:
                    drawn.setdefault(row["target"], row["number"])
    if not strata:
        message = "no context has a field, a group of years and a citation count group to be drawn by"
        expected = f"a corpus with fields, years and citation counts from {rules.fewest_citations} up"
        raise refusal(message, expected=f"{expected}, or --sampling each")
    taken: set[int] = set()
    chosen = []
    for stratum, drawn in sorted(strata.items(), key=lambda item: (len(item[1]), item[0])):
        numbers = [number for number in drawn.values() if number not in taken][: rules.per_stratum]
        taken.update(numbers)
        chosen.append((stratum, numbers))
    for (name, _), group in groupby(sorted(chosen), key=lambda item: item[0][:2]):
        numbers = in_turn([numbers for _, numbers in group], rules.most_per_class)
        store.write(_INSERT, [(number, name) for number in numbers])
    combined = [Dimension(name, rules.most_per_class, unit="target") for name in COMBINED]
    _fill(store, combined, _SAMPLED, rules)
