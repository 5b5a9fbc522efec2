"""Store a corpus in a database on disk, so that memory does not grow with the corpus."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.tools.builders import corpus
from tasks.types.problems import InputRefused, Problem

_QUERY_FILE_PARTS = (
    Path(__file__)
    .with_name("queries.sql")
    .read_text(encoding="utf-8")
    .split("\n-- name: ")
)
#: SQL queries by name.
#: The name of a query begins with the name of the module that uses the query.
SQL = dict(part.split("\n", 1) for part in _QUERY_FILE_PARTS[1:])

#: The size of SQLite's page cache in KiB.
CACHE_SIZE_IN_KIB = 32_768


class CorpusStore:
    """A database into which a loader reads a corpus, and from which builders select
    data with SQL.

    If several lines of a corpus describe the same paper, the store combines the
    non-empty fields of all lines.
    """

    def __init__(
        self,
        path: Path,
        *,
        with_texts: bool = False,
        around: int = 1,
        sentences: str = corpus.RULES_SPLITTER_NAME,
    ) -> None:
        self.path = path.resolve()
        self.connection = sqlite3.connect(path)
        self.connection.row_factory = sqlite3.Row
        self.with_texts, self.around = with_texts, around
        self.sentences: corpus.SentenceSplitter = corpus.choose_splitter(sentences)
        # The database needs no journal, because the builder deletes it after a crash.
        self.connection.executescript(
            f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -{CACHE_SIZE_IN_KIB};"
            f"PRAGMA temp_store = FILE; {SQL['store: tables']}"
        )

    def close(self) -> None:
        self.connection.close()

    def add_paper(self, paper: corpus.CorpusPaper) -> None:
        values = {
            **vars(paper),
            "author_ids": json.dumps(paper.author_ids, ensure_ascii=False),
        }
        if not self.with_texts:
            values["text"] = ""
        self.connection.execute(f"{SQL['store: paper']} {SQL['store: upsert']}", values)

    def add_author(self, author: corpus.CorpusAuthor) -> None:
        self.connection.execute(
            f"{SQL['store: author']} {SQL['store: upsert author']}", vars(author)
        )

    def add_reference(self, paper_id: str, reference: corpus.CorpusReference) -> None:
        self.connection.execute(
            "INSERT OR IGNORE INTO refs VALUES (NULL, :paper, :ref_id, :target, :raw, :title, :year,"
            " :citations)",
            {"paper": paper_id, **vars(reference)},
        )

    def add_context(self, paper_id: str, context: corpus.CitationContext) -> None:
        try:
            self.connection.execute(
                "INSERT INTO contexts VALUES (NULL, :context_id, :paper, :section, :before, :sentence,"
                " :after, :gold, :markers, :marker, :style, :context_type, :zone)",
                {"paper": paper_id, **vars(context), "gold": json.dumps(context.gold)},
            )
        except sqlite3.IntegrityError as twice:
            raise _build_duplicate_context_error(context.context_id) from twice

    def add_intent(self, *row: str) -> None:
        """Add the intent of a citation, as a row of citing paper, cited paper, sentence
        and type.
        """
        self.connection.execute("INSERT INTO intents VALUES (?, ?, ?, ?)", row)

    def add_text(
        self, paper_id: str, section: str, sentences: Iterable[tuple[str, str]]
    ) -> None:
        """Ignore the sentences of a paragraph. `topics.Texts` overrides this method.

        ``sentences`` has two forms of each sentence, one with citation marks as printed
        and one with ``<OTHERREF>`` in place of each mark.
        """

    def add_sentence(self, tokens: int) -> None:
        """Add one to the number of sentences with the given number of tokens. The
        thresholds between short, medium and long sentences are computed from the
        numbers of sentences of each length.
        """
        self.connection.execute(
            "INSERT INTO lengths VALUES (?, 1) ON CONFLICT (tokens) DO UPDATE SET sentences = sentences + 1",
            (tokens,),
        )

    def merge_part(self, part: Path) -> None:
        """Add all rows of another store to this store. The result is the same as after
        adding each row individually.
        """
        self.connection.commit()
        self.connection.execute("ATTACH ? AS part", (str(part),))
        before, more = (
            self.value(SQL["store: last"].format(name)) for name in ("main", "part")
        )
        self.connection.executescript(
            f"BEGIN; {SQL['store: papers of part']} {SQL['store: upsert']}; {SQL['store: authors of part']}"
            f" {SQL['store: upsert author']}; {SQL['store: rest of part']} COMMIT;"
        )
        if self.value(SQL["store: last"].format("main")) != before + more:
            raise _build_duplicate_context_error(
                self.value(SQL["store: twice"], (before,))
            )
        self.connection.execute("DETACH part")

    def rows(
        self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()
    ) -> Iterator[sqlite3.Row]:
        yield from self.connection.execute(query, values)

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        return self.connection.execute(query, values).fetchone()[0]

    def write(
        self, query: str, rows: Iterable[Sequence[Any]] | Iterable[Mapping[str, Any]]
    ) -> None:
        self.connection.executemany(query, rows)

    def counts(self, query: str) -> dict[str, int]:
        """Return the numbers of contexts by class, which a query computes. The key
        `None` has the count of contexts without a class.
        """
        return {
            "None" if name is None else str(name): count
            for name, count in self.rows(query)
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


def _build_duplicate_context_error(context: str) -> InputRefused:
    return InputRefused(
        [Problem(message=f"context “{context}” stands in the corpus twice")]
    )
