"""The files of a run or of gold, whatever they came in: a folder, a zip or one file."""

import hashlib
import io
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import IO

from tasks.types.problems import InputRefused, Problem, Problems, quoted, refuse

CHUNK = 1 << 20
#: The bytes of a line.
LONGEST = 16 * CHUNK
#: Left behind by file managers and version control; never part of an input.
CLUTTER = frozenset({"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git"})
#: A file in archives of gold that a site gives out: the nonce of the gold, and the HMAC on the next line.
NONCE_FILE = "nonce.txt"


@dataclass(frozen=True)
class InputFile:
    """One file: ``name`` is its path inside the input, ``shown`` is how problems call it."""

    name: str
    shown: str
    open: Callable[[], IO[bytes]] = field(repr=False)

    @property
    def base(self) -> str:
        """The last part of the name."""
        return PurePosixPath(self.name).name

    @property
    def stem(self) -> str:
        """The same up to its first dot: ``Task1/C90-2039.annv3.txt`` is C90-2039."""
        return self.base.partition(".")[0]

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()

    @property
    def folders(self) -> tuple[str, ...]:
        return PurePosixPath(self.name).parts[:-1]

    def read(self) -> bytes:
        return b"".join(self.chunks())

    def chunks(self) -> Iterator[bytes]:
        return self._chunks(lambda stream: partial(stream.read, CHUNK))

    def blocks(self, size: int) -> Iterator[bytes]:
        """Whole lines, about so many bytes of them at a time; a line of more than ``LONGEST`` is cut."""
        return self._chunks(
            lambda stream: lambda: stream.read(size) + stream.readline(LONGEST)
        )

    def lines(self, longest: int = LONGEST) -> Iterator[bytes]:
        """Lines with their ends, read as they are needed; one longer than ``longest`` bytes is refused."""
        for number, line in enumerate(
            self._chunks(lambda s: partial(s.readline, longest + 1)), start=1
        ):
            if len(line) > longest:
                raise InputRefused(
                    [
                        self.problem(
                            f"a line of more than {longest:,} bytes", line=number
                        )
                    ]
                )
            yield line

    def problem(
        self,
        message: str,
        expected: str = "",
        *,
        line: int | None = None,
        raw: str = "",
        fatal: bool = True,
    ) -> Problem:
        """A problem of this file; ``raw`` is the line itself, of which the beginning is quoted."""
        return Problem(
            file=self.shown,
            line=line,
            message=message,
            expected=expected,
            quote=quoted(raw),
            fatal=fatal,
        )

    def _chunks(
        self, reader: Callable[[IO[bytes]], Callable[[], bytes]]
    ) -> Iterator[bytes]:
        try:
            with self.open() as stream:
                yield from iter(reader(stream), b"")
        except (zipfile.BadZipFile, zlib.error, EOFError) as damage:
            raise InputRefused(
                [self.problem(f"the archive is damaged: {damage}")]
            ) from damage


Files = Sequence[InputFile]
#: So many files are named where a message is of several.
MAX_NAMED = 3


def shown_names(files: Files) -> str:
    """Return what messages call these files together."""
    names = [file.shown for file in files]
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How large an input may be once it is unpacked."""

    files: int = 20_000
    bytes: int = 1 << 30
    #: A member may unpack to so many times its packed size, beyond its first megabyte.
    ratio: int = 250
    #: Folders in which archives may stand, each of which is checked when it is read.
    nested: tuple[str, ...] = ()


DEFAULT_LIMITS = Limits()


def open_input(
    path: Path, *, shown: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> list[InputFile]:
    """The files of a folder, of a zip archive, or the one file, in the order of their names. ``shown`` is
    what its author calls the input. Raises InputRefused for what cannot be opened or is unsafe.
    """
    shown = shown or str(path)
    if path.is_dir():
        return _folder_files(path, shown, limits)
    if not path.is_file():
        raise InputRefused(
            [Problem(file=shown, message="there is no such file or folder")]
        )
    if zipfile.is_zipfile(path) or PurePosixPath(shown).suffix.lower() == ".zip":
        archive, members = checked_members(path, shown=shown, limits=limits)
        return [
            InputFile(
                member.filename,
                f"{shown}!{member.filename}",
                partial(_open_member, archive, member),
            )
            for member in sorted(members, key=lambda member: member.filename)
            if not _is_passed_over(PurePosixPath(member.filename))
        ]
    return [InputFile(PurePosixPath(shown).name, shown, lambda: path.open("rb"))]


def open_inputs(paths: Iterable[Path]) -> list[InputFile]:
    """The files of several inputs. Raises InputRefused where they hold one file twice."""
    files = [file for path in paths for file in open_input(path)]
    if twice := [
        shown
        for shown, count in Counter(file.shown for file in files).items()
        if count > 1
    ]:
        raise InputRefused(
            [Problem(file=shown, message="is given twice") for shown in twice]
        )
    return files


def input_digest(files: Sequence[InputFile]) -> str:
    """SHA-256 of one file's bytes; of several, of the list of their names and digests."""
    if len(files) == 1:
        return _digest(files[0])
    listing = "".join(
        f"{_digest(file)}  {file.name}\n"
        for file in sorted(files, key=lambda file: file.name)
    )
    return hashlib.sha256(listing.encode()).hexdigest()


