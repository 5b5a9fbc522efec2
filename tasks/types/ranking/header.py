"""The header of `ir_metadata` that a TREC run may begin with: YAML in comments, between two marks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tasks.types.files import InputFile

START, END = b"# ir_metadata.start", b"# ir_metadata.end"
#: A header of more bytes is passed over with the rest and says nothing.
MAX_HEADER = 1 << 16


def ranked_lines(file: InputFile) -> Iterator[tuple[int, bytes]]:
    """The lines behind the header, with their numbers in the file."""
    lines = enumerate(file.lines(), start=1)
    first = next(lines, None)
    if first is None or first[1].strip() != START:
        return chain([] if first is None else [first], lines)
    for line in lines:
        if not line[1].startswith(b"#"):
            return chain([line], lines)
        if line[1].strip() == END:
            break
    return lines


def header_of(file: InputFile) -> bytes:
    """The YAML of the header; nothing where there is none, or one that is too large or does not end."""
    lines = file.lines(longest=MAX_HEADER)
    if next(lines, b"").strip() != START:
        return b""
    header = b""
    for line in lines:
        if line.strip() == END:
            return header
        if not line.startswith(b"#") or len(header) + len(line) > MAX_HEADER:
            break
        header += line.removeprefix(b"#").removeprefix(b" ")
    return b""
