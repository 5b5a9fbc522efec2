"""Which files the wheel holds, and what their modules are called in it.

The site's packages have short names that an installed library must not take. In the wheel the same modules
stand below two packages, the client and the scorer; wherever a file names one of them, in an import or in a
reference such as ``package.module:name``, the name is replaced. The scorer's files are always there, as they
are small; what they import comes by extras, and the client imports the standard library alone.
"""

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath

PACKAGE, CLIENT = "citeboard_scorer", "citeboard_client"
PROGRAM = "citeboard"
#: Folders of the source tree, and where each stands in the wheel.
FOLDERS = {
    "tasks/types": f"{PACKAGE}/types",
    **{
        f"scoring/{room}": f"{PACKAGE}/{room}"
        for room in ("metrics", "stats", "figures", "offline", "tools", "papers", "adapters")
    },
    "scoring/client": CLIENT,
}
#: What reproduces the five papers, for which there are checkouts, and what the site alone reads.
LEFT_OUT = {"papers", "sample", "correlation.py", "finding.py", "leakage.py"}
MAIN = "scoring/__main__.py"
SUFFIXES = {".py", ".md", ".json", ".jsonl", ".sql", ".toml", ".xml", ".txt"}
_HEAD = f'"""Citeboard\'s offline scorer; `{PROGRAM} --help` lists the commands."""\n\n__version__ = "{{}}"\n'
#: How others read what a checkout calls otherwise.
_WORDS = {"python -m scoring": PROGRAM, "make models": f"pip install '{PROGRAM}[models]'"}
_MODULES = {
    **{folder.replace("/", "."): place.replace("/", ".") for folder, place in FOLDERS.items()},
    "scoring.__main__": f"{PACKAGE}.__main__",
}
#: A module of ours, where it is no part of a longer name or of a path.
_NAMED = re.compile(rf"(?<![\w./])({'|'.join(map(re.escape, _MODULES))})(?!\w)")


class WheelRefused(Exception):
    """The sources name a module that the wheel does not hold."""


def wheel_files(root: Path, version: str) -> dict[str, bytes]:
    """The content of the package by path, from a checkout. Raises WheelRefused."""
    files = {
        f"{PACKAGE}/__init__.py": _HEAD.format(version).encode(),
        f"{PACKAGE}/__main__.py": _read(root / MAIN),
        **{f"{package}/py.typed": b"" for package in (PACKAGE, CLIENT)},
    }
    for folder, place in FOLDERS.items():
        for path in sorted((root / folder).rglob("*")):
            name = PurePosixPath(place, path.relative_to(root / folder))
            if path.is_file() and path.suffix in SUFFIXES and LEFT_OUT.isdisjoint(name.parts):
                files[str(name)] = _read(path)
    refuse_missing_modules(files)
    return files


def renamed(text: str) -> str:
    """The text of a module or a card with the wheel's names in it."""
    for ours, theirs in _WORDS.items():
        text = re.sub(rf"{ours}\b", theirs, text)
    return _NAMED.sub(lambda match: _MODULES[match[0]], text)


def refuse_missing_modules(files: Mapping[str, bytes]) -> None:
    """Every import of a module of ours must lead to a file of the wheel. Raises WheelRefused."""
    stems = (path.removesuffix(".py").removesuffix("/__init__") for path in files if path.endswith(".py"))
    modules = {stem.replace("/", ".") for stem in stems}
    for path, content in files.items():
        for name in _imported(content) if path.endswith(".py") else ():
            package = name.partition(".")[0]
            if package in ("tasks", "scoring") or (package in (PACKAGE, CLIENT) and name not in modules):
                raise WheelRefused(f"{path} imports {name}, which is not in the wheel")


@cache
def _imported(content: bytes) -> set[str]:
    nodes = list(ast.walk(ast.parse(content)))
    of_froms = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain.union(filter(None, of_froms))


def _read(path: Path) -> bytes:
    """Data is taken as it is; samples are compared byte for byte."""
    content = path.read_bytes()
    return renamed(content.decode()).encode() if path.suffix == ".py" or path.name == "card.md" else content
