"""Zip archives from strangers: what one claims is checked before anything of it is unpacked.

Nothing is ever written to disk under a name that an archive chose; members are only read as streams.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from tasks.types.problems import InputRefused, Problem, Problems

NESTED = frozenset({".zip", ".gz", ".tar", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst"})
#: What reading a broken archive may come to; its fields lead the library to all of these.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    IndexError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)
METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How large an input may be once it is unpacked."""

    files: int = 20_000
    bytes: int = 1 << 30
    #: A member may unpack to so many times its packed size, beyond its first megabyte.
    ratio: int = 250


DEFAULT_LIMITS = Limits()


def checked_members(
    path: Path, *, shown: str, limits: Limits
) -> tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]:
    """The archive and its files. Raises InputRefused with everything that is wrong with it."""
    try:
        _refuse_many(path, shown, limits)
        archive = zipfile.ZipFile(path)
    except DAMAGE as damage:
        raise InputRefused([Problem(file=shown, message=f"not a readable zip archive: {damage}")]) from damage
    members = [member for member in archive.infolist() if not member.is_dir()]
    try:
        _refuse_unsafe(members, path.stat().st_size, shown, limits)
    except InputRefused:
        archive.close()
        raise
    return archive, members


def _refuse_unsafe(members: list[zipfile.ZipInfo], size: int, shown: str, limits: Limits) -> None:
    problems = Problems(_problems_of_all(members, size, shown, limits))
    for member in members:
        problems += [
            Problem(file=f"{shown}!{member.filename}", message=message)
            for message in _problems_of_one(member, limits)
        ]
    if problems:
        raise InputRefused(problems)


def _refuse_many(path: Path, shown: str, limits: Limits) -> None:
    """Before the library makes an object for each file of the list."""
    with path.open("rb") as archive:
        count = listed_files(archive, limits.files)
    if count > limits.files:
        raise InputRefused(
            [Problem(file=shown, message=f"{count:,} files", expected=f"at most {limits.files:,}")]
        )


def _problems_of_all(
    members: list[zipfile.ZipInfo], size: int, shown: str, limits: Limits
) -> Iterator[Problem]:
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.bytes:
        yield Problem(
            file=shown, message=f"unpacks to {unpacked:,} bytes", expected=f"at most {limits.bytes:,} bytes"
        )
    if sum(member.compress_size for member in members) > size:
        yield Problem(file=shown, message="its files overlap: more packed bytes than the archive has")
    counts = Counter(member.filename for member in members)
    for name in sorted(name for name, count in counts.items() if count > 1):
        yield Problem(file=f"{shown}!{name}", message="the archive holds this name twice")


def _problems_of_one(member: zipfile.ZipInfo, limits: Limits) -> Iterator[str]:
    name = member.filename
    if name.startswith(("/", "\\")) or "\\" in name or ":" in name.split("/")[0] or ".." in name.split("/"):
        yield "its name leads out of the archive"
    if any(ord(character) < 32 for character in name):
        yield "its name holds a control character"
    if stat.S_ISLNK(member.external_attr >> 16):
        yield "a link, not a file"
    if PurePosixPath(name).suffix.lower() in NESTED:
        yield "an archive inside the archive"
    if member.flag_bits & 0x1:
        yield "encrypted"
    elif member.compress_type not in METHODS:
        yield "packed by a method other than deflate"
    if member.file_size > max(1 << 20, member.compress_size * limits.ratio):
        yield f"unpacks to {member.file_size:,} bytes from {member.compress_size:,}: too good to be a text"


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
