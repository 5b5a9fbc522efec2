"""The order in which candidates of rankings are given out: by an HMAC with the gold's nonce.

Organisers often list the right candidate first. Runs with equal scores keep the order of the inputs, which
therefore must say nothing of the answers.
"""

import hmac
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any

from tasks.types.base import Index, Split, TaskType
from tasks.types.files import InputFile
from tasks.types.forms.instances import INPUTS, Content
from tasks.types.forms.rankings import RankingTask
from tasks.types.jsonlines import as_lines, record_id
from tasks.types.problems import Problems

#: Candidates of gold that is read by an earlier version have the order of its files.
ORDERED_FROM = 2
_DOMAIN = "candidates"


def has_given_order(nonce: str, reading: int) -> bool:
    return bool(nonce) and reading >= ORDERED_FROM


def in_given_order(names: Iterable[str], nonce: str, instance: str = "") -> list[str]:
    """Return the candidates as they are given out; ``instance`` has candidates of its own."""
    key = bytes.fromhex(nonce)

    def place(name: str) -> bytes:
        message = json.dumps([_DOMAIN, instance, name]).encode()
        return hmac.digest(key, message, "sha256")

    return sorted(names, key=place)


def ordered_split(task_type: TaskType, split: Split, nonce: str) -> Split:
    """Return the split whose index has the candidates of a ranking in the order given out."""
    if ranking_of(task_type) is None:
        return split
    return replace(split, index=ordered_index(split.index, nonce))


def ordered_index(index: Index, nonce: str) -> Index:
    pools = index["pools"]
    owners = [""] if index["pool_of"] is None else index["instances"]
    ordered = [
        in_given_order(pool, nonce, owner)
        for owner, pool in zip(owners, pools, strict=True)
    ]
    return {**index, "pools": ordered}


def ordered_public(
    form: RankingTask, files: Iterable[tuple[str, bytes]], nonce: str
) -> Iterator[tuple[str, bytes]]:
    """Yield the public files with the pool, or the candidates of each instance, in the order given out."""
    for name, content in files:
        file = InputFile(name, name, partial(BytesIO, content))
        if form.pool_file and PurePosixPath(name).name == form.pool_file:
            pool = form.read_pool([file], Problems())
            ordered = {
                document: pool[document] for document in in_given_order(pool, nonce)
            }
            yield from form.public_pool(Content((), ordered))
        elif form.candidates and name == INPUTS:
            records = map(json.loads, content.decode().splitlines())
            yield name, as_lines(_reordered(form, record, nonce) for record in records)
        else:
            yield name, content


def _reordered(form: RankingTask, record: Any, nonce: str) -> Any:
    """Change the candidates of a record that was made for this; their field may be within another."""
    *outer, last = form.candidates.split(".")
    place = record
    for part in outer:
        place = place[part]
    by_name = {str(candidate): candidate for candidate in place[last]}
    names = in_given_order(by_name, nonce, record_id(record, form.id) or "")
    place[last] = [by_name[name] for name in names]
    return record


def ranking_of(task_type: TaskType) -> RankingTask | None:
    """Return the form of a declared ranking; None of other types."""
    reader = getattr(task_type.pair, "__self__", None)
    return reader if isinstance(reader, RankingTask) else None
