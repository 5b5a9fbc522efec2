"""Find the available task types, which are packages in this folder with a
``TASK_TYPE``, and entry points of the group ``citeboard.task_types`` in installed
packages.
"""

import importlib
import os
import pkgutil
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tasks.types.base import (
    DECLARED_SLUG_PREFIX,
    SCORING_FILE_NAMES,
    OptionRefused,
    TaskType,
    UnknownTaskType,
)
from tasks.types.files import InputFile, open_files_of_all_inputs
from tasks.types.problems import InputRefused, Problem
from tasks.types.references import make_lazy_function

# Few processes need functions for declared tasks, which import NumPy on first use.
from_reference: Callable[[str], TaskType] = make_lazy_function(
    "tasks.types.declared.folder", "from_reference"
)
read_folder: Callable[[Path], TaskType] = make_lazy_function(
    "tasks.types.declared.folder", "read_folder"
)
read_declaration: Callable[[Mapping[str, str]], TaskType] = make_lazy_function(
    "tasks.types.declared.folder", "read_declaration"
)
#: `TOML`, `INPUTS_FILE_NAME` and `SAMPLE_FOLDER_NAME` are names in task folders and in public inputs.
#: The names `INPUTS_FILE_NAME` and `SAMPLE_FOLDER_NAME` distinguish public inputs from a task folder.
TOML, INPUTS_FILE_NAME, SAMPLE_FOLDER_NAME = "task.toml", "inputs.jsonl", "sample"

ENTRY_POINT_GROUP = "citeboard.task_types"
#: Each function in `STORED_TYPE_FINDERS` takes a slug, and returns the stored task type or None.
STORED_TYPE_FINDERS: list[Callable[[str], TaskType | None]] = []


class TaskTypeNotLoadable(Exception):
    """The error for a task type in an installed package that is invalid, or has the
    same slug as another task type.
    """


@cache
def task_types() -> dict[str, TaskType]:
    """Return a mapping from slug to task type for all built-in and installed task
    types, sorted by slug. Raises TaskTypeNotLoadable.
    """
    return {slug: declared for slug, (declared, _) in _load_task_types().items()}


def task_type(name: str) -> TaskType:
    """Return the task type that ``name`` selects. Raises UnknownTaskType if there is no
    such task type, and InputRefused if the name is the path of an invalid folder.

    ``name`` is a slug, a task folder, the ``reference`` of a task type from a task
    folder, or the path of public inputs (a folder or zip archive).
    """
    if found := task_types().get(name):
        return found
    if name.startswith("{"):
        return from_reference(name)
    # Functions of `os.path` accept any text, and methods of `Path` do not.
    if os.path.isdir(name):  # noqa: PTH112
        folder = Path(name)
        return (
            load_task_type_of_inputs(folder)
            if _contains_public_inputs(folder)
            else load_task_type_of_folder(folder)
        )
    if os.path.isfile(name) and zipfile.is_zipfile(name):  # noqa: PTH113
        return load_task_type_of_inputs(Path(name))
    if known := find_stored_task_type(name):
        return known
    there_are = f"there are {', '.join(task_types())}, folders with a task.toml and zips of a task's inputs"
    raise UnknownTaskType(f"there is no task type “{name}”; {there_are}")


def _contains_public_inputs(folder: Path) -> bool:
    """Return True if the folder contains public inputs of a task, and not a task folder
    with a sample.
    """
    return (folder / INPUTS_FILE_NAME).is_file() and not (
        folder / SAMPLE_FOLDER_NAME
    ).is_dir()


def load_task_type_of_inputs(path: Path) -> TaskType:
    """Return the task type that the `task.toml` in public inputs defines, or else the
    only built-in task type that can read the inputs.

    Raises InputRefused or UnknownTaskType.
    """
    files = open_files_of_all_inputs([path])
    declaration = {
        file.base: file.read().decode()
        for file in files
        if file.base in SCORING_FILE_NAMES
    }
    if TOML in declaration:
        return read_declaration(declaration)
    readers = [
        candidate
        for candidate in task_types().values()
        if _can_read_inputs(candidate, files)
    ]
    if len(readers) == 1:
        return readers[0]
    fitting = ", ".join(candidate.slug for candidate in readers) or "no task type"
    raise UnknownTaskType(f"“{path}” has the inputs of {fitting}; name one task type")


