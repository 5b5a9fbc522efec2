"""Define the lines of the report on an imported competition bundle. This module does
not import Django.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

#: The draft contains UNDERSTOOD values of the bundle and omits LEFT_OUT values.
#: An organiser must decide on DECIDE values, and a PREVENTS value prevents the import.
UNDERSTOOD, LEFT_OUT, DECIDE, PREVENTS = "understood", "left-out", "decide", "prevents"
VERDICTS_BY_SEVERITY = (PREVENTS, DECIDE, LEFT_OUT, UNDERSTOOD)
MAX_LINES, MAX_MESSAGE = 1_000, 600


@dataclass(frozen=True)
class ReportLine:
    """A line of the report on an imported competition bundle.

    ``place`` is a key path in the bundle's description, or a file name.
    """

    verdict: str
    place: str
    message: str


class ImportPrevented(Exception):
    """An error that prevents the import of a competition bundle, with the reason as
    message.
    """

    def __init__(self, place: str, message: str) -> None:
        self.line = ReportLine(PREVENTS, place, message[:MAX_MESSAGE])
        super().__init__(f"{place}: {message}")


class ImportReport:
    def __init__(self) -> None:
        self._lines: dict[ReportLine, None] = {}

    def __iter__(self) -> Iterator[ReportLine]:
        return iter(self._lines)

    def understood(self, place: str, message: str) -> None:
        self._add(UNDERSTOOD, place, message)

    def left_out(self, place: str, message: str) -> None:
        self._add(LEFT_OUT, place, message)

    def decide(self, place: str, message: str) -> None:
        self._add(DECIDE, place, message)

    def prevented(self, by: ImportPrevented) -> None:
        self._lines[by.line] = None

    def _add(self, verdict: str, place: str, message: str) -> None:
        if len(self._lines) < MAX_LINES:
            line = ReportLine(verdict, place[:200], message[:MAX_MESSAGE])
            self._lines.setdefault(line)

    def values(self) -> list[dict[str, Any]]:
        return [asdict(line) for line in self._lines]
