"""The report of an importer. This module does not import Django."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

#: The draft contains an UNDERSTOOD value and omits a LEFT_OUT value of the bundle.
#: An organiser must decide on a DECIDE value, and a PREVENTS value stops the import.
UNDERSTOOD, LEFT_OUT, DECIDE, PREVENTS = "understood", "left-out", "decide", "prevents"
VERDICTS = (PREVENTS, DECIDE, LEFT_OUT, UNDERSTOOD)
MAX_LINES, MAX_MESSAGE = 1_000, 600


@dataclass(frozen=True)
class Line:
    """A line of an import's report.

    ``place`` is the path of a key in the description, or the name of a file.
    """

    verdict: str
    place: str
    message: str


class Prevented(Exception):
    """An error about a bundle that cannot be imported, with the reason in the message."""

    def __init__(self, place: str, message: str) -> None:
        self.line = Line(PREVENTS, place, message[:MAX_MESSAGE])
        super().__init__(f"{place}: {message}")


class Report:
    def __init__(self) -> None:
        self._lines: dict[Line, None] = {}

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines)

    def understood(self, place: str, message: str) -> None:
        self._add(UNDERSTOOD, place, message)

    def left_out(self, place: str, message: str) -> None:
        self._add(LEFT_OUT, place, message)

    def decide(self, place: str, message: str) -> None:
        self._add(DECIDE, place, message)

    def prevented(self, by: Prevented) -> None:
        self._lines[by.line] = None

    def _add(self, verdict: str, place: str, message: str) -> None:
        if len(self._lines) < MAX_LINES:
            line = Line(verdict, place[:200], message[:MAX_MESSAGE])
            self._lines.setdefault(line)

    def values(self) -> list[dict[str, Any]]:
        return [asdict(line) for line in self._lines]
