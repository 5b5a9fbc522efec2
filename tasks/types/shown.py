"""A single instance as people read it."""

from __future__ import annotations

from dataclasses import dataclass

#: Of more instances nothing is kept to be read.
MAX_SHOWN = 2_000


@dataclass(frozen=True, kw_only=True)
class ShownInstance:
    """Texts. ``given`` is what systems see, and says nothing of the gold; empty where there is nothing."""

    name: str
    given: str = ""
    gold: str = ""
    answer: str = ""
