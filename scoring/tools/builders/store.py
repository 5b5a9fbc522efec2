"""A corpus on disk while a split is built from it, so that memory stays flat however large the corpus is."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from scoring.tools.builders.corpus import (
    BY_RULES,
    Author,
    Context,
    Intent,
    Paper,
    Reference,
    Splitter,
    splitter,
)
from scoring.tools.builders.reading import refusal
from tasks.types.problems import InputRefused

#: Kibibytes of the database that stay in memory.
CACHE = 32_768
_TABLES = """
CREATE TABLE papers (
    paper_id TEXT PRIMARY KEY, title TEXT, authors TEXT, abstract TEXT, text TEXT, field TEXT, year INTEGER,
    citations INTEGER, licence TEXT, author_ids TEXT
) WITHOUT ROWID;
CREATE TABLE authors (
    author_id TEXT PRIMARY KEY, name TEXT, h_index INTEGER, papers INTEGER, citations INTEGER
) WITHOUT ROWID;
CREATE TABLE refs (
    place INTEGER PRIMARY KEY, paper_id TEXT, ref_id TEXT, target TEXT, raw TEXT, title TEXT, year INTEGER,
    citations INTEGER, UNIQUE (paper_id, ref_id)
);
CREATE TABLE contexts (
    number INTEGER PRIMARY KEY, context_id TEXT UNIQUE, paper_id TEXT, section TEXT, before TEXT,
    sentence TEXT, after TEXT, gold TEXT, markers INTEGER, marker TEXT, style TEXT, context_type TEXT,
    zone TEXT
);
CREATE TABLE intents (citing TEXT, cited TEXT, context TEXT, context_type TEXT);
CREATE TABLE lengths (tokens INTEGER PRIMARY KEY, sentences INTEGER);
"""
#: Of a paper in several lines, what the last one says.
_UPSERT = """
ON CONFLICT (paper_id) DO UPDATE SET
    title = coalesce(nullif(excluded.title, ''), title),
    authors = coalesce(nullif(excluded.authors, ''), authors),
    abstract = coalesce(nullif(excluded.abstract, ''), abstract),
    text = coalesce(nullif(excluded.text, ''), text),
    field = coalesce(excluded.field, field), year = coalesce(excluded.year, year),
    citations = coalesce(excluded.citations, citations),
    licence = coalesce(nullif(excluded.licence, ''), licence),
    author_ids = coalesce(nullif(excluded.author_ids, '[]'), author_ids)
"""
_UPSERT_AUTHOR = """
ON CONFLICT (author_id) DO UPDATE SET
    name = coalesce(nullif(excluded.name, ''), name), h_index = coalesce(excluded.h_index, h_index),
    papers = coalesce(excluded.papers, papers), citations = coalesce(excluded.citations, citations)
"""
_PAPER = """
INSERT INTO papers VALUES (:paper_id, :title, :authors, :abstract, :text, :field, :year, :citations, :licence,
    :author_ids)
"""
_AUTHOR = "INSERT INTO authors VALUES (:author_id, :name, :h_index, :papers, :citations)"
_PAPERS_OF_PART = "INSERT INTO papers SELECT * FROM part.papers WHERE true"
_AUTHORS_OF_PART = "INSERT INTO authors SELECT * FROM part.authors WHERE true"
_REST_OF_PART = """
INSERT OR IGNORE INTO refs SELECT NULL, paper_id, ref_id, target, raw, title, year, citations
    FROM part.refs ORDER BY place;
INSERT OR IGNORE INTO contexts SELECT NULL, context_id, paper_id, section, before, sentence, after, gold,
    markers, marker, style, context_type, zone FROM part.contexts ORDER BY number;
INSERT INTO intents SELECT * FROM part.intents ORDER BY rowid;
INSERT INTO lengths SELECT * FROM part.lengths WHERE true
    ON CONFLICT (tokens) DO UPDATE SET sentences = sentences + excluded.sentences;
