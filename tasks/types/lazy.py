"""Functions that are imported when first called, so that naming a task type imports nothing heavy."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def lazy(module: str, name: str) -> Callable[..., Any]:
    """The function of this name in a module that is not imported yet."""

    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*arguments, **named)

    call.__name__ = call.__qualname__ = name
    return call
