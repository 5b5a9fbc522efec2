"""Contexts, and the papers that gold and run name for them, as people read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from tasks.types.base import Options, Pairs, Split
from tasks.types.files import InputFile
from tasks.types.instance_view import MAX_SHOWN, ShownInstance
from tasks.types.ranking.lists import Choices
from tasks.types.ranking.records import Rows, named, shown_line

CONTEXTS, REFERENCES = ("diagnostic.jsonl", "contexts.jsonl"), "references.jsonl"
#: Of a ranking, so many candidates from the top.
TOP = 10
#: What a context consists of, in the order of the text.
PARTS = ("before", "sentence", "after")


def show_instances(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """The context; the cited papers; and the first of the ranking."""
    choices = Choices(split.index)
    shown = list(islice(pairs.names or (), MAX_SHOWN))
    gold, answers = ([own[row] or () for row in range(len(shown))] for own in (pairs.gold, pairs.answers))
    pools = [list(choices.candidates(choices.rows[name])) for name in shown]
    wanted = {
        pool[number]
        for pool, *both in zip(pools, gold, answers, strict=True)
        for own in both
        for number in own[:TOP]
    }
    contexts, titles = _contexts(files, set(shown)), _titles(files, wanted)
    for name, pool, cited, ranked in zip(shown, pools, gold, answers, strict=True):
        ranking = [
            f"{place}. {_called(pool[number], titles)}" for place, number in enumerate(ranked[:TOP], start=1)
        ]
        more = [f"and {len(ranked) - TOP} more"] if len(ranked) > TOP else []
        yield ShownInstance(
            name=name,
            given=contexts.get(name, ""),
            gold="\n".join(_called(pool[number], titles) for number in cited),
            answer="\n".join([*ranking, *more]),
        )


def _contexts(files: Sequence[InputFile], wanted: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for record in _records(files, CONTEXTS):
        name = str(record.get("id", record.get("context_id")))
        if name in wanted:
            found[name] = " ".join(
                str(text) for text in json.loads(shown_line(record, PARTS)).values() if text
            )
    return found


def _titles(files: Sequence[InputFile], wanted: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for record in _records(files, (REFERENCES,)):
        name = str(record.get("ref_id"))
        if name in wanted and name not in found:
            found[name] = str(record.get("title") or record.get("raw") or "")
    return found


def _records(files: Sequence[InputFile], names: Sequence[str]) -> Iterator[Mapping[str, object]]:
    for name in names:
        for file in named(files, name):
            yield from Rows(file, [])


def _called(name: str, titles: Mapping[str, str]) -> str:
    title = titles.get(name, "")
    return f"{name}: {title}" if title else name
