"""Find the files inside the archives that participants get as additional files.

This module does not import Django.
"""

import gzip
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO

from tasks.types import InputRefused
from tasks.types.files import (
    ARCHIVE_SUFFIXES,
    DAMAGED_ARCHIVE_ERRORS,
    SUPPORTED_COMPRESSION_METHODS,
    InputFile,
    count_files_in_zip_directory,
)
from tasks.types.guarded.encodings import GZIP_SIGNATURE

#: Archives are opened down to `MAX_ARCHIVE_DEPTH`, such as a zip in a zip in a zip.
MAX_ARCHIVE_DEPTH = 3
#: All archives of the additional files contain at most MAX_FILES_IN_ARCHIVES and MAX_BYTES_IN_ARCHIVES.
MAX_FILES_IN_ARCHIVES, MAX_BYTES_IN_ARCHIVES = 20_000, 1 << 29
_ZIP_MEMBER_SIGNATURE, _ZIP_END_SIGNATURE = b"PK\x03\x04", b"PK\x05\x06"
_TAR_SIGNATURE, _TAR_SIGNATURE_OFFSET = b"ustar", 257
#: Archives in formats whose first bytes are in `_UNSUPPORTED_ARCHIVE_SIGNATURES` are refused.
_UNSUPPORTED_ARCHIVE_SIGNATURES = (
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\xfd7zXZ\0",
    b"BZh",
    b"\x28\xb5\x2f\xfd",
)
_FIRST_BYTES_READ = 512
#: `_LAST_BYTES_READ` is the size in bytes of the end record and the longest comment of a zip file.
_LAST_BYTES_READ = 22 + (1 << 16)
_UNREADABLE_ARCHIVE_MESSAGE = "an archive that is not looked into"

FileOpener = Callable[[], IO[bytes]]


class ArchiveUnreadable(Exception):
    """An error about an archive that cannot be read, with the reason in the message."""


