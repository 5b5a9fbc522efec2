"""The public and the private part of a split: own scores come from the one, the final ranks from the other.

A part is written `public-30-7`: which of the two, the share of the units in the public one, per cent, and the
seed of the draw. It stands in the column key of every number, so that numbers of different parts never share
a column, and anybody who has the gold draws the same part again.
"""

import hashlib
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.types import OptionRefused, Options, Pairs, Split, TaskType
from tasks.types.columns import Classes, present

Rows = NDArray[np.intp]

PUBLIC, PRIVATE = "public", "private"
_WRITTEN = re.compile(rf"({PUBLIC}|{PRIVATE})-([1-9]\d?)-(\d{{1,18}})")


@dataclass(frozen=True)
class Part:
    """``share`` is that of the public part, per cent."""

    name: str
    share: int
    seed: int

    def __str__(self) -> str:
        return f"{self.name}-{self.share}-{self.seed}"

    @property
    def other(self) -> "Part":
        return replace(self, name=PRIVATE if self.name == PUBLIC else PUBLIC)

    def rows(self, task_type: TaskType, pairs: Pairs, whole: Pairs) -> Rows:
        """The rows of ``pairs`` that are in the part; ``whole`` has every unit of the gold.

        Units without gold, to which a run answers all the same, are in neither.
        """
        public = public_units(task_type, whole, self.share, self.seed)
        names = _names(whole)
        known = {names[row] for row in np.flatnonzero(present(whole.gold)).tolist()}
        wanted = public if self.name == PUBLIC else known - public
        return np.flatnonzero([unit in wanted for unit in _names(pairs)])


def read_part(text: str) -> Part:
    """Raises OptionRefused."""
    if (written := _WRITTEN.fullmatch(text)) is None:
        raise OptionRefused(
            f"--part {text}: expected public or private, a share and a seed: public-30-7"
        )
    return Part(written[1], int(written[2]), int(written[3]))


def rows_of_part(
    task_type: TaskType,
    part: Part,
    pairs: Pairs,
    split: Split,
    answers: Any,
    rules: str,
    options: Options,
) -> tuple[Rows, Rows]:
    """The rows of ``pairs`` in the part and in the other one."""
    # Under the rules of some programs a topic counts only where the run has it; under the corrected, always.
    is_default = rules == task_type.default_rules
    whole = (
        pairs
        if is_default
        else task_type.pairs_of(split, answers, task_type.default_rules, options)
    )
    return part.rows(task_type, pairs, whole), part.other.rows(task_type, pairs, whole)


def narrowed(pairs: Pairs, rows: Rows) -> Pairs:
    """These rows, as they are read and counted; metrics look at whole pairs and their matrices are cut."""
    return replace(
        pairs,
        gold=[pairs.gold[row] for row in rows.tolist()],
        answers=[pairs.answers[row] for row in rows.tolist()],
        units=_taken(pairs.units, rows),
        features={
            name: _taken(column, rows) for name, column in pairs.features.items()
        },
        names=None if pairs.names is None else _taken(pairs.names, rows),
        clusters=None if pairs.clusters is None else _taken(pairs.clusters, rows),
        answered=None if pairs.answered is None else _taken(pairs.answered, rows),
    )


def public_units(task_type: TaskType, whole: Pairs, share: int, seed: int) -> set[str]:
    """Every so manieth of the units, ordered by their classes and within a class by chance.

    The classes are those of the first dimension that some units share; each class then has about its share
    in both parts. The draw rests on gold, units and seed alone, never on a run's answers.
    """
    classes = _classes_by_unit(task_type, whole)

    def place(unit: str) -> tuple[tuple[str, ...], str]:
        return classes[unit], hashlib.sha256(f"{seed}:{unit}".encode()).hexdigest()

    ordered = sorted(classes, key=place)
    # From the middle of a step, so that the numbers of units are right when rounded.
    steps = itertools.pairwise(
        [(50 + place * share) // 100 for place in range(len(ordered) + 1)]
    )
    return {
        unit
        for unit, (before, after) in zip(ordered, steps, strict=True)
        if after > before
    }


def _classes_by_unit(
    task_type: TaskType, whole: Pairs
) -> Mapping[str, tuple[str, ...]]:
    rows = np.flatnonzero(present(whole.gold)).tolist()
    names = _names(whole)
    classes: dict[str, tuple[str, ...]] = {}
    for dimension in task_type.dimensions:
        if (column := whole.features.get(dimension)) is None:
            continue
        found: dict[str, set[str]] = {}
        for row in rows:
            found.setdefault(names[row], set()).update(column[row])
        classes = {unit: tuple(sorted(labels)) for unit, labels in found.items()}
        if 1 < len(set(classes.values())) < len(classes):
            return classes
    return {names[row]: () for row in rows}


def _names(pairs: Pairs) -> list[str]:
    """What is resampled together is drawn together; a column of classes gives it as a tuple of one."""
    units = pairs.units if pairs.clusters is None else pairs.clusters
    return [unit[0] if isinstance(unit, tuple) else unit for unit in units]


def _taken(column: Any, rows: Rows) -> Any:
    return (
        column.take(rows)
        if isinstance(column, Classes)
        else [column[row] for row in rows.tolist()]
    )
