"""Define the elements of a displayed instance, which consists of parts with lines,
which consist of pieces of text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

#: A piece of text belongs to gold and answer, to one of both, or to the task's text.
#: With marks, IN_GOLD_AND_ANSWER means right, PARTLY_RIGHT partly right, ONLY_IN_ANSWER wrong, GOLD missed.
IN_GOLD_AND_ANSWER, PARTLY_RIGHT, GOLD, ONLY_IN_ANSWER, CITATION_POSITION = (
    "both",
    "partly",
    "gold",
    "answer",
    "place",
)


class MarkedTextPiece(NamedTuple):
    """A piece of text. ``sign`` is a character that means the same as the colour of
    ``kind``.
    """

    text: str
    kind: str = ""
    sign: str = ""


@dataclass(frozen=True)
class DisplayedInstanceLine:
    """A line of an instance. ``words`` is a text that means the same as the colour of
    ``kind``. ``label`` is the name of an input field, and ``number`` is the rank of a
    candidate. ``is_below`` is True if the line is a part of the previous line.
    """

    pieces: Sequence[MarkedTextPiece]
    kind: str = ""
    words: str = ""
    label: str = ""
    number: int = 0
    is_below: bool = False

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True)
class DisplayedInstancePart:
    """A part of an instance.

    ``kind`` is `gold`, `answer`, `given` for inputs, or `paper` for a text in which
    answers are marked. ``layout`` and ``facts`` describe the layout of input fields.
    ``note`` is the name of the metric that computes the marks.
    """

    heading: str
    kind: str
    lines: Sequence[DisplayedInstanceLine]
    is_numbered: bool = False
    layout: str = ""
    facts: Sequence[DisplayedInstanceLine] = ()
    note: str = ""

    @property
    def characters(self) -> int:
        return sum(len(line.text) for line in self.lines)


#: Beside an instance, a page shows a run's scores of candidates or label probabilities.
ValuesByName = Sequence[tuple[str, float]]
