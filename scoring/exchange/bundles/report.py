"""Define the lines of the report on an imported competition bundle. This module does
not import Django.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

#: The draft contains VERDICT_UNDERSTOOD values of the bundle and omits VERDICT_LEFT_OUT values.
#: An organiser must decide on VERDICT_NEEDS_DECISION values; a VERDICT_PREVENTS_IMPORT value prevents import.
(
    VERDICT_UNDERSTOOD,
    VERDICT_LEFT_OUT,
    VERDICT_NEEDS_DECISION,
    VERDICT_PREVENTS_IMPORT,
) = "understood", "left-out", "decide", "prevents"
VERDICTS_BY_SEVERITY = (
    VERDICT_PREVENTS_IMPORT,
    VERDICT_NEEDS_DECISION,
    VERDICT_LEFT_OUT,
    VERDICT_UNDERSTOOD,
)
MAX_REPORT_LINES, MAX_REPORT_MESSAGE_LENGTH = 1_000, 600


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
        self.line = ReportLine(
            VERDICT_PREVENTS_IMPORT, place, message[:MAX_REPORT_MESSAGE_LENGTH]
        )
        super().__init__(f"{place}: {message}")


class ImportReport:
    def __init__(self) -> None:
        self._lines: dict[ReportLine, None] = {}

    def __iter__(self) -> Iterator[ReportLine]:
        return iter(self._lines)

    def add_understood_value(self, place: str, message: str) -> None:
        self._add_line(VERDICT_UNDERSTOOD, place, message)

    def left_out(self, place: str, message: str) -> None:
        self._add_line(VERDICT_LEFT_OUT, place, message)

    def add_needed_decision(self, place: str, message: str) -> None:
        self._add_line(VERDICT_NEEDS_DECISION, place, message)

    def add_preventing_reason(self, by: ImportPrevented) -> None:
        self._lines[by.line] = None

    def _add_line(self, verdict: str, place: str, message: str) -> None:
        if len(self._lines) < MAX_REPORT_LINES:
            line = ReportLine(verdict, place[:200], message[:MAX_REPORT_MESSAGE_LENGTH])
            self._lines.setdefault(line)

    def values(self) -> list[dict[str, Any]]:
        return [asdict(line) for line in self._lines]
