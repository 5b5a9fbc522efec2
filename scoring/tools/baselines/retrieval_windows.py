"""The words around a citation, as query of a test context and as evidence from an incoming citation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scoring.metrics.discourse.sentences import sentence_spans

PLACEHOLDER, OTHER = "<REF>", "<OTHERREF>"
_MARKS = re.compile(f"{PLACEHOLDER}|{OTHER}")


@dataclass(frozen=True, order=True)
class Window:
    """So many words left and right of the placeholder."""

    left: int
    right: int

    @classmethod
    def of(cls, text: str) -> Window:
        """From `10-5`; raises ValueError for anything else."""
        left, _, right = text.partition("-")
        window = cls(int(left), int(right))
        if window.left < 0 or window.right < 0 or not window.left + window.right:
            raise ValueError(f"a window of {text} words is empty")
        return window

    def __str__(self) -> str:
        return f"{self.left}-{self.right}"


@dataclass(frozen=True, order=True)
class Sentences:
    """The sentence with the placeholder, and so many on each side of it."""

    around: int

    def __str__(self) -> str:
        return "sentence" if not self.around else f"{2 * self.around + 1} sentences"


#: The windows of the paper's Table 1.
WINDOWS = tuple(Window(*sides) for sides in ((5, 5), (10, 10), (10, 5), (20, 20), (30, 30)))


#: Extracted sentences, which the paper names as further work.
SENTENCES = (Sentences(0), Sentences(1))


def query_of(record: Mapping[str, Any], window: Window | Sentences) -> str:
    return words_around(record, window) if isinstance(window, Window) else sentences_around(record, window)


def sentences_around(record: Mapping[str, Any], window: Sentences) -> str:
    """The sentence without its marks, with its neighbours as far as the record has them."""
    before, sentence, after = (str(record.get(part) or "") for part in ("before", "sentence", "after"))
    first, last = (
        [text[start:end] for start, end in sentence_spans(text)] if window.around else []
        for text in (before, after)
    )
    return _words(" ".join([*first[-window.around :], sentence, *last[: window.around]]))


def _words(text: str) -> str:
    return " ".join(_MARKS.sub(" ", text).split())


def words_around(record: Mapping[str, Any], window: Window) -> str:
    """Words left and right of the first placeholder, from the sentence and those before and after it.

    Other marks are no words. Without a placeholder the sentence's end stands for it.
    """
    before, sentence, after = (str(record.get(part) or "") for part in ("before", "sentence", "after"))
    left, _, right = sentence.partition(PLACEHOLDER)
    left_words = _MARKS.sub(" ", f"{before} {left}").split()
    right_words = _MARKS.sub(" ", f"{right} {after}").split()
    nearest = left_words[len(left_words) - window.left :] if window.left < len(left_words) else left_words
    return " ".join([*nearest, *right_words[: window.right]])
