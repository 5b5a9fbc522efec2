"""Finding the task types: the folders here whose package declares a ``TASK_TYPE``, and those that installed
packages declare under the entry point group ``citeboard.task_types``.
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache

from tasks.types.base import TaskType, UnknownTaskType

ENTRY_POINTS = "citeboard.task_types"


class BrokenTaskType(Exception):
    """An installed package declares what is no task type, or one that is there already."""


@cache
def task_types() -> dict[str, TaskType]:
    """Every task type by its slug, in alphabetical order. Raises BrokenTaskType."""
    return {slug: declared for slug, (declared, _) in _found().items()}


def task_type(slug: str) -> TaskType:
    try:
        return task_types()[slug]
    except KeyError:
        raise UnknownTaskType(
            f"there is no task type “{slug}”; there are {', '.join(task_types())}"
        ) from None


def card_text(slug: str) -> str:
    """The `card.md` in the task type's folder; empty where there is none."""
    from importlib.resources import files

    path = files(_found()[slug][1]) / "card.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@cache
def _found() -> dict[str, tuple[TaskType, str]]:
    """By slug the declaration and the package that holds it."""
    by_slug: dict[str, tuple[TaskType, str]] = {}
    for declared, package in (*_own(), *_installed()):
        if declared.slug in by_slug:
            other = by_slug[declared.slug][1]
            raise BrokenTaskType(f"{package} and {other} both declare the task type “{declared.slug}”")
        by_slug[declared.slug] = declared, package
    return dict(sorted(by_slug.items()))


def _own() -> Iterator[tuple[TaskType, str]]:
    for module in pkgutil.iter_modules(sys.modules["tasks.types"].__path__, "tasks.types."):
        if module.ispkg:
            declared = getattr(importlib.import_module(module.name), "TASK_TYPE", None)
            if isinstance(declared, TaskType):
                yield declared, module.name


def _installed() -> Iterator[tuple[TaskType, str]]:
    # As slow to import as all of this package.
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS):
        failure = f"the task type {point.value} cannot be loaded"
        try:
            declared = point.load()
        except ModuleNotFoundError as missing:
            advice = repr(missing)
            if missing.name and missing.name.partition(".")[0] == "tasks":
                # A package that was written beside a site's checkout knows this one by its name there.
                advice = f"it imports {missing.name}; here the name is {__name__.rpartition('.')[0]}"
            raise BrokenTaskType(f"{failure}: {advice}") from missing
        except Exception as fault:
            raise BrokenTaskType(f"{failure}: {fault!r}") from fault
        if not isinstance(declared, TaskType):
            raise BrokenTaskType(f"{point.value} is no TaskType")
        yield declared, point.module