def _can_read_inputs(task_type: TaskType, files: Sequence[InputFile]) -> bool:
    try:
        index = task_type.read_inputs(
            files, task_type.validate_options({}, builds=False)
        )
    except (InputRefused, OptionRefused):
        return False
    return any(index.values())


def find_stored_task_type(slug: str) -> TaskType | None:
    """Return the task type with the given slug that the site stores, or None. On a
    site, ``STORED_TYPE_FINDERS`` contains a function that finds stored task types.
    """
    if not slug.startswith(DECLARED_SLUG_PREFIX):
        return None
    return next((found for look in STORED_TYPE_FINDERS if (found := look(slug))), None)


def find_task_type(slug: str) -> TaskType | None:
    return task_types().get(slug) or find_stored_task_type(slug)


def load_task_type_of_folder(folder: Path) -> TaskType:
    """Return the task type that the `task.toml` in a task folder defines. Raises
    InputRefused with all problems.
    """
    found = read_folder(folder)
    if found.declared and found.declared.name in task_types():
        message = f"“{found.declared.name}” is a built-in type"
        raise InputRefused(
            [
                Problem(
                    file=f"{folder}/task.toml", message=message, expected="another slug"
                )
            ]
        )
    return found


def read_card_text(slug: str) -> str:
    """Return the text of `card.md`, the description of a task type, or an empty text if
    there is no description.
    """
    from importlib.resources import files

    if slug.startswith(DECLARED_SLUG_PREFIX):
        declared = task_type(slug).declared
        return declared.files.get("card.md", "") if declared else ""
    path = files(_load_task_types()[slug][1]) / "card.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def find_sample_folder(slug: str) -> Path | None:
    """Return the folder with the sample data of a built-in or installed task type, or
    None if there is no sample.
    """
    module = (
        sys.modules[_load_task_types()[slug][1]] if slug in _load_task_types() else None
    )
    folder = Path(module.__file__ or "").parent / "sample" if module else None
    return folder if folder and folder.is_dir() else None


@cache
def _load_task_types() -> dict[str, tuple[TaskType, str]]:
    """Return a mapping from slug to the task type and the name of the package that
    contains the task type.
    """
    by_slug: dict[str, tuple[TaskType, str]] = {}
    for declared, package in (*_iterate_built_in_types(), *_iterate_installed_types()):
        if declared.slug in by_slug:
            other = by_slug[declared.slug][1]
            raise TaskTypeNotLoadable(
                f"{package} and {other} both declare the task type “{declared.slug}”"
            )
        by_slug[declared.slug] = declared, package
    return dict(sorted(by_slug.items()))


def _iterate_built_in_types() -> Iterator[tuple[TaskType, str]]:
    for module in pkgutil.iter_modules(
        sys.modules["tasks.types"].__path__, "tasks.types."
    ):
        if module.ispkg:
            declared = getattr(importlib.import_module(module.name), "TASK_TYPE", None)
            if isinstance(declared, TaskType):
                yield declared, module.name


def _iterate_installed_types() -> Iterator[tuple[TaskType, str]]:
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINT_GROUP):
        failure = f"the task type {point.value} cannot be loaded"
        try:
            declared = point.load()
        except Exception as fault:
            advice, name = repr(fault), getattr(fault, "name", "") or ""
            if (
                isinstance(fault, ModuleNotFoundError)
                and name.partition(".")[0] == "tasks"
            ):
                # On sites, the missing module has another package name than here.
                advice = (
                    f"it imports {name}; here the name is {__name__.rpartition('.')[0]}"
                )
            raise TaskTypeNotLoadable(f"{failure}: {advice}") from fault
        if not isinstance(declared, TaskType):
            raise TaskTypeNotLoadable(f"{point.value} is no TaskType")
        yield declared, point.module
