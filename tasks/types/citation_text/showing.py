"""Instances of citation text generation as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.types.base import Options, Pairs, Split
from tasks.types.files import InputFile
from tasks.types.shown import MAX_SHOWN, ShownInstance


def show_instances(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """What is given, a paragraph for each item; the text of the authors, and the run's."""
    for instance, answer in zip(pairs.gold[:MAX_SHOWN], pairs.answers, strict=False):
        yield ShownInstance(
            name=instance.id,
            given="\n\n".join(instance.inputs),
            gold=instance.target,
            answer=answer.text if answer else "",
        )