"""
_TWICE = """
SELECT p.context_id FROM part.contexts p JOIN main.contexts c USING (context_id) WHERE c.number <= ?
ORDER BY p.number LIMIT 1
"""
_LAST = "SELECT coalesce(max(number), 0) FROM {}.contexts"


class Store:
    """Takes what a loader reads; afterwards it is asked in SQL.

    Of one paper in several lines, as text and as metadata, each part that is not empty is kept.
    """

    def __init__(
        self, path: Path, *, with_texts: bool = False, around: int = 1, sentences: str = BY_RULES
    ) -> None:
        self.path = path.resolve()
        self.connection = sqlite3.connect(path)
        self.connection.row_factory = sqlite3.Row
        self.with_texts = with_texts
        self.around = around
        self.sentences: Splitter = splitter(sentences)
        # Nobody reads what is left after a crash, so nothing is written twice.
        self.connection.executescript(
            f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -{CACHE};"
            f"PRAGMA temp_store = FILE; {_TABLES}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def add_paper(self, paper: Paper) -> None:
        values = {name: getattr(paper, name) for name in Paper.__slots__}
        if not self.with_texts:
            values["text"] = ""
        values["author_ids"] = json.dumps(paper.author_ids, ensure_ascii=False)
        self.connection.execute(f"{_PAPER} {_UPSERT}", values)

    def add_author(self, author: Author) -> None:
        values = {name: getattr(author, name) for name in Author.__slots__}
        self.connection.execute(f"{_AUTHOR} {_UPSERT_AUTHOR}", values)

    def add_reference(self, paper_id: str, reference: Reference) -> None:
        values = {name: getattr(reference, name) for name in Reference.__slots__}
        self.connection.execute(
            "INSERT OR IGNORE INTO refs VALUES (NULL, :paper, :ref_id, :target, :raw, :title, :year,"
            " :citations)",
            {"paper": paper_id, **values},
        )

    def add_context(self, paper_id: str, context: Context) -> None:
        values = {name: getattr(context, name) for name in Context.__slots__}
        values["gold"] = json.dumps(context.gold)
        try:
            self.connection.execute(
                "INSERT INTO contexts VALUES (NULL, :context_id, :paper, :section, :before, :sentence,"
                " :after, :gold, :markers, :marker, :style, :context_type, :zone)",
                {"paper": paper_id, **values},
            )
        except sqlite3.IntegrityError as twice:
            raise _stands_twice(context.context_id) from twice

    def add_intent(self, intent: Intent) -> None:
        row = (intent.citing, intent.cited, intent.context, intent.context_type)
        self.connection.execute("INSERT INTO intents VALUES (?, ?, ?, ?)", row)

    def add_text(self, paper_id: str, section: str, sentences: Iterable[tuple[str, str]]) -> None:
        """Paragraphs are not kept: see `topics.Texts`."""

    def add_sentence(self, tokens: int) -> None:
        self.connection.execute(
            "INSERT INTO lengths VALUES (?, 1) ON CONFLICT (tokens) DO UPDATE SET sentences = sentences + 1",
            (tokens,),
        )

    def merge(self, part: Path) -> None:
        """Add what another store holds, as though its rows had been added here one by one."""
        self.connection.commit()
        self.connection.execute("ATTACH ? AS part", (str(part),))
        before, more = (self.value(_LAST.format(name)) for name in ("main", "part"))
        self.connection.executescript(
            f"BEGIN; {_PAPERS_OF_PART} {_UPSERT}; {_AUTHORS_OF_PART} {_UPSERT_AUTHOR};{_REST_OF_PART} COMMIT;"
        )
        if self.value(_LAST.format("main")) != before + more:
            raise _stands_twice(self.value(_TWICE, (before,)))
        self.connection.execute("DETACH part")

    def rows(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Iterator[sqlite3.Row]:
        yield from self.connection.execute(query, values)

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        return self.connection.execute(query, values).fetchone()[0]

    def write(self, query: str, rows: Iterable[Sequence[Any]] | Iterable[Mapping[str, Any]]) -> None:
        self.connection.executemany(query, rows)

    def counts(self, query: str) -> dict[str, int]:
        """From a query for classes and their counts; what has no class is called None."""
        return {
            "None" if name is None else str(name): count for name, count in self.connection.execute(query)
        }

    def sizes(self) -> dict[str, int]:
        queries = {
            "papers": "count(*) FROM papers",
            "references": "count(*) FROM refs",
            "cited papers": "count(DISTINCT target) FROM refs",
            "contexts": "count(*) FROM contexts",
            "sentences": "coalesce(sum(sentences), 0) FROM lengths",
        }
        return {name: self.value(f"SELECT {query}") for name, query in queries.items()}


def _stands_twice(context: str) -> InputRefused:
    return refusal(f"context “{context}” stands in the corpus twice")
