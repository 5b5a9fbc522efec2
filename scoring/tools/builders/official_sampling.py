"""Seeded sampling as Maharjan 2024 has it: strata of field, years, citation count and class; of the contexts
that are drawn from each, of as many cited papers, a few are taken; no context stands in two sets.

The sets of fields, years and citation counts are made of all the others.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby

from scoring.tools.builders.rules import COMBINED, SIDE_CONDITIONS, Rules
from scoring.tools.builders.sampling import Dimension, in_turn, is_still
from scoring.tools.builders.store import Store
from tasks.types.problems import InputRefused, Problem

SETS = tuple(name for name in SIDE_CONDITIONS if name not in COMBINED)
#: Set and class, field, years and citation group.
Stratum = tuple[str, str, str, str, str]

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


def _drawn(store: Store, rules: Rules) -> dict[Stratum, dict[str, int]]:
    """Of each stratum the cited papers that are drawn, each with its first context."""
    strata: dict[Stratum, dict[str, int]] = defaultdict(dict)
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


def _strata_of(row: sqlite3.Row) -> Iterator[Stratum]:
    """The strata of all sets that a context may be drawn for: of main fields, or of low-resource ones."""
    cell = row["field"], row["year_group"], row["citation_group"]
    if None in cell:
        return
    for name in SETS:
        is_main = row["low_resource"] is None
        if row[name] is not None and is_still(name, row) and is_main != (name == "low_resource"):
            yield (name, row[name], *cell)


def _chosen(strata: dict[Stratum, dict[str, int]], count: int) -> Iterator[tuple[Stratum, list[int]]]:
    """Of each stratum the first contexts that no other one has; those with the least choice come first."""
    taken: set[int] = set()
    for stratum, drawn in sorted(strata.items(), key=lambda own: (len(own[1]), own[0])):
        own = [number for number in drawn.values() if number not in taken][:count]
        taken.update(own)
        yield stratum, own
