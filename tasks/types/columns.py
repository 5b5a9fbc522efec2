"""Columns for runs with many rows, which store one number per row instead of one
object.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

ClassCodes = NDArray[np.int32] | NDArray[np.int8]
MAX_LABELS_IN_INT8 = 127

#: `NO_CLASS_CODE` is the code of a row that has no class in a dimension.
NO_CLASS_CODE = -1
#: `NOT_APPLICABLE_CODE` marks a row to which a dimension does not apply.
#: `NOT_APPLICABLE_CODE` is needed if rows were sampled separately for each dimension.
NOT_APPLICABLE_CODE = -2


def compute_mask_of_present_rows(values: Sequence[object]) -> NDArray[np.bool_]:
    """Return a mask that is True for rows whose value is not None."""
    column: NDArray[np.bool_] | None = getattr(values, "present", None)
    return (
        np.array([value is not None for value in values], dtype=bool)
        if column is None
        else column
    )


#: `TRANSLATABLE_CLASS_NAMES` lists class names that task types create, with `%s` for a number.
#: Class names from data are not in `TRANSLATABLE_CLASS_NAMES`.
TRANSLATABLE_CLASS_NAMES = (
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


class ClassColumn(Sequence[tuple[str, ...]]):
    """A column with at most one class per row, stored as an index into ``labels``. A
    column of classes behaves like a list of tuples.

    Rows to which the dimension does not apply are empty tuples, as are rows without a
    class. Only the array ``codes`` distinguishes rows without a class from rows to
    which the dimension does not apply.
    """

    def __init__(self, labels: Sequence[str], codes: ClassCodes) -> None:
        assert codes.max(initial=NO_CLASS_CODE) < len(labels), "a code without a label"
        self.labels, self.codes = tuple(labels), codes

    @classmethod
    def of(
        cls, values: Iterable[str | None], order: Sequence[str] = ()
    ) -> "ClassColumn":
        """Return a column of classes from one label per row. Labels in ``order`` have
        the given order, and other labels follow in alphabetical order.
        """
        numbers = ClassCodesByLabel()
        return make_column_with_sorted_labels(
            numbers.labels,
            np.array([numbers[value] for value in values], dtype=np.int32),
            order,
        )

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, place: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> "ClassColumn": ...
    def __getitem__(self, place: int | slice) -> "tuple[str, ...] | ClassColumn":
        if isinstance(place, slice):
            return ClassColumn(self.labels, self.codes[place])
        code = int(self.codes[place])
        return () if code < 0 else (self.labels[code],)

    def select_rows(self, rows: NDArray[np.intp]) -> "ClassColumn":
        return ClassColumn(self.labels, self.codes[rows])

    def group_rows_by_label(self) -> Iterator[tuple[str | None, NDArray[np.intp]]]:
        """Yield the row numbers of each class that occurs, in the order of the labels.
        Row numbers without a class follow under the key None.
        """
        order = np.argsort(self.codes, kind="stable")
        bounds = np.searchsorted(
            self.codes[order], np.arange(NO_CLASS_CODE, len(self.labels) + 1)
        )
        ranges = zip((None, *self.labels), bounds[:-1], bounds[1:], strict=True)
        groups = [
            (label, order[start:end]) for label, start, end in ranges if start < end
        ]
        yield from sorted(groups, key=lambda entry: entry[0] is None)

    def get_labels_and_label_indexes(self) -> tuple[list[str], NDArray[np.intp]]:
        """Return the labels that occur in the column, and for each row the index of the
        row's label. Every row of the column must have a class.
        """
        occurring, numbers = renumber_without_gaps(self.codes)
        return [self.labels[code] for code in occurring], numbers

    @property
    def is_empty(self) -> bool:
        """Return True if no row of the column has a class."""
        return bool((self.codes < 0).all())


def renumber_without_gaps(
    numbers: NDArray[Any],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    is_there = np.bincount(numbers) > 0
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[numbers]


class ClassCodesByLabel(dict[Any, int]):
    """The codes of the labels of a dimension, in the order of first use.

    Numbers in a label become texts. The empty text and invalid labels have the code
    NO_CLASS_CODE. The placeholder `...` has the code NOT_APPLICABLE_CODE.
    """

    def __init__(self) -> None:
        super().__init__(
            {None: NO_CLASS_CODE, "": NO_CLASS_CODE, ...: NOT_APPLICABLE_CODE}
        )
        self.labels: list[str] = []

    def __missing__(self, value: object) -> int:
        if not isinstance(value, str | int | float):
            return self[None]
        # The label's text is the key, because 1 and True are equal keys of a dict.
        label = str(value)
        if label not in self:
            self[label] = len(self.labels)
            self.labels.append(label)
        return self[label]


def make_column_with_sorted_labels(
    labels: Sequence[str], codes: ClassCodes, order: Sequence[str] = ()
) -> ClassColumn:
    """Return a column of classes with sorted labels. The argument ``codes`` contains
    indexes into ``labels``.
    """
    first = {label: index for index, label in enumerate(order)}
    places = sorted(
        range(len(labels)),
        key=lambda at: (first.get(labels[at], len(first)), labels[at]),
    )
    # A column may have a million rows, but most dimensions have few labels.
    kind: Any = np.int8 if len(labels) < MAX_LABELS_IN_INT8 else np.int32
    # A row without a class has the code -1 or -2, which indexes the end of the array.
    places_of = np.concatenate(
        [np.argsort(places), [NOT_APPLICABLE_CODE, NO_CLASS_CODE]]
    ).astype(kind)
    return ClassColumn([labels[place] for place in places], places_of[codes])
