"""Read JSON lines in blocks, which takes half the time of reading single lines. Files
with faults need a reader of single lines.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from tasks.types.files import LONGEST, InputFile
from tasks.types.problems import InputRefused
from tasks.types.text import json_objects

#: A block of `BLOCK` bytes fits into a processor cache.
BLOCK = 1 << 15


class NotPlain(Exception):
    """An error that requires reading the file line by line."""


def plain_blocks(
    file: InputFile, without: Sequence[str]
) -> Iterator[Mapping[str, Sequence[Any]]]:
    """Yield for each block of JSON lines a mapping from keys to columns of values.
    Absent values in a column are None.

    Raises NotPlain for faults in the lines, and for objects with a key in ``without``.
    """
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
    """Return the texts under a key of a block of lines. Raises NotPlain if a value is
    empty or not a text.
    """
    names = block.get(key, ())
    if not all(names) or set(map(type, names)) != {str}:
        raise NotPlain
    return names
