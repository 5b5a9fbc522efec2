"""How many files a zip archive lists, counted before anything of the list is kept.

An archive's end record says how many there are, and the library believes the size of the list instead, from
which it makes an object for each file. Here both are looked at. Layout: APPNOTE.TXT of PKWARE, sections
4.3.12 to 4.3.16.
"""

from __future__ import annotations

import io
import struct
from typing import IO

_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_LARGE_END = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s24x3H12x")
_END_MARK, _LOCATOR_MARK, _LARGE_END_MARK = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"
_ENTRY_MARK = b"PK\x01\x02"
#: The end record is the last of the file, but for a comment of so many bytes at most.
_MAX_COMMENT = (1 << 16) - 1


def listed_files(archive: IO[bytes], most: int) -> int:
    """How many files the archive claims or lists, whichever is more; counted no further than ``most`` + 1.

    0 where there is no list, which is for the library to say.
    """
    size = archive.seek(0, io.SEEK_END)
    tail_begin = max(0, size - _END.size - _MAX_COMMENT)
    archive.seek(tail_begin)
    tail = archive.read()
    place = _end_record(tail)
    if place is None:
        return 0
    claimed: int
    directory_size: int
    _, _, _, _, claimed, directory_size, _, _ = _END.unpack_from(tail, place)
    begin = tail_begin + place
    if large := _large_end(archive, begin):
        claimed, directory_size = large
        begin -= _LARGE_END.size + _LOCATOR.size
    if claimed > most:
        return claimed
    return max(claimed, _listed(archive, begin - directory_size, directory_size, most))


def _end_record(tail: bytes) -> int | None:
    """Where the end record begins: at the very end where it has no comment, else at its last mark."""
    place = len(tail) - _END.size
    if place >= 0 and tail.startswith(_END_MARK, place) and tail.endswith(b"\0\0"):
        return place
    place = tail.rfind(_END_MARK)
    return place if 0 <= place <= len(tail) - _END.size else None


def _large_end(archive: IO[bytes], begin: int) -> tuple[int, int] | None:
    """The count and the size of the list as the end record of a large archive has them, if there is one."""
    place = begin - _LOCATOR.size - _LARGE_END.size
    if place < 0:
        return None
    archive.seek(place)
    record = archive.read(_LARGE_END.size + _LOCATOR.size)
    if not record.startswith(_LOCATOR_MARK, _LARGE_END.size) or not record.startswith(_LARGE_END_MARK):
        return None
    _, _, _, _, _, _, _, claimed, directory_size, _ = _LARGE_END.unpack_from(record)
    return claimed, directory_size


def _listed(archive: IO[bytes], begin: int, size: int, most: int) -> int:
    count = passed = 0
    while begin >= 0 and passed < size and count <= most:
        archive.seek(begin + passed)
        entry = archive.read(_ENTRY.size)
        if len(entry) < _ENTRY.size or not entry.startswith(_ENTRY_MARK):
            break
        _, name, extra, comment = _ENTRY.unpack(entry)
        passed += _ENTRY.size + name + extra + comment
        count += 1
    return count
