"""A single instance as people read it, and what task types share that show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Of more instances nothing is kept to be read.
MAX_SHOWN = 2_000


#: How a sentence of the answer or of the gold came out. A wrong one may be like what was given, in words that
#: both have, and a missed one may be implied by it, without such words.
RIGHT, ALIKE, WRONG, IMPLIED, MISSED = "right", "alike", "wrong", "implied", "missed"
OUTCOMES = (ALIKE, WRONG, IMPLIED, MISSED, RIGHT)


@dataclass(frozen=True, kw_only=True)
class ShownInstance:
    """Texts. ``given`` is what systems see, and says nothing of the gold; empty where there is nothing."""

    name: str
    given: str = ""
    gold: str = ""
    answer: str = ""
    #: Sentence by sentence, as far as the task type tells: the outcome and the sentence. It says the gold.
    judged: tuple[tuple[str, str], ...] = ()


def rows_by_name(names: Sequence[str] | None) -> dict[str, list[int]]:
    """The rows of each instance, in the order of the instances; of the first ``MAX_SHOWN``."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names or ()):
        if name in rows or len(rows) < MAX_SHOWN:
            rows.setdefault(name, []).append(row)
    return rows


def joined(texts: Sequence[str]) -> str:
    """Each once, in their order, a line each."""
    return "\n".join(dict.fromkeys(text for text in texts if text))
