"""What task types share that show single instances, and what stands for those that do not say how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.types.base import Options, Pairs, Split
from tasks.types.files import InputFile
from tasks.types.shown import MAX_SHOWN, ShownInstance


def rows_by_name(pairs: Pairs) -> dict[str, list[int]]:
    """The rows of each instance, in the order of the instances; of the first ``MAX_SHOWN``."""
    found: dict[str, list[int]] = {}
    for row, name in enumerate(pairs.names or ()):
        if name in found or len(found) < MAX_SHOWN:
            found.setdefault(name, []).append(row)
    return found


def joined(texts: Sequence[str]) -> str:
    """Each once, in their order, a line each."""
    return "\n".join(dict.fromkeys(text for text in texts if text))


def as_written(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """For a task type that does not say how: gold and answers as Python writes them."""
    for name, rows in rows_by_name(pairs).items():
        gold, answers = ([own[row] for row in rows] for own in (pairs.gold, pairs.answers))
        yield ShownInstance(name=name, gold=_written(gold), answer=_written(answers))


def _written(values: Sequence[object]) -> str:
    return joined([str(value) for value in values if value is not None])
