"""Every function that takes one text, found by its signature: a new one is measured without an edit."""

import contextlib
import importlib
import inspect
import io
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

import scoring.metrics
import scoring.stats
import scoring.tools
import tasks.types

PACKAGES = (tasks.types, scoring.metrics, scoring.stats, scoring.tools)
#: First parameters that name a thing of this site or machine rather than hold what a stranger wrote.
NO_TEXTS = frozenset(
    {"path", "option", "pipeline", "parser", "model", "package", "task_type", "slug", "classifier", "split",
     "constant", "signature", "folder", "rules", "metric", "pairs"}
)  # fmt: skip


def text_functions(
    packages: Sequence[ModuleType] = PACKAGES,
) -> Iterator[tuple[str, Callable[[str], object]]]:
    for module in _modules(packages):
        for name, found in sorted(vars(module).items()):
            function = inspect.unwrap(found) if callable(found) else found
            if (
                inspect.isfunction(function)
                and function.__module__ == module.__name__
                and _takes_text(function)
            ):
                yield f"{module.__name__}.{name}", _called(function)


def _modules(packages: Sequence[ModuleType]) -> Iterator[ModuleType]:
    for package in packages:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(module.name)


def _takes_text(function: Callable[..., object]) -> bool:
    first, *others = [*inspect.signature(function).parameters.values()] or [None]
    if first is None or any(
        other.default is other.empty and other.kind != other.VAR_KEYWORD
        for other in others
    ):
        return False
    is_text = first.annotation == "str" or first.annotation in (
        "Sequence[str]",
        "Iterable[str]",
    )
    return is_text and first.name not in NO_TEXTS


def _called(function: Callable[..., object]) -> Callable[[str], object]:
    (first, *_) = inspect.signature(function).parameters.values()

    def call(text: str) -> object:
        # A function may refuse what is none of its own, or print it; that costs time too.
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            result = function(text if first.annotation == "str" else text.split("\n"))
            return list(result) if inspect.isgenerator(result) else result

    return call
