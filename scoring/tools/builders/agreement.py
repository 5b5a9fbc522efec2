"""How far the classes of a built split agree with those that somebody else gave to the same contexts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scoring.tools.builders.reading import records

#: The facts that are compared, where the other file has them.
FACTS = (
    *("sentence", "cited_id", "field", "cited_year", "year_group", "n_tokens", "length_class", "position"),
    *("location_class", "word_before", "pos_before", "word_after", "pos_after"),
)
#: So many differing contexts of each fact are shown.
SHOWN = 5


@dataclass
class Agreement:
    """Of each fact how many contexts have the same, and the first that differ as (context, ours, theirs)."""

    compared: int = 0
    ours_alone: int = 0
    theirs_alone: int = 0
    same: Counter[str] = field(default_factory=Counter)
    differing: dict[str, list[tuple[str, Any, Any]]] = field(default_factory=dict)
    pairs: Counter[tuple[str, Any, Any]] = field(default_factory=Counter)


def agreement(built: Path, other: Path) -> Agreement:
    """Contexts are told by their names in the corpus: `context_id` in ours, `id` in the other file."""
    theirs = {str(record["id"]): record for record in records(other)}
    found = Agreement()
    for ours in records(built):
        match = theirs.pop(str(ours["context_id"]), None)
        if match is None:
            found.ours_alone += 1
            continue
        found.compared += 1
        _compare(str(ours["context_id"]), ours, match, found)
    found.theirs_alone = len(theirs)
    return found


def _compare(name: str, ours: Mapping[str, Any], theirs: Mapping[str, Any], found: Agreement) -> None:
    for fact in FACTS:
        if fact not in theirs:
            continue
        one, other = ours.get(fact), theirs[fact]
        if one == other:
            found.same[fact] += 1
            continue
        found.pairs[fact, one, other] += 1
        listed = found.differing.setdefault(fact, [])
        if len(listed) < SHOWN:
            listed.append((name, one, other))


def table(found: Agreement) -> Iterator[str]:
    """The agreement as Markdown."""
    alone = f"{found.ours_alone:,} in ours alone, {found.theirs_alone:,} in the other alone"
    yield f"{found.compared:,} contexts in both, {alone}.\n"
    yield "| fact | the same | share | differ, ours → theirs |\n| --- | --- | --- | --- |"
    for fact in FACTS:
        if fact not in found.same and fact not in found.differing:
            continue
        same = found.same[fact]
        share = same / max(found.compared, 1)
        kinds = [
            f"{one} → {other} ({count})"
            for (name, one, other), count in found.pairs.most_common()
            if name == fact
        ]
        more = f" and {len(kinds) - SHOWN} other kinds" if len(kinds) > SHOWN else ""
        yield f"| {fact} | {same:,} | {share:.1%} | {', '.join(kinds[:SHOWN])}{more} |"
    yield ""
