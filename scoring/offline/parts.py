"""The public and the private part of a split: own scores come from the one, the final ranks from the other.

A part is written `public-30-c5f0a1b2c3d4e`: which of the two, the share of the units in the public one, per
cent, and the beginning of a commitment to the draw. It stands in the column key of every number, so that
numbers of different parts never share a column. The draw rests on a secret, the nonce, and on what
participants are shown of the units; no answer has an effect on the draw. The commitment is the SHA-256 of
the line `citeboard draw 1` and the bytes of the nonce. Whoever has the nonce, which is released with the
gold, writes `public-30-NONCE` and draws the same part again.

Parts of earlier releases are written `public-30-7`, with the seed of their draw. Their draw rests on classes
of the gold, so that it reveals answers; old parts stay what they were.
"""

import hashlib
import hmac
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.types import OptionRefused, Options, Pairs, Split, TaskType
from tasks.types.columns import Classes, present
from tasks.types.digests import COMMITMENT_DIGITS, NONCE_BYTES, draw_commitment

Rows = NDArray[np.intp]

PUBLIC, PRIVATE = "public", "private"
_WRITTEN = re.compile(
    rf"({PUBLIC}|{PRIVATE})-([1-9]\d?)-"
    rf"(?:([0-9a-f]{{{2 * NONCE_BYTES}}})|c([0-9a-f]{{{COMMITMENT_DIGITS}}})|(\d{{1,18}}))"
)


@dataclass(frozen=True)
class Part:
    """``share`` is that of the public part, per cent. ``seed`` or ``nonce`` is that of its draw."""

    name: str
    share: int
    seed: int = 0
    nonce: str = ""

    def __str__(self) -> str:
        if not self.nonce:
            return f"{self.name}-{self.share}-{self.seed}"
        committed = draw_commitment(self.nonce)[:COMMITMENT_DIGITS]
        return f"{self.name}-{self.share}-c{committed}"

    @property
    def other(self) -> "Part":
        return replace(self, name=PRIVATE if self.name == PUBLIC else PUBLIC)

    def rows(self, task_type: TaskType, pairs: Pairs, whole: Pairs) -> Rows:
        """The rows of ``pairs`` that are in the part; ``whole`` has every unit of the gold.

        Units without gold, to which a run answers all the same, are in neither.
        """
        public = (
            drawn_units(task_type, whole, self.share, self.nonce)
            if self.nonce
            else public_units(task_type, whole, self.share, self.seed)
        )
        names = _names(whole)
        known = {names[row] for row in np.flatnonzero(present(whole.gold)).tolist()}
        wanted = public if self.name == PUBLIC else known - public
        return np.flatnonzero([unit in wanted for unit in _names(pairs)])


def read_part(text: str) -> Part:
    """Raises OptionRefused."""
    if (written := _WRITTEN.fullmatch(text)) is None:
        raise OptionRefused(
            f"--part {text}: expected public or private, a share and a seed or the nonce of the draw: "
            "public-30-7"
        )
    name, share, nonce, committed, seed = written.groups()
    if committed:
        raise OptionRefused(
            f"--part {text}: the draw is secret until the gold is released; then write its nonce in the "
            f"place of its commitment: {name}-{share}-NONCE"
        )
    return Part(name, int(share), int(seed or 0), nonce or "")


def opened_part(text: str, nonce: str) -> Part:
    """Return the part of that name, whose draw has this nonce. Raise OptionRefused if it has another one."""
    head, _, drawn = text.rpartition("-")
    part = read_part(f"{head}-{nonce}" if drawn.startswith("c") and nonce else text)
    if str(part) != text:
        raise OptionRefused(f"the nonce of the draw is not the one that {text} names")
    return part


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


def drawn_units(task_type: TaskType, whole: Pairs, share: int, nonce: str) -> set[str]:
    """Return a stratified sample of the units. The nonce orders the units within a class.

    The classes are those of the first dimension that some units share and that follows from what participants
    are shown.
    """
    classes = _classes_by_unit(whole, task_type.shown_dimensions)
    key = bytes.fromhex(nonce)

    def place(unit: str) -> tuple[tuple[str, ...], bytes]:
        return classes[unit], hmac.digest(key, unit.encode(), "sha256")

    return _systematic_sample(sorted(classes, key=place), share)


def public_units(task_type: TaskType, whole: Pairs, share: int, seed: int) -> set[str]:
    """Return the public part of earlier releases: a sample stratified by classes of the gold, with a seed.

    The classes are those of the first dimension that some units share; each class then has about its share
    in both parts. The draw rests on gold, units and seed alone, never on a run's answers.
    """
    classes = _classes_by_unit(whole, task_type.dimensions)

    def place(unit: str) -> tuple[tuple[str, ...], str]:
        return classes[unit], hashlib.sha256(f"{seed}:{unit}".encode()).hexdigest()

    return _systematic_sample(sorted(classes, key=place), share)


def _systematic_sample(ordered: Sequence[str], share: int) -> set[str]:
    """Return ``share`` per cent of the units, at equal distances in their order."""
    # Starting in the middle of a step rounds the number of units correctly.
    steps = itertools.pairwise(
        [(50 + place * share) // 100 for place in range(len(ordered) + 1)]
    )
    return {
        unit
        for unit, (before, after) in zip(ordered, steps, strict=True)
        if after > before
    }


def _classes_by_unit(
    whole: Pairs, dimensions: Iterable[str]
) -> Mapping[str, tuple[str, ...]]:
    rows = np.flatnonzero(present(whole.gold)).tolist()
    names = _names(whole)
    classes: dict[str, tuple[str, ...]] = {}
    for dimension in dimensions:
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
