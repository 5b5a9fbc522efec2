"""A single instance as people read it."""

from __future__ import annotations

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
