"""Read the files of a competition bundle and of the archives in the bundle.

Only sandboxed processes use this module, which does not import Django.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from scoring.exchange.bundles.report import ImportPrevented
from tasks.types import InputRefused
from tasks.types.files import ArchiveLimits, InputFile, open_input_files

BUNDLE_ARCHIVE_LIMITS = ArchiveLimits(files=20_000, nests_anywhere=True, reads_kit=True)
INNER_ARCHIVE_LIMITS = ArchiveLimits(
    files=20_000, bytes=1 << 28, nests_anywhere=True, reads_kit=True
)
MAX_INNER_ARCHIVES_OPENED = 200
#: The importer does not read text files with more than MAX_TEXT_FILE_BYTES bytes.
MAX_TEXT_FILE_BYTES = 1 << 20
DESCRIPTION_FILE_NAMES = ("competition.yaml", "competition.yml")
_DATA_UUID_PATTERN = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE
)


class BundleFiles:
    """The files of a competition bundle, keyed by the path relative to the folder with
    `competition.yaml`.
    """

    def __init__(self, path: Path, shown: str) -> None:
        files = open_input_files(path, shown=shown, limits=BUNDLE_ARCHIVE_LIMITS)
        own = [file for file in files if file.base in DESCRIPTION_FILE_NAMES]
        if not own:
            expected = "a bundle has this file at its top"
            raise ImportPrevented(
                shown, f"there is no {DESCRIPTION_FILE_NAMES[0]}; {expected}"
            )
        self.description = min(
            own, key=lambda file: len(PurePosixPath(file.name).parts)
        )
        base = self.description.name.removesuffix(self.description.base)
        self.by_name = {
            file.name.removeprefix(base): replace(
                file, shown=file.name.removeprefix(base)
            )
            for file in files
            if file.name.startswith(base)
        }
        self._archives: dict[tuple[str, str], list[InputFile]] = {}

    def find_files_at_path(self, value: object, place: str = "") -> list[InputFile]:
        """Return the files of a competition bundle at a path, which may name a single
        file, a folder or an archive. Raises Prevented.
        """
        text = str(value).strip()
        if _DATA_UUID_PATTERN.fullmatch(text):
            message = f"data by id ({text}), which the other platform has alone"
            raise ImportPrevented(place or text, message)
        name = PurePosixPath(text.removeprefix("./")).as_posix()
        for own in (name, f"{name}.zip"):
            if file := self.by_name.get(own):
                return self.unpack_archive_or_return_file(file)
        for folder in (name, name.removesuffix(".zip")):
            if inside := self._list_files_in_folder(folder):
                return inside
        return []

    def unpack_archive_or_return_file(self, file: InputFile) -> list[InputFile]:
        """Return the files in an archive, or the file itself if the file is no archive.
        Raises InputRefused.
        """
        key = file.shown, file.name
        if key in self._archives:
            return self._archives[key]
        if file.suffix != ".zip" or len(self._archives) >= MAX_INNER_ARCHIVES_OPENED:
            return [file]
        place = Path(f"inner-{len(self._archives)}.zip")
        with place.open("wb") as copy:
            copy.writelines(file.iterate_raw_chunks())
        inner = open_input_files(place, shown=file.shown, limits=INNER_ARCHIVE_LIMITS)
        base = find_common_folder([own.name for own in inner])
        found = [replace(own, name=own.name.removeprefix(base)) for own in inner]
        self._archives[key] = found
        return found

    def _list_files_in_folder(self, folder: str) -> list[InputFile]:
        prefix = "" if folder in ("", ".") else f"{folder}/"
        return [
            replace(file, name=name.removeprefix(prefix))
            for name, file in self.by_name.items()
            if name.startswith(prefix)
        ]


def find_common_folder(names: Sequence[str]) -> str:
    """Return the name of the folder that contains all files, with a trailing slash, or
    an empty text if no folder contains all files.
    """
    heads = {PurePosixPath(name).parts[0] for name in names}
    has_files = any("/" not in name for name in names)
    return f"{heads.pop()}/" if len(heads) == 1 and not has_files else ""


def read_text_file(file: InputFile) -> str | None:
    """Return the text of a file, or None if the file is too large, damaged or binary."""
    try:
        parts, size = [], 0
        for chunk in file.iterate_raw_chunks():
            parts.append(chunk)
            size += len(chunk)
            if size > MAX_TEXT_FILE_BYTES:
                return None
    except InputRefused:
        return None
    content = b"".join(parts)
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")
