"""Read the files of a run or of gold (reference answers) from a folder, a zip archive
or a single file.
"""

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
    EXPECTED_ENCODING_DESCRIPTION,
    GZIP_SIGNATURE,
    MAX_BYTE_ORDER_MARK_BYTES,
    WITHOUT_BYTE_ORDER_MARK,
    detect_byte_order_mark_encoding,
    detect_kind_of_binary_file,
    detect_kind_of_office_file,
    find_first_invalid_utf8_byte,
    find_first_non_utf8_line,
)
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    raise_if_any_problem_is_fatal,
    shorten_quoted_line,
)

#: `CURRENT_PARSING_RULES_VERSION` is the current version of the rules for parsing gold and runs.
#: A site stores the version of the reading rules with each version of the gold.
#: From version 2 of the reading rules on, JSON and tables must be UTF-8.
#: From version 2 of the reading rules on, quotation marks in TSV are plain characters.
#: From version 2 of the reading rules on, an object in JSON may not repeat a key.
#: From version 2 of the reading rules on, ids and texts are compared in Unicode NFC.
#: From version 2 of the reading rules on, an HMAC orders candidates of declared tasks.
#: From version 3 of the reading rules on, an HMAC orders candidates of built-in tasks.
CURRENT_PARSING_RULES_VERSION = 3
#: From reading version `FIRST_VERSION_ORDERING_DECLARED` on, an HMAC orders candidates of declared tasks.
#: From reading version `FIRST_VERSION_ORDERING_BUILT_IN` on, an HMAC orders candidates of built-in tasks.
FIRST_VERSION_ORDERING_DECLARED, FIRST_VERSION_ORDERING_BUILT_IN = 2, 3
CHUNK_BYTES = 1 << 20
#: `MAX_LINE_BYTES` is the maximum number of bytes per line.
MAX_LINE_BYTES = 16 * CHUNK_BYTES
#: The extension `GZIP_SUFFIX` of gzip files does not count when formats are recognised.
GZIP_SUFFIX = ".gz"
#: `IGNORED_FILE_NAMES` lists files and folders of operating systems and Git, which are ignored.
IGNORED_FILE_NAMES = frozenset(
    {"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git"}
)
#: When a site exports gold as an archive, the site adds the file `NONCE_FILE_NAME`.
#: The file `NONCE_FILE_NAME` contains the nonce of the gold, and the HMAC of its digest.
NONCE_FILE_NAME = "nonce.txt"
#: `KIT` is the name of a folder in gold archives that contains files for participants.
#: The site publishes the files in the folder `KIT` unchanged.
#: Parsers of gold and runs ignore the files in the folder `KIT`.
STARTING_KIT_FOLDER = "starting-kit"


