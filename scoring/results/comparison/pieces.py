"""The elements of a displayed instance: parts contain lines, and lines contain
pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

#: A piece of text is from both gold and answer, one of both, or the task's text.
#: With marks, BOTH is right, PARTLY partly right, ANSWER wrong and GOLD missed.
BOTH, PARTLY, GOLD, ANSWER, PLACE = "both", "partly", "gold", "answer", "place"


class Piece(NamedTuple):
    """A piece of text. ``sign`` is a character that expresses the colour of
    ``kind``.
    """

    text: str
    kind: str = ""
    sign: str = ""


@dataclass(frozen=True)
class Line:
    """A line of an instance. ``words`` is a text that expresses the colour of ``kind``.
    ``label`` is the name of a field, and ``number`` the rank. ``is_below`` marks a part
    of the previous line.
    """

    pieces: Sequence[Piece]
    kind: str = ""
    words: str = ""
    label: str = ""
    number: int = 0
    is_below: bool = False

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True)
class Part:
    """A part of an instance.

    ``kind`` is `gold`, `answer`, `given`, or `paper` for a text with marked answers.
    ``layout`` and ``facts`` describe input fields. ``note`` is the name of the metric
    behind the marks.
    """

    heading: str
    kind: str
    lines: Sequence[Line]
    is_numbered: bool = False
    layout: str = ""
    facts: Sequence[Line] = ()
    note: str = ""

    @property
    def characters(self) -> int:
        return sum(len(line.text) for line in self.lines)


#: A run has scores of candidates, or probabilities of labels, beside an instance.
Beside = Sequence[tuple[str, float]]
