"""Who imports whom among our own modules, wherever in a file the import stands.

`python scripts/imports.py` prints the packages of `citeboard`, `scoring` and `tasks` from the
top, with what each imports.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

Graph = dict[str, set[str]]

SOURCES = {"platform/citeboard": "citeboard", "tasks": "tasks", "scoring": "scoring"}


def files_of(root: Path) -> dict[str, Path]:
    """Our modules by dotted name; migrations are history and left out."""
    found: dict[str, Path] = {}
    for folder, package in SOURCES.items():
        for path in sorted((root / folder).rglob("*.py")):
            inside = path.relative_to(root / folder).with_suffix("").parts
            if "migrations" not in inside:
                found[
                    ".".join(
                        (package, *(part for part in inside if part != "__init__"))
                    )
                ] = path
    return found


@cache
def module_imports(root: Path) -> Graph:
    files = files_of(root)
    graph = {name: imports_of(name, path, files) for name, path in files.items()}
    # A package that hands on names of its own modules is their face, not a package of its own.
    faces = {name for name, path in files.items() if path.name == "__init__.py"}
    return {
        name: {
            other
            for other in others
            if not (name in faces and other.startswith(f"{name}."))
        }
        for name, others in graph.items()
    }


def imports_of(name: str, path: Path, files: dict[str, Path]) -> set[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = (
                package.split(".")[: len(package.split(".")) - node.level + 1]
                if node.level
                else []
            )
            base = ".".join([*above, *([node.module] if node.module else [])])
            inner = {f"{base}.{alias.name}" for alias in node.names}
            found |= (inner & files.keys()) or {base}
    return (found & files.keys()) - {name}


def folder_imports(root: Path) -> dict[str, Graph]:
    """By folder, who imports whom among the modules and folders that stand in it."""
    graphs: dict[str, Graph] = defaultdict(lambda: defaultdict(set))
    for name, others in module_imports(root).items():
        for other in others:
            common = _common(name, other)
            one, two = (_child(dotted, common) for dotted in (name, other))
            if common and one != two and common not in (name, other):
                graphs[common][one].add(two)
    return graphs


def _common(name: str, other: str) -> str:
    shared = []
    for one, two in zip(name.split("."), other.split("."), strict=False):
        if one != two:
            break
        shared.append(one)
    return ".".join(shared)


def _child(name: str, folder: str) -> str:
    return ".".join(name.split(".")[: folder.count(".") + 2]) if folder else name


def cycles(graph: Graph) -> list[list[str]]:
    """The sets of nodes that reach one another (Tarjan 1972), each sorted."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            at = stack.index(node)
            ring = stack[at:]
            del stack[at:]
            if len(ring) > 1:
                found.append(sorted(ring))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def depths(graph: Graph) -> dict[str, int]:
    """How far each node stands above the lowest that it rests on; the graph has no cycle."""
    known: dict[str, int] = {}

    def depth(node: str) -> int:
        if node not in known:
            known[node] = 1 + max(
                (depth(other) for other in graph.get(node, ())), default=-1
            )
        return known[node]

    for node in sorted(
        set(graph) | {other for others in graph.values() for other in others}
    ):
        depth(node)
    return known


def main() -> None:
    graphs = folder_imports(Path(__file__).resolve().parent.parent)
    for top in ("citeboard", "scoring", "tasks"):
        graph = graphs[top]
        levels = depths(graph)
        for package in sorted(levels, key=lambda package: (-levels[package], package)):
            others = " ".join(
                other.partition(".")[2] for other in sorted(graph.get(package, ()))
            )
            print(f"{levels[package]:2} {package:24} {others}")


if __name__ == "__main__":
    main()
