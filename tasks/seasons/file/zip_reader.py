"""Unpack a season's zip archive in a sandboxed process. The function's arguments and
results are JSON values.
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from citeboard.core.confined import UPLOAD_FILE_NAME
from tasks.types import InputRefused, Problem
from tasks.types.files import ArchiveLimits, open_input_files
from tasks.types.problems import (
    convert_problems_to_dicts,
    raise_if_any_problem_is_fatal,
)

NAME, TASKS_FOLDER, GOLD, BASELINES_FOLDER = "season.toml", "tasks", "gold", "baselines"
SEASON_ARCHIVE_LIMITS = ArchiveLimits(files=5_000, nested=(GOLD, BASELINES_FOLDER))
#: A file name has at most MAX_FILE_NAME_CHARACTERS characters, and a season file MAX_SEASON_FILE_BYTES bytes.
MAX_FILE_NAME_CHARACTERS, MAX_SEASON_FILE_BYTES = 200, 1 << 20


def unpack_season_archive(given: Mapping[str, Any]) -> dict[str, Any]:
    """Write the files of the archive to the working folder, with numbers as file names.
    Return the original file names, or the problems with the archive.
    """
    try:
        names = _unpack_files(given["filename"])
    except InputRefused as refused:
        return {"names": [], "problems": convert_problems_to_dicts(refused.problems)}
    return {"names": names, "problems": []}


def make_unpacked_file_name(number: int) -> str:
    """Return the path of the unpacked file with the number ``number``. Names in the
    archive are never used as paths.
    """
    return f"part-{number}"


def _unpack_files(shown: str) -> list[str]:
    files = open_input_files(
        Path(UPLOAD_FILE_NAME), shown=shown, limits=SEASON_ARCHIVE_LIMITS
    )
    base = _find_single_top_folder([file.name for file in files])
    names = [file.name.removeprefix(base) for file in files]
    raise_if_any_problem_is_fatal(_find_archive_problems(shown, names))
    for number, file in enumerate(files):
        with Path(make_unpacked_file_name(number)).open("wb") as target:
            target.writelines(file.iterate_raw_chunks())
    size = Path(make_unpacked_file_name(names.index(NAME))).stat().st_size
    if size > MAX_SEASON_FILE_BYTES:
        message, expected = f"{size:,} bytes", f"at most {MAX_SEASON_FILE_BYTES:,}"
        raise InputRefused([Problem(file=NAME, message=message, expected=expected)])
    return names


def _find_single_top_folder(names: list[str]) -> str:
    """Return the only folder at the top of the archive and a slash, or an empty text if
    the season file is at the top or there are several folders.
    """
    heads = {PurePosixPath(name).parts[0] for name in names}
    if NAME in names or len(heads) != 1:
        return ""
    return f"{heads.pop()}/"


def _find_archive_problems(shown: str, names: list[str]) -> list[Problem]:
    if NAME not in names:
        words = "a season file with the folders tasks, gold and baselines"
        return [Problem(file=shown, message=f"there is no {NAME}", expected=words)]
    problems = []
    for name in names:
        parts = PurePosixPath(name).parts
        if name != NAME and (
            len(parts) < 2 or parts[0] not in (TASKS_FOLDER, GOLD, BASELINES_FOLDER)
        ):
            message, expected = (
                "is no part of a season",
                f"{NAME}, tasks/, gold/, baselines/",
            )
        elif len(name) > MAX_FILE_NAME_CHARACTERS:
            message, expected = (
                f"a name of {len(name)} characters",
                f"at most {MAX_FILE_NAME_CHARACTERS}",
            )
        else:
            continue
        problems.append(
            Problem(file=f"{shown}!{name}"[:300], message=message, expected=expected)
        )
    return problems
