"""CL-Summ topics by the pilot's criteria: which reference papers, and which of the papers that cite them.

Jaidka et al. 2014, section “Corpus Construction”, and the notes on it in the corpus. A reference paper has
more than ten citations, from papers three years apart at least. Of the papers that cite it the oldest and
the newest are taken, and up to eight others in the order of the lot; those that cite it outside a list come
before those of a year that is not there yet.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from scoring.tools.builders.store import Store

_TEXTS = """
CREATE TABLE texts (place INTEGER PRIMARY KEY, paper_id TEXT, section TEXT, printed TEXT, unmarked TEXT);
CREATE INDEX texts_by_paper ON texts (paper_id);
"""
_CITING = """
SELECT r.target AS cited, c.paper_id AS citing, p.year, min(c.markers) = 1 AS is_single
FROM contexts c, json_each(c.gold) g JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = g.value
JOIN papers p ON p.paper_id = c.paper_id
WHERE r.target <> c.paper_id AND r.target IN (SELECT paper_id FROM papers)
GROUP BY cited, citing ORDER BY cited, citing
"""
_PAPER = """
SELECT paper_id, title, year, citations,
    text <> '' OR EXISTS (SELECT 1 FROM texts t WHERE t.paper_id = p.paper_id) AS has_text
FROM papers p WHERE paper_id = ?
"""
_CONTEXTS = """
SELECT DISTINCT c.number, c.before, c.sentence, c.after, c.marker, c.section
FROM contexts c, json_each(c.gold) g JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = g.value
WHERE c.paper_id = ? AND r.target = ? ORDER BY c.number
"""
OLDEST, NEWEST, SINGLE, YEAR = "the oldest", "the newest", "cites outside a list", "of another year"


class Texts(Store):
    """A store that keeps the sentences of papers too, with the headings that they stand under."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, with_texts=True, **named)
        self.connection.executescript(_TEXTS)

    def add_text(self, paper_id: str, section: str, sentences: Iterable[tuple[str, str]]) -> None:
        rows = [(paper_id, section, printed, unmarked) for printed, unmarked in sentences]
        self.write("INSERT INTO texts VALUES (NULL, ?, ?, ?, ?)", rows)


@dataclass(frozen=True, kw_only=True)
class TopicRules:
    """The criteria, with the pilot's numbers."""

    seed: int = 0
    topics: int = 10
    more_than_citations: int = 10
    #: Between the oldest and the newest citation there are so many years at least.
    years_apart: int = 3
    fewest_citing: int = 3
    #: Besides the oldest and the newest.
    most_others: int = 8
    #: The last year in which a reference paper may have appeared; None for any.
    last_year: int | None = None


@dataclass(frozen=True)
class Citing:
    """A paper that cites the reference paper; ``is_single``: at least once outside a list."""

    paper_id: str
    year: int | None
    is_single: bool


@dataclass(frozen=True)
class TopicChoice:
    """A reference paper and the papers that cite it, each with why it was taken."""

    paper_id: str
    title: str
    year: int | None
    citations: int
    citing: tuple[tuple[Citing, str], ...]


@dataclass(frozen=True)
class Chosen:
    """The topics, how many papers could be one, and how many could not by the first reason."""

    topics: Sequence[TopicChoice]
    eligible: int
    left_out: Counter[str]


def choose(store: Texts, rules: TopicRules) -> Chosen:
    """Topics in the order of the lot, which the seed and a paper's id decide alone."""
    left_out: Counter[str] = Counter()
    found = []
    for cited, rows in groupby(store.rows(_CITING), key=lambda row: row["cited"]):
        citing = [Citing(row["citing"], row["year"], bool(row["is_single"])) for row in rows]
        paper = next(store.rows(_PAPER, (cited,)))
        citations = paper["citations"] if paper["citations"] is not None else len(citing)
        if why := _why_not(paper, citations, citing, rules):
            left_out[why] += 1
        else:
            found.append((paper, citations, citing))
    found.sort(key=lambda topic: lot(rules.seed, topic[0]["paper_id"]))
    topics = [
        TopicChoice(
            paper["paper_id"], paper["title"], paper["year"], citations, tuple(chosen_citing(citing, rules))
        )
        for paper, citations, citing in found[: rules.topics]
    ]
    return Chosen(topics, len(found), left_out)


def _why_not(paper: Any, citations: int, citing: Sequence[Citing], rules: TopicRules) -> str:
    """The first criterion that a paper does not meet; empty where it meets all."""
    years = [one.year for one in citing if one.year is not None]
    if rules.last_year is not None and (paper["year"] is None or paper["year"] > rules.last_year):
        return f"not known to have appeared by {rules.last_year}"
    if citations <= rules.more_than_citations:
        return f"{rules.more_than_citations} citations or fewer"
    if not years or max(years) - min(years) < rules.years_apart:
        return f"citations less than {rules.years_apart} years apart"
    if len(citing) < rules.fewest_citing:
        return f"fewer than {rules.fewest_citing} citing papers in the corpus"
    return "" if paper["has_text"] else "no text"


def chosen_citing(citing: Sequence[Citing], rules: TopicRules) -> Iterator[tuple[Citing, str]]:
    """The oldest, the newest, and others by the lot."""
    drawn = sorted(citing, key=lambda one: lot(rules.seed, one.paper_id))
    dated = [one for one in drawn if one.year is not None]
    ends = {min(dated, key=_year): OLDEST, max(dated, key=_year): NEWEST}
    yield from ends.items()
    years = {one.year for one in ends}
    others = [one for one in drawn if one not in ends]
    left = rules.most_others
    for one in sorted(others, key=lambda one: not one.is_single):
        if left and (one.is_single or (one.year is not None and one.year not in years)):
            yield one, SINGLE if one.is_single else YEAR
            years.add(one.year)
            left -= 1


def _year(citing: Citing) -> int:
    return citing.year or 0


def lot(seed: int, name: str) -> str:
    return hashlib.sha256(json.dumps([seed, name]).encode()).hexdigest()


def contexts(store: Store, citing: str, cited: str) -> Iterator[Any]:
    """Where a paper cites another, in its order."""
    return store.rows(_CONTEXTS, (citing, cited))
