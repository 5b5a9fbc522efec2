"""The classes of every context that a diagnostic split may take."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from scoring.tools.builders.contexts import tokens
from scoring.tools.builders.corpus import PLACEHOLDER
from scoring.tools.builders.eligible import reason_against
from scoring.tools.builders.rules import LengthThresholds, Rules, length_thresholds
from scoring.tools.builders.store import Store
from scoring.tools.builders.years import year_in

_TABLE = """
CREATE TABLE features (
    number INTEGER PRIMARY KEY, draw INTEGER, paper_id TEXT, target TEXT, field TEXT, low_resource TEXT,
    cited_year INTEGER, year_group TEXT, citations INTEGER, citation_group TEXT, n_tokens INTEGER,
    length_class TEXT, position REAL, location_class TEXT, context_type TEXT, h_index INTEGER,
    h_index_group TEXT
);
CREATE TABLE tags (
    number INTEGER PRIMARY KEY, word_before TEXT, pos_before TEXT, word_after TEXT, pos_after TEXT
);
CREATE VIEW classified AS SELECT f.*, word_before, pos_before, word_after, pos_after
    FROM features f LEFT JOIN tags t ON t.number = f.number;
"""
_INSERT = """
INSERT INTO features (number, draw, paper_id, target, field, low_resource, cited_year, year_group, citations,
    n_tokens, length_class, position, location_class, context_type, h_index)
VALUES (:number, :draw, :paper_id, :target, :field, :low_resource, :cited_year, :year_group, :citations,
    :n_tokens, :length_class, :position, :location_class, :context_type, :h_index)
"""
_CONTEXTS = """
SELECT c.*, p.field AS citing, t.field AS cited, p.year AS citing_year,
    r.target, r.raw, coalesce(r.year, t.year) AS year, coalesce(r.citations, t.citations) AS citations,
    (SELECT max(h_index) FROM json_each(t.author_ids) JOIN authors ON author_id = value) AS h_index
FROM contexts c LEFT JOIN papers p ON p.paper_id = c.paper_id
LEFT JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = json_extract(c.gold, '$[0]')
LEFT JOIN papers t ON t.paper_id = r.target ORDER BY c.number
"""
#: The share of contexts whose cited paper has a field.
_KNOWN_FIELDS = """
SELECT avg(t.field IS NOT NULL) FROM contexts c
JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = json_extract(c.gold, '$[0]')
LEFT JOIN papers t ON t.paper_id = r.target
"""
#: Equal groups of cited papers within field and years; papers with equally many citations share a group.
_CITATION_GROUPS = """
WITH cited AS (
    SELECT DISTINCT field, year_group, target, citations FROM features
    WHERE citations >= :fewest AND year_group IS NOT NULL
), ranked AS (
    SELECT field, year_group, target, :groups * (rank() OVER w - 1) / count(*) OVER s AS grouped
    FROM cited WINDOW s AS (PARTITION BY field, year_group), w AS (s ORDER BY citations)
)
UPDATE features SET citation_group = CAST(ranked.grouped AS TEXT) FROM ranked
WHERE features.target = ranked.target AND features.year_group = ranked.year_group
    AND features.field IS ranked.field
"""
#: Equal groups of cited papers within their field, by the highest h-index of an author.
_H_INDEX_GROUPS = """
WITH cited AS (SELECT DISTINCT field, target, h_index FROM features WHERE h_index IS NOT NULL), ranked AS (
    SELECT field, target, :groups * (rank() OVER w - 1) / count(*) OVER s AS grouped
    FROM cited WINDOW s AS (PARTITION BY field), w AS (s ORDER BY h_index)
)
UPDATE features SET h_index_group = CAST(ranked.grouped AS TEXT) FROM ranked
WHERE features.target = ranked.target AND features.field IS ranked.field
"""


def decided(store: Store, rules: Rules) -> Rules:
    """The rules with whose field counts: `auto` is the cited paper where half of them or more have one."""
    if rules.field_of != "auto":
        return rules
    known = store.value(_KNOWN_FIELDS)
    return replace(rules, field_of="cited" if known is not None and known >= 0.5 else "citing")


def classify(store: Store, rules: Rules) -> tuple[LengthThresholds, Counter[str]]:
    """Fill the view `classified` with all contexts that may be taken; say why the others are left out."""
    thresholds = _thresholds(store, rules)
    low = _low_resource_fields(store, rules)
    refused: Counter[str] = Counter()
    store.connection.executescript(_TABLE)
    store.write(_INSERT, _features(store, rules, thresholds, low, refused))
    store.connection.execute("CREATE INDEX by_target ON features (target)")
    groups = {"fewest": rules.fewest_citations, "groups": rules.citation_groups}
    store.connection.execute(_CITATION_GROUPS, groups)
    store.connection.execute(_H_INDEX_GROUPS, {"groups": rules.h_index_groups})
    return thresholds, refused


def _thresholds(store: Store, rules: Rules) -> LengthThresholds:
    if rules.length_thresholds is not None:
        return LengthThresholds(*rules.length_thresholds)
    counts = {row["tokens"]: row["sentences"] for row in store.rows("SELECT tokens, sentences FROM lengths")}
    return length_thresholds(counts, rules.outlier_z)


def _low_resource_fields(store: Store, rules: Rules) -> frozenset[str]:
    shares = store.counts("SELECT field, count(*) FROM papers WHERE field IS NOT NULL GROUP BY field")
    total = sum(shares.values())
    return frozenset(field for field, count in shares.items() if count < rules.low_resource_share * total)


def _features(
    store: Store, rules: Rules, thresholds: LengthThresholds, low: frozenset[str], refused: Counter[str]
) -> Iterator[dict[str, Any]]:
    for row in store.rows(_CONTEXTS):
        cited = len(json.loads(row["gold"])) if row["target"] is not None else 0
        reason = reason_against(row, cited)
        if reason is None:
            yield _feature(row, rules, thresholds, low)
        else:
            refused[reason] += 1


def _feature(
    row: sqlite3.Row, rules: Rules, thresholds: LengthThresholds, low: frozenset[str]
) -> dict[str, Any]:
    words = tokens(row["sentence"])
    position = (words.index(PLACEHOLDER) + 1) / len(words)
    field = row[rules.field_of]
    year = row["year"] or year_in(row["raw"], latest=row["citing_year"])
    return {
        "number": row["number"],
        "draw": drawn(rules.seed, row["context_id"]),
        "paper_id": row["paper_id"],
        "target": row["target"],
        "field": field,
        "low_resource": field if field in low else None,
        "cited_year": year,
        "year_group": rules.year_group(year),
        "citations": row["citations"],
        "n_tokens": len(words),
        "length_class": thresholds.length(len(words)),
        "position": round(position, 4),
        "location_class": rules.location(position),
        "context_type": row["context_type"],
        "h_index": row["h_index"],
    }


def drawn(seed: int, name: str) -> int:
    """A number that stands for a random draw: the same for a seed and a name, in whatever order they come."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=7).digest())
