"""Libraries that take seconds to import, for modules whose tests hold something to them."""

from importlib import import_module
from typing import Any


class Lazily:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            # Which pytest asks everything for while it collects.
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)
