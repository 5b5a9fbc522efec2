"""Many short lists of candidate numbers in two arrays: a million rankings of ten take 48 megabytes."""

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tasks.types.base import Index
from tasks.types.text import nfc

Numbers = NDArray[np.int32]
Offsets = NDArray[np.int64]
#: So many list members at most are looked at in one step.
STEP = 100_000
#: In the place of a row's number where there is no row.
NO_ROW = -1


class Lists(Sequence[tuple[int, ...] | None]):
    """Row i is ``values[offsets[i]:offsets[i + 1]]``, or None where ``present[i]`` is false. Reads like a
    list of tuples. ``tied`` says of each member whether it has the score of the one before it; None where no
    scores were given.
    """

    def __init__(
        self,
        values: Numbers,
        offsets: Offsets,
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
    def of(cls, rows: Iterable[Sequence[int] | None]) -> "Lists":
        builder = ListsBuilder()
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
    def __getitem__(self, place: slice) -> "Lists": ...
    def __getitem__(self, place: int | slice) -> "tuple[int, ...] | Lists | None":
        if isinstance(place, slice):
            return self.take(np.arange(len(self))[place])
        if not -len(self) <= place < len(self):
            raise IndexError(f"row {place} of {len(self)}")
        place %= len(self)
        if not self.present[place]:
            return None
        return tuple(
            self.values[self.offsets[place] : self.offsets[place + 1]].tolist()
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def take(self, rows: NDArray[np.intp]) -> "Lists":
        """The lists of these rows, in this order; ``NO_ROW`` gives a list that is not present."""
        if np.array_equal(rows, np.arange(len(self))):
            return self
        there = rows >= 0
        lengths = np.zeros(len(rows), dtype=np.int64)
        lengths[there] = self.lengths[rows[there]]
        offsets = np.concatenate([[0], lengths.cumsum()])
        columns: list[NDArray[Any]] = [
            own for own in (self.values, self.tied) if own is not None
        ]
        taken = [np.empty(offsets[-1], dtype=own.dtype) for own in columns]
        present = np.zeros(len(rows), dtype=bool)
        present[there] = self.present[rows[there]]
        for start, end in blocks(offsets, STEP):
            step, begins = lengths[start:end], offsets[start:end] - offsets[start]
            within = np.arange(offsets[end] - offsets[start]) - np.repeat(begins, step)
            places = np.repeat(self.offsets[rows[start:end]], step) + within
            for own, column in zip(taken, columns, strict=True):
                own[offsets[start] : offsets[end]] = column[places]
        return Lists(taken[0], offsets, present, *taken[1:])


class GradedLists(Lists):
    """The relevant candidates of each row; beside them everything that was judged, with a grade from 0 up for
    each of its members.
    """

    def __init__(self, relevant: Lists, judged: Lists, grades: Numbers) -> None:
        assert len(relevant) == len(judged), "as many rows are judged as there are"
        assert len(grades) == len(judged.values), "every judged candidate has its grade"
        super().__init__(relevant.values, relevant.offsets, relevant.present)
        self.judged, self.grades = judged, grades


class ListsBuilder:
    """Takes lists one after the other, in four bytes a member."""

    def __init__(self) -> None:
        self._values, self._ends = array("i"), array("q", [0])
        self._tied: array[int] | None = None

    def add(self, row: Sequence[int], tied: Sequence[bool] | None = None) -> None:
        """Add a list. ``tied`` says which of its members have the score of the one before."""
        if tied is not None and self._tied is None:
            self._tied = array("b", bytes(len(self._values)))
        if self._tied is not None:
            self._tied.extend(bytes(len(row)) if tied is None else bytes(tied))
        self._values.fromlist(list(row))
        self._ends.append(len(self._values))

    def extend(
        self,
        lengths: NDArray[np.int64],
        values: Numbers,
        tied: NDArray[np.bool_] | None = None,
    ) -> None:
        """Add many lists at once."""
        if tied is not None and self._tied is None:
            self._tied = array("b", bytes(len(self._values)))
        if self._tied is not None:
            self._tied.frombytes(bytes(len(values)) if tied is None else tied.tobytes())
        self._ends.frombytes(
            (len(self._values) + np.cumsum(lengths, dtype=np.int64)).tobytes()
        )
        self._values.frombytes(values.tobytes())

    def build(self, present: NDArray[np.bool_] | None = None) -> Lists:
        tied = np.frombuffer(self._tied, dtype=bool) if self._tied else None
        return Lists(
            np.asarray(self._values),
            np.frombuffer(self._ends, dtype=np.int64),
            present,
            tied,
        )


def blocks(offsets: Offsets, step: int) -> list[tuple[int, int]]:
    """Ranges of rows that together have at most so many members, each of at least one row."""
    parts, start = [], 0
    while start < len(offsets) - 1:
        end = max(
            int(np.searchsorted(offsets, offsets[start] + step, side="right")) - 1,
            start + 1,
        )
        parts.append((start, end))
        start = end
    return parts


def ranks_of(gold: Lists, answers: Lists) -> Numbers:
    """The rank, from 1, of each member of ``gold`` in the same row of ``answers``; 0 where it is absent.
    Within a row no answer may stand twice.
    """
    assert len(gold) == len(answers), (
        f"{len(gold)} rows of gold, {len(answers)} of answers"
    )
    ranks = np.zeros(len(gold.values), dtype=np.int32)
    sizes = gold.lengths
    for start, end in blocks(answers.offsets, STEP):
        ranked = answers.values[answers.offsets[start] : answers.offsets[end]]
        lengths = answers.lengths[start:end]
        rows = np.repeat(np.arange(start, end), lengths)
        begins = answers.offsets[start:end] - answers.offsets[start]
        for member in range(sizes[start:end].max()):
            # Rows with fewer members of gold look for a number that no candidate has.
            wanted = np.full(end - start, NO_ROW, dtype=np.int32)
            has = sizes[start:end] > member
            wanted[has] = gold.values[gold.offsets[start:end][has] + member]
            hits = np.flatnonzero(ranked == np.repeat(wanted, lengths))
            row = rows[hits]
            ranks[gold.offsets[row] + member] = hits - begins[row - start] + 1
    return ranks


#: The numbers of so many pools are kept at hand; runs mostly go through them one after the other.
POOLS_AT_HAND = 256


def index_of(
    instances: Sequence[str],
    pools: Sequence[Sequence[str]],
    pool_of: Sequence[int] | None = None,
) -> Index:
    """The index of a ranking task. A pool is a list of candidates. Without ``pool_of`` every instance has the
    first.
    """
    of = None if pool_of is None else list(pool_of)
    names = instances if isinstance(instances, list) else list(instances)
    return {"instances": names, "pools": list(map(list, pools)), "pool_of": of}


class Numbered(dict[str, int]):
    """The numbers of candidates. A name in another Unicode form finds the candidate that is equal in NFC."""

    @cached_property
    def _forms(self) -> dict[str, int]:
        return {nfc(name): number for name, number in self.items()}

    def __missing__(self, name: object) -> int:
        if not isinstance(name, str):
            raise KeyError(name)
        return self._forms[nfc(name)]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (
            isinstance(name, str) and nfc(name) in self._forms
        )

    def find(self, name: str) -> int | None:
        """Return the number of a name that is in no key as it is."""
        return self._forms.get(nfc(name))


class Choices:
    """An index made ready for looking up. By reading version 2 names are equal that are equal in NFC."""

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

    def row_of(self, name: str) -> int | None:
        """Most runs go through the instances in their order, which needs no table of a million names."""
        row: int | None = self._next
        if self._next == len(self.instances) or self.instances[self._next] != name:
            row = self.rows.get(name)
            if row is None and self._has_forms:
                row = self._forms.get(nfc(name))
        if row is not None:
            self._next = row + 1
        return row

    @cached_property
    def _forms(self) -> dict[str, int]:
        return {nfc(name): row for row, name in enumerate(self.instances)}

    @property
    def shared(self) -> dict[str, int] | None:
        """The candidates of all instances with their numbers, where they are the same ones."""
        return self.candidates(0) if self._pool_of is None else None

    def pool(self, row: int) -> list[str]:
        """The candidates of an instance in their order."""
        return self.pools[0 if self._pool_of is None else self._pool_of[row]]

    def candidates(self, row: int) -> dict[str, int]:
        """The same with their numbers."""
        pool = 0 if self._pool_of is None else self._pool_of[row]
        if pool not in self._at_hand:
            if len(self._at_hand) >= POOLS_AT_HAND:
                self._at_hand.clear()
            numbers = Numbered if self._has_forms else dict
            self._at_hand[pool] = numbers(
                zip(self.pools[pool], range(len(self.pools[pool])), strict=True)
            )
        return self._at_hand[pool]