@dataclass(frozen=True)
class InputFile:
    """A file of a run or of gold (reference answers).

    ``name`` is the path of the file within its folder or archive. ``shown`` is the name
    of the file in error messages. The methods return UTF-8 text, because they
    decompress gzip files, and convert UTF-16 and UTF-32 with a byte order mark.
    ``encoding`` is the encoding that the user selected for the file, or empty.
    """

    name: str
    shown: str
    open: Callable[[], IO[bytes]] = field(repr=False)
    reading: int = CURRENT_PARSING_RULES_VERSION
    encoding: str = ""
    #: `has_fallback` is True if bytes that are not UTF-8 may be Windows-1252 text.
    #: Windows-1252 is needed for the original files of the shared task CL-Summ.
    has_fallback: bool = False

    @property
    def base(self) -> str:
        return PurePosixPath(self.name).name

    @property
    def stem(self) -> str:
        """Return the part of the file name before the first dot, such as C90-2039 for
        ``Task1/C90-2039.annv3.txt``.
        """
        return self.base.partition(".")[0]

    @property
    def suffix(self) -> str:
        """Return the extension of the file name. For a compressed file, return the
        extension before `.gz`.
        """
        return PurePosixPath(self.name.lower().removesuffix(GZIP_SUFFIX)).suffix

    @property
    def kind_by_suffix(self) -> str:
        """Return the kind of the file for an error message, such as a “.txt” file."""
        if not self.suffix:
            return "a file whose name has no ending"
        return f"a “{self.suffix}” file"

    @property
    def parent_folder_names(self) -> tuple[str, ...]:
        return PurePosixPath(self.name).parts[:-1]

    def with_windows_1252_fallback(self) -> "InputFile":
        """Return a copy of the input file that permits bytes in Windows-1252. Methods
        of the copy accept bytes that are not UTF-8.
        """
        return replace(self, has_fallback=True)

    def read(self) -> bytes:
        return b"".join(self.iterate_blocks_of_lines(CHUNK_BYTES))

    def iterate_raw_chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the file in chunks, without decompression and conversion."""
        return self._iterate_chunks(
            lambda stream: partial(stream.read, CHUNK_BYTES), is_raw=True
        )

    def iterate_blocks_of_lines(self, size: int) -> Iterator[bytes]:
        """Yield blocks of about ``size`` bytes that end at a line end. A line of more
        than ``MAX_LINE_BYTES`` bytes is divided between several blocks.
        """
        return self._require_utf8(
            self._iterate_chunks(
                lambda stream: (
                    lambda: stream.read(size) + stream.readline(MAX_LINE_BYTES)
                )
            )
        )

    def lines(self, longest: int = MAX_LINE_BYTES) -> Iterator[bytes]:
        """Yield the lines of the file with their line ends, and read the file lazily.
        Raises InputRefused for a line of more than ``longest`` bytes.
        """
        for number, line in enumerate(
            self._require_utf8(self._iterate_bounded_lines(longest)), start=1
        ):
            if len(line) > longest:
                raise InputRefused(
                    [
                        self.make_problem(
                            f"a line of more than {longest:,} bytes", line=number
                        )
                    ]
                )
            yield line

    def _iterate_bounded_lines(self, longest: int = MAX_LINE_BYTES) -> Iterator[bytes]:
        return self._iterate_chunks(
            lambda stream: partial(stream.readline, longest + 1)
        )

    def _require_utf8(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the given parts of the file unchanged. Raise InputRefused if a part is
        not UTF-8, unless the file is read by version 1 of the reading rules or permits
        Windows-1252.
        """
        is_strict = self.reading > 1 and not self.has_fallback
        for index, part in enumerate(parts):
            if is_strict and index == 0 and b"\0" in part:
                self._refuse_unmarked_utf16()
            if is_strict and find_first_invalid_utf8_byte(part) is not None:
                # A part may end in a multi-byte character, so whole lines are tested.
                if misfit := find_first_non_utf8_line(self._iterate_bounded_lines):
                    raise InputRefused([self._make_encoding_problem(misfit)])
                is_strict = False
            yield part

    def _refuse_unmarked_utf16(self) -> None:
        """Raise InputRefused if the text is UTF-16 or UTF-32 without a byte order mark."""
        unpacked = self._iterate_chunks(
            lambda stream: partial(stream.read, CHUNK_BYTES)
        )
        kind = detect_kind_of_binary_file(next(unpacked, b"")) or ""
        if kind.endswith(WITHOUT_BYTE_ORDER_MARK):
            raise InputRefused(
                [
                    self.make_problem(
                        f"this is {kind}", EXPECTED_ENCODING_DESCRIPTION, line=1
                    )
                ]
            )

    def _make_encoding_problem(self, misfit: Any) -> Problem:
        if kind := detect_kind_of_binary_file(
            next(self.iterate_raw_chunks(), b""), self.suffix
        ):
            return self.make_problem(f"this is {kind}", EXPECTED_ENCODING_DESCRIPTION)
        return self.make_problem(
            misfit.message,
            EXPECTED_ENCODING_DESCRIPTION,
            line=misfit.line,
            raw=misfit.raw.decode("latin-1"),
        )

    @property
    def encoding_by_byte_order_mark(self) -> str:
        """Return `UTF-16` or `UTF-32` if the file has a byte order mark of the
        encoding. Return an empty text for other files and for unreadable files.
        """
        try:
            with self.open() as stream:
                return detect_byte_order_mark_encoding(
                    _peek_byte_order_mark(
                        _decompress_gzip(_make_peekable(stream), self)
                    )
                )
        except (*DAMAGED_ARCHIVE_ERRORS, InputRefused):
            return ""

    def make_problem(
        self,
        message: str,
        expected: str = "",
        *,
        line: int | None = None,
        raw: str = "",
        fatal: bool = True,
    ) -> Problem:
        """Return a problem that names this input file. The problem quotes the beginning
        of the line ``raw`` from the file.
        """
        return Problem(
            file=self.shown,
            line=line,
            message=message,
            expected=expected,
            quote=shorten_quoted_line(raw),
            fatal=fatal,
        )

    def _iterate_chunks(
        self,
        reader: Callable[[IO[bytes]], Callable[[], bytes]],
        *,
        is_raw: bool = False,
    ) -> Iterator[bytes]:
        try:
            with self.open() as stream:
                text = stream if is_raw else self._convert_to_utf8(stream)
                yield from iter(reader(text), b"")
        except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError) as damage:
            raise InputRefused(
                [self.make_problem(f"the archive is damaged: {damage}")]
            ) from damage

    def _convert_to_utf8(self, stream: IO[bytes]) -> IO[bytes]:
        if self.has_fallback and self.reading == 1 and not self.encoding:
            # Version 1 of the reading rules keeps CL-Summ files in Windows-1252.
            return stream
        source = _decompress_gzip(_make_peekable(stream), self)
        encoding = (
            detect_byte_order_mark_encoding(_peek_byte_order_mark(source))
            or self.encoding
        )
        if not encoding:
            return source
        return cast("IO[bytes]", io.BufferedReader(_Utf8Stream(source, encoding, self)))


