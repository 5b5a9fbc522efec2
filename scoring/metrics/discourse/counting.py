"""How often each label occurs, by data set and side: the matrix behind every number about discourse.

One row an instance. For each data set in turn the run's counts, then the gold's, one column a label and one
for labels that the set does not have; behind all of them, how many texts of each side were labelled how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from scoring.metrics.base import Floats


class Source(IntEnum):
    """Who labelled the sentences of a text."""

    SUPPLIED = 0
    TAGGED = 1
    NOBODY = 2


SIDES = ("run", "gold")
RUN, GOLD = range(2)
#: The last columns: for each side how many texts each source labelled.
TAIL = len(SIDES) * len(Source)


@dataclass(frozen=True)
class Labelled:
    """The labels of one text's sentences, in any order, and who gave them."""

    labels: Sequence[str]
    source: Source


def count_matrix(
    labels: Sequence[str], datasets: Sequence[str], sides: Sequence[tuple[Labelled | None, Labelled | None]]
) -> Floats:
    """The (n, D·2·(L+1) + 6) matrix of n instances, each with its data set and what run and gold have there.

    None is a text that is not there, which is nobody's omission.
    """
    known = list(dict.fromkeys(datasets))
    column = {label: place for place, label in enumerate(labels)}
    width = len(labels) + 1
    counts = np.zeros((len(datasets), max(1, len(known)), len(SIDES), width))
    tail = np.zeros((len(datasets), len(SIDES), len(Source)))
    for row, (dataset, texts) in enumerate(zip(datasets, sides, strict=True)):
        for side, text in enumerate(texts):
            if text is None:
                continue
            tail[row, side, text.source] = 1
            for label in text.labels:
                counts[row, known.index(dataset), side, column.get(label, width - 1)] += 1
    return np.hstack([counts.reshape(len(datasets), -1), tail.reshape(len(datasets), -1)])


def label_counts(sums: Floats, labels: int) -> Floats:
    """From (…, k) sums of rows to (…, D, 2, L+1) counts: data set, side, label."""
    return sums[..., :-TAIL].reshape(*sums.shape[:-1], -1, len(SIDES), labels + 1)


def text_counts(stats: Floats) -> Mapping[tuple[str, Source], int]:
    """How many texts of each side were labelled by whom, from an (n, k) matrix."""
    tail = stats[:, -TAIL:].sum(axis=0).reshape(len(SIDES), len(Source))
    return {(side, source): int(tail[place, source]) for place, side in enumerate(SIDES) for source in Source}
