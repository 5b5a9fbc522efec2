"""What a split looks like beside the contexts that it was drawn from: counts by class, before and after."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from scoring.tools.builders.rules import SIDE_CONDITIONS, Rules
from scoring.tools.builders.store import Store

#: A step in the chart of token counts.
STEP = 5
NO_CLASS = "None"

_ROWS = """
SELECT f.*, (SELECT group_concat(dimension) FROM sampled s WHERE s.number = f.number) AS sampled
FROM classified f
"""


@dataclass(frozen=True)
class Distribution:
    """One feature of the contexts; ``is_mean`` where the numbers are means and not counts."""

    name: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    is_mean: bool = False


@dataclass(frozen=True)
class Tables:
    """All that the data sheet counts: features before and after, and the classes of each sample."""

    distributions: tuple[Distribution, ...]
    classes: Mapping[str, Mapping[str, int]]
    eligible: int
    selected: int


def _tokens(row: sqlite3.Row) -> str:
    first = row["n_tokens"] // STEP * STEP
    return f"{first:03d}-{first + STEP - 1:03d}"


def _position(row: sqlite3.Row) -> str:
    tenth = min(int(row["position"] * 10), 9)
    return f"{tenth / 10:.1f}-{(tenth + 1) / 10:.1f}"


def _class(name: str) -> Callable[[sqlite3.Row], str]:
    return lambda row: NO_CLASS if row[name] is None else str(row[name])


_FEATURES: Mapping[str, Callable[[sqlite3.Row], str]] = {
    "fields": _class("field"),
    "years of the cited papers": _class("year_group"),
    "citation count groups": _class("citation_group"),
    "tokens in the sentence": _tokens,
    "position of the citation": _position,
    "context types": _class("context_type"),
    "parts of speech before": _class("pos_before"),
    "parts of speech after": _class("pos_after"),
}
TAGGED = frozenset({"parts of speech before", "parts of speech after"})
PAPERS = "papers by field and years"
#: Each paper whose field counts once, with its year: how many there are, and how many are selected.
_PAPERS = """
SELECT field, year, count(*) AS before, sum(chosen) AS after FROM (
    SELECT f.field, min(CASE WHEN :cited THEN f.cited_year ELSE p.year END) AS year,
        max(:every OR EXISTS (SELECT 1 FROM sampled s WHERE s.number = f.number)) AS chosen
    FROM features f LEFT JOIN papers p ON p.paper_id = f.paper_id WHERE f.field IS NOT NULL
    GROUP BY f.field, CASE WHEN :cited THEN f.target ELSE f.paper_id END
) WHERE year IS NOT NULL GROUP BY field, year ORDER BY field, year
"""
CITATIONS = "mean citations of the cited papers by field"


class _Side:
    """The contexts before selection, or those after it."""

    def __init__(self) -> None:
        self.total = 0
        self.features: dict[str, Counter[str]] = {name: Counter() for name in _FEATURES}
        self._citations: Counter[str] = Counter()
        self._cited: Counter[str] = Counter()

    def add(self, row: sqlite3.Row) -> None:
        self.total += 1
        for name, label in _FEATURES.items():
            # Most contexts are never tagged, and a sentence that begins with its citation has no word before.
            if name not in TAGGED or label(row) != NO_CLASS:
                self.features[name][label(row)] += 1
        if row["citations"] is not None:
            field = _class("field")(row)
            self._citations[field] += row["citations"]
            self._cited[field] += 1

    def mean_citations(self) -> dict[str, float]:
        return {field: self._citations[field] / count for field, count in sorted(self._cited.items())}


def count_all(store: Store, rules: Rules) -> Tables:
    """One pass over the contexts; the split may be all of them."""
    is_everything = rules.every_context
    before, after = _Side(), _Side()
    classes: dict[str, Counter[str]] = {dimension: Counter() for dimension in SIDE_CONDITIONS}
    for row in store.rows(_ROWS):
        before.add(row)
        if is_everything or row["sampled"] is not None:
            after.add(row)
        dimensions = SIDE_CONDITIONS if is_everything else (row["sampled"] or "").split(",")
        for dimension in dimensions:
            if dimension and row[dimension] is not None:
                classes[dimension][row[dimension]] += 1
    return Tables(
        distributions=(*_distributions(before, after), *_papers(store, rules)),
        classes={name: dict(sorted(own.items())) for name, own in classes.items() if own},
        eligible=before.total,
        selected=after.total,
    )


def _papers(store: Store, rules: Rules) -> Iterator[Distribution]:
    """The papers whose field counts, by that and the years that they are of."""
    before: Counter[str] = Counter()
    after: Counter[str] = Counter()
    for row in store.rows(_PAPERS, {"cited": rules.field_of == "cited", "every": rules.every_context}):
        label = f"{row['field']} {rules.years(row['year'])}"
        before[label] += row["before"]
        after[label] += row["after"]
    if before:
        yield Distribution(PAPERS, dict(before), dict(after))


def _distributions(before: _Side, after: _Side) -> Iterator[Distribution]:
    """Every feature that some context has a class of."""
    for name, counts in before.features.items():
        if set(counts) - {NO_CLASS}:
            labels, own = sorted(counts), after.features[name]
            yield Distribution(
                name, {label: counts[label] for label in labels}, {label: own[label] for label in labels}
            )
    if means := before.mean_citations():
        yield Distribution(CITATIONS, means, after.mean_citations(), is_mean=True)