def _make_peekable(stream: IO[bytes]) -> IO[bytes]:
    """Return a stream of the same bytes that supports the method `peek`."""
    if hasattr(stream, "peek"):
        return stream
    return cast("IO[bytes]", io.BufferedReader(cast("io.RawIOBase", stream)))


def _peek_byte_order_mark(stream: IO[bytes]) -> bytes:
    return bytes(
        cast("io.BufferedReader", stream).peek(MAX_BYTE_ORDER_MARK_BYTES)[
            :MAX_BYTE_ORDER_MARK_BYTES
        ]
    )


def _decompress_gzip(stream: IO[bytes], file: InputFile) -> IO[bytes]:
    """Return the stream unchanged, or a decompressed stream if the content is gzip."""
    if not _peek_byte_order_mark(stream).startswith(GZIP_SIGNATURE):
        return stream
    return cast("IO[bytes]", io.BufferedReader(_DecompressedStream(stream, file)))


class _DecompressedStream(io.RawIOBase):
    """A stream of the decompressed bytes of a gzip file. The limits of size and
    compression ratio for zip archives also apply to gzip files.
    """

    def __init__(self, source: IO[bytes], file: InputFile) -> None:
        self._source, self._file, self._count = source, file, 0
        self._gzip = gzip.GzipFile(fileobj=source, mode="rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._gzip.read(len(buffer))
        self._count += len(data)
        most = min(
            DEFAULT_ARCHIVE_LIMITS.bytes,
            max(CHUNK_BYTES, self._source.tell() * DEFAULT_ARCHIVE_LIMITS.ratio),
        )
        if self._count > most:
            message = f"unpacks to more than {most:,} bytes: too good to be a text"
            raise InputRefused([self._file.make_problem(message)])
        buffer[: len(data)] = data
        return len(data)


class _Utf8Stream(io.RawIOBase):
    """A stream that converts a text from another encoding to UTF-8."""

    def __init__(self, source: IO[bytes], encoding: str, file: InputFile) -> None:
        self._file, self._encoding, self._line = file, encoding, 1
        self._text = io.TextIOWrapper(source, encoding=encoding, newline="")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = self._read_next_utf8()
        data, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

    def _read_next_utf8(self) -> bytes:
        try:
            text = self._text.read(CHUNK_BYTES >> 4).encode()
        except UnicodeError as fault:
            message = f"not {self._encoding}, which the file is said to be"
            raise InputRefused(
                [
                    self._file.make_problem(
                        message, EXPECTED_ENCODING_DESCRIPTION, line=self._line
                    )
                ]
            ) from fault
        self._line += text.count(b"\n")
        return text.removeprefix(b"\xef\xbb\xbf") if self._line == 1 else text


Files = Sequence[InputFile]
#: `MAX_FILES_NAMED` is the maximum number of file names in an error message.
MAX_FILES_NAMED = 3


def join_shown_file_names(files: Files) -> str:
    """Return the names of at most `MAX_FILES_NAMED` files and the number of further files,
    for an error message.
    """
    names = [file.shown for file in files]
    more = len(names) - MAX_FILES_NAMED
    return ", ".join(names[:MAX_FILES_NAMED]) + (
        f" and {more:,} more" if more > 0 else ""
    )


@dataclass(frozen=True, kw_only=True)
class ArchiveLimits:
    """The maximum number and size of the files in an uploaded folder or archive."""

    files: int = 20_000
    bytes: int = 1 << 30
    #: `ratio` is the maximum compression ratio of each file in an archive.
    #: Files of at most one megabyte may have a higher compression ratio.
    ratio: int = 250
    #: Folders named in `nested` may contain archives within the archive.
    #: An archive within the archive is checked for the limits when it is opened.
    nested: tuple[str, ...] = ()
    #: `nests_anywhere` is True if all folders of the archive may contain archives.
    #: Each inner archive has its own limits of size and number of files.
    nests_anywhere: bool = False
    #: `reads_kit` is True if `starting-kit/` and `nonce.txt` are ordinary names.
    #: On other platforms, `starting-kit/` and `nonce.txt` have no special meaning.
    reads_kit: bool = False


DEFAULT_ARCHIVE_LIMITS = ArchiveLimits()


def open_input_files(
    path: Path,
    *,
    shown: str | None = None,
    limits: ArchiveLimits = DEFAULT_ARCHIVE_LIMITS,
    reading: int = CURRENT_PARSING_RULES_VERSION,
    encoding: str = "",
) -> list[InputFile]:
    """Return the files of a folder or a zip archive, or a single file, sorted by name.

    ``shown`` is the name of the folder, archive or file in error messages. ``reading``
    is the version of the rules for parsing gold and runs. Raises InputRefused if the
    folder, archive or file cannot be opened or is unsafe.
    """
    shown = shown or str(path)
    files = _open_path(path, shown, limits)
    return [replace(file, reading=reading, encoding=encoding) for file in files]


def open_starting_kit_files(
    path: Path,
    *,
    shown: str | None = None,
    limits: ArchiveLimits = DEFAULT_ARCHIVE_LIMITS,
) -> list[InputFile]:
    """Return the files in the folder `starting-kit` of a gold archive, with names
    relative to this folder. The folder `starting-kit` contains files for participants.
    Raises InputRefused.
    """
    return _open_path(path, shown or str(path), limits, is_kit=True)


def get_reading_version(files: "Files") -> int:
    return files[0].reading if files else CURRENT_PARSING_RULES_VERSION


def _open_path(
    path: Path, shown: str, limits: ArchiveLimits, *, is_kit: bool = False
) -> list[InputFile]:
    if path.is_dir():
        return _list_folder_files(path, shown, limits, is_kit=is_kit)
    if not path.is_file():
        raise InputRefused(
            [Problem(file=shown, message="there is no such file or folder")]
        )
    if zipfile.is_zipfile(path) or PurePosixPath(shown).suffix.lower() == ".zip":
        archive, members = open_checked_zip(path, shown=shown, limits=limits)
        return [
            InputFile(
                # Names of files in the starting kit include the kit's folder.
                PurePosixPath(member.filename).as_posix()
                if is_kit
                else member.filename,
                f"{shown}!{member.filename}",
                partial(_open_member, archive, member),
            )
            for member in sorted(members, key=lambda member: member.filename)
            if not _is_ignored_file(
                PurePosixPath(member.filename), limits, is_kit=is_kit
            )
        ]
    if is_kit:
        return []
    return [InputFile(PurePosixPath(shown).name, shown, _make_opener(path))]


def open_files_of_all_inputs(
    paths: Iterable[Path],
    *,
    reading: int = CURRENT_PARSING_RULES_VERSION,
    encoding: str = "",
) -> list[InputFile]:
    """Return the files of several folders, archives or single files. Raises
    InputRefused if two files have the same name.
    """
    files = [
        file
        for path in paths
        for file in open_input_files(path, reading=reading, encoding=encoding)
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


def compute_input_digest(files: Sequence[InputFile]) -> str:
    """Return the SHA-256 of the content if there is a single file. If there are several
    files, return the SHA-256 of a list that contains the digest and the name of each
    file.
    """
    if len(files) == 1:
        return _compute_file_digest(files[0])
    listing = "".join(
        f"{_compute_file_digest(file)}  {file.name}\n"
        for file in sorted(files, key=lambda file: file.name)
    )
    return hashlib.sha256(listing.encode()).hexdigest()


def _compute_file_digest(file: InputFile) -> str:
    digest = hashlib.sha256()
    for chunk in file.iterate_raw_chunks():
        digest.update(chunk)
    return digest.hexdigest()


def _is_ignored_file(
    name: PurePath, limits: ArchiveLimits, *, is_kit: bool = False
) -> bool:
    if IGNORED_FILE_NAMES.intersection(name.parts):
        return True
    if limits.reads_kit:
        return False
    return name.parts == (NONCE_FILE_NAME,) or is_kit != is_in_starting_kit(name)


def is_in_starting_kit(name: PurePath) -> bool:
    return len(name.parts) > 1 and name.parts[0] == STARTING_KIT_FOLDER


def _make_opener(path: Path) -> Callable[[], IO[bytes]]:
    return lambda: path.open("rb")


def _list_folder_files(
    folder: Path, shown: str, limits: ArchiveLimits, *, is_kit: bool = False
) -> list[InputFile]:
    files = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_symlink() or not path.is_file():
            continue
        if _is_ignored_file(name, limits, is_kit=is_kit):
            continue
        # File names include the folder's name, because it is the name of a topic.
        inside = f"{folder.resolve().name}/{name.as_posix()}"
        inside = name.as_posix() if is_kit else inside
        files.append(InputFile(inside, str(path), _make_opener(path)))
        if len(files) > limits.files:
            raise InputRefused(
                [Problem(file=shown, message=f"more than {limits.files:,} files")]
            )
    return files


def _open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """Open a file in an archive. Raises BadZipFile if the archive is damaged in any
    way.
    """
    try:
        return archive.open(member)
    except DAMAGED_ARCHIVE_ERRORS as damage:
        raise zipfile.BadZipFile(str(damage)) from damage


ARCHIVE_SUFFIXES = frozenset(
    {".zip", ".gz", ".tar", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst"}
)
DAMAGED_ARCHIVE_ERRORS = (
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
SUPPORTED_COMPRESSION_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


def open_checked_zip(
    path: Path, *, shown: str, limits: ArchiveLimits
) -> tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]:
    """Return an opened zip archive and the files that the archive contains. Raises
    InputRefused with all problems.
    """
    try:
        # The number of files is limited before `zipfile` creates an object for each.
        with path.open("rb") as listing:
            count = count_files_in_zip_directory(listing, limits.files)
        archive = zipfile.ZipFile(path) if count <= limits.files else None
    except DAMAGED_ARCHIVE_ERRORS as damage:
        raise InputRefused(
            [Problem(file=shown, message=f"not a readable zip archive: {damage}")]
        ) from damage
    if archive is None:
        expected = f"at most {limits.files:,}"
        raise InputRefused(
            [Problem(file=shown, message=f"{count:,} files", expected=expected)]
        )
    if kind := detect_kind_of_office_file(archive.namelist()):
        archive.close()
        expected = "its content saved as CSV in UTF-8, or as JSON lines"
        raise InputRefused(
            [Problem(file=shown, message=f"this is {kind}", expected=expected)]
        )
    # The method `is_dir` of `zipfile` fails for a member without a name.
    members = [
        member
        for member in archive.infolist()
        if not (member.filename and member.is_dir())
    ]
    try:
        raise_if_any_problem_is_fatal(
            ProblemList(
                _find_archive_problems(members, path.stat().st_size, shown, limits)
            )
        )
    except InputRefused:
        archive.close()
        raise
    return archive, members


def _find_archive_problems(
    members: list[zipfile.ZipInfo], size: int, shown: str, limits: ArchiveLimits
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
        for message in _find_member_faults(member, limits):
            yield Problem(file=f"{shown}!{member.filename}", message=message)


def _find_member_faults(
    member: zipfile.ZipInfo, limits: ArchiveLimits
) -> Iterator[str]:
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
    is_unread = is_in_starting_kit(PurePosixPath(name))
    may_nest = limits.nests_anywhere or not set(limits.nested).isdisjoint(
        PurePosixPath(name).parts[:2]
    )
    if PurePosixPath(name).suffix.lower() in ARCHIVE_SUFFIXES and not (
        may_nest or is_unread
    ):
        yield "an archive inside the archive"
    if member.flag_bits & 0x1:
        yield "encrypted"
    elif member.compress_type not in SUPPORTED_COMPRESSION_METHODS:
        yield "packed by a method other than deflate"
    if member.file_size > max(1 << 20, member.compress_size * limits.ratio):
        yield f"unpacks to {member.file_size:,} bytes from {member.compress_size:,}: too good to be a text"


_END_RECORD_FORMAT = struct.Struct("<4s4H2LH")
_ZIP64_LOCATOR_FORMAT = struct.Struct("<4sLQL")
_ZIP64_END_RECORD_FORMAT = struct.Struct("<4sQ2H2L4Q")
_DIRECTORY_ENTRY_FORMAT = struct.Struct("<4s24x3H12x")
_END_RECORD_SIGNATURE, _ZIP64_LOCATOR_SIGNATURE, _ZIP64_END_RECORD_SIGNATURE = (
    b"PK\x05\x06",
    b"PK\x06\x07",
    b"PK\x06\x06",
)
_DIRECTORY_ENTRY_SIGNATURE = b"PK\x01\x02"
#: The comment at the end of a zip archive has at most `_MAX_COMMENT_BYTES` bytes.
_MAX_COMMENT_BYTES = (1 << 16) - 1


def count_files_in_zip_directory(archive: IO[bytes], most: int) -> int:
    """Return an upper bound of the number of files in a zip archive, but at most
    ``most`` + 1. The archive's end record may state another number than the directory
    lists, so the larger number is returned.
    """
    tail_begin = max(
        0, archive.seek(0, io.SEEK_END) - _END_RECORD_FORMAT.size - _MAX_COMMENT_BYTES
    )
    archive.seek(tail_begin)
    tail = archive.read()
    place = _find_end_record(tail)
    if place is None:
        return 0
    claimed: int
    directory_size: int
    _, _, _, _, claimed, directory_size, _, _ = _END_RECORD_FORMAT.unpack_from(
        tail, place
    )
    begin = tail_begin + place
    if large := _read_zip64_end_record(archive, begin):
        claimed, directory_size = large
        begin -= _ZIP64_END_RECORD_FORMAT.size + _ZIP64_LOCATOR_FORMAT.size
    return max(
        claimed,
        _count_archive_members(archive, begin - directory_size, directory_size, most),
    )


def _find_end_record(tail: bytes) -> int | None:
    """Return the position of the end record in the last bytes of a zip archive. If the
    archive ends with a comment, the last signature of an end record is the position.
    """
    place = len(tail) - _END_RECORD_FORMAT.size
    if (
        place >= 0
        and tail.startswith(_END_RECORD_SIGNATURE, place)
        and tail.endswith(b"\0\0")
    ):
        return place
    place = tail.rfind(_END_RECORD_SIGNATURE)
    return place if 0 <= place <= len(tail) - _END_RECORD_FORMAT.size else None


def _read_zip64_end_record(archive: IO[bytes], begin: int) -> tuple[int, int] | None:
    """Return the number of files and the directory size that the ZIP64 end record
    states, or None if the archive has no ZIP64 end record.
    """
    place = begin - _ZIP64_LOCATOR_FORMAT.size - _ZIP64_END_RECORD_FORMAT.size
    if place < 0:
        return None
    archive.seek(place)
    record = archive.read(_ZIP64_END_RECORD_FORMAT.size + _ZIP64_LOCATOR_FORMAT.size)
    if not record.startswith(
        _ZIP64_LOCATOR_SIGNATURE, _ZIP64_END_RECORD_FORMAT.size
    ) or not record.startswith(_ZIP64_END_RECORD_SIGNATURE):
        return None
    _, _, _, _, _, _, _, claimed, directory_size, _ = (
        _ZIP64_END_RECORD_FORMAT.unpack_from(record)
    )
    return claimed, directory_size


def _count_archive_members(archive: IO[bytes], begin: int, size: int, most: int) -> int:
    count = passed = 0
    while begin >= 0 and passed < size and count <= most:
        archive.seek(begin + passed)
        entry = archive.read(_DIRECTORY_ENTRY_FORMAT.size)
        if len(entry) < _DIRECTORY_ENTRY_FORMAT.size or not entry.startswith(
            _DIRECTORY_ENTRY_SIGNATURE
        ):
            break
        _, name, extra, comment = _DIRECTORY_ENTRY_FORMAT.unpack(entry)
        passed += _DIRECTORY_ENTRY_FORMAT.size + name + extra + comment
        count += 1
    return count
