"""Tables as a workbook: numbers are numbers, and text that looks like a number or a formula stays text."""

import datetime as dt
import io
import math
from collections.abc import Iterable, Mapping

from xlsxwriter import Workbook

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
#: A longer text is cut: the format has no room for more in a cell.
MAX_CELL = 32_767


def workbook(title: str, at: dt.datetime, sheets: Mapping[str, Iterable[Iterable[object]]]) -> bytes:
    """The first line of the first sheet has the heads. The same tables give the same bytes."""
    out = io.BytesIO()
    with Workbook(out, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}) as book:
        book.set_properties({"title": title[:255], "created": at.replace(tzinfo=None)})
        heads = book.add_format({"bold": True})
        for place, (name, lines) in enumerate(sheets.items()):
            sheet = book.add_worksheet(name)
            for number, line in enumerate(lines):
                sheet.write_row(number, 0, map(_cell, line), None if place or number else heads)
            if not place:
                sheet.freeze_panes(1, 0)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return f"{value[: MAX_CELL - 1]}…" if isinstance(value, str) and len(value) > MAX_CELL else value
