"""Parse JSON lines in blocks of many lines, which takes half the time of parsing single
lines. Files that contain faults must be parsed line by line to find the position of the
faults.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from tasks.types.files import MAX_LINE_BYTES, InputFile
from tasks.types.problems import InputRefused
from tasks.types.text import parse_json_objects

#: The block size `BLOCK_BYTES` is chosen so that a block fits into the processor's cache.
BLOCK_BYTES = 1 << 15


class LineByLineParsingNeeded(Exception):
    """The error for a file that must be parsed line by line."""


def iterate_columns_of_blocks(
    file: InputFile, without: Sequence[str]
) -> Iterator[Mapping[str, Sequence[Any]]]:
    """Yield a mapping for each block of JSON lines, from each key to the list of values
    in the lines. A value in such a list is None if the line does not contain the key.

    Raises LineByLineParsingNeeded if a line has a fault, or if an object contains a key in
    ``without``.
    """
    try:
        for lines in file.iterate_blocks_of_lines(BLOCK_BYTES):
            text = lines.decode().removeprefix("\ufeff").replace("\r\n", "\n").strip()
            records = parse_json_objects(f"{text}\n", is_unique=file.reading > 1)
            shapes = set(map(tuple, records))
            keys = dict.fromkeys(chain.from_iterable(shapes))
            if len(lines) > MAX_LINE_BYTES or not keys.keys().isdisjoint(without):
                raise LineByLineParsingNeeded
            if len(shapes) > 1:
                records = [{**keys, **record} for record in records]
            yield dict(
                zip(keys, zip(*map(dict.values, records), strict=True), strict=True)
            )
    except (InputRefused, ValueError, StopIteration, RecursionError) as fault:
        raise LineByLineParsingNeeded from fault


def get_text_column(block: Mapping[str, Sequence[Any]], key: str) -> Sequence[str]:
    """Return the values of a key in a block of JSON lines, which must be texts. Raises
    LineByLineParsingNeeded if a value is empty or is not a text.
    """
    names = block.get(key, ())
    if not all(names) or set(map(type, names)) != {str}:
        raise LineByLineParsingNeeded
    return names
