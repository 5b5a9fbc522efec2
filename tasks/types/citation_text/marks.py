"""Citation marks: `[0]` is the first cited paper. What a text has of them, and what is wrong with them."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A mark, and the digits right behind it that a careless replacement of `@cite_1` in `@cite_19` leaves.
_MARK = re.compile(r"\[([0-9]{1,6})\]([0-9]*)")


@dataclass(frozen=True)
class Marks:
    """The papers that whole marks name, in the order of the text, and the marks that are damaged: `[2]9`."""

    papers: tuple[int, ...]
    damaged: tuple[str, ...]

    def missing(self, cited: int) -> int:
        """How many of the cited papers no whole mark names."""
        return cited - len({paper for paper in self.papers if paper < cited})

    def unknown(self, cited: int) -> int:
        """How many whole marks name a paper that is not among the cited ones."""
        return sum(paper >= cited for paper in self.papers)


def marks(text: str) -> Marks:
    found = list(_MARK.finditer(text))
    return Marks(
        papers=tuple(int(match[1]) for match in found if not match[2]),
        damaged=tuple(match[0] for match in found if match[2]),
    )


def without_marks(text: str) -> str:
    """A space in place of each mark and of the digits that a damaged one leaves."""
    return _MARK.sub(" ", text)
