"""Compute the public order of candidates in a ranking task, which an HMAC with the
nonce of the gold determines.
"""

import hmac
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from json.encoder import encode_basestring_ascii as _written
from pathlib import PurePosixPath
from typing import Any

from tasks.types.base import Index, PublicFile, Split, TaskType
from tasks.types.files import (
    FIRST_VERSION_ORDERING_BUILT_IN,
    FIRST_VERSION_ORDERING_DECLARED,
    InputFile,
)
from tasks.types.forms.instances import INPUTS_FILE_NAME, InstancesAndPool
from tasks.types.forms.rankings import RankingTask
from tasks.types.jsonlines import format_as_json_lines, get_record_id
from tasks.types.problems import ProblemList

_ORDER_HASH_DOMAIN = "candidates"


def has_secret_candidate_order(task_type: TaskType, nonce: str, reading: int) -> bool:
    """Return True if the site publishes the candidates of a ranking task in the order
    of the HMAC. Gold that was read by older reading rules keeps the candidates in the
    order of its files.
    """
    if not nonce:
        return False
    if get_declared_ranking_task(task_type) is not None:
        return reading >= FIRST_VERSION_ORDERING_DECLARED
    return (
        task_type.candidate_order is not None
        and reading >= FIRST_VERSION_ORDERING_BUILT_IN
    )


def sort_candidates_by_hmac(
    names: Iterable[str], nonce: str, instance: str = ""
) -> list[str]:
    """Return the candidates of a ranking task in the public order that the HMAC
    determines. ``instance`` is the id of the instance with these candidates, or empty
    if all instances share the candidates.
    """
    key = bytes.fromhex(nonce)
    # The HMAC is computed from three texts in a JSON list, as `json.dumps` writes them.
    # For speed with a million candidates, the JSON list is composed by hand.
    begin = f"[{_written(_ORDER_HASH_DOMAIN)}, {_written(instance)}, "

    def compute_sort_key(name: str) -> bytes:
        return hmac.digest(key, f"{begin}{_written(name)}]".encode(), "sha256")

    return sorted(names, key=compute_sort_key)


def reorder_candidates_of_gold(task_type: TaskType, split: Split, nonce: str) -> Split:
    """Return a copy of a ranking task's gold in which the candidates have their public
    order.
    """
    index = reorder_candidates_of_index(split.index, nonce)
    if task_type.candidate_order is None:
        return replace(split, index=index)
    return task_type.candidate_order.renumbered(split, index)


def reorder_candidates_of_index(index: Index, nonce: str) -> Index:
    """Return the index of a ranking task with the candidates of each pool (list of
    candidates) in their public order. The HMAC includes the first instance that uses
    the pool, so that pools with the same candidates have different orders.
    """
    owners = {0: ""}
    if (pool_of := index["pool_of"]) is not None:
        backwards = zip(reversed(pool_of), reversed(index["instances"]), strict=True)
        owners = dict(backwards)
    ordered = [
        sort_candidates_by_hmac(names, nonce, owners[pool])
        for pool, names in enumerate(index["pools"])
    ]
    return {**index, "pools": ordered}


def reorder_candidates_of_public_files(
    task_type: TaskType, files: Iterable[PublicFile], nonce: str
) -> Iterator[PublicFile]:
    """Yield the public files of a ranking task with the candidates in their public
    order.
    """
    if (form := get_declared_ranking_task(task_type)) is not None:
        yield from _reorder_declared_files(form, files, nonce)
    elif task_type.candidate_order is not None:
        sorter = lambda names, owner: sort_candidates_by_hmac(names, nonce, owner)  # noqa: E731
        yield from task_type.candidate_order.reordered_files(files, sorter)


def _reorder_declared_files(
    form: RankingTask, files: Iterable[PublicFile], nonce: str
) -> Iterator[PublicFile]:
    for name, content in files:
        file = InputFile(name, name, partial(BytesIO, content))
        if form.pool_file and PurePosixPath(name).name == form.pool_file:
            pool = form.read_pool_records([file], ProblemList())
            ordered = {
                document: pool[document]
                for document in sort_candidates_by_hmac(pool, nonce)
            }
            yield from form.iterate_public_pool_file(InstancesAndPool((), ordered))
        elif form.candidates and name == INPUTS_FILE_NAME:
            records = map(json.loads, content.decode().splitlines())
            yield (
                name,
                format_as_json_lines(
                    _reorder_candidates(form, record, nonce) for record in records
                ),
            )
        else:
            yield name, content


def _reorder_candidates(form: RankingTask, record: Any, nonce: str) -> Any:
    *outer, last = form.candidates.split(".")
    place = record
    for part in outer:
        place = place[part]
    by_name = {str(candidate): candidate for candidate in place[last]}
    names = sort_candidates_by_hmac(
        by_name, nonce, get_record_id(record, form.id) or ""
    )
    place[last] = [by_name[name] for name in names]
    return record


def get_declared_ranking_task(task_type: TaskType) -> RankingTask | None:
    """Return the `RankingTask` of a task type that a `task.toml` declares as a ranking,
    or None for other task types.
    """
    reader = getattr(task_type.pair, "__self__", None)
    return reader if isinstance(reader, RankingTask) else None
