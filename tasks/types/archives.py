"""Zip archives from strangers: what one claims is checked before anything of it is unpacked.

Nothing is ever written to disk under a name that an archive chose; members are only read as streams.
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tasks.types.archive_directories import listed_files
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
