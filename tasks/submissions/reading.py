"""Programs of confined processes that read what a team sent; plain Python, with JSON values in and out.

Each finds the file in its working folder, and knows what its sender calls it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citeboard.core.confined import UPLOAD
from tasks.submissions.ir_metadata import MetadataUnreadable, said_in_file, said_in_header, said_of
from tasks.types import Index, InputRefused, Problem, task_type
from tasks.types.files import open_input
from tasks.types.problems import as_values, in_order
from tasks.types.runs import read_run


def check(given: Mapping[str, Any], index: Index) -> dict[str, Any]:
    """Everything that is wrong with a run, warnings included; each problem names a file.

    Of a run that unpacks to more than ``max_bytes`` only whether it opens: it is checked in a job. ``about``
    is what its header says of how it was made.
    """
    name, about = given["filename"], said_of({})
    try:
        files = open_input(Path(UPLOAD), shown=name)
        about = said_in_header(files)
        if unpacked_size(Path(UPLOAD)) > given["max_bytes"]:
            return {"is_read": False, "problems": [], "about": about}
        problems = read_run(task_type(given["task_type"]), files, index, given["options"], name=name)[1]
    except InputRefused as refused:
        problems = in_order(refused.problems)
    return {"is_read": True, "problems": as_values(problems), "about": about}


def tasks_meant(given: Mapping[str, Any]) -> dict[str, Any]:
    """Of each named task type, whether the file has anything in its form; None where the type cannot say."""
    meant: dict[str, bool | None] = {}
    problems: list[Problem] = []
    try:
        files = open_input(Path(UPLOAD), shown=given["filename"])
        for chosen in map(task_type, given["task_types"]):
            meant[chosen.slug] = chosen.accepts(files) if chosen.accepts else None
    except InputRefused as refused:
        problems = in_order(refused.problems)
    return {"meant": meant, "problems": as_values(problems)}


def metadata(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a file of `ir_metadata` says of a run, or the ``problem`` with it."""
    try:
        return said_in_file(Path(UPLOAD))
    except MetadataUnreadable as refused:
        return {"problem": str(refused)}


def texts(given: Mapping[str, Any], index: Index) -> dict[str, str]:
    """By instance what a run that people can judge says."""
    chosen, name = task_type(given["task_type"]), given["filename"]
    assert chosen.human_evaluation is not None
    files = open_input(Path(UPLOAD), shown=name)
    return dict(chosen.human_evaluation.texts(read_run(chosen, files, index, given["options"], name=name)[0]))


def sources(given: Mapping[str, Any]) -> dict[str, Any]:
    """By instance what its texts were written from, by the public inputs."""
    chosen = task_type(given["task_type"])
    assert chosen.human_evaluation is not None
    return dict(chosen.human_evaluation.sources(open_input(Path(UPLOAD), shown="inputs.zip")))


def references(given: Mapping[str, Any]) -> dict[str, str]:
    """By instance the gold text that people judge against, by the archive of gold."""
    chosen = task_type(given["task_type"])
    assert chosen.human_evaluation is not None
    assert chosen.human_evaluation.references is not None
    return dict(chosen.human_evaluation.references(open_input(Path(UPLOAD), shown="gold.zip")))


def unpacked_size(path: Path) -> int:
    """In bytes: of an archive, what its files claim, which is all that is ever read of them."""
    if not zipfile.is_zipfile(path):
        return path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())
