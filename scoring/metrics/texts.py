"""What is compared as text: a text itself, or something that has one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Protocol


class HasText(Protocol):
    @property
    def text(self) -> str: ...


Text = str | HasText


def texts_of(values: Sequence[Text | None]) -> list[str]:
    """Each one's text; empty where there is none."""
    return ["" if value is None else value if isinstance(value, str) else value.text for value in values]


#: The option's values: this program, or the package.
OWN, PACKAGE = "own", "package"
ENGINE = "engine"


def signed_engine(package: str) -> str:
    return f"{package}-{version(package)}"
