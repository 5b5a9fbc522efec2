"""The files of a run or of gold, whatever they came in: a folder, a zip or one file."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from tasks.types.archives import DAMAGE, DEFAULT_LIMITS, Limits, checked_members
from tasks.types.problems import InputRefused, Problem

CHUNK = 1 << 20
#: Left behind by file managers and version control; never part of an input.
CLUTTER = frozenset({"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git"})


@dataclass(frozen=True)
class InputFile:
    """One file: ``name`` is its path inside the input, ``shown`` is how problems call it."""

    name: str
    shown: str
    open: Callable[[], IO[bytes]] = field(repr=False)

    @property
    def stem(self) -> str:
        """The last part of the name up to its first dot: ``Task1/C90-2039.annv3.txt`` is C90-2039."""
        return PurePosixPath(self.name).name.partition(".")[0]

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()

    @property
    def parts(self) -> tuple[str, ...]:
        return PurePosixPath(self.name).parts

    def read(self) -> bytes:
        return b"".join(self.chunks())

    def chunks(self) -> Iterator[bytes]:
        return self._chunks(lambda stream: stream.read(CHUNK))

    def lines(self, longest: int = 16 * CHUNK) -> Iterator[bytes]:
        """Lines with their ends, read as they are needed; one longer than ``longest`` bytes is refused."""
        for number, line in enumerate(self._chunks(lambda stream: stream.readline(longest)), start=1):
            if len(line) == longest:
                raise InputRefused(
                    [Problem(file=self.shown, line=number, message=f"a line of more than {longest:,} bytes")]
                )
            yield line

    def _chunks(self, read: Callable[[IO[bytes]], bytes]) -> Iterator[bytes]:
        try:
            with self.open() as stream:
                while chunk := read(stream):
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError) as damage:
            raise InputRefused(
                [Problem(file=self.shown, message=f"the archive is damaged: {damage}")]
            ) from damage


def open_input(path: Path, *, shown: str | None = None, limits: Limits = DEFAULT_LIMITS) -> list[InputFile]:
    """The files of a folder, of a zip archive, or the one file, in the order of their names.

    ``shown`` is what its author calls the input. Raises InputRefused for what cannot be opened or is unsafe.
    """
    shown = shown or str(path)
    if path.is_dir():
        return _folder_files(path, shown, limits)
    if not path.is_file():
        raise InputRefused([Problem(file=shown, message="there is no such file or folder")])
    if zipfile.is_zipfile(path) or PurePosixPath(shown).suffix.lower() == ".zip":
        return _archive_files(path, shown, limits)
    return [InputFile(PurePosixPath(shown).name, shown, lambda: path.open("rb"))]


def open_inputs(paths: Iterable[Path]) -> list[InputFile]:
    """The files of several inputs. Raises InputRefused where they hold one file twice."""
    files = [file for path in paths for file in open_input(path)]
    places = Counter(file.shown for file in files)
    if twice := [shown for shown, count in places.items() if count > 1]:
        raise InputRefused([Problem(file=shown, message="is given twice") for shown in twice])
    return files


def input_digest(files: Sequence[InputFile]) -> str:
    """SHA-256 of one file's bytes; of several, of the list of their names and digests."""
    if len(files) == 1:
        return _digest(files[0])
    listing = "".join(f"{_digest(file)}  {file.name}\n" for file in sorted(files, key=lambda file: file.name))
    return hashlib.sha256(listing.encode()).hexdigest()


def _digest(file: InputFile) -> str:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    return digest.hexdigest()


def _folder_files(folder: Path, shown: str, limits: Limits) -> list[InputFile]:
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_symlink() or not path.is_file() or CLUTTER.intersection(name.parts):
            continue
        # The folder's own name is kept, since a topic folder is named for its topic.
        found.append(InputFile(f"{folder.resolve().name}/{name.as_posix()}", str(path), _opener(path)))
        if len(found) > limits.files:
            raise InputRefused([Problem(file=shown, message=f"more than {limits.files:,} files")])
    return found


def _opener(path: Path) -> Callable[[], IO[bytes]]:
    return lambda: path.open("rb")


def _archive_files(path: Path, shown: str, limits: Limits) -> list[InputFile]:
    archive, members = checked_members(path, shown=shown, limits=limits)
    wanted = [member for member in members if not CLUTTER.intersection(PurePosixPath(member.filename).parts)]
    return [
        InputFile(member.filename, f"{shown}!{member.filename}", _member_opener(archive, member))
        for member in sorted(wanted, key=lambda member: member.filename)
    ]


def _member_opener(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    """Whatever a broken archive comes to, it is told as one kind of error."""

    def open_member() -> IO[bytes]:
        try:
            return archive.open(member)
        except DAMAGE as damage:
            raise zipfile.BadZipFile(str(damage)) from damage

    return open_member
