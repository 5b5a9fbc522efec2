"""The files of a run or of gold, whatever they came in: a folder, a zip or one file."""

import gzip
import hashlib
import io
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any, cast

from tasks.types.guarded.encodings import (
    GZIP,
    LONGEST_MARK,
    SAVED,
    binary_kind,
    fault_place,
    find_misfit,
    marked_encoding,
    office_kind,
)
from tasks.types.problems import InputRefused, Problem, Problems, quoted, refuse

#: How gold and the runs on it are read. A site stores the version with each version of gold.
#: From version 2 on JSON and tables must be UTF-8, TSV has no quotes, a key occurs once in an object, and ids
#: and texts are compared in NFC.
READING_VERSION = 2
CHUNK = 1 << 20
#: The bytes of a line.
LONGEST = 16 * CHUNK
#: The ending of a packed file, which its reader passes over.
PACKED = ".gz"
#: Left behind by file managers and version control; never part of an input.
CLUTTER = frozenset({"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git"})
#: A file in archives of gold that a site gives out: the nonce of the gold, and the HMAC on the next line.
NONCE_FILE = "nonce.txt"


@dataclass(frozen=True)
class InputFile:
    """One file: ``name`` is its path inside the input, ``shown`` is how problems call it.

    Readers get its text in UTF-8: a gzip file is unpacked, and UTF-16 and UTF-32 with a byte order mark are
    converted. ``encoding`` is that of a file that somebody has named, for others it is empty.
    """

    name: str
    shown: str
    open: Callable[[], IO[bytes]] = field(repr=False)
    reading: int = READING_VERSION
    encoding: str = ""
    #: Whether bytes that are not UTF-8 may be Windows-1252, as in CL-Summ's own files.
    has_fallback: bool = False

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
        """The ending of the name, without that of a gzip file."""
        return PurePosixPath(self.name.lower().removesuffix(PACKED)).suffix

    @property
    def folders(self) -> tuple[str, ...]:
        return PurePosixPath(self.name).parts[:-1]

    def with_fallback(self) -> "InputFile":
        """Return the file for a reader that takes bytes that are not UTF-8 for Windows-1252."""
        return replace(self, has_fallback=True)

    def read(self) -> bytes:
        return b"".join(self.blocks(CHUNK))

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes as they were sent."""
        return self._chunks(lambda stream: partial(stream.read, CHUNK), is_raw=True)

    def blocks(self, size: int) -> Iterator[bytes]:
        """Whole lines, about so many bytes of them at a time; a line of more than ``LONGEST`` is cut."""
        return self._checked(
            self._chunks(
                lambda stream: lambda: stream.read(size) + stream.readline(LONGEST)
            )
        )

    def lines(self, longest: int = LONGEST) -> Iterator[bytes]:
        """Lines with their ends, read as they are needed; one longer than ``longest`` bytes is refused."""
        for number, line in enumerate(self._checked(self._lines(longest)), start=1):
            if len(line) > longest:
                raise InputRefused(
                    [
                        self.problem(
                            f"a line of more than {longest:,} bytes", line=number
                        )
                    ]
                )
            yield line

    def _lines(self, longest: int = LONGEST) -> Iterator[bytes]:
        return self._chunks(lambda stream: partial(stream.readline, longest + 1))

    def _checked(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        """Raise InputRefused where a part is not UTF-8, if the reading version requires that."""
        is_strict = self.reading > 1 and not self.has_fallback
        for part in parts:
            if is_strict and fault_place(part) is not None:
                # A line that was cut may end within a character.
                if misfit := find_misfit(self._lines):
                    raise InputRefused([self._misfit_problem(misfit)])
                is_strict = False
            yield part

    def _misfit_problem(self, misfit: Any) -> Problem:
        if kind := binary_kind(next(self.chunks(), b""), self.suffix):
            return self.problem(f"this is {kind}", SAVED)
        return self.problem(
            misfit.message, SAVED, line=misfit.line, raw=misfit.raw.decode("latin-1")
        )

    @property
    def marked_encoding(self) -> str:
        """`UTF-16` or `UTF-32` where the file has a byte order mark of it; empty if it cannot be read."""
        try:
            with self.open() as stream:
                return marked_encoding(_peeked(_unpacked(_buffered(stream), self)))
        except (*DAMAGE, InputRefused):
            return ""

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
        self,
        reader: Callable[[IO[bytes]], Callable[[], bytes]],
        *,
        is_raw: bool = False,
    ) -> Iterator[bytes]:
        try:
            with self.open() as stream:
                text = stream if is_raw else self._in_utf8(stream)
                yield from iter(reader(text), b"")
        except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError) as damage:
            raise InputRefused(
                [self.problem(f"the archive is damaged: {damage}")]
            ) from damage

    def _in_utf8(self, stream: IO[bytes]) -> IO[bytes]:
        if self.has_fallback and self.reading == 1 and not self.encoding:
            # Version 1 read CL-Summ's own files as they are.
            return stream
        source = _unpacked(_buffered(stream), self)
        encoding = marked_encoding(_peeked(source)) or self.encoding
        if not encoding:
            return source
        return cast("IO[bytes]", io.BufferedReader(_Recoded(source, encoding, self)))


def _buffered(stream: IO[bytes]) -> IO[bytes]:
    """Return the stream, or one over it of which the beginning can be looked at."""
    if hasattr(stream, "peek"):
        return stream
    return cast("IO[bytes]", io.BufferedReader(cast("io.RawIOBase", stream)))


def _peeked(stream: IO[bytes]) -> bytes:
    return bytes(cast("io.BufferedReader", stream).peek(LONGEST_MARK)[:LONGEST_MARK])


def _unpacked(stream: IO[bytes], file: InputFile) -> IO[bytes]:
    """Return the stream, or what a gzip file holds."""
    if not _peeked(stream).startswith(GZIP):
        return stream
    return cast("IO[bytes]", io.BufferedReader(_Unpacked(stream, file)))


class _Unpacked(io.RawIOBase):
    """The bytes that a gzip file holds, within the limits of archives."""

    def __init__(self, source: IO[bytes], file: InputFile) -> None:
        self._source, self._file, self._count = source, file, 0
        self._gzip = gzip.GzipFile(fileobj=source, mode="rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._gzip.read(len(buffer))
        self._count += len(data)
        most = min(
            DEFAULT_LIMITS.bytes,
            max(CHUNK, self._source.tell() * DEFAULT_LIMITS.ratio),
        )
        if self._count > most:
            message = f"unpacks to more than {most:,} bytes: too good to be a text"
            raise InputRefused([self._file.problem(message)])
        buffer[: len(data)] = data
        return len(data)


class _Recoded(io.RawIOBase):
    """The bytes of a text in another encoding as UTF-8."""

    def __init__(self, source: IO[bytes], encoding: str, file: InputFile) -> None:
        self._file, self._encoding, self._line = file, encoding, 1
        self._text = io.TextIOWrapper(source, encoding=encoding, newline="")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = self._next()
        data, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

    def _next(self) -> bytes:
        try:
            text = self._text.read(CHUNK >> 4).encode()
        except UnicodeError as fault:
            message = f"not {self._encoding}, which the file is said to be"
            raise InputRefused(
                [self._file.problem(message, SAVED, line=self._line)]
            ) from fault
        self._line += text.count(b"\n")
        return text.removeprefix(b"\xef\xbb\xbf") if self._line == 1 else text


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
    path: Path,
    *,
    shown: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    reading: int = READING_VERSION,
    encoding: str = "",
) -> list[InputFile]:
    """The files of a folder, of a zip archive, or the one file, in the order of their names. ``shown`` is
    what its author calls the input, ``reading`` the version by which it is read. Raises InputRefused for what
    cannot be opened or is unsafe.
    """
    shown = shown or str(path)
    files = _opened(path, shown, limits)
    return [replace(file, reading=reading, encoding=encoding) for file in files]


def reading_of(files: "Files") -> int:
    """Return the version by which files are read."""
    return files[0].reading if files else READING_VERSION


def _opened(path: Path, shown: str, limits: Limits) -> list[InputFile]:
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
    return [InputFile(PurePosixPath(shown).name, shown, _opener(path))]


def open_inputs(
    paths: Iterable[Path], *, reading: int = READING_VERSION, encoding: str = ""
) -> list[InputFile]:
    """The files of several inputs. Raises InputRefused where they hold one file twice."""
    files = [
        file
        for path in paths
        for file in open_input(path, reading=reading, encoding=encoding)
    ]
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


def _opener(path: Path) -> Callable[[], IO[bytes]]:
    return lambda: path.open("rb")


def _folder_files(folder: Path, shown: str, limits: Limits) -> list[InputFile]:
    files = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_symlink() or not path.is_file() or _is_passed_over(name):
            continue
        # The folder's own name is kept, since a topic folder is named for its topic.
        inside = f"{folder.resolve().name}/{name.as_posix()}"
        files.append(InputFile(inside, str(path), _opener(path)))
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
    if kind := office_kind(archive.namelist()):
        archive.close()
        expected = "its content saved as CSV in UTF-8, or as JSON lines"
        raise InputRefused(
            [Problem(file=shown, message=f"this is {kind}", expected=expected)]
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
