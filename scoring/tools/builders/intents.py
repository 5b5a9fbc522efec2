"""Types of contexts from citations whose intents a source tells, such as those of S2AG.

A source gives the text around a citation and not the place of a mark, so that a context takes the type of the
text that shares most of its words. Where none has half of them, it takes the type that all texts of this pair
of papers have; where these differ, none.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from scoring.tools.builders.corpus import OTHER, PLACEHOLDER
from scoring.tools.builders.store import Store

#: A text is about a context where it has so many of the sentence's words.
ENOUGH = 0.5
_WORD = re.compile(r"[^\W\d_]+")
_PAIRS = """
SELECT c.number, c.sentence, i.context, i.context_type
FROM contexts c JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = json_extract(c.gold, '$[0]')
JOIN intents i ON i.citing = c.paper_id AND i.cited = r.target
WHERE c.context_type IS NULL ORDER BY c.number, i.rowid
"""


def type_contexts(store: Store) -> None:
    """Give contexts without a type that of their citation."""
    if not store.value("SELECT EXISTS (SELECT 1 FROM intents)"):
        return
    store.connection.execute("CREATE INDEX by_pair ON intents (citing, cited)")
    store.connection.execute("CREATE TABLE typed (number INTEGER PRIMARY KEY, context_type TEXT)")
    store.write("INSERT INTO typed VALUES (?, ?)", _typed(store))
    store.connection.execute(
        "UPDATE contexts SET context_type = typed.context_type FROM typed"
        " WHERE typed.number = contexts.number"
    )


def _typed(store: Store) -> Iterator[tuple[int, str]]:
    for number, rows in groupby(store.rows(_PAIRS), key=itemgetter("number")):
        found = _type_of(list(rows))
        if found is not None:
            yield number, found


def _type_of(rows: Sequence[sqlite3.Row]) -> str | None:
    own = _words(rows[0]["sentence"])
    shares = [len(own & _words(row["context"])) / len(own) if own else 0.0 for row in rows]
    best = max(shares)
    types = {row["context_type"] for row, share in zip(rows, shares, strict=True) if share == best}
    if best < ENOUGH or len(types) > 1:
        types = {row["context_type"] for row in rows}
    return types.pop() if len(types) == 1 else None


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.replace(PLACEHOLDER, " ").replace(OTHER, " ").casefold()))
