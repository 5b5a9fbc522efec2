"""Columns for large runs: one number a row where a list would hold one object a row."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32] | NDArray[np.int8]
LABELS_IN_A_BYTE = 127

#: A row that its dimension has no class for.
NO_CLASS = -1
#: A row that is not part of its dimension, as where a dimension was sampled under conditions of its own.
OUTSIDE = -2


def present(values: Sequence[object]) -> NDArray[np.bool_]:
    """Which rows hold something; columns know by themselves."""
    column: NDArray[np.bool_] | None = getattr(values, "present", None)
    return (
        np.array([value is not None for value in values], dtype=bool)
        if column is None
        else column
    )


#: Words of the classes that task types make, with places for numbers; names that data bring are none.
CLASS_WORDS = (
    "Aim",
    "Hypothesis",
    "Method",
    "Results",
    "Implication",
    "None",
    "abstract",
    "introduction",
    "related work",
    "methods",
    "data",
    "results",
    "discussion",
    "conclusion",
    "appendix",
    "other",
    "others",
    "short",
    "medium",
    "long",
    "start",
    "middle",
    "end",
    "background",
    "method",
    "result",
    "verb",
    "noun",
    "adjective",
    "adverb",
    "pronoun",
    "preposition",
    "none",
    "some",
    "all",
    "under a quarter",
    "a quarter to half",
    "half to three quarters",
    "three quarters or more",
    "first third",
    "second third",
    "last third",
    "%s or more",
    "%s to %s",
    "%s to under %s",
    "under %s",
    "up to %s words",
    "%s to %s words",
    "over %s words",
    "under %s words",
    "%s words or more",
    "vital",
    "okay",
    "no source",
    "%s to %s sources",
    "over %s sources",
    "Title",
    "Abstract",
    "Introduction",
    "Related work",
    "Experiments and results",
    "Discussion",
    "Conclusion",
    "Main part",
    "within sentences",
    "at sentence ends",
    "no marks",
    "before %s",
    "%s or later",
)


class Classes(Sequence[tuple[str, ...]]):
    """At most one class for each row, as a number into ``labels``; reads like a list of tuples. Rows that are
    outside of the dimension read like rows without a class; only ``codes`` tells them apart.
    """

    def __init__(self, labels: Sequence[str], codes: Codes) -> None:
        assert codes.max(initial=NO_CLASS) < len(labels), "a code without a label"
        self.labels, self.codes = tuple(labels), codes

    @classmethod
    def of(cls, values: Iterable[str | None], order: Sequence[str] = ()) -> "Classes":
        """From one label a row. Labels stand in the given order, others behind them in the alphabet's."""
        numbers = LabelNumbers()
        return in_order(
            numbers.labels,
            np.array([numbers[value] for value in values], dtype=np.int32),
            order,
        )

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, place: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> "Classes": ...
    def __getitem__(self, place: int | slice) -> "tuple[str, ...] | Classes":
        if isinstance(place, slice):
            return Classes(self.labels, self.codes[place])
        code = int(self.codes[place])
        return () if code < 0 else (self.labels[code],)

    def take(self, rows: NDArray[np.intp]) -> "Classes":
        return Classes(self.labels, self.codes[rows])

    def rows_by_label(self) -> Iterator[tuple[str | None, NDArray[np.intp]]]:
        """The rows of each class that occurs, in the order of the labels; under None, those without one."""
        order = np.argsort(self.codes, kind="stable")
        bounds = np.searchsorted(
            self.codes[order], np.arange(NO_CLASS, len(self.labels) + 1)
        )
        ranges = zip((None, *self.labels), bounds[:-1], bounds[1:], strict=True)
        groups = [
            (label, order[start:end]) for label, start, end in ranges if start < end
        ]
        yield from sorted(groups, key=lambda entry: entry[0] is None)

    def names_and_numbers(self) -> tuple[list[str], NDArray[np.intp]]:
        """The labels that occur, and each row's number among them. Every row has a class."""
        occurring, numbers = renumbered(self.codes)
        return [self.labels[code] for code in occurring], numbers

    @property
    def is_empty(self) -> bool:
        """Whether no row has a class."""
        return bool((self.codes < 0).all())


def renumbered(numbers: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which numbers from 0 up there are, and the place of each among them; `np.unique` sorts for it."""
    is_there = np.bincount(numbers) > 0
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[numbers]


class LabelNumbers(dict[Any, int]):
    """The code of each label of a dimension, numbered as they come, for looking up whatever a file has.
    Numbers are labels as texts; an empty text and what can be no label have the code of those without one,
    and `...` that of rows outside of the dimension.
    """

    def __init__(self) -> None:
        super().__init__({None: NO_CLASS, "": NO_CLASS, ...: OUTSIDE})
        self.labels: list[str] = []

    def __missing__(self, value: object) -> int:
        if not isinstance(value, str | int | float):
            return self[None]
        # Not under a number itself: 1 and true are one key.
        label = str(value)
        if label not in self:
            self[label] = len(self.labels)
            self.labels.append(label)
        return self[label]


def in_order(labels: Sequence[str], codes: Codes, order: Sequence[str] = ()) -> Classes:
    """Classes from codes of labels as they came."""
    first = {label: place for place, label in enumerate(order)}
    places = sorted(
        range(len(labels)),
        key=lambda at: (first.get(labels[at], len(first)), labels[at]),
    )
    # A million rows in many dimensions: most have few labels.
    kind: Any = np.int8 if len(labels) < LABELS_IN_A_BYTE else np.int32
    # A negative code counts from the end, where it stands itself.
    places_of = np.concatenate([np.argsort(places), [OUTSIDE, NO_CLASS]]).astype(kind)
    return Classes([labels[place] for place in places], places_of[codes])
