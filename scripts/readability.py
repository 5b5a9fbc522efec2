"""Print the constructs that a reader has to unfold: `python scripts/readability.py`.

The exit code is 1 if a kind in `LIMITS` exceeds its limit. The other kinds have no
limit: a construct that is the clearest way stays. Each kind has a rule:

- Results are unnamed if a function returns or yields a written tuple of three or more
  values, unless it unpacks another tuple, whose length is not known.
- A subscript accesses a tuple by index if it reads a constant index of 1 or more from
  a value that may be a tuple of ours. It is none if it is the result of a call
  (`match.groups()[1]`), a text, a list, a dictionary, a comprehension, an attribute in
  `SEQUENCES` (`array.shape[1]`), or a name that its function, or else a scope around
  it, binds to one of these or annotates with a type in `CONTAINERS`.
- The parts of a condition are the operands of all its `and` and `or`. An assignment in
  a comprehension counts as such, whatever condition is around it.
"""

import ast
import io
import re
import sys
import tokenize
from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from subprocess import DEVNULL, CalledProcessError, check_output
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("platform", "tasks", "scoring")
#: Attributes of Python and NumPy that contain sequences.
SEQUENCES = ("shape", "strides", "parts", "parents", "argv", "args", "version_info")
CONTAINERS = re.compile(
    r"['\"]?(\w+\.)*(list|dict|str|bytes|Sequence|Mapping|NDArray|ndarray|Floats)\b"
)
SWITCHED_OFF = re.compile(r"#\s*(fmt:\s*(skip|off)|yapf:\s*disable)\b")


class Kind(StrEnum):
    RESULTS = "three or more unnamed results"
    INDEX = "tuple accessed by index"
    COMPREHENSION = "assignment in a comprehension"
    CONDITION = "assignment in a condition of three parts"
    CONDITIONAL = "conditional within a conditional"
    PACKING = "tuple unpacked to pack lines"
    FORMATTER = "formatter switched off"


LIMITS = {Kind.PACKING: 0, Kind.FORMATTER: 5}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Place(NamedTuple):
    path: Path
    line: int
    kind: Kind


class Finder(ast.NodeVisitor):
    def __init__(self, path: Path) -> None:
        self.path = path
        self.places: list[Place] = []
        #: The nodes around the visited node, from the module inwards.
        self.parents: list[ast.AST] = []
        #: Each name in scope, with True if its value may be a tuple of ours.
        self.names: ChainMap[str, bool] = ChainMap()

    def visit(self, node: ast.AST) -> None:
        kind = self.kind_of(node)
        if kind and isinstance(node, ast.expr | ast.stmt):
            self.places.append(Place(self.path, node.lineno, kind))
        outer = self.names
        if isinstance(node, ast.Module | Function):
            self.names = outer.new_child(dict(_bindings(node)))
        self.parents.append(node)
        self.generic_visit(node)
        self.parents.pop()
        self.names = outer

    def kind_of(self, node: ast.AST) -> Kind | None:
        match node:
            case (
                ast.Return(value=ast.Tuple(elts=[_, _, _, *_] as values))
                | ast.Yield(value=ast.Tuple(elts=[_, _, _, *_] as values))
            ):
                is_unpacked = any(isinstance(value, ast.Starred) for value in values)
                return None if is_unpacked else Kind.RESULTS
            case ast.Subscript(ctx=ast.Load(), slice=ast.Constant(value=int(index))):
                is_access = index >= 1 and _may_be_tuple(node.value, self.names)
                return Kind.INDEX if is_access else None
            case ast.IfExp():
                is_nested = any(isinstance(outer, ast.IfExp) for outer in self.parents)
                return Kind.CONDITIONAL if is_nested else None
            case ast.Starred(
                ctx=ast.Load(), value=ast.Tuple() | ast.List() | ast.Set()
            ):
                return Kind.PACKING
            case ast.NamedExpr():
                return self.kind_of_assignment()
        return None

    def kind_of_assignment(self) -> Kind | None:
        if any(isinstance(parent, Comprehension) for parent in self.parents):
            return Kind.COMPREHENSION
        conditions = [node for node in self.parents if isinstance(node, ast.BoolOp)]
        nodes = [node for condition in conditions[:1] for node in ast.walk(condition)]
        operators = [node for node in nodes if isinstance(node, ast.BoolOp)]
        is_long = sum(len(operator.values) - 1 for operator in operators) >= 2
        return Kind.CONDITION if is_long else None


def _nodes_of(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, but not those of the functions in it."""
    nodes = list(ast.iter_child_nodes(scope))
    while nodes:
        node = nodes.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda):
            nodes.extend(ast.iter_child_nodes(node))


def _bindings(scope: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield each name that a scope binds, and True if its value may be a tuple."""
    for node in _nodes_of(scope):
        match node:
            case ast.arg(arg=name, annotation=None):
                yield name, True
            case (
                ast.arg(arg=name, annotation=ast.expr() as annotation)
                | ast.AnnAssign(target=ast.Name(id=name), annotation=annotation)
            ):
                yield name, not CONTAINERS.match(ast.unparse(annotation))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, _may_be_tuple(value, {})


def _may_be_tuple(value: ast.expr, names: Mapping[str, bool]) -> bool:
    if isinstance(value, ast.Name):
        return names.get(value.id, value.id != "Literal")
    if isinstance(value, ast.Attribute):
        return value.attr not in SEQUENCES
    return isinstance(value, ast.Tuple | ast.Subscript)


def places_in(path: Path, text: str) -> list[Place]:
    finder = Finder(path)
    finder.visit(ast.parse(text))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    for token in tokens if SWITCHED_OFF.search(text) else ():
        if token.type == tokenize.COMMENT and SWITCHED_OFF.search(token.string):
            finder.places.append(Place(path, token.start[0], Kind.FORMATTER))
    return sorted(finder.places)


def files(root: Path) -> list[Path]:
    """Return the modules of `SOURCES` without migrations, relative to the root."""
    command = ["git", "ls-files", "-co", "--exclude-standard", *SOURCES]
    try:
        output = check_output(command, cwd=root, text=True, stderr=DEVNULL)
        paths = {root / name for name in output.splitlines()}
    except (OSError, CalledProcessError):
        paths = {path for source in SOURCES for path in (root / source).rglob("*")}
    modules = sorted(path for path in paths if path.suffix == ".py" and path.is_file())
    names = [path.relative_to(root) for path in modules]
    return [name for name in names if "migrations" not in name.parts]


def main(root: Path = ROOT) -> int:
    places: list[Place] = []
    for path in files(root):
        places += places_in(path, (root / path).read_text(encoding="utf-8"))
    for kind in Kind:
        lines: dict[Path, list[str]] = {}
        for place in places:
            if place.kind == kind:
                lines.setdefault(place.path, []).append(str(place.line))
        print(f"{kind}:")
        for path, numbers in lines.items():
            print(f"  {path}:{','.join(numbers)}")
    kinds = Counter(place.kind for place in places)
    print("by kind:", "; ".join(f"{kind} {kinds[kind]}" for kind in Kind))
    packages = Counter(package_of(place.path) for place in places).most_common()
    print("by package:", "; ".join(f"{package} {count}" for package, count in packages))
    excesses = [kind for kind, limit in LIMITS.items() if kinds[kind] > limit]
    for kind in excesses:
        print(f"FAILED: {kind} {kinds[kind]}; the limit is {LIMITS[kind]}")
    return int(bool(excesses))


def package_of(path: Path) -> str:
    return "/".join(path.parent.parts[: 3 if path.parts[0] == "platform" else 2])


if __name__ == "__main__":
    sys.exit(main())