def _digest(file: InputFile) -> str:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    return digest.hexdigest()


def _is_passed_over(name: PurePath) -> bool:
    return bool(CLUTTER.intersection(name.parts)) or name.parts == (NONCE_FILE,)


def _folder_files(folder: Path, shown: str, limits: Limits) -> list[InputFile]:
    files = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_symlink() or not path.is_file() or _is_passed_over(name):
            continue
        # The folder's own name is kept, since a topic folder is named for its topic.
        inside = f"{folder.resolve().name}/{name.as_posix()}"
        files.append(InputFile(inside, str(path), lambda path=path: path.open("rb")))  # type: ignore[misc]
        if len(files) > limits.files:
            raise InputRefused(
                [Problem(file=shown, message=f"more than {limits.files:,} files")]
            )
    return files


def _open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """Whatever a broken archive comes to, it is told as one kind of error."""
    try:
        return archive.open(member)
    except DAMAGE as damage:
        raise zipfile.BadZipFile(str(damage)) from damage


NESTED = frozenset(
    {".zip", ".gz", ".tar", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst"}
)
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


def checked_members(
    path: Path, *, shown: str, limits: Limits
) -> tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]:
    """The archive and its files. Raises InputRefused with everything that is wrong with it."""
    try:
        # Before the library makes an object for each file of the list.
        with path.open("rb") as listing:
            count = listed_files(listing, limits.files)
        archive = zipfile.ZipFile(path) if count <= limits.files else None
    except DAMAGE as damage:
        raise InputRefused(
            [Problem(file=shown, message=f"not a readable zip archive: {damage}")]
        ) from damage
    if archive is None:
        expected = f"at most {limits.files:,}"
        raise InputRefused(
            [Problem(file=shown, message=f"{count:,} files", expected=expected)]
        )
    # The library cannot say of a member without a name whether it is a folder.
    members = [
        member
        for member in archive.infolist()
        if not (member.filename and member.is_dir())
    ]
    try:
        refuse(Problems(_problems_of_all(members, path.stat().st_size, shown, limits)))
    except InputRefused:
        archive.close()
        raise
    return archive, members


def _problems_of_all(
    members: list[zipfile.ZipInfo], size: int, shown: str, limits: Limits
) -> Iterator[Problem]:
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.bytes:
        message, expected = (
            f"unpacks to {unpacked:,} bytes",
            f"at most {limits.bytes:,} bytes",
        )
        yield Problem(file=shown, message=message, expected=expected)
    if sum(member.compress_size for member in members) > size:
        yield Problem(
            file=shown,
            message="its files overlap: more packed bytes than the archive has",
        )
    counts = Counter(member.filename for member in members)
    for name in sorted(name for name, count in counts.items() if count > 1):
        yield Problem(
            file=f"{shown}!{name}", message="the archive holds this name twice"
        )
    for member in members:
        for message in _problems_of_one(member, limits):
            yield Problem(file=f"{shown}!{member.filename}", message=message)


def _problems_of_one(member: zipfile.ZipInfo, limits: Limits) -> Iterator[str]:
    name = member.filename
    if not PurePosixPath(name).parts:
        yield "a file without a name"
    if (
        name.startswith(("/", "\\"))
        or "\\" in name
        or ":" in name.split("/")[0]
        or ".." in name.split("/")
    ):
        yield "its name leads out of the archive"
    if any(ord(character) < 32 for character in name):
        yield "its name holds a control character"
    if stat.S_ISLNK(member.external_attr >> 16):
        yield "a link, not a file"
    may_nest = not set(limits.nested).isdisjoint(PurePosixPath(name).parts[:2])
    if PurePosixPath(name).suffix.lower() in NESTED and not may_nest:
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
    """How many files the archive claims or lists, whichever is more; counted no further than ``most`` + 1. 0
    where there is no list, which is for the library to say.
    """
    tail_begin = max(0, archive.seek(0, io.SEEK_END) - _END.size - _MAX_COMMENT)
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
    if not record.startswith(_LOCATOR_MARK, _LARGE_END.size) or not record.startswith(
        _LARGE_END_MARK
    ):
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
