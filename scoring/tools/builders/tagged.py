"""The parts of speech of all contexts that need them, in ranges that processes share."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from scoring.tools.builders.processes import Workers, whole
from scoring.tools.builders.rules import LengthThresholds, Rules
from scoring.tools.builders.store import Store
from scoring.tools.builders.tagging import Tagger
from tasks.types.problems import Problem

#: So many numbers of contexts are a range, whoever tags it.
RANGE = 20_000
_TO_TAG = """
SELECT f.number, c.sentence FROM features f JOIN contexts c ON c.number = f.number
WHERE f.number > :after AND f.number <= :last
    AND (:every OR (f.length_class = 'medium' AND f.location_class = 'middle')) ORDER BY f.number
"""
_TAGGED = "INSERT INTO tags VALUES (:number, :word_before, :pos_before, :word_after, :pos_after)"


@dataclass(frozen=True, kw_only=True)
class _Range:
    store: Path
    pipeline: str
    is_everything: bool
    after: int
    last: int
    out: Path


def tag(
    store: Store,
    rules: Rules,
    thresholds: LengthThresholds,
    tagger: Tagger,
    workers: Workers,
    *,
    is_kept: bool = False,
) -> None:
    """Parts of speech, for the contexts among which the dimension's side conditions leave a choice.

    Where they are kept, or others work on them, each range has a file beside the store.
    """
    highest = store.value("SELECT coalesce(max(number), 0) FROM features")
    bounds = [(after, after + RANGE) for after in range(0, highest, RANGE)]
    if workers.are_alone and not is_kept:
        for after, last in bounds:
            store.write(_TAGGED, _tagged(store.connection, tagger, after, last, rules.every_context))
        return
    folder = store.path.with_name(f"tags-{_digest(rules, thresholds, tagger)}")
    folder.mkdir(exist_ok=True)
    ranges = [
        _Range(
            store=store.path,
            pipeline=tagger.pipeline,
            is_everything=rules.every_context,
            after=after,
            last=last,
            out=folder / f"{after:09d}.json",
        )
        for after, last in bounds
    ]
    # Other processes read what is committed.
    store.connection.commit()
    workers.run(_tag_range, ranges)
    for own in ranges:
        store.write(_TAGGED, json.loads(own.out.read_text(encoding="utf-8")))


def _tag_range(own: _Range) -> list[Problem]:
    with sqlite3.connect(f"{own.store.as_uri()}?mode=ro", uri=True) as connection:
        rows = list(_tagged(connection, _tagger(own.pipeline), own.after, own.last, own.is_everything))
    path = whole(own.out)
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    path.replace(own.out)
    return []


def _tagged(
    connection: sqlite3.Connection, tagger: Tagger, after: int, last: int, is_everything: bool
) -> Iterator[dict[str, Any]]:
    values = {"after": after, "last": last, "every": is_everything}
    sentences = ((number, sentence) for number, sentence in connection.execute(_TO_TAG, values))
    for number, around in tagger.neighbours(sentences):
        yield {"number": number, **vars(around)}


@lru_cache(maxsize=1)
def _tagger(pipeline: str) -> Tagger:
    return Tagger(pipeline)


def _digest(rules: Rules, thresholds: LengthThresholds, tagger: Tagger) -> str:
    """Of all that decides what is tagged, and how."""
    facts = [tagger.name, rules.every_context, thresholds.low, thresholds.high, rules.location_bounds, RANGE]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