@dataclass
class KitFileReader:
    """Reads the files within archives. Copies of archives are in ``folder``, and limits
    apply to all files together.
    """

    folder: Path
    files: int = 0
    size: int = 0
    copies: int = 0

    def iterate_nested_files(
        self, file: InputFile, depth: int = 0
    ) -> Iterator[InputFile]:
        """Yield the file itself and, if the file is an archive, the files inside at all
        depths. A gzip file itself is not yielded, but its content is. A yielded file
        can be read until the next file is requested. Raises Unopened.
        """
        begin, end = self._read_first_and_last_bytes(file, is_inner=depth > 0)
        is_zip = _ZIP_END_SIGNATURE in end
        is_tar = begin[_TAR_SIGNATURE_OFFSET:].startswith(_TAR_SIGNATURE)
        is_gzip = begin.startswith(GZIP_SIGNATURE)
        if not is_gzip:
            yield file
        is_named = any(
            file.base.lower().endswith(ending) for ending in ARCHIVE_SUFFIXES
        )
        if not (is_zip or is_tar or is_gzip):
            if is_named or begin.startswith(
                (_ZIP_MEMBER_SIGNATURE, *_UNSUPPORTED_ARCHIVE_SIGNATURES)
            ):
                raise ArchiveUnreadable(_UNREADABLE_ARCHIVE_MESSAGE)
            return
        if depth == MAX_ARCHIVE_DEPTH:
            raise ArchiveUnreadable(
                f"archives in it are nested more than {MAX_ARCHIVE_DEPTH} deep"
            )
        if is_gzip:
            name = file.name.removesuffix(".gz")
            inner = InputFile(name, file.shown, partial(_open_gzip, file.open))
            yield from self.iterate_nested_files(inner, depth + 1)
        for is_kind, members in (
            (is_zip, self._iterate_zip_members),
            (is_tar, self._iterate_tar_members),
        ):
            if is_kind:
                with self._copy_to_temporary_file(file) as copy:
                    for name, opener in members(copy, begin):
                        inner = InputFile(name, f"{file.shown}!{name}", opener)
                        yield from self.iterate_nested_files(inner, depth + 1)

    def _read_first_and_last_bytes(
        self, file: InputFile, *, is_inner: bool
    ) -> tuple[bytes, bytes]:
        """Return the first and the last bytes of a file. Raises Unopened if the files
        within archives exceed the limits on number or size.
        """
        self.files += is_inner
        begin = end = b""
        try:
            for chunk in file.iterate_raw_chunks():
                self.size += len(chunk) if is_inner else 0
                if (
                    self.files > MAX_FILES_IN_ARCHIVES
                    or self.size > MAX_BYTES_IN_ARCHIVES
                ):
                    words = f"{MAX_FILES_IN_ARCHIVES:,} files or {MAX_BYTES_IN_ARCHIVES >> 20} MB"
                    raise ArchiveUnreadable(f"the archives have more than {words}")
                begin = begin or chunk[:_FIRST_BYTES_READ]
                end = (end + chunk)[-_LAST_BYTES_READ:]
        except InputRefused as refused:
            raise ArchiveUnreadable(refused.problems[0].message) from refused
        except (*DAMAGED_ARCHIVE_ERRORS, tarfile.TarError) as damage:
            raise ArchiveUnreadable("it cannot be read") from damage
        return begin, end

    @contextmanager
    def _copy_to_temporary_file(self, file: InputFile) -> Iterator[Path]:
        self.copies += 1
        copy = self.folder / f"kit-{self.copies}"
        try:
            with copy.open("wb") as target:
                target.writelines(file.iterate_raw_chunks())
            yield copy
        finally:
            copy.unlink()

    def _iterate_zip_members(
        self, copy: Path, begin: bytes
    ) -> Iterator[tuple[str, FileOpener]]:
        try:
            with copy.open("rb") as listing:
                if (
                    count_files_in_zip_directory(listing, MAX_FILES_IN_ARCHIVES)
                    > MAX_FILES_IN_ARCHIVES
                ):
                    raise ArchiveUnreadable(
                        f"it has more than {MAX_FILES_IN_ARCHIVES:,} files"
                    )
            archive = zipfile.ZipFile(copy)
        except DAMAGED_ARCHIVE_ERRORS as damage:
            if begin.startswith(_ZIP_MEMBER_SIGNATURE):
                raise ArchiveUnreadable("it cannot be read") from damage
            # The file is no zip archive, but contains the bytes of a zip's end record.
            return
        with archive:
            for member in archive.infolist():
                if (
                    member.flag_bits & 1
                    or member.compress_type not in SUPPORTED_COMPRESSION_METHODS
                ):
                    raise ArchiveUnreadable(_UNREADABLE_ARCHIVE_MESSAGE)
                if member.file_size or not member.is_dir():
                    yield member.filename, partial(archive.open, member)

    def _iterate_tar_members(
        self, copy: Path, _begin: bytes
    ) -> Iterator[tuple[str, FileOpener]]:
        try:
            with tarfile.open(copy, "r:", ignore_zeros=True) as archive:
                for member in archive:
                    if member.isfile():
                        yield member.name, partial(_open_tar_member, archive, member)
        except tarfile.TarError as damage:
            raise ArchiveUnreadable("it cannot be read") from damage


def _open_gzip(open_packed: FileOpener) -> IO[bytes]:
    return gzip.open(open_packed())  # type: ignore[return-value]


def _open_tar_member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(member)
    if stream is None:
        raise EOFError(member.name)
    return stream


def compute_normalised_content_digest(file: InputFile) -> bytes:
    """Return a digest of a text that ignores line endings and empty lines, or a digest
    of the bytes of a binary file.
    """
    digest = sha256()
    try:
        for line in file.lines():
            if text := line.strip():
                digest.update(text + b"\n")
    except InputRefused:
        digest = sha256()
        for chunk in file.iterate_raw_chunks():
            digest.update(chunk)
    return digest.digest()


#: `EMPTY_TEXT_DIGEST` is the digest of every file that contains only empty lines.
EMPTY_TEXT_DIGEST = sha256().digest()
