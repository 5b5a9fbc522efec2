"""Averages over gold files where topics are resampled: a topic has a gold file for each annotator.

A row's columns stand in the block of its gold file, followed by a 1 that says that the file occurs. The sum
over a topic's rows then holds the sum of each of its files side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats


def in_file_blocks(rows: Floats, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
    """(n, files * (k + 1)) from (n, k): gold or answer of each row says by ``file`` which block it is in."""
    files = np.array([_file(*pair) for pair in zip(gold, answers, strict=True)], dtype=np.intp)
    count, width = rows.shape
    blocks = np.zeros((count, files.max(initial=0) + 1, width + 1))
    places = np.arange(count)
    blocks[places, files, :width] = rows
    blocks[places, files, width] = 1
    return blocks.reshape(count, -1)


def _file(gold: Any, answer: Any) -> int:
    return int(next(side.file for side in (gold, answer) if hasattr(side, "file")))


def over_files(sums: Floats, *, width: int, value: Callable[[Floats], Floats]) -> Floats:
    """The sum over each unit's files of what ``value`` makes of a file's (…, width) sums."""
    blocks = sums.reshape(len(sums), -1, width + 1)
    values = value(blocks[..., :width].reshape(-1, width)).reshape(len(sums), blocks.shape[1], -1)
    return np.asarray((values * (blocks[..., width:] > 0)).sum(axis=1))
