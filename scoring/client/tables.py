"""What the API answers, as lines for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scoring.offline.terminal import BOLD, painted, printable
from scoring.offline.texts import problem_line
from tasks.types import Problem


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    for line in table_lines(heads, rows):
        print(line)


def table_lines(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    cells = [list(heads), *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield painted(line, BOLD, sys.stdout) if number == 0 else line


def season_rows(season: Mapping[str, Any]) -> list[tuple[object, ...]]:
    return [
        (
            phase["id"],
            task["slug"],
            task["type"],
            f"{season['slug']}/{task['slug']}/{phase['slug']}",
            phase["closes"],
            "yes" if phase["is_open"] else "no",
        )
        for task in season["tasks"]
        for phase in task["phases"]
    ]


def board_lines(board: Mapping[str, Any]) -> Iterator[str]:
    """Rank, team, system and the ranking metric with its interval; the rest is in `--json`."""
    if board["shows"] == "nothing":
        yield "this board is not shown to you now"
        return
    first = board["columns"][0]["name"] if board["columns"] else ""
    heads = ("rank", "team", "system", "run", *([first, "from", "to"] if first else []))
    yield from table_lines(heads, [_board_row(row, first) for row in board["rows"]])


def _board_row(row: Mapping[str, Any], first: str) -> tuple[object, ...]:
    score = row["scores"].get(first, {})
    numbers = [_number(score.get(part)) for part in ("value", "low", "high")] if first else []
    rank = "" if row["rank"] is None else row["rank"]
    return (rank, row["team"] or row["kind"], row["system"], row["submission"], *numbers)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def warning_lines(problems: Iterable[Mapping[str, Any]]) -> list[str]:
    return [problem_line(Problem(**problem), sys.stderr) for problem in problems]
