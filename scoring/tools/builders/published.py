"""Maharjan's Table 1 beside the board of a split that is built: which printed class is which of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tasks.types.problems import InputRefused, Problem

TABLE = "Table 1"
#: What of the board is printed as what, under the rules that have no more than the paper.
RULES, METRICS, SYSTEMS = "official", {"R@10": "recall@10", "M@10": "mrr@10"}, {"BM25": "bm25-okapi"}
_POS = ("Verb", "Noun", "Adjective", "Adverb", "Pronoun", "Preposition", "Others")
#: By printed dimension ours, and the classes that have another name than ours.
DIMENSIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Fields": ("field", {}),
    "Years": ("year_group", {}),
    "Citation Count": ("citation_group", {}),
    "Length": ("length_class", {}),
    "Location": ("location_class", {}),
    "Intent": ("context_type", {"Methodology": "method"}),
    "Low Resource": ("low_resource", {}),
    "POS": (
        "pos_before",
        {
            f"{side} {name}": f"pos_{side.lower()}:{name.lower()}"
            for side in ("Before", "After")
            for name in _POS
        },
    ),
}


def placements(published: Path) -> Iterator[str]:
    """The season file's tables for each dimension. Raises InputRefused where the file is of another paper."""
    try:
        rows = next(
            table["rows"] for table in json.loads(published.read_bytes())["tables"] if table["id"] == TABLE
        )
        printed = {str(row["dimension"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as fault:
        raise InputRefused([_refusal(published)]) from fault
    if not printed <= set(DIMENSIONS):
        raise InputRefused([_refusal(published)])
    for name, (own, classes) in DIMENSIONS.items():
        if name in printed:
            yield _placement(name, own, classes)


def _refusal(published: Path) -> Problem:
    expected = "examples/citation-recommendation-2024/maharjan-2024.json"
    return Problem(file=str(published), message=f"has no {TABLE} by diagnostic class", expected=expected)


def _placement(name: str, own: str, classes: Mapping[str, str]) -> str:
    lines = [
        "[[tasks.published]]",
        f"table = {json.dumps(TABLE)}",
        'metric = "R@10"',
        'by = "class"',
        f"where = {_inline({'dimension': name})}",
        "[tasks.published.recomputed]",
        f"rules = {json.dumps(RULES)}",
        f"metrics = {_inline(METRICS)}",
        f"systems = {_inline(SYSTEMS)}",
        f"dimension = {json.dumps(own)}",
        *([f"classes = {_inline(classes)}"] if classes else []),
    ]
    return "\n".join([*lines, ""])


def _inline(words: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in words.items()) + " }"
