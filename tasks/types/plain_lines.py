"""JSON lines many at a time, where nothing is to be said of a line: half the time of one after the other."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from tasks.types.files import LONGEST, InputFile
from tasks.types.problems import InputRefused
from tasks.types.text import json_objects

#: So many bytes at a time: few enough for a processor's cache.
BLOCK = 1 << 15


class NotPlain(Exception):
    """The file is to be read line by line."""


def plain_blocks(
    file: InputFile, without: Sequence[str]
) -> Iterator[Mapping[str, Sequence[Any]]]:
    """By key what each object of a block has, or None. Raises NotPlain at faults and keys of ``without``."""
    try:
        for lines in file.blocks(BLOCK):
            text = lines.decode().removeprefix("\ufeff").replace("\r\n", "\n").strip()
            records = json_objects(f"{text}\n", is_unique=file.reading > 1)
            shapes = set(map(tuple, records))
            keys = dict.fromkeys(chain.from_iterable(shapes))
            if len(lines) > LONGEST or not keys.keys().isdisjoint(without):
                raise NotPlain
            if len(shapes) > 1:
                records = [{**keys, **record} for record in records]
            yield dict(
                zip(keys, zip(*map(dict.values, records), strict=True), strict=True)
            )
    except (InputRefused, ValueError, StopIteration, RecursionError) as fault:
        raise NotPlain from fault


def plain_names(block: Mapping[str, Sequence[Any]], key: str) -> Sequence[str]:
    """The texts under a key. Raises NotPlain where one is something else, or empty."""
    names = block.get(key, ())
    if not all(names) or set(map(type, names)) != {str}:
        raise NotPlain
    return names
