"""Compact storage of many short lists of candidate numbers in two NumPy arrays. A
million rankings of ten candidates use 48 megabytes.
"""

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tasks.types.base import Index
from tasks.types.text import normalise_to_nfc

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
#: To save memory, NumPy operations process at most `ITEMS_PER_BLOCK` list items at once.
ITEMS_PER_BLOCK = 100_000
#: `NO_ROW_NUMBER` is a row number that stands for the absence of a list.
NO_ROW_NUMBER = -1


class ListColumn(Sequence[tuple[int, ...] | None]):
    """Many lists of candidate numbers, stored in NumPy arrays. The object behaves like
    a Python list of tuples, with one tuple or None for each row.

    Row i is ``values[offsets[i]:offsets[i + 1]]``, or None if ``present[i]`` is False.
    ``tied`` contains True for each list item with the same score as the preceding item
    in its list. If the lists have no scores, ``tied`` is None.
    """

    def __init__(
        self,
        values: Int32Array,
        offsets: Int64Array,
        present: NDArray[np.bool_] | None = None,
        tied: NDArray[np.bool_] | None = None,
    ) -> None:
        assert offsets[0] == 0, "the first list begins at 0"
        assert offsets[-1] == len(values), "the last list ends at the end"
        self.values, self.offsets, self.tied = values, offsets, tied
        self.present = (
            np.ones(len(offsets) - 1, dtype=bool) if present is None else present
        )

    @classmethod
    def of(cls, rows: Iterable[Sequence[int] | None]) -> "ListColumn":
        builder = ListColumnBuilder()
        present = array("b")
        for row in rows:
            present.append(row is not None)
            builder.add(row or ())
        return builder.build(np.frombuffer(present, dtype=bool) if present else None)

    def __len__(self) -> int:
        return len(self.present)

    @overload
    def __getitem__(self, place: int) -> tuple[int, ...] | None: ...
    @overload
    def __getitem__(self, place: slice) -> "ListColumn": ...
    def __getitem__(self, place: int | slice) -> "tuple[int, ...] | ListColumn | None":
        if isinstance(place, slice):
            return self.select_rows(np.arange(len(self))[place])
        if not -len(self) <= place < len(self):
            raise IndexError(f"row {place} of {len(self)}")
        place %= len(self)
        if not self.present[place]:
            return None
        return tuple(
            self.values[self.offsets[place] : self.offsets[place + 1]].tolist()
        )

    @property
    def list_lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def select_rows(self, rows: NDArray[np.intp]) -> "ListColumn":
        """Return the lists with the row numbers ``rows``, in the order of ``rows``. For
        the row number ``NO_ROW_NUMBER`` in ``rows``, the result contains None instead of a
        list.
        """
        if np.array_equal(rows, np.arange(len(self))):
            return self
        there = rows >= 0
        lengths = np.zeros(len(rows), dtype=np.int64)
        lengths[there] = self.list_lengths[rows[there]]
        offsets = np.concatenate([[0], lengths.cumsum()])
        columns: list[NDArray[Any]] = [
            own for own in (self.values, self.tied) if own is not None
        ]
        taken = [np.empty(offsets[-1], dtype=column.dtype) for column in columns]
        present = np.zeros(len(rows), dtype=bool)
        present[there] = self.present[rows[there]]
        for start, end in divide_rows_into_blocks(offsets, ITEMS_PER_BLOCK):
            step, begins = lengths[start:end], offsets[start:end] - offsets[start]
            within = np.arange(offsets[end] - offsets[start]) - np.repeat(begins, step)
            places = np.repeat(self.offsets[rows[start:end]], step) + within
            for own, column in zip(taken, columns, strict=True):
                own[offsets[start] : offsets[end]] = column[places]
        return ListColumn(taken[0], offsets, present, *taken[1:])


