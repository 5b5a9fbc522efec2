"""Which files the wheel holds, and what their modules are called in it.

The site's packages have short names that an installed library must not take. In the wheel the same modules
stand below one package; wherever a file names one of them, in an import or in a reference such as
``package.module:name``, the name is replaced.
"""

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PACKAGE = "citeboard_scorer"
PROGRAM = "citeboard"
#: Folders of the source tree, and where each stands below the package.
FOLDERS = {
    "tasks/types": "types",
    **{
        f"scoring/{room}": room
        for room in ("metrics", "stats", "offline", "tools", "papers", "client", "adapters")
    },
}
MAIN = "scoring/__main__.py"
SUFFIXES = {".py", ".md", ".json", ".jsonl", ".xml", ".txt"}
_HEAD = f'"""Citeboard\'s offline scorer and client; `{PROGRAM} --help` lists the commands."""\n'
_RUN_AS = re.compile(r"python -m scoring\b")
#: A module of ours, where it is no part of a longer name or of a path.
_ROOMS = "|".join([*FOLDERS.values(), "__main__"])
_MODULES = re.compile(rf"(?<![\w./])(?:(?P<types>tasks\.types)|scoring\.(?P<room>{_ROOMS}))(?!\w)")


class WheelRefused(Exception):
    """The sources name a module that the wheel does not hold."""


def wheel_files(root: Path) -> dict[str, bytes]:
    """The content of the package by path, from a checkout. Raises WheelRefused."""
    files = {f"{PACKAGE}/__init__.py": _HEAD.encode(), f"{PACKAGE}/__main__.py": _read(root / MAIN)}
    for folder, room in FOLDERS.items():
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in SUFFIXES:
                files[f"{PACKAGE}/{room}/{path.relative_to(root / folder).as_posix()}"] = _read(path)
    refuse_missing_modules(files)
    return files


def renamed(text: str) -> str:
    """The text of a module or a card with the wheel's names in it."""
    named = _MODULES.sub(lambda match: f"{PACKAGE}.{match['room'] or 'types'}", text)
    return _RUN_AS.sub(PROGRAM, named)


def refuse_missing_modules(files: Mapping[str, bytes]) -> None:
    """Every import of a module of ours must lead to a file of the wheel. Raises WheelRefused."""
    stems = (path.removesuffix(".py").removesuffix("/__init__") for path in files if path.endswith(".py"))
    modules = {stem.replace("/", ".") for stem in stems}
    for path, content in files.items():
        for name in _imported(content) if path.endswith(".py") else ():
            package = name.partition(".")[0]
            if package in ("tasks", "scoring") or (package == PACKAGE and name not in modules):
                raise WheelRefused(f"{path} imports {name}, which is not in the wheel")


@cache
def _imported(content: bytes) -> set[str]:
    nodes = list(ast.walk(ast.parse(content)))
    of_froms = (node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level)
    return {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}.union(
        filter(None, of_froms)
    )


def _read(path: Path) -> bytes:
    """Data is taken as it is; samples are compared byte for byte."""
    content = path.read_bytes()
    return renamed(content.decode()).encode() if path.suffix == ".py" or path.name == "card.md" else content
