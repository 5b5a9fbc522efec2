"""Divide the data of a split into a public part, whose scores teams see, and a private
part, which determines the final ranks.

The text `public-30-c5f0a1b2c3d4e` identifies a part by its name, by the percentage of
units in the public part, and by a prefix of a commitment to the random sample.

Column keys contain the text of the part, so that scores on different parts never share
a column. The random sample of the public part depends on a secret nonce and on the
public inputs of the units, but not on answers. The commitment to the random sample is
the SHA-256 of the line `citeboard draw 1` followed by the bytes of the nonce. The site
releases the nonce with the gold, and `public-30-NONCE` then identifies the same part.
In earlier releases, the text of a part is `public-30-7`, which ends with the seed of
the random sample. The samples of earlier releases depend on classes of the gold and
therefore reveal information on answers.
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
from tasks.types.columns import ClassColumn, compute_mask_of_present_rows
from tasks.types.digests import (
    DISPLAYED_COMMITMENT_DIGITS,
    NONCE_BYTES,
    compute_draw_commitment,
)

RowIndices = NDArray[np.intp]

PUBLIC_PART_NAME, PRIVATE_PART_NAME = "public", "private"
_PART_NAME_PATTERN = re.compile(
    rf"({PUBLIC_PART_NAME}|{PRIVATE_PART_NAME})-([1-9]\d?)-"
    rf"(?:([0-9a-f]{{{2 * NONCE_BYTES}}})|c([0-9a-f]{{{DISPLAYED_COMMITMENT_DIGITS}}})|(\d{{1,18}}))"
)


@dataclass(frozen=True)
class SplitPart:
    """The public or private part of a split's data. ``share`` is the percentage of
    units in the public part, which is sampled with a ``seed`` or a ``nonce``.
    """

    name: str
    share: int
    seed: int = 0
    nonce: str = ""

    def __str__(self) -> str:
        if not self.nonce:
            return f"{self.name}-{self.share}-{self.seed}"
        committed = compute_draw_commitment(self.nonce)[:DISPLAYED_COMMITMENT_DIGITS]
        return f"{self.name}-{self.share}-c{committed}"

    @property
    def other(self) -> "SplitPart":
        return replace(
            self,
            name=PRIVATE_PART_NAME
            if self.name == PUBLIC_PART_NAME
            else PUBLIC_PART_NAME,
        )

    def rows(self, task_type: TaskType, pairs: Pairs, whole: Pairs) -> RowIndices:
        """Return the rows of ``pairs`` that belong to the part of the split.

        The argument ``whole`` contains all units of the gold. Units without gold
        (reference answers) belong to neither part, even if a run answers these units.
        """
        public = (
            draw_units_by_nonce(task_type, whole, self.share, self.nonce)
            if self.nonce
            else draw_units_by_seed(task_type, whole, self.share, self.seed)
        )
        names = _list_sampling_unit_names(whole)
        known = {
            names[row]
            for row in np.flatnonzero(compute_mask_of_present_rows(whole.gold)).tolist()
        }
        wanted = public if self.name == PUBLIC_PART_NAME else known - public
        return np.flatnonzero(
            [unit in wanted for unit in _list_sampling_unit_names(pairs)]
        )


def parse_part(text: str) -> SplitPart:
    """Parse the text that identifies a part of a split, such as `public-30-7`. Raises
    OptionRefused.
    """
    if (written := _PART_NAME_PATTERN.fullmatch(text)) is None:
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
    return SplitPart(name, int(share), int(seed or 0), nonce or "")


def parse_part_with_nonce(text: str, nonce: str) -> SplitPart:
    """Parse the text that identifies a part of a split, and replace the commitment by
    the nonce. Raises OptionRefused if the commitment is not to this nonce.
    """
    head, _, drawn = text.rpartition("-")
    part = parse_part(f"{head}-{nonce}" if drawn.startswith("c") and nonce else text)
    if str(part) != text:
        raise OptionRefused(f"the nonce of the draw is not the one that {text} names")
    return part


def find_rows_of_parts(
    task_type: TaskType,
    part: SplitPart,
    pairs: Pairs,
    split: Split,
    answers: Any,
    rules: str,
    options: Options,
) -> tuple[RowIndices, RowIndices]:
    """Return the rows of ``pairs`` in the part of the split, and the rows in the other
    part.
    """
    # Some official rules omit topics that the run lacks, but default rules do not.
    is_default = rules == task_type.default_rule_set
    whole = (
        pairs
        if is_default
        else task_type.pairs_of(split, answers, task_type.default_rule_set, options)
    )
    return part.rows(task_type, pairs, whole), part.other.rows(task_type, pairs, whole)


def select_pairs(pairs: Pairs, rows: RowIndices) -> Pairs:
    """Return the pairs in these rows, to use the pairs with matrices that were computed
    from all pairs.
    """
    return replace(
        pairs,
        gold=[pairs.gold[row] for row in rows.tolist()],
        answers=[pairs.answers[row] for row in rows.tolist()],
        units=_select_rows(pairs.units, rows),
        features={
            name: _select_rows(column, rows) for name, column in pairs.features.items()
        },
        names=None if pairs.names is None else _select_rows(pairs.names, rows),
        clusters=None if pairs.clusters is None else _select_rows(pairs.clusters, rows),
        answered=None if pairs.answered is None else _select_rows(pairs.answered, rows),
    )


def draw_units_by_nonce(
    task_type: TaskType, whole: Pairs, share: int, nonce: str
) -> set[str]:
    """Return the units of the public part, which are a stratified random sample.

    The nonce determines the random order of the units within a stratum. The strata are
    the classes of the first public dimension whose classes have several units.
    """
    classes = _find_classes_by_unit(whole, task_type.shown_dimensions)
    key = bytes.fromhex(nonce)

    def sort_key(unit: str) -> tuple[tuple[str, ...], bytes]:
        return classes[unit], hmac.digest(key, unit.encode(), "sha256")

    return _draw_systematic_sample(sorted(classes, key=sort_key), share)


def draw_units_by_seed(
    task_type: TaskType, whole: Pairs, share: int, seed: int
) -> set[str]:
    """Return the units of a public part of an earlier release, sampled with a seed and
    stratified by classes of the gold.

    The strata are the classes of the first dimension whose classes have several units.
    The sample depends on the gold, the units and the seed, but not on the answers of a
    run.
    """
    classes = _find_classes_by_unit(whole, task_type.dimensions)

    def sort_key(unit: str) -> tuple[tuple[str, ...], str]:
        return classes[unit], hashlib.sha256(f"{seed}:{unit}".encode()).hexdigest()

    return _draw_systematic_sample(sorted(classes, key=sort_key), share)


def _draw_systematic_sample(ordered: Sequence[str], share: int) -> set[str]:
    """Return a systematic sample of ``share`` per cent of the units, which takes units
    at equal distances.
    """
    # Starting in the middle of a step rounds the number of sampled units correctly.
    steps = itertools.pairwise(
        [(50 + place * share) // 100 for place in range(len(ordered) + 1)]
    )
    return {
        unit
        for unit, (before, after) in zip(ordered, steps, strict=True)
        if after > before
    }


def _find_classes_by_unit(
    pairs: Pairs, dimensions: Iterable[str]
) -> Mapping[str, tuple[str, ...]]:
    rows = np.flatnonzero(compute_mask_of_present_rows(pairs.gold)).tolist()
    names = _list_sampling_unit_names(pairs)
    classes: dict[str, tuple[str, ...]] = {}
    for dimension in dimensions:
        if (column := pairs.features.get(dimension)) is None:
            continue
        found: dict[str, set[str]] = {}
        for row in rows:
            found.setdefault(names[row], set()).update(column[row])
        classes = {unit: tuple(sorted(labels)) for unit, labels in found.items()}
        if 1 < len(set(classes.values())) < len(classes):
            return classes
    return {names[row]: () for row in rows}


def _list_sampling_unit_names(pairs: Pairs) -> list[str]:
    """Return the name of the unit of each row, which a sample includes or excludes as a
    whole.
    """
    units = pairs.units if pairs.clusters is None else pairs.clusters
    return [unit[0] if isinstance(unit, tuple) else unit for unit in units]


def _select_rows(column: Any, rows: RowIndices) -> Any:
    return (
        column.select_rows(rows)
        if isinstance(column, ClassColumn)
        else [column[row] for row in rows.tolist()]
    )