class GradedListColumn(ListColumn):
    """The relevant candidates of each instance, and all judged candidates with their
    relevance grades. A relevance grade is a whole number, and 0 means that the
    candidate is not relevant.
    """

    def __init__(
        self, relevant: ListColumn, judged: ListColumn, grades: Int32Array
    ) -> None:
        assert len(relevant) == len(judged), "as many rows are judged as there are"
        assert len(grades) == len(judged.values), "every judged candidate has its grade"
        super().__init__(relevant.values, relevant.offsets, relevant.present)
        self.judged, self.grades = judged, grades


class ListColumnBuilder:
    """Collects lists of candidate numbers one by one, and builds an object `Lists` from
    them. Each number in the collected lists uses four bytes of memory.
    """

    def __init__(self) -> None:
        self._values, self._ends = array("i"), array("q", [0])
        self._tied: array[int] | None = None

    def add(self, row: Sequence[int], tied: Sequence[bool] | None = None) -> None:
        """Add a list of candidate numbers to the collected lists. ``tied`` contains
        True for each item with the same score as the preceding item.
        """
        if tied is not None and self._tied is None:
            self._tied = array("b", bytes(len(self._values)))
        if self._tied is not None:
            self._tied.extend(bytes(len(row)) if tied is None else bytes(tied))
        self._values.fromlist(list(row))
        self._ends.append(len(self._values))

    def extend(
        self,
        lengths: NDArray[np.int64],
        values: Int32Array,
        tied: NDArray[np.bool_] | None = None,
    ) -> None:
        """Add many lists of candidate numbers to the collected lists at once."""
        if tied is not None and self._tied is None:
            self._tied = array("b", bytes(len(self._values)))
        if self._tied is not None:
            self._tied.frombytes(bytes(len(values)) if tied is None else tied.tobytes())
        self._ends.frombytes(
            (len(self._values) + np.cumsum(lengths, dtype=np.int64)).tobytes()
        )
        self._values.frombytes(values.tobytes())

    def build(self, present: NDArray[np.bool_] | None = None) -> ListColumn:
        tied = np.frombuffer(self._tied, dtype=bool) if self._tied else None
        return ListColumn(
            np.asarray(self._values),
            np.frombuffer(self._ends, dtype=np.int64),
            present,
            tied,
        )


def divide_rows_into_blocks(offsets: Int64Array, step: int) -> list[tuple[int, int]]:
    """Divide the rows into consecutive ranges of rows. The lists of a range have at
    most ``step`` items in total, unless the range consists of a single row.
    """
    parts, start = [], 0
    while start < len(offsets) - 1:
        end = max(
            int(np.searchsorted(offsets, offsets[start] + step, side="right")) - 1,
            start + 1,
        )
        parts.append((start, end))
        start = end
    return parts


def compute_ranks_of_gold(gold: ListColumn, answers: ListColumn) -> Int32Array:
    """Return the rank (from 1) of each item of ``gold`` in the list of ``answers`` with
    the same row number, or 0 if this list does not contain the item.

    A list in ``answers`` must not contain a candidate twice.
    """
    assert len(gold) == len(answers), (
        f"{len(gold)} rows of gold, {len(answers)} of answers"
    )
    ranks = np.zeros(len(gold.values), dtype=np.int32)
    sizes = gold.list_lengths
    for start, end in divide_rows_into_blocks(answers.offsets, ITEMS_PER_BLOCK):
        ranked = answers.values[answers.offsets[start] : answers.offsets[end]]
        lengths = answers.list_lengths[start:end]
        rows = np.repeat(np.arange(start, end), lengths)
        begins = answers.offsets[start:end] - answers.offsets[start]
        for member in range(sizes[start:end].max()):
            # NO_ROW_NUMBER is never a candidate number, and fills rows with fewer gold items.
            wanted = np.full(end - start, NO_ROW_NUMBER, dtype=np.int32)
            has = sizes[start:end] > member
            wanted[has] = gold.values[gold.offsets[start:end][has] + member]
            hits = np.flatnonzero(ranked == np.repeat(wanted, lengths))
            row = rows[hits]
            ranks[gold.offsets[row] + member] = hits - begins[row - start] + 1
    return ranks


