"""JSON lines many at a time, where nothing is to be said of a line: half the time of one after the other."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tasks.types.files import InputFile
from tasks.types.problems import Problem
from tasks.types.text import json_lines

#: So many lines at a time: few enough for a processor's cache.
BLOCK = 100


class NotPlain(Exception):
    """The file is to be read line by line."""


def plain_blocks(file: InputFile, without: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    """The objects of a file. Raises NotPlain at a fault and at a key of ``without``."""
    problems: list[Problem] = []
    records = (record for _, record, _ in json_lines(file, problems))
    while block := list(islice(records, BLOCK)):
        if any(key in record for record in block for key in without):
            raise NotPlain
        yield block
    if problems:
        raise NotPlain


def plain_names(block: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """The texts under a key. Raises NotPlain where one is something else, or empty."""
    names: list[Any] = [record.get(key) for record in block]
    if not all(names) or set(map(type, names)) != {str}:
        raise NotPlain
    return names
