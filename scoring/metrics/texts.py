"""What is compared as text: a text itself, or something that has one; and who computes the comparison."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from typing import Protocol

import numpy as np

from scoring.metrics.base import Floats, MeanMetric
from tasks.types.columns import present

#: The option `engine` and its values: this program, or the package that ours is held to.
ENGINE = "engine"
OWN, PACKAGE = "own", "package"


class HasText(Protocol):
    @property
    def text(self) -> str: ...


Text = str | HasText


class TextMean(MeanMetric):
    """A mean over instances of what is measured of two texts; a missing answer is an empty text."""

    def instance_stats(self, gold: Sequence[Text | None], answers: Sequence[Text | None]) -> Floats:
        counts = present(gold).astype(np.float64)
        return np.column_stack([self.measured(texts_of(gold), texts_of(answers)) * counts[:, None], counts])

    @abstractmethod
    def measured(self, gold: Sequence[str], answers: Sequence[str]) -> Floats:
        """The (n, k) columns of n pairs."""


def texts_of(values: Sequence[Text | None]) -> list[str]:
    """Each one's text; empty where there is none."""
    return ["" if value is None else value if isinstance(value, str) else value.text for value in values]


def signed_engine(package: str) -> str:
    """What a signature says of the package that computed a number."""
    return f"{package}-{version(package)}"