#: `MAX_CACHED_POOLS` limits the lists of candidates that are cached as mappings.
MAX_CACHED_POOLS = 256


def build_ranking_index(
    instances: Sequence[str],
    pools: Sequence[Sequence[str]],
    pool_of: Sequence[int] | None = None,
) -> Index:
    """Return the data that validate the runs of a ranking task, which are the ids of
    instances and candidates. Each of the ``pools`` is a list of candidates that one or
    more instances share. ``pool_of`` contains the index of each instance's pool, or is
    None if all instances use the first pool.
    """
    of = None if pool_of is None else list(pool_of)
    names = instances if isinstance(instances, list) else list(instances)
    return {"instances": names, "pools": list(map(list, pools)), "pool_of": of}


class NumberByCandidate(dict[str, int]):
    """A mapping from the name of each candidate to the candidate's number. A candidate
    is also found under a name in another Unicode normalisation form.
    """

    @cached_property
    def _number_by_nfc_name(self) -> dict[str, int]:
        return {normalise_to_nfc(name): number for name, number in self.items()}

    def __missing__(self, name: object) -> int:
        if not isinstance(name, str):
            raise KeyError(name)
        return self._number_by_nfc_name[normalise_to_nfc(name)]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (
            isinstance(name, str) and normalise_to_nfc(name) in self._number_by_nfc_name
        )

    def find(self, name: str) -> int | None:
        """Return the number of the candidate whose name has the same Unicode form NFC
        as ``name``, or None if there is no such candidate.
        """
        return self._number_by_nfc_name.get(normalise_to_nfc(name))


class InstanceAndCandidateLookup:
    """Fast look-up of the row numbers of instances, and of the numbers of their
    candidates. From version 2 of the reading rules on, names are equal if they have the
    same Unicode form NFC.
    """

    def __init__(self, index: Index, reading: int = 1) -> None:
        self._has_forms = reading > 1
        self.instances: list[str] = index["instances"]
        self._next = 0
        self.pools: list[list[str]] = index["pools"]
        self._pool_of: list[int] | None = index["pool_of"]
        self._at_hand: dict[int, dict[str, int]] = {}

    def __len__(self) -> int:
        return len(self.instances)

    @cached_property
    def rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.instances)}

    def find_row_of_instance(self, name: str) -> int | None:
        """Return the row number of an instance, or None for an unknown instance. A run
        usually has the order of the gold, so the next instance is tried first, and a
        dictionary of a million names is rarely needed.
        """
        row: int | None = self._next
        if self._next == len(self.instances) or self.instances[self._next] != name:
            row = self.rows.get(name)
            if row is None and self._has_forms:
                row = self._row_by_nfc_name.get(normalise_to_nfc(name))
        if row is not None:
            self._next = row + 1
        return row

    @cached_property
    def _row_by_nfc_name(self) -> dict[str, int]:
        return {normalise_to_nfc(name): row for row, name in enumerate(self.instances)}

    @property
    def shared(self) -> dict[str, int] | None:
        """Return a mapping from candidate to number if all instances share the
        candidates, otherwise None.
        """
        return self.candidates(0) if self._pool_of is None else None

    def pool(self, row: int) -> list[str]:
        """Return the list of candidates that a run can rank for the instance with the
        given row number.
        """
        return self.pools[0 if self._pool_of is None else self._pool_of[row]]

    def candidates(self, row: int) -> dict[str, int]:
        """Return a mapping from each candidate of an instance to the candidate's
        number.
        """
        pool = 0 if self._pool_of is None else self._pool_of[row]
        if pool not in self._at_hand:
            if len(self._at_hand) >= MAX_CACHED_POOLS:
                self._at_hand.clear()
            numbers = NumberByCandidate if self._has_forms else dict
            self._at_hand[pool] = numbers(
                zip(self.pools[pool], range(len(self.pools[pool])), strict=True)
            )
        return self._at_hand[pool]
