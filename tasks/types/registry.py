"""Find the task types, which are packages in this folder with a ``TASK_TYPE``, and
installed packages with an entry point in the group ``citeboard.task_types``.
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
    DECLARED,
    REFERENCED,
    OptionRefused,
    TaskType,
    UnknownTaskType,
)
from tasks.types.files import InputFile, open_inputs
from tasks.types.problems import InputRefused, Problem
from tasks.types.references import lazy

# Few processes use declared tasks, and the forms of declared tasks need NumPy.
# Functions for declared tasks are therefore imported on first use.
from_reference: Callable[[str], TaskType] = lazy(
    "tasks.types.declared.folder", "from_reference"
)
read_folder: Callable[[Path], TaskType] = lazy(
    "tasks.types.declared.folder", "read_folder"
)
read_declaration: Callable[[Mapping[str, str]], TaskType] = lazy(
    "tasks.types.declared.folder", "read_declaration"
)
#: `TOML`, `INPUTS` and `SAMPLE` are the names of the files in a declaration.
#: The names of these files distinguish public inputs from a task folder.
TOML, INPUTS, SAMPLE = "task.toml", "inputs.jsonl", "sample"

ENTRY_POINTS = "citeboard.task_types"
#: Each function in `STORES` returns a declared task by slug, or None.
STORES: list[Callable[[str], TaskType | None]] = []


class BrokenTaskType(Exception):
    """An installed package has an invalid task type, or another task type already uses
    the slug.
    """


@cache
def task_types() -> dict[str, TaskType]:
    """Return all task types by slug, in alphabetical order of the slugs. Raises
    BrokenTaskType.
    """
    return {slug: declared for slug, (declared, _) in _found().items()}


def task_type(name: str) -> TaskType:
    """Return the task type that a name selects. Raises UnknownTaskType, or InputRefused
    for an invalid folder.

    The name is a slug, the folder or ``reference`` of a declared task, or the path of a
    site's public inputs, as a zip or an unpacked folder.
    """
    if found := task_types().get(name):
        return found
    if name.startswith("{"):
        return from_reference(name)
    # Unlike methods of Path, these functions accept any text.
    if os.path.isdir(name):  # noqa: PTH112
        folder = Path(name)
        return inputs_type(folder) if _are_inputs(folder) else folder_type(folder)
    if os.path.isfile(name) and zipfile.is_zipfile(name):  # noqa: PTH113
        return inputs_type(Path(name))
    if known := stored(name):
        return known
    there_are = f"there are {', '.join(task_types())}, folders with a task.toml and zips of a task's inputs"
    raise UnknownTaskType(f"there is no task type “{name}”; {there_are}")


def _are_inputs(folder: Path) -> bool:
    """Return True if the folder contains public inputs, which are a declaration without
    a folder with the sample.
    """
    return (folder / INPUTS).is_file() and not (folder / SAMPLE).is_dir()


def inputs_type(path: Path) -> TaskType:
    """Return the declared task in public inputs, or the only built-in task type that
    can read the inputs.

    Raises InputRefused or UnknownTaskType.
    """
    files = open_inputs([path])
    declaration = {
        file.base: file.read().decode() for file in files if file.base in REFERENCED
    }
    if TOML in declaration:
        return read_declaration(declaration)
    readers = [
        candidate for candidate in task_types().values() if _can_read(candidate, files)
    ]
    if len(readers) == 1:
        return readers[0]
    fitting = ", ".join(candidate.slug for candidate in readers) or "no task type"
    raise UnknownTaskType(f"“{path}” has the inputs of {fitting}; name one task type")


def _can_read(task_type: TaskType, files: Sequence[InputFile]) -> bool:
    try:
        index = task_type.read_inputs(
            files, task_type.checked_options({}, builds=False)
        )
    except (InputRefused, OptionRefused):
        return False
    return any(index.values())


def stored(slug: str) -> TaskType | None:
    """Return a declared task that the site stores under the slug, or None. A site
    registers the lookup function for stored tasks in ``STORES``.
    """
    if not slug.startswith(DECLARED):
        return None
    return next((found for look in STORES if (found := look(slug))), None)


def known_type(slug: str) -> TaskType | None:
    return task_types().get(slug) or stored(slug)


def folder_type(folder: Path) -> TaskType:
    """Read the declared task in a task folder. Raises InputRefused with all problems."""
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


def card_text(slug: str) -> str:
    """Return the `card.md` of a task type, or an empty text if the type has no card."""
    from importlib.resources import files

    if slug.startswith(DECLARED):
        declared = task_type(slug).declared
        return declared.files.get("card.md", "") if declared else ""
    path = files(_found()[slug][1]) / "card.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def shipped_folder(slug: str) -> Path | None:
    """Return the folder with the sample of a built-in or installed task type, or None."""
    module = sys.modules[_found()[slug][1]] if slug in _found() else None
    folder = Path(module.__file__ or "").parent / "sample" if module else None
    return folder if folder and folder.is_dir() else None


@cache
def _found() -> dict[str, tuple[TaskType, str]]:
    """Return the task type for each slug, and the package that contains the task type."""
    by_slug: dict[str, tuple[TaskType, str]] = {}
    for declared, package in (*_own(), *_installed_types()):
        if declared.slug in by_slug:
            other = by_slug[declared.slug][1]
            raise BrokenTaskType(
                f"{package} and {other} both declare the task type “{declared.slug}”"
            )
        by_slug[declared.slug] = declared, package
    return dict(sorted(by_slug.items()))


def _own() -> Iterator[tuple[TaskType, str]]:
    for module in pkgutil.iter_modules(
        sys.modules["tasks.types"].__path__, "tasks.types."
    ):
        if module.ispkg:
            declared = getattr(importlib.import_module(module.name), "TASK_TYPE", None)
            if isinstance(declared, TaskType):
                yield declared, module.name


def _installed_types() -> Iterator[tuple[TaskType, str]]:
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS):
        failure = f"the task type {point.value} cannot be loaded"
        try:
            declared = point.load()
        except Exception as fault:
            advice, name = repr(fault), getattr(fault, "name", "") or ""
            if (
                isinstance(fault, ModuleNotFoundError)
                and name.partition(".")[0] == "tasks"
            ):
                # The package imports this module by its name in a site's source code.
                advice = (
                    f"it imports {name}; here the name is {__name__.rpartition('.')[0]}"
                )
            raise BrokenTaskType(f"{failure}: {advice}") from fault
        if not isinstance(declared, TaskType):
            raise BrokenTaskType(f"{point.value} is no TaskType")
        yield declared, point.module
