"""The limits, constants and defaults of measures, statistics and task types, as the file beside this says
them: what users are told and refused by, and numbers rest on. Of options, lists of measures and whatever else
a module declares, a digest of all but sentences.

    python -m tests.core.standing_limits

writes the file anew, for a change that is meant: a number that changes with it has another version.
"""

import ast
import dataclasses
import enum
import importlib
import inspect
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from tests.scoring.standing_numbers import ROOT, digest, written

FILE = Path(__file__).with_suffix(".json")
FOLDERS = ("scoring/metrics", "scoring/stats", "tasks/types")
#: Of how much is worked on at once, by which no number changes.
PORTIONS = frozenset(
    (
        "BLOCK_BYTES",
        "CONTEXTS_PER_BLOCK",
        "ITEMS_PER_BLOCK",
        "MAX_BATCH_TOKENS",
        "MAX_BLOCK_TOKENS",
        "MAX_CPU_BATCH_TOKENS",
        "MAX_GPU_BATCH_TOKENS",
        "MAX_SAMPLED_UNITS_IN_MEMORY",
        "MAX_SENTENCE_PAIRS_AT_ONCE",
        "MAX_WEIGHTS_IN_MEMORY",
        "PAIRS_PER_BATCH",
        "PARSING_BATCH_SIZE",
        "PERMUTATIONS_PER_BLOCK",
        "SENTENCES_PER_BATCH",
        "SYMBOLS_PER_BLOCK",
        "_BLOCK",
    )
)


def modules() -> Iterator[str]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = (
                path.relative_to(ROOT)
                .as_posix()
                .removesuffix(".py")
                .removesuffix("/__init__")
            )
            yield name.replace("/", ".")


def limits(of: str) -> dict[str, Any]:
    """By name constants of the module and its classes, and what parameters and fields are unless said."""
    module = importlib.import_module(of)
    found: dict[str, Any] = {}
    for name in _assigned(module):
        value = vars(module)[name]
        number = _number(value)
        found[name] = (
            digest(declared(value))
            if number is None and not isinstance(value, str)
            else number
        )
    for name, own in vars(module).items():
        if getattr(own, "__module__", "") != module.__name__ or not hasattr(
            own, "__qualname__"
        ):
            continue
        if isinstance(own, FunctionType):
            found |= _defaults(name, own)
        elif isinstance(own, type):
            found |= {
                f"{name}.{key}": _number(value)
                for key, value in vars(own).items()
                if key[0] != "_"
            }
            for key, value in vars(own).items():
                if isinstance(value, FunctionType):
                    found |= _defaults(f"{name}.{key}", value)
            for field in (
                dataclasses.fields(own) if dataclasses.is_dataclass(own) else ()
            ):
                if field.default_factory is not dataclasses.MISSING:
                    found[f"{name}.{field.name}"] = type(
                        field.default_factory()
                    ).__name__
    return {name: value for name, value in found.items() if value is not None}


def _assigned(module: Any) -> list[str]:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    targets = [
        target
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
    ]
    # What begins empty is filled by others.
    targets += [
        node.target
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and node.value
        and ast.unparse(node.value) not in ("[]", "{}")
    ]
    names = [
        name
        for target in targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    ]
    return [name.id for name in names if name.id.isupper() and name.id not in PORTIONS]


def _defaults(name: str, function: FunctionType) -> dict[str, Any]:
    given = inspect.signature(function).parameters.values()
    return {
        f"{name}({one.name})": _number(one.default)
        for one in given
        if one.default is not one.empty
    }


def _number(value: Any) -> Any:
    """Numbers, truth values and what holds them, as JSON has them; else None."""
    if isinstance(value, np.generic | np.ndarray):
        return _number(value.tolist())
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        own = [each if isinstance(each, str) else _number(each) for each in value]
        return (
            None if None in own or all(isinstance(each, str) for each in own) else own
        )
    if isinstance(value, Mapping):
        inner = {str(key): _number(own) for key, own in value.items()}
        return inner if inner and None not in inner.values() else None
    return None


def declared(value: Any) -> Any:
    """What a declaration says, each sentence as one, and functions by their names."""
    if isinstance(value, str):
        return "…" if " " in value else value
    if isinstance(value, re.Pattern):
        return [str(value.pattern), value.flags]
    if isinstance(value, enum.Enum):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [
            [one.name, declared(getattr(value, one.name))]
            for one in dataclasses.fields(value)
        ]
    if isinstance(value, Mapping):
        return [[declared(key), declared(own)] for key, own in value.items()]
    if isinstance(value, set | frozenset):
        return sorted(str(declared(own)) for own in value)
    if isinstance(value, list | tuple):
        return [declared(own) for own in value]
    number = _number(value)
    return (
        getattr(value, "__qualname__", type(value).__name__)
        if number is None
        else number
    )


def everything() -> dict[str, Any]:
    return {name: own for name in modules() if (own := limits(name))}


if __name__ == "__main__":
    FILE.write_text(written(everything()) + "\n")
